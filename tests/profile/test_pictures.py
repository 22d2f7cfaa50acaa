"""Stacks of all threads at one moment as evidence."""

from dea.contracts.data import Frame, Stack, StackSummary
from dea.profile.pictures import Picture, stack_facts


def picture(tid: int, *frames: Frame, on_cpu: bool = False) -> Picture:
    return Picture(Stack(pid=7, tid=tid, thread=f"t{tid}", frames=list(frames), on_cpu=on_cpu))


LOOP = Frame(function="loop", file="/srv/app.py", line=3, own=True)
WAIT = Frame(function="wait", file="/usr/lib/threading.py", line=320, module="threading")


def test_equal_stacks_are_one_group_and_the_largest_comes_first() -> None:
    found = [picture(1, LOOP, on_cpu=True), *(picture(n, WAIT, LOOP) for n in (2, 3))]
    summary, *stacks = (fact.data for fact in stack_facts(7, found, "f"))
    assert isinstance(summary, StackSummary)
    assert [group.tids for group in summary.groups] == [[2, 3], [1]]
    assert len(stacks) == 3


def test_threads_that_run_and_those_in_own_code_come_first() -> None:
    found = [picture(1, WAIT), picture(2, WAIT, LOOP), picture(3, LOOP, on_cpu=True)]
    facts = list(stack_facts(7, found, "f"))[1:]
    assert [fact.data.tid for fact in facts if isinstance(fact.data, Stack)] == [3, 2, 1]
    assert facts[1].summary == "thread 2 (t2) waits in wait, called from loop app.py:3"


def test_many_threads_are_counted_though_not_all_are_listed() -> None:
    found = [picture(n, WAIT, *([LOOP] if n % 2 else [])) for n in range(1, 101)]
    summary, *stacks = (fact.data for fact in stack_facts(7, found, "f"))
    assert isinstance(summary, StackSummary)
    assert [group.threads for group in summary.groups] == [50, 50]
    assert len(stacks) == 40
    (_, *idle) = stack_facts(7, [picture(n, WAIT) for n in range(1, 101)], "f")
    assert len(idle) == 8


def test_of_a_deep_stack_own_frames_stay() -> None:
    deep = picture(1, *[WAIT] * 50, LOOP)
    (stack,) = [f.data for f in stack_facts(7, [deep], "f") if isinstance(f.data, Stack)]
    assert stack.frames[-1] == LOOP
    assert len(stack.frames) < 20
