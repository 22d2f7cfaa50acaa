"""Evidence of a strace: what was called most and longest, what failed, what was slow."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dea.backend import Observation, Parsed
from dea.contracts.data import Metric, Note, SyscallError, SyscallSlow, SyscallStat
from dea.contracts.evidence import Fact
from dea.contracts.secrets import target_text
from dea.errors import BackendError
from dea_linux.sockets import snapshot
from dea_linux.strace.ends import ends
from dea_linux.strace.lines import Call, Trace
from dea_linux.strace.objects import Names
from dea_linux.strace.tally import Failure, Sum, Tally

TRACE = "trace.txt"
_NAMES = 8  # of each ranking: by time and by count
_OBJECTS = 6
_OBJECT_SHARE = 0.5  # of its name's calls or time: then the object is worth its own line
_ERRORS = 8
_SLOW, _SLOW_PER_NAME = 5, 2
_MANY = 20
_SHARE = 0.005  # of all calls or of the window
_ALWAYS = ("bind", "connect")  # how many succeeded tells what a failure means
_MEASURABLE_PER_S = 100
_STOPPED_S = 2e-5  # each call: two stops of about 10 us
_BLOCKED_S = 0.001  # below that a call was only under way when the window ended
# Failures that are part of the normal flow and would crowd out the others; the stat counts them.
_EXPECTED = frozenset({"EINPROGRESS", "ERESTARTSYS"})


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when no line at all is strace's."""
    seen = observation.facts
    raw = observation.files.get(TRACE, b"")
    began_at, window_s = float(seen["began_at"]), float(seen["window_s"])
    trace, tally = Trace(), Tally(began_at, window_s)
    tally.add_all(trace.read(raw))
    if trace.bad_lines and not tally.sums and not trace.pending:
        raise BackendError(f"not a trace: {target_text(trace.first_bad)}")
    names = Names(
        [*snapshot.stored(observation.files, "sockets-before")]
        + [*snapshot.stored(observation.files, "sockets-after")],
        tally.addresses,
    )
    facts = [
        *_stats(tally, names, window_s),
        *_errors(tally, names, window_s),
        *_slow(tally, trace, began_at, window_s),
        *ends(tally.events, observation.pid, TRACE),
        *_slowdown(seen),
        *_bad_lines(trace),
    ]
    if not tally.sums and not trace.pending:
        facts.append(Fact(Note(text="no system call was made"), "no system call was made"))
    calls = sum(total.count for total in tally.by_name().values())
    return Parsed(facts, _limitations(seen, calls))


def _stats(tally: Tally, names: Names, window_s: float) -> Iterator[Fact]:
    """The names called most and longest, each followed by the objects that dominate it."""
    whole = tally.by_name()
    objects: dict[str, list[tuple[bytes, Sum]]] = {}
    for (name, raw), part in tally.sums.items():
        objects.setdefault(name, []).append((raw, part))
    shown = 0
    for name in _chosen(whole, window_s):
        found = sorted(objects[name], key=lambda item: -item[1].count)
        only = names.of(found[0][0]) if len(found) == 1 else None
        yield _stat(name, whole[name], only, window_s)
        for raw, part in found[:2] if len(found) > 1 else ():
            if raw and shown < _OBJECTS and _dominates(part, whole[name]):
                shown += 1
                yield _stat(name, part, names.of(raw), window_s)


def _chosen(whole: Mapping[str, Sum], window_s: float) -> list[str]:
    by_time = sorted(whole, key=lambda name: -whole[name].total_s)[:_NAMES]
    by_count = sorted(whole, key=lambda name: -whole[name].count)[:_NAMES]
    calls = sum(total.count for total in whole.values())
    matter = [
        name
        for name in dict.fromkeys([*by_time, *by_count])
        if whole[name].count >= _SHARE * calls or whole[name].total_s >= _SHARE * window_s
    ]
    return [*matter, *(name for name in _ALWAYS if name in whole and name not in matter)]


def _dominates(part: Sum, whole: Sum) -> bool:
    """Whether the object is worth a line of its own beside the whole."""
    by_time = whole.total_s > 0 and part.total_s >= _OBJECT_SHARE * whole.total_s
    by_count = part.count >= _OBJECT_SHARE * whole.count
    return part.count >= _MANY and (by_time or by_count)


def _stat(name: str, total: Sum, obj: str | None, window_s: float) -> Fact:
    data = SyscallStat(
        name=name,
        count=total.count,
        errors=total.errors,
        total_s=round(total.total_s, 6),
        max_s=round(total.max_s, 6),
        window_s=window_s,
        object=obj,
        transferred_bytes=total.transferred_bytes if total.transfers else None,
        transfers=total.transfers or None,
    )
    on = f" on {obj}" if obj else ""
    errors = f", {total.errors} failed" if total.errors else ""
    rate = total.count / window_s if window_s else 0.0
    return Fact(
        data,
        f"{name}{on}: {total.count} calls ({rate:.0f}/s) in {total.total_s:.3f} s, longest "
        f"{total.max_s:.3f} s{errors}",
        TRACE,
    )


