"""Threads, places and locks for tests of the rules over waits."""

from typing import Any

from dea.contracts.data import (
    Data,
    Frame,
    FrameHot,
    LockWait,
    Metric,
    Part,
    Process,
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


CLIENTS = {"object": "clients on 0.0.0.0:80", "role": "listen", "episodes": 1, "longest_s": 8.0}
