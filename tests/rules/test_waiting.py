"""Rules over waits: each fault is named, and everything that looks like it and is healthy is not."""

from typing import Any

import pytest

from dea.contracts.data import (
    Cgroup,
    Data,
    Frame,
    FrameHot,
    LockWait,
    Metric,
    Part,
    Process,
    Stack,
)
from dea.rules.draft import Draft, judge
from dea.rules.waiting import RULES
from tests.providers.observing import as_evidence

WINDOW_S = 8.0
PID, WORKER = 100, 101


def thread(*parts: Part, tid: int = PID, pid: int = PID, name: str = "thread_time") -> Metric:
    """A thread whose given waits are filled up with sleep."""
    rest = round(1 - sum(part.share for part in parts), 3)
    filled = [*parts, Part(cause="sleep", share=rest)] if rest > 0 else [*parts]
    return Metric(
        name=name,
        value=WINDOW_S,
        unit="s",
        pid=pid,
        tid=tid,
        thread="worker",
        runtime="python",
        parts=filled,
    )


def part(cause: Any, share: float, **fields: Any) -> Part:
    known: dict[str, Any] = {"episodes": 20, "longest_s": 0.5}
    return Part(cause=cause, share=share, **(known | fields))


def line(source: str, tid: int = PID, share: float = 0.95, **fields: Any) -> FrameHot:
    """Where a thread was sampled most."""
    known: dict[str, Any] = {
        "pid": PID,
        "scope": "wall",
        "frame": Frame(function="fetch", file="/srv/app/shop.py", line=21, own=True),
        "share": share,
        "self_share": share,
        "samples": 95,
        "total_samples": 100,
        "tid": tid,
        "source": source,
    }
    return FrameHot(**(known | fields))


def outbound(share: float, cause: str = "receive", **fields: Any) -> Part:
    """Requests that are each answered after about 0.4 s."""
    known: dict[str, Any] = {
        "syscall": "recvfrom",
        "object": "tcp 10.0.0.5:5432 (outbound)",
        "role": "outbound",
        "sent_bytes": 2000,
        "received_bytes": 9000,
        "unanswered": share,
        "unanswered_s": 0.2,
    }
    return part(cause, share, **(known | fields))


def conclude(*data: Data) -> list[Draft]:
    return judge(as_evidence(*data), RULES)


def loud(*data: Data) -> list[Draft]:
    return [draft for draft in conclude(*data) if draft.severity != "info"]


MUTEX = LockWait(
    pid=PID,
    lock="pthread mutex 0x1000",
    waiters=[101, 102],
    share=0.9,
    owner_tid=103,
    owner_thread="audit",
    owner_state="sleep",
)
LOCK_PART = {"object": "pthread mutex 0x1000 owned by tid 103 (audit)", "syscall": "futex"}
WAITS_FOR_MUTEX = [thread(part("lock", 0.9, **LOCK_PART), tid=tid) for tid in (101, 102)]
BUSY_HOST = Metric(name="host_load", value=0.9, unit="share", shares={"busy": 1.0, "target": 0.2})
IDLE_HOST = Metric(name="host_load", value=0.1, unit="share", shares={"busy": 0.3, "target": 0.2})


def process(pid: int, share: float, comm: str = "app") -> Process:
    return Process(pid=pid, comm=comm, cpu_share=share)


