"""Rules over waits: each fault is named, and everything that looks like it and is healthy is not."""

import pytest

from dea.contracts.data import (
    Cgroup,
    Data,
    Frame,
    Metric,
)
from tests.rules.waiting_evidence import (
    BUSY_HOST,
    CLIENTS,
    IDLE_HOST,
    LOCK_PART,
    MUTEX,
    PID,
    WAITS_FOR_MUTEX,
    WORKER,
    conclude,
    line,
    loud,
    outbound,
    part,
    process,
    thread,
)

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
    "commands one after another on a busy host": (
        [
            thread(part("child", 0.8, episodes=300), part("cpu_kernel", 0.06)),
            Metric(name="ended_children_cpu", value=0.4, unit="cpus", pid=PID),
        ],
        "warn",
        ["commands", "40%", "itself 6%"],
    ),
}


@pytest.mark.parametrize(("data", "severity", "names"), FAULTS.values(), ids=FAULTS)
def test_fault_is_named_first(data: list[Data], severity: str, names: list[str]) -> None:
    first = conclude(*data)[0]
    assert first.severity == severity
    text = f"{first.summary} {first.detail}"
    assert [name for name in names if name not in text] == []


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
