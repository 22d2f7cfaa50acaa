"""Page faults as the places in the user's code where memory that stayed was touched first."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from dea.backend import Observation, Parsed
from dea.contracts.data import Frame, FrameHot, Metric, Note
from dea.contracts.evidence import Fact
from dea.contracts.quantities import in_bytes
from dea.contracts.secrets import target_text
from dea.errors import BackendError
from dea_linux.perf_faults import frames
from dea_linux.perf_faults.pages import page_of
from dea_linux.perf_faults.script import Fault, Script, read

_PAGE_BYTES = 4096
_TOP = 5
_CALLERS = 4
_FILE_MAPPINGS = ("/memfd:", "/dev/zero", "/SYSV", "//anon")  # paths that stand for memory


@dataclass
class _Site:
    """Faults whose innermost own function is the same."""

    samples: int = 0
    innermost: int = 0
    lines: Counter[int] = field(default_factory=Counter[int])
    frames: list[Frame] = field(default_factory=list[Frame])
    callers: Counter[tuple[str, ...]] = field(default_factory=Counter[tuple[str, ...]])
    below: Counter[str] = field(default_factory=Counter[str])
    seen: tuple[int, int] = (1, 1)  # lines of the first fault


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when there is text but no fault in it."""
    script = read(observation.text("faults"))
    if script.bad and not script.faults:
        raise BackendError(f"perf's text holds no page fault: {target_text(script.bad[0], 120)}")
    stayed = _that_stayed(script, observation)
    facts = [_new_memory(stayed, observation)]
    facts += _hot(stayed, observation)
    if script.bad:
        first = target_text(script.bad[0], 120)
        text = f"{len(script.bad)} lines of perf's text are unreadable"
        facts.append(
            Fact(Note(text=text, skipped_lines=len(script.bad), first_bad_line=first), text)
        )
    return Parsed(facts, _limitations(observation))


def _that_stayed(script: Script, observation: Observation) -> list[Fault]:
    """First touches of anonymous memory that was not given back by the end of the window."""
    present = {int(line, 16) for line in observation.text("present").split()}
    known = bool(observation.facts.get("present_known"))
    faults = [fault for fault in script.faults if _is_memory(fault.mapping)]
    taken_again = _taken_again(faults, int(observation.facts["every"]))
    return [
        fault
        for fault in faults
        if not taken_again(fault) and (page_of(fault.address) in present or not known)
    ]


def _taken_again(faults: Sequence[Fault], every: int) -> Callable[[Fault], bool]:
    """Tells faults on memory that is given back and taken again all the time.

    Such a page is seen twice, or, when few faults are sampled, its neighbourhood has had more
    faults than it has pages.
    """
    area_pages = max(256, 8 * every)
    pages = Counter(page_of(fault.address) for fault in faults)
    areas = Counter(_area(fault, area_pages) for fault in faults)

    def is_taken_again(fault: Fault) -> bool:
        crowded = areas[_area(fault, area_pages)] * every > 2 * area_pages
        return crowded or pages[page_of(fault.address)] > 1

    return is_taken_again


def _area(fault: Fault, pages: int) -> int:
    return fault.address // (_PAGE_BYTES * pages)


def _is_memory(mapping: str) -> bool:
    return not mapping.startswith("/") or mapping.startswith(_FILE_MAPPINGS)


def _new_memory(stayed: Sequence[Fault], observation: Observation) -> Fact:
    size = len(stayed) * int(observation.facts["every"]) * _PAGE_BYTES
    window_s = float(observation.facts["window_s"])
    metric = Metric(name="new_memory", value=size, unit="bytes", pid=observation.pid)
    text = f"some {in_bytes(size)} of memory were touched first in {window_s:.0f} s and stayed"
    return Fact(metric, text, "faults")


def _hot(stayed: Sequence[Fault], observation: Observation) -> Iterator[Fact]:
    sites: dict[tuple[str, str | None], _Site] = defaultdict(_Site)
    runtime = str(observation.facts.get("runtime"))
    for fault in stayed:
        _count(sites, fault, [frames.frame_of(call, runtime) for call in fault.calls])
    ordered = sorted(sites.values(), key=lambda site: -site.samples)
    for site in ordered[:_TOP]:
        hot = _evidence(site, len(stayed), observation.pid)
        text = f"{hot.share:.0%} of the new memory is touched first in {hot.frame.place()}"
        yield Fact(hot, text, "faults", site.seen)


def _count(sites: dict[tuple[str, str | None], _Site], fault: Fault, stack: list[Frame]) -> None:
    if not stack:
        return
    at = frames.site_of(stack)
    frame = stack[at]
    site = sites[frame.function, frame.file]
    if not site.samples:
        site.seen = fault.lines
    site.samples += 1
    site.innermost += at == 0
    site.frames.append(frame)
    if frame.line is not None:
        site.lines[frame.line] += 1
    site.callers[tuple(f.place() for f in stack[at + 1 :] if f.own)[:_CALLERS]] += 1
    if at:
        site.below[stack[at - 1].function] += 1


def _evidence(site: _Site, total: int, pid: int) -> FrameHot:
    frame = site.frames[0]
    if site.lines:
        frame = frame.model_copy(update={"line": site.lines.most_common(1)[0][0]})
    return FrameHot(
        pid=pid,
        scope="alloc",
        frame=frame,
        share=round(site.samples / total, 4),
        self_share=round(site.innermost / total, 4),
        samples=site.samples,
        total_samples=total,
        callers=list(site.callers.most_common(1)[0][0]),
        below=[name for name, _ in site.below.most_common(3)],
        lines={str(n): round(count / total, 4) for n, count in site.lines.most_common(5)},
    )


def _limitations(observation: Observation) -> list[str]:
    limited = [
        "allocation sites are first touches of new pages: blocks that reuse memory do not show"
    ]
    if not observation.facts.get("present_known"):
        limited.append("which pages were given back again could not be told: run as root")
    if not observation.facts.get("lines"):
        limited.append("source lines were not resolved: the debug information is too large")
    return limited
