"""Thread dumps of several versions of Java, read line by line."""

from dea_runtimes.jvm.dump import Lock, read_dump
from dea_runtimes.jvm.frames import MONITOR_ENTER
from tests.providers.observing import recorded

JAVA_21 = """\
"pool-1-thread-1" #31 [4242] prio=5 os_prio=0 cpu=1.2ms elapsed=9s tid=0x00007f nid=4242 waiting on condition  [0x00007f]
   java.lang.Thread.State: WAITING (parking)
\tat jdk.internal.misc.Unsafe.park(java.base@21.0.2/Native Method)
\t- parking to wait for  <0x00000001> (a java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject)
\tat java.util.concurrent.locks.LockSupport.park(java.base@21.0.2/LockSupport.java:371)
\tat com.shop.Worker$Loop.next(Worker.java:7)
\tat com.shop.Worker$$Lambda/0x000002.run(Unknown Source)
"""
JAVA_8 = """\
"main" #1 prio=5 os_prio=0 tid=0x00007f nid=0x1f in Object.wait() [0x00007f]
   java.lang.Thread.State: WAITING (on object monitor)
\tat java.lang.Object.wait(Native Method)
\t- waiting on <0x00000002> (a com.shop.Queue)
\tat com.shop.Queue.take(Queue.java:12)
\t- locked <0x00000002> (a com.shop.Queue)
\tat com.shop.Main.main(Main.java:3)
\t- locked <0x00000003> (a com.shop.Main)
"""


def test_a_pool_thread_of_java_21_waits_for_work_and_for_no_lock() -> None:
    (thread,) = read_dump(JAVA_21.split("\n")).threads
    assert (thread.name, thread.tid, thread.in_native) == ("pool-1-thread-1", 4242, True)
    assert thread.wants is None
    assert thread.parked_on is not None
    assert [frame.place() for frame in thread.frames[1:]] == [
        "LockSupport.park LockSupport.java:371",
        "Worker$Loop.next Worker.java:7",
    ]
    assert [frame.own for frame in thread.frames] == [False, False, True]
    assert thread.frames[2].module == "com.shop"


def test_wait_gives_back_the_monitor_that_it_waits_on() -> None:
    (thread,) = read_dump(JAVA_8.split("\n")).threads
    assert thread.tid == 31
    assert thread.wants is None
    assert thread.holds == [Lock("0x00000003", "com.shop.Main")]


def test_owners_of_monitors_and_of_lock_objects_and_the_circle() -> None:
    dump = read_dump(recorded("jvm.threads", "deadlock").text(_dump_file()).split("\n"))
    left, right = dump.named("left-1"), dump.named("right-1")
    assert left
    assert right
    assert left.wants
    assert left.frames[0] == MONITOR_ENTER
    assert dump.owner(left.wants) is right
    waiters = [t for t in dump.threads if t.wants and "ReentrantLock" in t.wants.type]
    assert len(waiters) == 2
    assert {owner.name for t in waiters if t.wants and (owner := dump.owner(t.wants))} <= {
        "rl-0",
        "rl-1",
        "rl-2",
    }
    assert {(waiter, owner) for waiter, _, owner in dump.circles} == {
        ("left-1", "right-1"),
        ("right-1", "left-1"),
    }


def test_lines_count_from_where_the_dump_begins() -> None:
    (thread,) = read_dump(JAVA_8.split("\n"), first_line=101).threads
    assert thread.lines == (101, 108)


def test_a_frame_that_is_none_is_counted_and_shown() -> None:
    dump = read_dump([*JAVA_8.split("\n"), "\tat garbage"])
    assert (dump.skipped, dump.first_bad_line) == (1, "at garbage")
    assert len(dump.threads[0].frames) == 3


def _dump_file() -> str:
    return next(name for name in recorded("jvm.threads", "deadlock").files if "dump" in name)