def _errors(tally: Tally, names: Names, window_s: float) -> Iterator[Fact]:
    found = [(key, failure) for key, failure in tally.failures.items() if key[1] not in _EXPECTED]
    found.sort(key=lambda item: -item[1].count)
    keep = [*found[:_ERRORS], *(item for item in found[_ERRORS:] if item[0][0] == "bind")]
    for (name, errno), failure in keep:
        data = SyscallError(
            name=name,
            errno=errno,
            count=failure.count,
            window_s=window_s,
            example=target_text(failure.example, 200),
            object=_main_object(failure, names),
            recovered=not failure.threads if name == "bind" else None,
            spread=len(failure.tenths) / 10 if len(failure.tenths) <= 10 else 1.0,
        )
        on = f" on {data.object}" if data.object else ""
        yield Fact(
            data,
            f"{name}{on} failed {failure.count} times with {errno}",
            TRACE,
            (failure.line, failure.last_line),
        )


def _main_object(failure: Failure, names: Names) -> str | None:
    raw, count = failure.objects.most_common(1)[0]
    return names.of(raw) if raw and count >= _OBJECT_SHARE * failure.count else None


def _slow(tally: Tally, trace: Trace, began_at: float, window_s: float) -> Iterator[Fact]:
    """The slowest calls, unfinished ones among them; at most two of one name."""
    ended_at = began_at + window_s
    calls = [(took_s, call, True) for took_s, _, call in tally.slow]
    for thread, begun in trace.pending.items():
        name, line = begun.name.decode(), begun.line
        call = Call(thread, begun.stamp, name, begun.args, b"", None, line)
        calls.append((max(0.0, ended_at - call.at), call, False))
    calls = [item for item in calls if item[0] >= _BLOCKED_S]
    calls.sort(key=lambda item: -item[0])
    of_name: Counter[str] = Counter()
    shown = 0
    for took_s, call, finished in calls:
        of_name[call.name] += 1
        if of_name[call.name] <= _SLOW_PER_NAME and shown < _SLOW:
            shown += 1
            yield _slow_fact(took_s, call, finished, began_at)


def _slow_fact(took_s: float, call: Call, finished: bool, began_at: float) -> Fact:
    args = target_text(call.args.decode("utf-8", "replace"), 160)
    data = SyscallSlow(
        name=call.name,
        duration_s=round(took_s, 6),
        tid=call.tid,
        args=args,
        at_s=round(call.at - began_at, 3),
        finished=finished,
    )
    verb = "took" if finished else "had not returned after"
    return Fact(
        data,
        f"{call.name}({args}) by thread {call.tid} {verb} {took_s:.3f} s",
        TRACE,
        (call.line, call.line),
    )


def _slowdown(seen: Mapping[str, Any]) -> Iterator[Fact]:
    """How much the tracer cost the target, where its reads and writes show it."""
    before, during = seen.get("before"), seen.get("during")
    if not before or not during or before["io_per_s"] < _MEASURABLE_PER_S:
        return
    factor = before["io_per_s"] / max(during["io_per_s"], 1.0)
    data = Metric(name="tracer_slowdown", value=round(factor, 1), unit="times")
    yield Fact(
        data,
        f"while traced the target did {during['io_per_s']:.0f} reads and writes per second, "
        f"before {before['io_per_s']:.0f}",
    )


def _bad_lines(trace: Trace) -> Iterator[Fact]:
    if trace.bad_lines:
        first = target_text(trace.first_bad, 120)
        text = f"{trace.bad_lines} lines are no calls and were left out"
        note = Note(text=text, skipped_lines=trace.bad_lines, first_bad_line=first)
        yield Fact(note, text, TRACE)


def _limitations(seen: Mapping[str, Any], calls: int) -> list[str]:
    cost = "strace stops the target twice per system call (about 10 us each)"
    said = [
        f"{cost}: rates are lower and times longer than without it; {_measured(seen, calls)}",
        "calls that were already blocked when strace attached count from then",
    ]
    if seen.get("truncated"):
        said.append(
            f"the trace reached its size limit and was ended after {seen['window_s']:.1f} s"
        )
    if left_out := seen.get("left_out"):
        said.append(f"{left_out} more processes of the target were not traced")
    return said


def _measured(seen: Mapping[str, Any], calls: int) -> str:
    """How much slower it got on, by its reads and writes; else what its calls must have cost."""
    before, during = seen.get("before"), seen.get("during")
    if before and during and before["io_per_s"] >= _MEASURABLE_PER_S:
        factor = before["io_per_s"] / max(during["io_per_s"], 1.0)
        return f"measured: {max(factor, 1.0):.1f} times slower"
    why = "it read and wrote too little before" if before and during else "the window is too short"
    per_s = calls / seen["window_s"] if seen["window_s"] else 0.0
    return (
        f"how much slower it was could not be measured ({why}); {per_s:.0f} calls per second at "
        f"that cost stop it for {per_s * _STOPPED_S:.1%} of the time"
    )
