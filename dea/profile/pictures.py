"""From the stacks of all threads at one moment to evidence: each stack, and which are the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dea.contracts.data import Frame, Stack, StackGroup, StackSummary
from dea.contracts.evidence import Fact

_STACKS, _GROUPS, _GROUP_TIDS = 40, 8, 16
_WITHOUT_OWN = 8  # stacks with none of the user's own code, such as idle workers
_INNERMOST, _OWN_BEYOND = 8, 6  # frames of a stack that are kept


@dataclass(frozen=True)
class Picture:
    """One thread's whole stack, and where it stands in the raw output."""

    stack: Stack
    lines: tuple[int, int] | None = None


def stack_facts(pid: int, pictures: Sequence[Picture], file: str) -> Iterator[Fact]:
    """A summary, then the stacks that tell most."""
    groups = _groups(pictures)
    words = "thread" if len(pictures) == 1 else "threads"
    largest = groups[0] if groups else None
    told = f"process {pid} has {len(pictures)} {words} with {len(groups)} different stacks"
    if largest and largest.threads > 1:
        told += f"; {largest.threads} are in {_place(largest.frames)}"
    summary = StackSummary(pid=pid, threads=len(pictures), groups=groups[:_GROUPS])
    yield Fact(summary, told, file)
    for picture in _chosen(pictures):
        stack = picture.stack.model_copy(update={"frames": _kept(picture.stack.frames)})
        yield Fact(stack, _told(picture.stack), file, picture.lines)


def _chosen(pictures: Sequence[Picture]) -> list[Picture]:
    """Threads that run, then those in the user's own code, then a few of the runtime's."""
    running = [picture for picture in pictures if picture.stack.on_cpu]
    waiting = [picture for picture in pictures if not picture.stack.on_cpu]
    own = [picture for picture in waiting if _has_own(picture.stack.frames)]
    rest = [picture for picture in waiting if not _has_own(picture.stack.frames)]
    return [*running, *own, *rest[:_WITHOUT_OWN]][:_STACKS]


def _groups(pictures: Sequence[Picture]) -> list[StackGroup]:
    found: dict[tuple[Frame, ...], list[int]] = {}
    for picture in pictures:
        found.setdefault(tuple(picture.stack.frames), []).append(picture.stack.tid)
    groups = [
        StackGroup(threads=len(tids), tids=tids[:_GROUP_TIDS], frames=_kept(list(frames)))
        for frames, tids in found.items()
    ]
    return sorted(groups, key=lambda group: -group.threads)


def _told(stack: Stack) -> str:
    doing = "runs" if stack.on_cpu else "waits"
    return f"thread {stack.tid} ({stack.thread}) {doing} in {_place(stack.frames)}"


def _place(frames: Sequence[Frame]) -> str:
    """The innermost frame, and the innermost of the user's own code when that is another."""
    if not frames:
        return "a stack that cannot be read"
    own = next((frame for frame in frames if frame.own), None)
    if own is None or own == frames[0]:
        return frames[0].place()
    return f"{frames[0].function}, called from {own.place()}"


def _kept(frames: Sequence[Frame]) -> list[Frame]:
    """The innermost frames, and further out only the user's own."""
    beyond = [frame for frame in frames[_INNERMOST:] if frame.own]
    return [*frames[:_INNERMOST], *beyond[:_OWN_BEYOND]]


def _has_own(frames: Sequence[Frame]) -> bool:
    return any(frame.own for frame in frames)
