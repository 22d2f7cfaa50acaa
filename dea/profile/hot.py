"""From sampled stacks to the places in the user's own code on which the time falls."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dea.contracts.data import Frame, FrameHot
from dea.profile.clocks import CpuUse
from dea.profile.stacks import NO_SYMBOLS, Sampled, in_words

Scope = Literal["cpu", "wall"]
_LINES, _CALLERS, _BELOW = 4, 5, 4
_LEAST_BELOW = 0.05  # of a place's samples: rarer is noise, such as an interrupt

_LEAST_SHARE = 0.02  # of all samples: colder functions are left out, but for the hottest
_NAMED_WITHIN = 3
_NEARLY_ALL = 0.8  # of a process's samples: a thread with as many needs no word of its own
_SATURATED_THREADS = 3

_EVENT_LOOPS = (
    ("/asyncio/base_events.py", "asyncio"),
    ("/asyncio/runners.py", "asyncio"),
    ("/trio/_core/_run.py", "trio"),
    ("/gevent/hub.py", "gevent"),
    ("/eventlet/hubs/", "eventlet"),
    ("/twisted/internet/base.py", "twisted"),
)

_Place = tuple[str, str | None, str | None]


@dataclass(frozen=True)
class Hot:
    """A hot frame, the frames that lead to it (itself first), and where the raw output shows it."""

    data: FrameHot
    chain: Sequence[Frame]
    lines: tuple[int, int] | None


@dataclass
class _Tally:
    """What was seen of one function."""

    samples: int = 0
    alone: int = 0  # nothing was below it
    line_samples: Counter[int] = field(default_factory=Counter[int])
    below: Counter[str] = field(default_factory=Counter[str])
    heaviest: tuple[int, Sampled, int] | None = None

    def add(self, stack: Sampled, depth: int) -> None:
        frame = stack.frames[depth]
        self.samples += stack.samples
        if frame.line is not None:
            self.line_samples[frame.line] += stack.samples
        if depth == 0:
            self.alone += stack.samples
        else:
            names = (in_words(stack.frames[depth - 1]), in_words(stack.frames[0]))
            self.below.update(dict.fromkeys(names, stack.samples))
        if self.heaviest is None or stack.samples > self.heaviest[0]:
            self.heaviest = (stack.samples, stack, depth)


def hot_frames(stacks: Sequence[Sampled], scope: Scope, *, top: int = 6) -> list[Hot]:
    """The hottest functions of each process, at most `top` of each."""
    by_pid: dict[int, list[Sampled]] = {}
    for stack in stacks:
        by_pid.setdefault(stack.pid, []).append(stack)
    return [hot for group in by_pid.values() for hot in _rank(group, scope, top, of_thread=False)]


def hot_frames_by_thread(stacks: Sequence[Sampled], scope: Scope, *, top: int) -> list[Hot]:
    """The same for each thread by itself."""
    by_thread: dict[tuple[int, int | None, str], list[Sampled]] = {}
    for stack in stacks:
        by_thread.setdefault((stack.pid, stack.tid, stack.thread), []).append(stack)
    return [hot for group in by_thread.values() for hot in _rank(group, scope, top, of_thread=True)]


def hot_frames_of_saturated(stacks: Sequence[Sampled], uses: Sequence[CpuUse]) -> list[Hot]:
    """The hottest function of each thread that is always busy in a process where others work too."""
    samples: Counter[int] = Counter()
    for stack in stacks:
        samples[stack.pid] += stack.samples
    saturated = {thread.tid for use in uses for thread in use.threads if thread.is_saturated}
    hots = hot_frames_by_thread([s for s in stacks if s.tid in saturated], "cpu", top=1)
    return [hot for hot in hots if hot.data.total_samples < _NEARLY_ALL * samples[hot.data.pid]][
        :_SATURATED_THREADS
    ]


def own_depth(frames: Sequence[Frame]) -> int:
    """Where the innermost frame of the user's own code is; 0 when there is none.

    When that has no name, a named one close by says more.
    """
    own = [depth for depth, frame in enumerate(frames) if frame.own]
    named = [depth for depth in own[:_NAMED_WITHIN] if frames[depth].function != NO_SYMBOLS]
    return next(iter([*named, *own]), 0)


def _rank(stacks: Sequence[Sampled], scope: Scope, top: int, *, of_thread: bool) -> Iterator[Hot]:
    total = sum(stack.samples for stack in stacks)
    tallies: dict[_Place, _Tally] = {}
    for stack in stacks:
        if stack.frames:
            depth = own_depth(stack.frames)
            frame = stack.frames[depth]
            place = (frame.function, frame.file, frame.module)
            tallies.setdefault(place, _Tally()).add(stack, depth)
    ranking = sorted(tallies.values(), key=lambda tally: -tally.samples)
    for number, tally in enumerate(ranking[:top]):
        if number == 0 or tally.samples >= _LEAST_SHARE * total:
            yield _hot(tally, total, scope, of_thread)


def _hot(tally: _Tally, total: int, scope: Scope, of_thread: bool) -> Hot:
    assert tally.heaviest is not None  # it is set with the first stack
    _, stack, depth = tally.heaviest
    chain = stack.frames[depth:]
    line = max(tally.line_samples, key=lambda n: (tally.line_samples[n], -n), default=None)
    frame = chain[0].model_copy(update={"line": line})
    data = FrameHot(
        pid=stack.pid,
        scope=scope,
        frame=frame,
        share=round(tally.samples / total, 4),
        self_share=round(tally.alone / total, 4),
        samples=tally.samples,
        total_samples=total,
        tid=stack.tid if of_thread else None,
        thread=stack.thread if of_thread else None,
        callers=_callers(chain[1:]),
        below=_notable(tally),
        lines={str(n): round(c / total, 4) for n, c in tally.line_samples.most_common(_LINES)},
        event_loop=_event_loop(chain[1:]),
    )
    return Hot(data, chain, stack.lines)


def _notable(tally: _Tally) -> list[str]:
    least = _LEAST_BELOW * tally.samples
    return [name for name, count in tally.below.most_common(_BELOW) if count >= least]


def _event_loop(outer: Iterable[Frame]) -> str | None:
    """The event loop among the callers. One written in C shows only as what started it."""
    for frame in outer:
        for mark, name in _EVENT_LOOPS:
            if frame.file is not None and mark in frame.file and not frame.own:
                return name
    return None


def _callers(outer: Iterable[Frame]) -> list[str]:
    """The user's own callers, or whatever called when there are none."""
    frames = list(outer)
    own = [frame for frame in frames if frame.own]
    return [frame.place() for frame in (own or frames)[:_CALLERS]]
