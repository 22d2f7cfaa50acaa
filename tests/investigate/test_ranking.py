"""The root of a chain is told before those who wait for it."""

from dea.contracts.data import Data, LockWait, Metric, Process, Stack
from dea.contracts.evidence import Evidence
from dea.investigate.ranking import tell
from dea.rules.draft import Draft


def about(pid: int) -> Evidence:
    return Evidence(
        id=f"t.e{pid}", kind="process", summary="x", data=Process(pid=pid, comm=f"p{pid}")
    )


EVIDENCE = [about(pid) for pid in (1, 2, 3)]


def test_the_root_comes_before_the_louder_wait_for_it() -> None:
    waiter = Draft("high", "1 waits for 2", ["t.e1", "t.e2"], "inferred", weight=1.0)
    middle = Draft("warn", "2 waits for 3", ["t.e2", "t.e3"], "inferred", weight=0.9)
    root = Draft("warn", "3 computes", ["t.e3"], "observed", weight=0.4)
    assert tell([waiter, middle, root], EVIDENCE) == [root, middle, waiter]


def test_a_remark_about_the_other_process_is_no_root() -> None:
    waiter = Draft("high", "1 waits for 2", ["t.e1", "t.e2"], "inferred", weight=1.0)
    remark = Draft("info", "2 is idle", ["t.e2"], "observed", weight=0.1)
    assert tell([remark, waiter], EVIDENCE) == [waiter, remark]


def test_a_cycle_keeps_both_once() -> None:
    one = Draft("high", "1 waits for 2", ["t.e1", "t.e2"], "inferred", weight=1.0)
    two = Draft("high", "2 waits for 1", ["t.e2", "t.e1"], "inferred", weight=0.9)
    assert sorted(d.summary for d in tell([one, two], EVIDENCE)) == [
        "1 waits for 2",
        "2 waits for 1",
    ]


def test_remarks_are_few_and_told_once() -> None:
    remarks = [Draft("info", f"remark {n % 5}", ["t.e1"], "observed", weight=n) for n in range(10)]
    assert len(tell(remarks, EVIDENCE)) == 3


def lock(owner: int, *waiters: int) -> LockWait:
    return LockWait(pid=1, lock=f"mutex of {owner}", waiters=list(waiters), owner_tid=owner)


def stack(tid: int) -> Stack:
    return Stack(pid=1, tid=tid, thread="t", frames=[])


STUCK: dict[str, Data] = {
    "first": lock(11, 12),
    "second": lock(12, 11),
    "third": lock(11, 13),
    "s11": stack(11),
    "s14": stack(14),
    "all": Metric(name="cpu_share", value=0.9, unit="", pid=1),
}
IN_DEADLOCK = [
    Evidence(id=name, kind=data.kind, summary="x", data=data) for name, data in STUCK.items()
]
PROVEN = Draft("high", "deadlock proven", ["first", "second", "s11"], "observed", weight=1.0)


def test_a_proven_deadlock_is_told_first_and_once() -> None:
    waits = Draft("high", "12 waits for 11", ["first", "s11"], "observed", weight=1.5)
    remark = Draft("info", "all threads wait", ["s11", "s14"], "observed", weight=0.1)
    assert tell([waits, PROVEN, remark], IN_DEADLOCK) == [PROVEN]


def test_what_a_deadlock_does_not_cover_is_still_told() -> None:
    victim = Draft("high", "13 waits for 11", ["third"], "observed", weight=1.5)
    elsewhere = Draft("warn", "14 computes", ["s14"], "observed", weight=0.5)
    process = Draft("info", "it uses CPU", ["all"], "observed", weight=0.1)
    drafts = [victim, PROVEN, elsewhere, process]
    assert tell(drafts, IN_DEADLOCK) == [PROVEN, victim, elsewhere, process]


def test_a_lock_whose_owner_goes_on_covers_nothing() -> None:
    held = Draft("high", "12 waits for 11", ["first", "s11"], "observed", weight=1.0)
    again = Draft("warn", "11 holds it", ["s11"], "observed", weight=0.5)
    assert tell([held, again], IN_DEADLOCK) == [held, again]
