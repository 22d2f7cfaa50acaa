"""Hot Python frames, with what their lines do."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from dea.contracts.data import Frame
from dea.profile.clocks import CpuUse
from dea.profile.hot import Hot, hot_frames, hot_frames_by_thread, hot_frames_of_saturated
from dea.profile.stacks import Sampled, said
from dea_runtimes.py_spy.context import LineContext, line_context
from dea_runtimes.py_spy.source import Function

_THREADS, _PER_THREAD, _LEAST_SHARE = 12, 2, 0.08
_IN_LIBRARIES = 3  # threads with no code of the user's own that are told, such as idle workers
_LOOKED_UP = 2  # how many callers a loop is looked for in


def hot_of_processes(
    stacks: Sequence[Sampled], functions: Sequence[Function] = (), uses: Sequence[CpuUse] = ()
) -> list[Hot]:
    """The hottest functions of each process, and of threads that never rest, while on the CPU."""
    hots = [*hot_frames(stacks, "cpu"), *hot_frames_of_saturated(stacks, uses)]
    return [_explained(hot, functions) for hot in hots]


def hot_of_threads(stacks: Sequence[Sampled], functions: Sequence[Function] = ()) -> list[Hot]:
    """Where each thread spent its time, waiting or not; threads in the user's own code first."""
    hots = hot_frames_by_thread(stacks, "wall", top=_PER_THREAD)
    by_thread: dict[tuple[int, int | None, str | None], list[Hot]] = {}
    for hot in hots:
        if hot.data.share >= _LEAST_SHARE:
            by_thread.setdefault((hot.data.pid, hot.data.tid, hot.data.thread), []).append(hot)
    own = [group for group in by_thread.values() if any(hot.data.frame.own for hot in group)]
    idle = [group for group in by_thread.values() if group not in own]
    chosen = [*own, *idle[:_IN_LIBRARIES]][:_THREADS]
    return [_explained(hot, functions) for group in chosen for hot in group]


def _explained(hot: Hot, functions: Sequence[Function]) -> Hot:
    frame = hot.data.frame
    if not frame.own:
        return hot
    context = line_context(functions, frame.file, frame.line)
    if context is None:
        return hot
    update: dict[str, Any] = {
        "source": said(context.text),
        "in_loop": context.in_loop,
        "calls": context.calls,
    }
    update |= _loop(frame, context) if context.loop_line else _caller_loop(hot, functions)
    return replace(hot, data=hot.data.model_copy(update=update))


def _caller_loop(hot: Hot, functions: Sequence[Function]) -> dict[str, Any]:
    """The nearest loop in a caller that hands its item on to this function."""
    callee = hot.data.frame
    for caller in _own_callers(hot):
        context = line_context(functions, caller.file, caller.line)
        if context is None:
            return {}
        if context.loop_line and context.uses_item and _calls(context, callee):
            return _loop(caller, context)
        callee = caller
    return {}


def _own_callers(hot: Hot) -> Iterator[Frame]:
    yield from [frame for frame in hot.chain[1:] if frame.own][:_LOOKED_UP]


def _calls(context: LineContext, callee: Frame) -> bool:
    name = callee.function.rsplit(".", 1)[-1]
    return any(call.rsplit(".", 1)[-1] == name for call in context.calls)


def _loop(frame: Frame, context: LineContext) -> dict[str, Any]:
    at = frame.model_copy(update={"line": context.loop_line})
    return {"loop": at.place(), "loop_calls": context.loop_calls, "loop_fed_by": context.fed_by}
