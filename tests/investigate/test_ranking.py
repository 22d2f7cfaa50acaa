"""The root of a chain is told before those who wait for it."""

from dea.contracts.data import Process
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
