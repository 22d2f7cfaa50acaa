"""CPU use from two readings of /proc."""

import os

from dea.contracts.data import Metric
from dea.profile.clocks import CpuUse, cpu_facts, cpu_use, read_clocks


def reading(at_s: float, *tasks: str) -> str:
    return "\n".join([f"at {at_s} s, 100 ticks per s", *tasks]) + "\n"


def task(
    tid: int,
    user: int,
    kernel: int,
    *,
    wait_ms: int = 0,
    began: int = 5,
    name: str = "x",
    state: str = "R",
) -> str:
    """One line as read_clocks writes it: fields 3, 14, 15 and 22 of stat matter."""
    stat = (
        f"{tid or 7} ({name}) {state} 1 1 1 0 -1 0 0 0 0 0 {user} {kernel} 0 0 20 0 1 0 {began} 0 0"
    )
    return f"7 {tid} {wait_ms * 1_000_000} {stat}"


def use(before: list[str], after: list[str]) -> CpuUse:
    (found,) = cpu_use(reading(10.0, *before), reading(12.0, *after))
    return found


def test_shares_of_one_core() -> None:
    found = use([task(0, 100, 0), task(7, 100, 0)], [task(0, 200, 50), task(7, 150, 0)])
    assert (found.window_s, found.share) == (2.0, 0.75)
    assert found.kernel_share == 50 / 150
    assert [(thread.tid, thread.share) for thread in found.threads] == [(7, 0.25)]


def test_a_starved_thread_wanted_more_than_it_got() -> None:
    before = [task(0, 0, 0), task(7, 0, 0), task(8, 0, 0)]
    after = [task(0, 80, 0), task(7, 60, 0, wait_ms=1300), task(8, 20, 0, wait_ms=1000)]
    found = use(before, after)
    assert found.share == 0.4
    assert round(found.wait_share, 2) == 0.55  # thread 7: 0.3 used, 0.65 waited; 0.4 used in all
    assert [thread.is_saturated for thread in found.threads] == [True, False]


def test_a_sleep_that_the_kernel_counts_as_waiting_is_not_believed() -> None:
    """Measured on Linux 6.18: an idle shell and an idle server got the length of a sleep."""
    before = [task(0, 0, 0), task(7, 0, 0)]
    assert use(before, [task(0, 1, 0), task(7, 1, 0, wait_ms=1900)]).wait_share < 0.06
    assert use(before, [task(0, 0, 0), task(7, 0, 0, wait_ms=300)]).wait_share == 0
    asleep = [task(0, 0, 0), task(7, 0, 0, state="S")]
    found = use(asleep, [task(0, 20, 0), task(7, 20, 0, wait_ms=1700, state="S")])
    assert found.wait_share <= 0.1
    assert not found.threads[0].is_saturated


def test_a_thread_that_began_in_the_window_started_from_nothing() -> None:
    found = use([task(0, 0, 0), task(8, 90, 0)], [task(0, 40, 0), task(8, 40, 0, began=6)])
    assert found.threads[0].share == 0.2


def test_another_process_with_the_same_pid_is_not_compared() -> None:
    assert cpu_use(reading(1, task(0, 5, 0)), reading(2, task(0, 9, 0, began=99))) == []


def test_a_process_that_ended_is_left_out() -> None:
    assert cpu_use(reading(1, task(0, 5, 0)), reading(2)) == []


def test_names_may_hold_anything() -> None:
    found = use([task(0, 0, 0, name="a) R 1")], [task(0, 100, 0, name="a) R 1")])
    assert found.comm == "a) R 1"


def test_collector_threads_are_summed_up() -> None:
    names = {7: "java", 8: "GC Thread#0", 9: "G1 Conc#0"}
    before = [task(0, 0, 0), *(task(tid, 0, 0, name=name) for tid, name in names.items())]
    after = [task(0, 100, 0), *(task(tid, 25, 0, name=name) for tid, name in names.items())]
    found = use(before, after)
    assert found.gc_share == 0.5
    metrics = {f.data.name for f in cpu_facts([found], "java", "f") if isinstance(f.data, Metric)}
    assert metrics == {"cpu_share", "kernel_share", "gc_share"}


def test_reads_this_very_process() -> None:
    pid = os.getpid()
    before = read_clocks([pid, 2**22 + 1])  # the other does not exist
    sum(range(10**6))
    (found,) = cpu_use(before, read_clocks([pid]))
    assert found.pid == pid
    assert pid in {thread.tid for thread in found.threads}
