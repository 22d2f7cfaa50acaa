"""Many thread dumps: CPU time by stack, and locks that threads wait for again and again."""

import json
from typing import Any

import pytest

from dea.backend import Observation, Parsed
from dea.contracts.data import FrameHot, LockWait, Stack
from dea.errors import BackendError
from dea.rules import cpu, monitors, stacks
from dea.rules.draft import judge
from dea_runtimes.jvm.backend import Samples, Threads, Wall
from dea_runtimes.jvm.contention import window_facts
from dea_runtimes.jvm.series import Series, read_series
from dea_runtimes.jvm.weights import on_cpu
from tests.providers.observing import evidence_of, recorded

ACCEPT = "at sun.nio.ch.Net.accept(java.base@17/Native Method)"
SAMPLES, WALL, THREADS = Samples(), Wall(), Threads()


def thread(nid: int, state: str, *frames: str) -> str:
    body = "".join(f"\t{frame}\n" for frame in frames)
    return f'"t{nid}" #1 tid=0x1 nid={nid} x\n   java.lang.Thread.State: {state}\n{body}\n'


def series(*moments: tuple[str, dict[str, tuple[int, str]]]) -> Series:
    """Dumps that are 0.1 s apart, with CPU time in ms and state by tid."""
    looks: list[dict[str, Any]] = []
    line = 1
    for number, (text, tasks) in enumerate(moments):
        used = {tid: (ms * 1_000_000, state) for tid, (ms, state) in tasks.items()}
        look = {"at_s": number / 10, "took_s": 0.0, "first_line": line, "lines": text.count("\n")}
        looks.append({**look, "tasks": used})
        line += text.count("\n")
    return read_series(7, "".join(text for text, _ in moments), json.dumps(looks), {})


def locks(parsed: Parsed) -> list[LockWait]:
    return [fact.data for fact in parsed.facts if isinstance(fact.data, LockWait)]


def test_the_hot_method_explains_the_cpu_time() -> None:
    parsed = SAMPLES.parse(recorded(SAMPLES.name, "hot_method"))
    hot = next(fact for fact in parsed.facts if isinstance(fact.data, FrameHot))
    assert isinstance(hot.data, FrameHot)
    assert hot.data.frame.place() == "Hot.collide Hot.java:3"
    assert hot.data.share > 0.9
    (top, *_) = judge(evidence_of(parsed.facts), cpu.RULES)
    assert "Hot.collide Hot.java:3" in top.summary


def test_a_fact_cites_the_dump_that_shows_it() -> None:
    observation = recorded(SAMPLES.name, "hot_method")
    hot = next(f for f in SAMPLES.parse(observation).facts if isinstance(f.data, FrameHot))
    assert hot.file
    assert hot.lines
    lines = observation.text(hot.file).split("\n")[hot.lines[0] - 1 : hot.lines[1]]
    assert lines[0].startswith('"main"')
    assert any("Hot.collide(Hot.java:3)" in line for line in lines)


def test_cpu_time_falls_on_what_was_seen_running_not_on_where_it_waited() -> None:
    works = thread(9, "RUNNABLE", "at app.A.work(A.java:1)")
    polls = thread(9, "RUNNABLE", "at sun.nio.ch.EPoll.wait(java.base@17/Native Method)")
    moments = [(polls, {"9": (0, "S")})]
    for number in range(1, 12):
        moments.append((works if number == 5 else polls, {"9": (40 * number, "S")}))
    (found,) = on_cpu(series(*moments))
    assert found.frames[0].function == "A.work"
    assert found.samples == 44  # 440 ms


def test_a_native_method_counts_only_while_the_kernel_says_that_it_runs() -> None:
    inflates = thread(9, "RUNNABLE", "at app.A.unzip(Native Method)")
    for state, frames in (("R", 1), ("S", 0)):
        moments = [(inflates, {"9": (50 * number, state)}) for number in range(12)]
        (found,) = on_cpu(series(*moments))
        assert (len(found.frames), found.samples) == (frames, 55)


