"""From thread dumps to CPU samples: each stack counts by the CPU time that its thread used around it."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from dea.contracts.data import Frame
from dea.profile.stacks import Sampled
from dea_runtimes.jvm.dump import JavaThread
from dea_runtimes.jvm.frames import is_collector, work_of_machine
from dea_runtimes.jvm.series import Moment, Series

_SAMPLE_NS = 10_000_000  # of CPU time
_FEW = 6  # dumps: then a sample stands for as long as there is between two of them
_OTHER = Frame(function="other threads of the JVM", module="JVM")

_Stack = tuple[Frame, ...]


def on_cpu(series: Series) -> list[Sampled]:
    """What ran, one sample per 10 ms of CPU time. Frames are missing where no dump shows it running."""
    sample_ns = _SAMPLE_NS
    if len(series.moments) < _FEW:
        sample_ns = max(sample_ns, int(series.window_s / max(1, len(series.moments) - 1) * 1e9))
    found: list[Sampled] = []
    for tid, name, spent in _threads(series):
        for frames, (used_ns, lines) in spent.items():
            samples = round(used_ns / sample_ns)
            if samples:
                found.append(Sampled(series.pid, tid, name, frames, samples, lines))
    return found


def in_wall_time(series: Series) -> list[Sampled]:
    """One sample per dump of each thread of the program."""
    return [
        Sampled(series.pid, thread.tid, thread.name, tuple(thread.frames), 1, thread.lines)
        for moment in series.moments
        for thread in moment.dump.threads
        if thread.is_of_program
    ]


def _threads(
    series: Series,
) -> Iterator[tuple[int, str, dict[_Stack, tuple[float, tuple[int, int] | None]]]]:
    seen = [{t.tid: t for t in moment.dump.threads} for moment in series.moments]
    collectors = any(is_collector(thread.name) for threads in seen for thread in threads.values())
    tids = dict.fromkeys(tid for moment in series.moments for tid in moment.used_ns)
    for tid in tids:
        spent: dict[_Stack, float] = defaultdict(float)
        lines: dict[_Stack, tuple[int, int]] = {}
        unseen_ns = 0.0
        for (before, old), (after, new) in pairwise(zip(series.moments, seen, strict=True)):
            half_ns = (after.used_ns.get(tid, 0) - before.used_ns.get(tid, 0)) / 2
            if tid not in after.used_ns or half_ns <= 0:
                continue
            for moment, threads in ((before, old), (after, new)):
                thread = threads.get(tid)
                stack = _running(moment, thread, has_collectors=collectors)
                if thread is None or stack is None:
                    unseen_ns += half_ns
                else:
                    spent[stack] += half_ns
                    lines.setdefault(stack, thread.lines)
        known_ns = sum(spent.values())
        # What it did while no dump caught it running was most likely the same.
        result = {s: (ns + unseen_ns * ns / known_ns, lines.get(s)) for s, ns in spent.items()}
        name = next((threads[tid].name for threads in reversed(seen) if tid in threads), "")
        yield tid, name, result or {(): (unseen_ns, None)}


def _running(moment: Moment, thread: JavaThread | None, *, has_collectors: bool) -> _Stack | None:
    """None when the thread was not there, or waited."""
    if thread is None:
        return None
    if not thread.frames and thread.state in ("", "RUNNABLE"):
        return (work_of_machine(thread.name, has_collectors=has_collectors) or _OTHER,)
    return tuple(thread.frames) if moment.is_running(thread) else None