FAULTS: dict[str, tuple[list[Data], str, list[str]]] = {
    "mutex": (
        [*WAITS_FOR_MUTEX, thread(part("sleep", 1.0), tid=103), MUTEX],
        "high",
        ["2 threads", "90%", "0x1000", "audit", "103", "sleeps"],
    ),
    "python lock": (
        [
            *(thread(part("futex", 0.8, object="futex 0x7"), tid=tid) for tid in (101, 102)),
            *(line("with LEDGER:", tid=tid) for tid in (101, 102)),
        ],
        "high",
        ["2 threads", "80%", "with LEDGER:", "fetch shop.py:21"],
    ),
    "python deadlock": (
        [
            *(thread(part("futex", 1.0, episodes=1, longest_s=8.0), tid=t) for t in (101, 102)),
            line("with a:", tid=101),
            line("with b:", tid=102, frame=Frame(function="g", file="/srv/o.py", line=4, own=True)),
        ],
        "high",
        ["deadlock", "fetch shop.py:21", "g o.py:4"],
    ),
    "slow answers": (
        [
            thread(outbound(0.82, episodes=16, peer_pids=[77])),
            line("return connection.recv(4096)"),
            process(77, 0.9, "peer"),
            thread(part("cpu_user", 0.95), pid=77, tid=77, name="peer_time"),
        ],
        "high",
        ["82%", "10.0.0.5:5432", "pid 77 (peer)", "0.4 s", "fetch shop.py:21", "on the CPU 95%"],
    ),
    "slow answers over a unix socket": (
        [thread(outbound(0.5, sent_bytes=None, received_bytes=None, unanswered=None))],
        "warn",
        ["50%"],
    ),
    "event loop that asks": (
        [thread(outbound(0.9, cause="poll", unanswered=0.9))],
        "high",
        ["90%", "10.0.0.5:5432", "0.4 s"],
    ),
    "server whose upstream is slow": (
        [
            thread(
                outbound(
                    0.95,
                    cause="poll",
                    role="listen",
                    object="clients on 0.0.0.0:80; tcp 10.0.0.5:5432 (outbound)",
                    unanswered=0.9,
                )
            )
        ],
        "warn",
        ["10.0.0.5:5432", "90%"],
    ),
    "request without an answer": (
        [
            thread(
                outbound(
                    1.0,
                    episodes=1,
                    longest_s=8.0,
                    sent_bytes=0,
                    received_bytes=0,
                    unanswered=1.0,
                )
            ),
            line("return connection.recv(4096)"),
        ],
        "warn",
        ["whole time", "10.0.0.5:5432", "fetch shop.py:21"],
    ),
    "connect": (
        [thread(part("connect", 0.9, object="tcp 10.9.9.9:80 (outbound)", role="outbound"))],
        "high",
        ["10.9.9.9:80", "not accepted"],
    ),
    "fsync": (
        [
            thread(part("disk", 0.72, syscall="fsync", object="/var/lib/app/journal")),
            line("os.fsync(journal.fileno())"),
        ],
        "high",
        ["72%", "fsync", "/var/lib/app/journal", "fetch shop.py:21"],
    ),
    "page faults": ([thread(part("page_fault", 0.4))], "warn", ["40%", "swapped"]),
    "throttled": (
        [
            thread(part("throttled", 0.6), part("cpu_user", 0.3)),
            Cgroup(path="/app", version=2, cpu_limit_cores=0.3, throttled_s=4.8),
        ],
        "warn",
        ["60%", "/app", "0.3 CPUs"],
    ),
    "throttled on a busy host": (
        [
            thread(part("throttled", 0.3), part("runnable", 0.4), part("cpu_user", 0.3)),
            Cgroup(path="/app", version=2, cpu_limit_cores=0.3, throttled_s=2.4),
            BUSY_HOST,
        ],
        "high",
        ["70%", "/app"],
    ),
    "starved": (
        [
            thread(part("runnable", 0.6), part("cpu_user", 0.4)),
            BUSY_HOST,
            process(900, 0.9, "neighbour"),
            line("total += x * x"),
        ],
        "warn",
        ["60%", "pid 900 (neighbour)", "80% of all CPUs", "fetch shop.py:21"],
    ),
    "file lock": (
        [thread(part("file_lock", 1.0, object="/run/x.lock held by pid 55", peer_pids=[55]))],
        "high",
        ["/run/x.lock", "pid 55"],
    ),
    "pipe to a process that is held up": (
        [
            thread(part("pipe_read", 0.9, object="pipe:[7] written by pid 77", peer_pids=[77])),
            thread(part("disk", 0.9), pid=77, tid=77, name="peer_time"),
        ],
        "high",
        ["pipe:[7]", "pid 77", "waits for the disk"],
    ),
    "stopped": ([thread(part("stopped", 1.0, object="a stop signal"))], "high", ["stop signal"]),
    "many short commands": (
        [
            thread(part("child", 0.8)),
            Metric(name="ended_children_cpu", value=0.9, unit="cpus", pid=PID),
        ],
        "warn",
        ["commands", "90%"],
    ),
}


@pytest.mark.parametrize(("data", "severity", "names"), FAULTS.values(), ids=FAULTS)
def test_fault_is_named_first(data: list[Data], severity: str, names: list[str]) -> None:
    first = conclude(*data)[0]
    assert first.severity == severity
    text = f"{first.summary} {first.detail}"
    assert [name for name in names if name not in text] == []


