"""Growth that is no verdict yet, said with its numbers; and that nothing grew, where that is so."""

from collections.abc import Iterator, Sequence

from dea.contracts.data import MetricSeries
from dea.contracts.quantities import in_unit
from dea.contracts.trend import largest_fall
from dea.rules.draft import Draft, Facts
from dea.rules.series import Grown, Growth, least_bytes, longer

_NOTICEABLE = 0.1  # of what it had
_REMARKS = 2
# What is named first says most: the later ones only add up or repeat the earlier.
_SAID = {
    "anon_bytes": "anonymous memory",
    "shmem_bytes": "shared memory",
    "file_bytes": "mapped file pages",
    "fds": "descriptors",
    "threads": "threads",
    "zombies": "ended children not waited for",
    "children": "children",
    "swap_bytes": "swapped memory",
    "sockets": "sockets",
    "pss_bytes": "proportional memory",
    "rss_bytes": "resident memory",
    "family_rss_bytes": "resident memory with descendants",
}
_TOLD_WHEN_STEADY = ("anon_bytes", "fds", "threads")

BySeries = dict[int, dict[str, Growth]]


def unclear(facts: Facts, found: Sequence[Grown]) -> Iterator[Draft]:
    """At most one remark about each process of which nothing is concluded."""
    concluded = {grown.pid for grown in found}
    open_ = {pid: mine for pid, mine in _watched(facts).items() if pid not in concluded}
    drafts = (_unsteady(mine, facts) or _little(mine, facts) for mine in open_.values())
    yield from [draft for draft in drafts if draft][:_REMARKS]


def still(facts: Facts) -> Iterator[Draft]:
    """That nothing grew, of what was watched long enough to tell."""
    watched = _watched(facts)
    if not watched or any(
        g.series.shape == "growing" for mine in watched.values() for g in mine.values()
    ):
        return
    mine = next(iter(watched.values()))
    told = [mine[name] for name in _TOLD_WHEN_STEADY if name in mine]
    if told:
        window_s = max(growth.window_s for growth in told)
        rose = any(growth.series.last > growth.series.first for growth in told)
        verb = "kept growing" if rose else "grew"
        yield Draft(
            "info",
            f"nothing {verb} in {window_s:.1f} s: {', '.join(map(_level, told))}",
            [growth.cited.id for growth in told],
            "observed",
        )


def _watched(facts: Facts) -> BySeries:
    """The series of each process by name, the longest where there are several."""
    found: BySeries = {}
    for cited in facts.of(MetricSeries):
        if cited.data.shape == "short" or cited.data.name not in _SAID:
            continue
        mine = found.setdefault(cited.data.pid, {})
        known = mine.get(cited.data.name)
        if known is None or Growth(cited).window_s > known.window_s:
            mine[cited.data.name] = Growth(cited)
    return found


def _unsteady(mine: dict[str, Growth], facts: Facts) -> Draft | None:
    """Memory that is higher at the end and was not given back, but did not rise evenly."""
    growth = mine.get("anon_bytes")
    if growth is None or growth.series.shape not in ("noisy", "sawtooth"):
        return None
    series, net = growth.series, growth.series.last - growth.series.first
    values = [value for _, value in series.points]
    if net < max(least_bytes(facts, series.pid), _NOTICEABLE * series.first):
        return None
    if largest_fall(values) >= net:
        return None
    low, high = (
        in_unit(rate, "bytes") for rate in (series.slope_low_per_s, series.slope_high_per_s)
    )
    others = [mine[name].cited for name in ("pss_bytes", "rss_bytes") if name in mine]
    return Draft(
        "info",
        f"anonymous memory of process {series.pid} rose {_from_to(series)} in "
        f"{growth.window_s:.1f} s, but unevenly ({low}/s to {high}/s): too early to call it a "
        f"leak; {longer(growth)}",
        [growth.cited.id, *(c.id for c in others if c.data.shape == "growing")],
        "observed",
        "Garbage that is not collected yet, a cache that fills or one large batch looks the same; "
        "only growth that goes on tells.",
        weight=0.2,
        next=("snapshot_memory",),
    )


def _little(mine: dict[str, Growth], facts: Facts) -> Draft | None:
    """Something that grows and is no cause: which, how much, and why it is none."""
    growing = (
        mine[name] for name in _SAID if name in mine and mine[name].series.shape == "growing"
    )
    growth = next(growing, None)
    if growth is None:
        return None
    series = growth.series
    net = in_unit(series.last - series.first, series.unit)
    rate = in_unit(series.slope_per_s, series.unit)
    return Draft(
        "info",
        f"{_SAID[series.name]} of process {series.pid} grew by {net} in {growth.window_s:.1f} s "
        f"({rate}/s), {_why_none(growth, facts)}; {longer(growth)}",
        [growth.cited.id],
        "observed",
        weight=0.1,
    )


def _why_none(growth: Growth, facts: Facts) -> str:
    series: MetricSeries = growth.series
    if series.name in ("fds", "sockets"):
        return "and of which kind they are inspect_files tells"
    if series.unit == "bytes" and growth.amount >= least_bytes(facts, series.pid):
        return "while anonymous memory did not grow steadily"
    return "too little to call it a leak"


def _level(growth: Growth) -> str:
    series = growth.series
    what = _SAID[series.name]
    if series.first == series.last:
        return f"{what} {in_unit(series.last, series.unit)}"
    return f"{what} {_from_to(series)} ({series.shape})"


def _from_to(series: MetricSeries) -> str:
    return f"from {in_unit(series.first, series.unit)} to {in_unit(series.last, series.unit)}"
