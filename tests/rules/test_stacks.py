"""Deadlocks, lock holders and who runs at all, from the stacks of one moment."""

from typing import Any

from dea.contracts.data import Data, Frame, LockWait, Metric, Part, Process, Stack, StackSummary
from dea.rules.draft import Draft, judge
from dea.rules.stacks import RULES
from tests.providers.observing import as_evidence


def conclude(*data: Data) -> list[Draft]:
    return judge(as_evidence(*data), RULES)


def stack(tid: int, function: str = "work", line: int = 4, **changes: Any) -> Stack:
    frames = [
        Frame(function="futex_wait", module="/lib/libc.so.6"),
        Frame(function=function, file="/srv/a.c", line=line, own=True),
    ]
    known: dict[str, Any] = {"pid": 7, "thread": f"t{tid}", "frames": frames, "on_cpu": False}
    return Stack(tid=tid, **{**known, **changes})


def lock(address: str, owner: int | None, *waiters: int, share: float = 1.0) -> LockWait:
    return LockWait(
        pid=7, lock=f"pthread mutex {address}", waiters=list(waiters), owner_tid=owner, share=share
    )


def loud(drafts: list[Draft]) -> list[Draft]:
    return [draft for draft in drafts if draft.severity != "info"]


def test_a_circle_of_proven_owners_is_a_deadlock_with_both_places() -> None:
    stacks = stack(11, "pay", 4), stack(12, "refund", 5)
    (draft,) = loud(conclude(*stacks, lock("0xa", 12, 11), lock("0xb", 11, 12)))
    assert (draft.severity, draft.confidence) == ("high", "observed")
    assert "deadlock proven in process 7" in draft.summary
    assert "pay a.c:4" in draft.summary
    assert "refund a.c:5" in draft.summary
    assert set(draft.evidence_ids) == {"t.e0", "t.e1", "t.e2", "t.e3"}


def test_a_circle_of_three_is_told_once() -> None:
    locks = lock("0xa", 12, 11), lock("0xb", 13, 12), lock("0xc", 11, 13)
    (draft,) = loud(conclude(*locks, stack(11)))
    assert draft.severity == "high"


def test_a_thread_that_locks_again_what_it_holds() -> None:
    (draft,) = loud(conclude(stack(11), lock("0xa", 11, 11)))
    assert "owned by 11 itself" in draft.summary


def test_contention_is_no_deadlock() -> None:
    """Both own the same lock in turn, or wait for it only part of the time."""
    turns = conclude(stack(11), stack(12), lock("0xa", 12, 11), lock("0xa", 11, 12))
    partly = conclude(lock("0xa", 12, 11, share=0.5), lock("0xb", 11, 12, share=0.5))
    assert not any("deadlock" in draft.summary for draft in turns + partly)


def test_the_holder_of_a_lock_that_others_want_is_named_with_its_place() -> None:
    waiters = stack(12, "post", 20), stack(13, "post", 20)
    owner = stack(11, "audit", 11)
    (draft,) = loud(conclude(*waiters, owner, lock("0xa", 11, 12, 13)))
    assert draft.severity == "warn"
    assert "2 threads of process 7 wait for pthread mutex 0xa in post a.c:20" in draft.summary
    assert "held by thread 11 (t11), which is in audit a.c:11" in draft.summary


def test_one_waiter_or_a_busy_owner_is_everyday_life() -> None:
    assert not loud(conclude(stack(12), stack(11), lock("0xa", 11, 12)))
    running = stack(11, on_cpu=True)
    assert not loud(conclude(stack(12), stack(13), running, lock("0xa", 11, 12, 13)))


def test_an_idle_process_is_described_and_not_accused() -> None:
    waits = Metric(
        name="thread_wait",
        value=1,
        unit="s",
        pid=7,
        tid=7,
        parts=[Part(cause="poll", share=1.0, object="epoll of 3 descriptors")],
    )
    (draft,) = conclude(stack(8), stack(7, "serve", 9), waits)
    assert draft.severity == "info"
    assert "all 2 threads wait, none is on the CPU" in draft.summary
    assert "t7 (7) in serve a.c:9, calling futex_wait (waits for epoll of 3" in draft.summary


def test_threads_on_the_cpu_are_told_first() -> None:
    (draft,) = conclude(stack(7), stack(8, "spin", 3, on_cpu=True))
    assert "1 of 2 threads is on the CPU: t8 (8) in spin a.c:3" in draft.summary


def test_threads_without_a_stack_are_not_denied() -> None:
    """Of node only the thread that runs JavaScript has one."""
    node = Process(pid=7, comm="node", threads=7)
    assert (
        "in process 7 one thread waits (6 more have no stack here)"
        in conclude(stack(7), node)[0].summary
    )
    single = Process(pid=7, comm="node", threads=1)
    assert "the only thread waits" in conclude(stack(7), single)[0].summary


def test_each_process_by_itself() -> None:
    assert len(conclude(stack(7), stack(9, pid=9))) == 2


def test_a_stack_that_could_not_be_read() -> None:
    (draft,) = conclude(stack(7, frames=[]))
    assert "an unknown place" in draft.summary


def test_stacks_that_are_not_shown_count() -> None:
    """Evidence holds a few dozen of them, the summary knows all."""
    summary = StackSummary(pid=7, threads=3001, groups=[])
    waiting, busy = [stack(7), stack(8)], [stack(9, on_cpu=True), stack(10, on_cpu=True)]
    assert "all 3001 threads wait" in conclude(summary, *waiting)[0].summary
    assert " 2 of 3001 threads are" in conclude(summary, *waiting, *busy)[0].summary
    assert "at least 2 of 3001 threads are" in conclude(summary, *busy)[0].summary