CLIENTS = {"object": "clients on 0.0.0.0:80", "role": "listen", "episodes": 1, "longest_s": 8.0}
HEALTHY: dict[str, list[Data]] = {
    "server without clients": [thread(part("poll", 1.0, **CLIENTS))],
    "accept": [thread(part("accept", 1.0, object="tcp 0.0.0.0:80 (listen)", role="listen"))],
    "idle client connection": [
        thread(part("receive", 1.0, object="tcp 0.0.0.0:80 (inbound)", role="inbound"))
    ],
    "terminal": [thread(part("tty", 1.0))],
    "standard input": [thread(part("pipe_read", 1.0, object="pipe:[7] written by pid 1"))],
    "timer": [thread(part("sleep", 1.0))],
    "signal": [thread(part("signal_wait", 1.0))],
    "supervisor": [thread(part("child", 1.0, object="pid 77 (app)"))],
    "pool on one futex": [
        *(
            thread(part("futex", 1.0, object="futex 0x7", episodes=1), tid=t)
            for t in range(101, 109)
        ),
        *(
            line(
                "item = queue.get()",
                tid=t,
                frame=Frame(function="_worker", file="/usr/lib/python3.11/x.py", line=81),
            )
            for t in range(101, 109)
        ),
    ],
    "workers that wait on a semaphore": [
        *(thread(part("futex", 0.95), tid=tid) for tid in (101, 102)),
        *(line("jobs.acquire()", tid=tid) for tid in (101, 102)),
    ],
    "mutex hardly contended": [
        *(thread(part("lock", 0.08, **LOCK_PART), tid=tid) for tid in (101, 102)),
        MUTEX.model_copy(update={"share": 0.08}),
    ],
    "workers that take turns at accepting": [
        *WAITS_FOR_MUTEX,
        thread(part("accept", 1.0), tid=103),
        MUTEX.model_copy(update={"owner_state": "accept"}),
    ],
    "leader that polls for all": [
        *WAITS_FOR_MUTEX,
        thread(part("poll", 1.0, **CLIENTS), tid=103),
        MUTEX.model_copy(update={"owner_state": "poll"}),
    ],
    "quick answers": [thread(outbound(0.6, episodes=800, unanswered_s=0.002))],
    "event loop with quick answers": [
        thread(outbound(0.6, cause="poll", unanswered=0.6, unanswered_s=0.004))
    ],
    "subscriber": [thread(outbound(1.0, sent_bytes=0, unanswered=0.0)), line("sock.recv(100)")],
    "silent subscriber": [
        thread(outbound(1.0, episodes=1, longest_s=8.0, sent_bytes=0, received_bytes=0)),
        line("for message in pubsub.listen():", calls=["pubsub.listen"]),
    ],
    "blocking pop": [thread(outbound(0.99, episodes=8)), line("r.blpop(k)", calls=["r.blpop"])],
    "server that keeps idle connections": [
        thread(
            outbound(
                0.98,
                cause="poll",
                role="listen",
                object="clients on 0.0.0.0:80; tcp 10.0.0.5:5432 (outbound)",
                sent_bytes=0,
                received_bytes=0,
                unanswered=1.0,
                unanswered_s=60.0,
                episodes=1,
            )
        )
    ],
    "pipe whose writer has nothing to say": [
        thread(part("pipe_read", 1.0, object="/srv/jobs written by pid 77", peer_pids=[77])),
        thread(part("signal_wait", 1.0), pid=77, tid=77, name="peer_time"),
    ],
    "some disk": [thread(part("disk", 0.3, syscall="read"), part("cpu_user", 0.6))],
    "ready to run on a host with room": [
        thread(part("runnable", 0.5), part("cpu_user", 0.5)),
        IDLE_HOST,
    ],
    "light work on a busy host": [
        thread(part("runnable", 0.3), part("cpu_user", 0.05)),
        BUSY_HOST,
        process(900, 0.9),
    ],
    "threads of its own compete": [
        *(thread(part("runnable", 0.5), part("cpu_user", 0.5), tid=t) for t in range(100, 104)),
        BUSY_HOST.model_copy(update={"shares": {"busy": 1.0, "target": 0.95}}),
    ],
    "cgroup that hardly throttles": [
        thread(part("throttled", 0.05), part("cpu_user", 0.5)),
        Cgroup(path="/app", version=2, cpu_limit_cores=0.5, throttled_s=0.4),
    ],
    "shell between commands": [
        thread(part("child", 0.95)),
        Metric(name="ended_children_cpu", value=0.03, unit="cpus", pid=PID),
    ],
    "waits for a stuck peer while the main thread works": [
        thread(part("cpu_user", 0.9)),
        thread(outbound(0.2, episodes=16), tid=WORKER),
    ],
}


