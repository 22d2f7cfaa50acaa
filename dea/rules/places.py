"""Finds the line of code that belongs to a wait. Only evidence about the same thread counts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dea.contracts.data import Cause, Frame, FrameHot, Part, Stack
from dea.rules.draft import Cited

_LEAST_OF_WAIT = 0.5  # a place must account for that much of the wait
_DOMINANT = 0.6  # of the thread's time: then a single look at its stack most likely shows it
_RIVAL = 0.3  # another wait of that size makes a place without matching words doubtful

# Words in what a line calls that tell how it waits.
_WORDS: dict[Cause, str] = {
    "sleep": r"sleep|delay|wait|pause",
    "receive": r"recv|receive|read|request|urlopen|execute|fetch|query|get|post|call|ask|send|select",
    "poll": r"poll|select|run|wait|recv|read|request|serve",
    "send": r"send|write|flush|put",
    "connect": r"connect|open|request",
    "lock": r"lock|acquire|with|mutex|synchron",
    "futex": r"acquire|with|lock|wait|join|get|put|result|enter",
    "disk": r"sync|flush|write|read|commit|open|execute|save|dump",
    "pipe_read": r"read|communicate|recv|input|for|output|run",
    "pipe_write": r"write|print|send|flush|communicate",
    "child": r"wait|communicate|run|call|join|system",
    "accept": r"accept|serve|listen",
    "file_lock": r"lock",
}
_WAITS_FOR_WORK = re.compile(
    r"^b[rlz]\w*pop\w*$|^blmove$|^xread\w*$|consum|subscribe|^listen\w*$|^get_message\w*$|^poll$"
    r"|^accept\w*$|wait_for_(message|notif|event|job|work|task)|serve|run_forever|drain_events"
    r"|^notifies$|^next_message$|receive_messages?$|long_?poll|^watch\w*$|^tail$|^follow$|dequeue"
    r"|(get|fetch|reserve|wait_for|next|poll)_?(job|task|work|event|message)s?$"
)


@dataclass(frozen=True)
class Place:
    """`text` is `function file:line`; `source` and `names` tell what the line does, if known."""

    text: str
    id: str
    own: bool
    source: str = ""
    names: tuple[str, ...] = ()

    @property
    def waits_for_work(self) -> bool:
        """Whether a name near it says that waiting is its purpose: a queue, events, clients."""
        return any(_WAITS_FOR_WORK.search(name.rpartition(".")[2].lower()) for name in self.names)


@dataclass(frozen=True)
class _Candidate:
    place: Place
    share: float
    words: str


def place_of(
    part: Part,
    parts: Sequence[Part],
    hots: Sequence[Cited[FrameHot]],
    stacks: Sequence[Cited[Stack]],
) -> Place | None:
    """The innermost own frame where this wait happens, or a library's when none is known."""
    candidates = [c for hot in hots for c in _lines(hot) if c.share >= _LEAST_OF_WAIT * part.share]
    pattern = re.compile(_WORDS.get(part.cause, r"(?!)"), re.IGNORECASE)
    matching = [c for c in candidates if pattern.search(c.words)]
    rivals = [p for p in parts if p is not part and p.share >= _RIVAL * part.share]
    usable = matching or (candidates if not rivals else [])
    if usable:
        return min(usable, key=lambda c: (not c.place.own, abs(c.share - part.share))).place
    return _from_stacks(part, stacks)


def _lines(hot: Cited[FrameHot]) -> Iterator[_Candidate]:
    """Each line of the function on its own; only of the hottest is it known what it does."""
    data = hot.data
    names = _names(data)
    for number, share in data.lines.items() or [(str(data.frame.line or ""), data.share)]:
        is_top = number == str(data.frame.line or "")
        frame = data.frame if is_top or not number.isdigit() else _at(data.frame, int(number))
        source = (data.source or "") if is_top else ""
        words = " ".join([source, *data.calls, *data.below[:3]]) if is_top else ""
        place = Place(frame.place(), hot.id, frame.own, source, names)
        yield _Candidate(place, share, words or frame.function)


def _at(frame: Frame, line: int) -> Frame:
    return frame.model_copy(update={"line": line})


def _names(data: FrameHot) -> tuple[str, ...]:
    """Names of functions around the place: its own, its callers', what it calls."""
    around = [place.split(" ")[0] for place in (*data.callers, *data.below[:4])]
    return (data.frame.function, *data.calls, *around)


def _from_stacks(part: Part, stacks: Sequence[Cited[Stack]]) -> Place | None:
    """One look at the stack: when it was in this very call, or when the thread does little else."""
    for stack in stacks:
        same_call = stack.data.syscall is not None and stack.data.syscall == part.syscall
        if same_call or (stack.data.syscall is None and part.share >= _DOMINANT):
            frames = stack.data.frames
            frame = next((frame for frame in frames if frame.own), None)
            if frame is not None:
                names = tuple(frame.function for frame in frames)
                return Place(frame.place(), stack.id, True, names=names)
    return None
