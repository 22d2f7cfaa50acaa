"""Samples as series: those of the target, and of a descendant when something in it grows."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from dea.backend import Observation, Parsed
from dea.contracts.data import Metric, MetricSeries, Note
from dea.contracts.evidence import Fact
from dea.contracts.quantities import in_bytes, in_unit
from dea.contracts.scrub import one_line
from dea.contracts.trend import Point, metric_series
from dea.errors import BackendError
from dea_linux.memory import limits, mappings

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
_LEAKING = ("anon_bytes", "shmem_bytes", "threads", "fds", "zombies", "children")
_MOST_DESCENDANTS = 2
_BORN_LATE = 0.2  # of the window
_PARTS = 4


@dataclass
class _Samples:
    """All numbers, by process and name; `lines` are the first and last line of each process."""

    points: dict[tuple[int, str], list[Point]] = field(
        default_factory=lambda: defaultdict[tuple[int, str], list[Point]](list)
    )
    lines: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    bad: list[str] = field(default_factory=list[str])

    def pids(self) -> list[int]:
        return list(self.lines)


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when no line is a sample of the target."""
    samples = _read(observation)
    shown = [observation.pid, *_growing_descendants(samples, observation.pid)]
    facts = [fact for pid in shown for fact in _series_of(pid, samples, observation)]
    facts += _mapping_growth(observation)
    facts += _limit(observation)
    facts += _notes(samples, observation)
    return Parsed(facts, _limitations(observation))


def _read(observation: Observation) -> _Samples:
    samples = _Samples()
    for number, line in enumerate(observation.text("samples").splitlines(), 1):
        try:
            at, pid_text, look, *pairs = line.split()
            at_s, pid = float(at), int(pid_text)
            numbers = {name: int(value) for name, _, value in (p.partition("=") for p in pairs)}
        except ValueError:
            samples.bad.append(line)
            continue
        samples.lines[pid] = (samples.lines.get(pid, (number, number))[0], number)
        _add(samples, at_s, pid, look, numbers, observation.pid)
    if (observation.pid, "threads") not in samples.points:
        bad = f": {one_line(samples.bad[0], 120)}" if samples.bad else ""
        raise BackendError(f"no sample of process {observation.pid} is readable{bad}")
    return samples


def _add(
    samples: _Samples, at_s: float, pid: int, look: str, numbers: dict[str, int], target: int
) -> None:
    """What was swapped out is anonymous memory still."""
    if look == "status":
        numbers["anon_bytes"] = numbers.get("anon_bytes", 0) + numbers.get("swap_bytes", 0)
        family = samples.points[target, "family_rss_bytes"]
        if pid == target:
            family.append((at_s, 0.0))
        if family:  # all that follows the target's own line belongs to the same moment
            family[-1] = (family[-1][0], family[-1][1] + numbers["rss_bytes"])
    for name, value in numbers.items():
        samples.points[pid, name].append((at_s, float(value)))


def _growing_descendants(samples: _Samples, target: int) -> list[int]:
    """Those in which something grows, the one with the most memory gained first.

    One that was born in the window grows because it starts, and is left out.
    """
    born_by_s = _BORN_LATE * samples.points[target, "threads"][-1][0]
    gained: dict[int, float] = {}
    for pid in samples.pids():
        if pid == target or samples.points[pid, "threads"][0][0] > born_by_s:
            continue
        found = [_one(samples, pid, name) for name in _LEAKING]
        if any(series and series.shape == "growing" for series in found):
            gained[pid] = found[0].last - found[0].first if found[0] else 0.0
    return sorted(gained, key=lambda pid: -gained[pid])[:_MOST_DESCENDANTS]


def _one(samples: _Samples, pid: int, name: str) -> MetricSeries | None:
    points = samples.points.get((pid, name))
    unit = "bytes" if name.endswith("_bytes") else "count"
    return metric_series(name, unit, pid, points) if points else None


def _series_of(pid: int, samples: _Samples, observation: Observation) -> Iterator[Fact]:
    age_s = observation.facts.get("ages_s", {}).get(str(pid))
    names = [name for owner, name in samples.points if owner == pid]
    wanted = [*_ALWAYS, *(name for name in names if name not in _ALWAYS)]
    for name in wanted:
        series = _one(samples, pid, name)
        if series and (name in _ALWAYS or _worth_showing(series, samples)):
            if name in _LEAKING and age_s is not None:
                begun_s = max(0.0, age_s - observation.facts["window_s"])
                series = series.model_copy(update={"age_s": round(begun_s, 1)})
            owner = "" if pid == observation.pid else f" of descendant {pid}"
            yield Fact(series, _told(series, owner), "samples", samples.lines[pid])


def _worth_showing(series: MetricSeries, samples: _Samples) -> bool:
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
    shares = {one_line(name, 120): round(size / total, 3) for name, size in grown[:_PARTS]}
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


def _notes(samples: _Samples, observation: Observation) -> Iterator[Fact]:
    if samples.bad:
        first = one_line(samples.bad[0], 120)
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
    return limited