@pytest.mark.parametrize("data", HEALTHY.values(), ids=HEALTHY)
def test_healthy_waits_are_no_fault(data: list[Data]) -> None:
    assert loud(*data) == []


def test_idle_target_gets_one_remark_that_says_what_it_waits_for() -> None:
    drafts = conclude(
        thread(part("signal_wait", 1.0)),
        thread(part("poll", 1.0, **CLIENTS), pid=200, tid=200),
        thread(part("futex", 1.0), pid=200, tid=201),
    )
    assert len(drafts) == 1
    assert "pid 100 waits for a signal" in drafts[0].summary
    assert "pid 200 waits for clients on 0.0.0.0:80" in drafts[0].summary


def test_sleep_is_told_with_its_place() -> None:
    remark = conclude(thread(part("sleep", 1.0)), line("time.sleep(5)", calls=["time.sleep"]))[0]
    assert "sleeps 100% of the time at fetch shop.py:21" in remark.summary


def test_parent_points_to_the_child_that_works() -> None:
    drafts = conclude(
        thread(part("child", 1.0, peer_pids=[200])),
        thread(part("cpu_user", 0.95), pid=200, tid=200),
        process(200, 0.95, "cruncher"),
    )
    assert any("only waits for pid 200 (cruncher)" in draft.summary for draft in drafts)
    assert all(draft.severity == "info" for draft in drafts)


def test_threads_that_wait_alike_are_told_once() -> None:
    drafts = loud(*(thread(outbound(0.8, episodes=16), tid=tid) for tid in range(101, 107)))
    assert len(drafts) == 1
    assert "6 threads" in drafts[0].summary


def test_side_thread_of_a_busy_program_is_not_high() -> None:
    drafts = loud(thread(part("cpu_user", 0.9)), thread(outbound(0.9), tid=WORKER))
    assert [draft.severity for draft in drafts] == ["warn"]


def test_cause_lies_with_the_last_one_that_waits() -> None:
    drafts = loud(
        thread(outbound(1.0, episodes=16, peer_pids=[200])),
        thread(
            outbound(
                0.9, cause="poll", role="listen", object="clients on 0.0.0.0:80; b", unanswered=0.9
            ),
            pid=200,
            tid=200,
        ),
    )
    assert "has requests to others unanswered" in drafts[0].summary
    assert [draft.severity for draft in drafts] == ["warn", "warn"]


def test_no_line_without_evidence_about_that_thread() -> None:
    drafts = conclude(thread(outbound(0.8)), line("return connection.recv(4096)", tid=WORKER))
    assert "shop.py" not in drafts[0].summary


def test_line_must_fit_the_wait_when_the_thread_waits_in_two_ways() -> None:
    waits = thread(outbound(0.5), part("disk", 0.5, syscall="fsync"))
    sampled = line("os.fsync(f)", share=0.5, calls=["os.fsync"], lines={"21": 0.5})
    disk = next(draft for draft in conclude(waits, sampled) if "disk" in draft.summary)
    answers = next(draft for draft in conclude(waits, sampled) if "answers" in draft.summary)
    assert "shop.py:21" in disk.summary
    assert "shop.py" not in answers.summary


def test_stack_names_the_innermost_own_frame() -> None:
    frames = [
        Frame(function="__lll_lock_wait", module="libc.so.6"),
        Frame(function="pthread_mutex_lock", module="libc.so.6"),
        Frame(function="post_entry", file="/srv/src/ledger.c", line=19, own=True),
        Frame(function="main", file="/srv/src/ledger.c", line=40, own=True),
    ]
    stacks = [Stack(pid=PID, tid=tid, thread="t", frames=frames) for tid in (101, 102)]
    assert "at post_entry ledger.c:19" in conclude(*WAITS_FOR_MUTEX, MUTEX, *stacks)[0].summary


def test_gil_is_a_fault_only_when_threads_fill_one_cpu() -> None:
    fighting = [thread(part("gil", 0.7), part("cpu_user", 0.3), tid=tid) for tid in range(101, 105)]
    assert [draft.severity for draft in loud(*fighting)] == ["warn"]
    assert loud(thread(part("gil", 0.3), part("cpu_user", 0.1), tid=101)) == []
