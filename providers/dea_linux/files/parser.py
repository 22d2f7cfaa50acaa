"""Looks at descriptors as evidence: a summary and the groups that grow, are many or hold space."""

from collections import Counter
from collections.abc import Iterator, Sequence

from dea.backend import Observation, Parsed
from dea.contracts.data import Fd, FdSummary, Note
from dea.contracts.evidence import Fact
from dea.contracts.quantities import in_bytes, in_figures
from dea.contracts.secrets import target_text
from dea.contracts.trend import metric_series
from dea.errors import BackendError
from dea_linux import own_cost
from dea_linux.files import peers
from dea_linux.files.groups import Alike, Namer, count, groups, namer
from dea_linux.files.replay import Details, Look, Watched, read_changes, read_details

_GROWN = 2  # more than this, to be shown of a descendant
_TOP_GROWING, _TOP_MANY, _TOP_DELETED = 4, 3, 3


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when no look at the target is readable."""
    watched = read_changes(observation.text("changes"))
    if observation.pid not in watched.looks:
        bad = f": {target_text(watched.bad[0], 120)}" if watched.bad else ""
        raise BackendError(f"no look at process {observation.pid} is readable{bad}")
    known = peers.parse(observation.text("sockets"))
    details = read_details(observation.text("details"))
    facts: list[Fact] = []
    for pid in _shown(watched, observation.pid):
        names = namer(pid, watched.looks[pid], known, details)
        facts += _of_process(pid, watched, names, details, observation)
    facts += _notes(watched, observation)
    return Parsed(facts, _limitations(observation))


def _shown(watched: Watched, target: int) -> list[int]:
    """The target, and descendants that came to hold more."""
    grown = {
        pid: len(looks[-1].links) - len(looks[0].links) for pid, looks in watched.looks.items()
    }
    others = [pid for pid, came in grown.items() if pid != target and came > _GROWN]
    return [target, *sorted(others, key=lambda pid: -grown[pid])]


def _of_process(
    pid: int, watched: Watched, names: Namer, details: Details, observation: Observation
) -> Iterator[Fact]:
    looks, lines = watched.looks[pid], watched.ends[pid]
    summary = _summary(pid, looks, names, observation.facts["soft_limits"].get(str(pid)))
    yield Fact(summary, _told_summary(summary), "changes", lines)
    if len(looks) > 1:
        points = [(look.at_s, float(len(look.links))) for look in looks]
        series = metric_series("fds", "count", pid, points)
        rate = f"{in_figures(series.slope_per_s)}/s" if series.shape != "short" else "short window"
        yield Fact(
            series,
            f"descriptors: {series.first:.0f} to {series.last:.0f}, {series.shape}, {rate}",
            "changes",
            lines,
        )
    for group in _telling(list(groups(pid, looks, names, details))):
        yield Fact(group, _told(group), "changes", lines)


def _summary(pid: int, looks: Sequence[Look], names: Namer, soft_limit: int | None) -> FdSummary:
    first, last = (_by_type(count(look, names)) for look in (looks[0], looks[-1]))
    change = {kind: last[kind] - first[kind] for kind in {*first, *last}}
    return FdSummary(
        pid=pid,
        total=last.total(),
        by_type=dict(last.most_common()),
        soft_limit=soft_limit,
        window_s=round(looks[-1].at_s - looks[0].at_s, 2),
        added={kind: number for kind, number in sorted(change.items()) if number},
    )


def _by_type(found: Counter[Alike]) -> Counter[str]:
    by_type: Counter[str] = Counter()
    for alike, times in found.items():
        by_type[alike.type] += times
    return by_type


def _telling(found: list[Fd]) -> list[Fd]:
    """What came, then what is many, then deleted files that still take space."""
    growing = sorted((fd for fd in found if (fd.added or 0) > 0), key=lambda fd: -(fd.added or 0))
    many = sorted((fd for fd in found if fd.count > 1), key=lambda fd: -fd.count)
    deleted = sorted((fd for fd in found if fd.size_bytes), key=lambda fd: -(fd.size_bytes or 0))
    chosen = [*growing[:_TOP_GROWING], *many[:_TOP_MANY], *deleted[:_TOP_DELETED]]
    return [fd for at, fd in enumerate(chosen) if fd not in chosen[:at]]


def _told_summary(summary: FdSummary) -> str:
    kinds = ", ".join(f"{number} {kind}" for kind, number in summary.by_type.items())
    limit = "" if summary.soft_limit is None else f" of at most {summary.soft_limit}"
    text = f"process {summary.pid} has {summary.total} descriptors open{limit}: {kinds}"
    if not summary.window_s:
        return text
    changes = ", ".join(f"{number:+d} {kind}" for kind, number in summary.added.items())
    return f"{text}; in {summary.window_s:.1f} s: {changes or 'no change'}"


def _told(fd: Fd) -> str:
    state = f" in {fd.state}" if fd.state and fd.type == "socket" else ""
    text = f"{fd.count} x {fd.type} {fd.path}{state}"
    if fd.deleted:
        held = f", {in_bytes(fd.size_bytes)} still held" if fd.size_bytes else ""
        text += f" (deleted{held})"
    return f"{text}, {fd.added:+d} in the window" if fd.added else text


def _notes(watched: Watched, observation: Observation) -> Iterator[Fact]:
    if watched.bad:
        first = target_text(watched.bad[0], 120)
        text = f"{len(watched.bad)} lines of changes are unreadable"
        yield Fact(Note(text=text, skipped_lines=len(watched.bad), first_bad_line=first), text)
    if observation.facts.get("ended"):
        text = f"process {observation.pid} ended after {observation.facts['window_s']:.1f} s"
        yield Fact(Note(text=text), text)


def _limitations(observation: Observation) -> list[str]:
    facts, limited = observation.facts, list[str]()
    if refused := facts.get("refused"):
        limited.append(
            f"descriptors of descendants {', '.join(map(str, refused))} may not be read: run as root"
        )
    if facts.get("left_out"):
        limited.append(f"{facts['left_out']} more descendants were not looked at")
    if facts.get("sockets_refused"):
        limited.append("the kernel could not be asked about sockets: their peers are not known")
    if facts.get("window_s", 0) > 0.5:
        limited.append(
            f"descriptors were watched for {facts['window_s']:.1f} s: a slower leak does not show"
        )
    return limited + own_cost.said(facts, "descriptors")
