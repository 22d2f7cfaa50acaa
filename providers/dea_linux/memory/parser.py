"""What a watch of memory wrote down, as evidence."""

from collections.abc import Iterator

from dea.backend import Observation, Parsed
from dea.contracts.data import Metric, MetricSeries, Note
from dea.contracts.evidence import Fact
from dea.contracts.quantities import in_bytes, in_unit
from dea.contracts.secrets import target_text
from dea_linux import own_cost
from dea_linux.memory import limits, mappings
from dea_linux.memory.samples import LEAKING, Samples, read

_SAID = {
    "rss_bytes": "resident memory",
    "pss_bytes": "proportional memory",
    "anon_bytes": "anonymous memory",
    "file_bytes": "mapped file pages",
    "shmem_bytes": "shared memory",
    "swap_bytes": "swapped memory",
    "family_rss_bytes": "resident memory of the process and its descendants",
    "fds": "descriptors",
    "zombies": "ended children not waited for",
}
_ALWAYS = ("rss_bytes", "anon_bytes", "fds", "threads")
_PARTS = 4


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when no line is a sample of the target."""
    samples = read(observation)
    shown = [observation.pid, *samples.growing_descendants()]
    facts = [fact for pid in shown for fact in _series_of(pid, samples, observation)]
    facts += _mapping_growth(observation)
    facts += _limit(observation)
    facts += _notes(samples, observation)
    return Parsed(facts, _limitations(observation))


def _series_of(pid: int, samples: Samples, observation: Observation) -> Iterator[Fact]:
    age_s = observation.facts.get("ages_s", {}).get(str(pid))
    names = [name for owner, name in samples.points if owner == pid]
    for name in dict.fromkeys([*_ALWAYS, *names]):
        series = samples.series(pid, name)
        if series and (name in _ALWAYS or _worth_showing(series, samples)):
            if name in LEAKING and age_s is not None:
                begun_s = max(0.0, age_s - observation.facts["window_s"])
                series = series.model_copy(update={"age_s": round(begun_s, 1)})
            owner = "" if pid == observation.pid else f" of descendant {pid}"
            yield Fact(series, _told(series, owner), "samples", samples.lines[pid])


def _worth_showing(series: MetricSeries, samples: Samples) -> bool:
    if series.name == "family_rss_bytes":
        return len(samples.lines) > 1
    if series.name == "exact_anon_bytes":
        return False
    if series.name == "pss_bytes":
        return True
    return series.shape not in ("steady", "short") or (
        series.last > 0 and series.name in ("swap_bytes", "zombies", "children")
    )


def _told(series: MetricSeries, owner: str) -> str:
    what = _SAID.get(series.name, series.name) + owner
    last = in_unit(series.last, series.unit)
    if series.first == series.last:
        return f"{what}: {last}"
    text = f"{what}: {in_unit(series.first, series.unit)} to {last}"
    if series.shape == "short":
        return text
    rate, low, high = (
        in_unit(value, series.unit)
        for value in (series.slope_per_s, series.slope_low_per_s, series.slope_high_per_s)
    )
    return f"{text}, {series.shape}, {rate}/s ({low} to {high})"


def _mapping_growth(observation: Observation) -> Iterator[Fact]:
    before, after = (
        mappings.parse(observation.text(f"mappings.{when}")) for when in ("begin", "end")
    )
    if not before or not after:
        return
    grown = [
        (name, size) for name, size in mappings.growth(before, after).most_common() if size > 0
    ]
    total = sum(size for _, size in grown)
    if not total:
        return
    shares = {target_text(name, 120): round(size / total, 3) for name, size in grown[:_PARTS]}
    metric = Metric(
        name="anon_growth", value=total, unit="bytes", pid=observation.pid, shares=shares
    )
    where = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    yield Fact(metric, f"anonymous memory gained {in_bytes(total)}: {where}", "mappings.end")


def _limit(observation: Observation) -> Iterator[Fact]:
    group = limits.parse(observation.text("cgroup"))
    if group and group.memory_limit_bytes is not None:
        used, limit = in_bytes(group.memory_bytes or 0), in_bytes(group.memory_limit_bytes)
        yield Fact(group, f"cgroup {group.path} uses {used} of {limit} memory", "cgroup", (1, 1))


def _notes(samples: Samples, observation: Observation) -> Iterator[Fact]:
    if samples.bad:
        first = target_text(samples.bad[0], 120)
        text = f"{len(samples.bad)} lines of samples are no samples"
        yield Fact(Note(text=text, skipped_lines=len(samples.bad), first_bad_line=first), text)
    if observation.facts.get("ended"):
        text = f"process {observation.pid} ended after {observation.facts['window_s']:.1f} s"
        yield Fact(Note(text=text), text)


def _limitations(observation: Observation) -> list[str]:
    facts = observation.facts
    refused = set(facts.get("refused", ()))
    limited: list[str] = []
    if refused:
        limited.append(
            f"{', '.join(sorted(refused))} of process {observation.pid} may not be read: run as "
            "root or as the user of the process"
        )
    if facts.get("left_out"):
        limited.append(f"{facts['left_out']} more descendants were not sampled")
    if facts.get("window_s", 0) > 0.5:
        limited.append(
            f"memory was watched for {facts['window_s']:.1f} s: growth that is slower or comes "
            "now and then does not show, and a longer cycle looks like growth"
        )
    return limited + own_cost.said(facts, "memory")