def test_the_vm_thread_collects_where_nothing_else_does() -> None:
    vm = '"VM Thread" os_prio=0 tid=0x1 nid=5 runnable\n\n'
    others = '"GC Thread#0" os_prio=0 tid=0x1 nid=6 runnable\n\n'
    for text, work in ((vm, "garbage collection"), (vm + others, "operations of the VM")):
        moments = [(text, {"5": (50 * number, "R")}) for number in range(12)]
        (found,) = on_cpu(series(*moments))
        assert found.frames[0].function == work


def test_contention_is_told_with_who_holds_the_monitor() -> None:
    parsed = WALL.parse(recorded(WALL.name, "monitor_contention"))
    (lock,) = locks(parsed)
    assert len(lock.waiters) == 6
    assert (lock.share or 0) > 0.7
    assert lock.owner_tid is None  # it changes hands
    assert lock.owner_state == "sleep"
    assert lock.owner_place
    assert lock.owner_place.place() == "Contend.post Contend.java:3"
    (draft,) = judge(evidence_of(parsed.facts), monitors.RULES)
    assert draft.severity == "high"
    assert draft.summary.startswith("6 threads of process")


def test_an_idle_server_waits_for_no_lock() -> None:
    parsed = WALL.parse(recorded(WALL.name, "idle_server"))
    assert locks(parsed) == []
    assert judge(evidence_of(parsed.facts), [*monitors.RULES, stacks.deadlocks]) == []


def test_a_lock_that_the_collector_moves_stays_the_same_lock() -> None:
    moments: list[tuple[str, dict[str, tuple[int, str]]]] = []
    for number in range(10):
        lock = f"<0x{number:08x}> (a app.Stock)"
        wait = thread(9, "BLOCKED", "at app.A.add(A.java:4)", f"- waiting to lock {lock}")
        hold = thread(8, "RUNNABLE", "at app.A.sum(A.java:9)", f"- locked {lock}")
        moments.append((wait + hold, {"8": (0, "R"), "9": (0, "S")}))
    (fact,) = window_facts(series(*moments), "x")
    assert isinstance(fact.data, LockWait)
    assert (fact.data.share, fact.data.waiters, fact.data.owner_tid) == (1.0, [9], 8)


def test_a_deadlock_is_proven_by_one_dump() -> None:
    parsed = THREADS.parse(recorded(THREADS.name, "deadlock"))
    top = judge(evidence_of(parsed.facts), stacks.RULES)[0]
    assert top.severity == "high"
    assert top.summary.startswith("deadlock proven")
    assert "Dead.left Dead.java:3" in top.summary
    names = {fact.data.thread for fact in parsed.facts if isinstance(fact.data, Stack)}
    assert "left-1" in names
    assert "Finalizer" not in names


def test_what_is_no_dump_is_an_error_that_shows_it() -> None:
    facts: dict[str, Any] = {"pids": [7], "notes": {"7": {"tids": [], "owners_unknown": False}}}
    observation = Observation(THREADS.name, THREADS.tool, 7, {"dump.7.txt": b"busy\n"}, facts)
    with pytest.raises(BackendError, match="busy"):
        THREADS.parse(observation)


def test_workers_that_take_turns_at_accepting_clients_are_no_contention() -> None:
    text = thread(8, "RUNNABLE", ACCEPT, "at app.A.run(A.java:3)", "- locked <0x1> (a app.L)")
    text += thread(9, "BLOCKED", "at app.A.run(A.java:3)", "- waiting to lock <0x1> (a app.L)")
    facts: dict[str, Any] = {"pids": [7], "notes": {"7": {"tids": [], "owners_unknown": False}}}
    facts |= {"failures": [], "left_out": 0}
    observation = Observation(THREADS.name, THREADS.tool, 7, {"dump.7.txt": text.encode()}, facts)
    parsed = THREADS.parse(observation)
    assert locks(parsed) == []
    assert {fact.data.tid for fact in parsed.facts if isinstance(fact.data, Stack)} == {8, 9}
