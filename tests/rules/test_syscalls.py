"""Each rule over system calls speaks for a rate that lasts, and is silent for normal flow."""

from typing import Any

import pytest

from dea.contracts.data import Data, SyscallError, SyscallSlow, SyscallStat
from dea.rules.draft import Draft, judge
from dea.rules.syscalls import RULES
from tests.providers.observing import as_evidence

WINDOW_S = 5.0


def stat(name: str, count: int, **fields: Any) -> SyscallStat:
    known: dict[str, Any] = {"errors": 0, "total_s": 0.01, "max_s": 0.001, "window_s": WINDOW_S}
    return SyscallStat(name=name, count=count, **(known | fields))


def error(name: str, errno: str, count: int, **fields: Any) -> SyscallError:
    return SyscallError(name=name, errno=errno, count=count, window_s=WINDOW_S, **fields)


def conclude(*data: Data) -> list[Draft]:
    return judge(as_evidence(*data), RULES)


TROUBLE: dict[str, tuple[tuple[Data, ...], str, str]] = {
    "port taken": (
        (error("bind", "EADDRINUSE", 25, object="127.0.0.1:8080"),),
        "high",
        "bind to 127.0.0.1:8080 fails: address already in use",
    ),
    "peer refuses every time": (
        (error("connect", "ECONNREFUSED", 50, object="127.0.0.1:5432"), stat("connect", 50)),
        "warn",
        "connect to 127.0.0.1:5432 fails with ECONNREFUSED 10 times per second",
    ),
    "connect that hangs": (
        (SyscallSlow(name="connect", duration_s=4.2, tid=9, args="3", finished=False),),
        "warn",
        "connect by thread 9 has not returned for 4.2 s",
    ),
    "no descriptors left": ((error("accept4", "EMFILE", 1),), "high", "RLIMIT_NOFILE"),
    "disk full": ((error("write", "ENOSPC", 2),), "high", "is full"),
    "no more threads": ((error("clone3", "EAGAIN", 1),), "high", "no more threads"),
    "polls without waiting": (
        (error("recvfrom", "EAGAIN", 9000, object="tcp 10.0.0.2:80"), stat("recvfrom", 9100)),
        "warn",
        "recvfrom on tcp 10.0.0.2:80 finds nothing ready 1800 times per second",
    ),
    "looks for missing files": (
        (error("newfstatat", "ENOENT", 5000, spread=1.0, object="/etc/app.conf"),),
        "warn",
        "1000 times per second, most with newfstatat on /etc/app.conf",
    ),
    "not permitted again and again": (
        (error("openat", "EACCES", 5000, spread=1.0),),
        "warn",
        "openat fails with EACCES 1000 times per second",
    ),
    "unbuffered writes": (
        (stat("write", 50_000, transferred_bytes=100_000, transfers=50_000, object="/x.log"),),
        "warn",
        "write on /x.log moves 2.0 bytes per call, 10000 times per second",
    ),
    "shell that reads a pipe byte by byte": (
        (stat("read", 50_000, transferred_bytes=50_000, transfers=50_000, object="pipe:[1]"),),
        "warn",
        "read on pipe:[1] moves 1.0 bytes per call",
    ),
    "waits for the disk": (
        (stat("fsync", 400, total_s=4.0),),
        "warn",
        "fsync takes 4.0 s of 5.0 s: 400 calls of 10.0 ms",
    ),
}

HEALTHY: dict[str, tuple[Data, ...]] = {
    "lookups at the start": (error("openat", "ENOENT", 3000, spread=0.1),),
    "lookups now and then": (error("openat", "ENOENT", 300, spread=1.0),),
    "IPv6 first, then IPv4": (error("connect", "ECONNREFUSED", 50), stat("connect", 100)),
    "one refused connection": (error("connect", "ECONNREFUSED", 1), stat("connect", 1)),
    "event loop that reads until EAGAIN": (
        error("recvfrom", "EAGAIN", 10_000),
        stat("recvfrom", 20_000),
    ),
    "contended futex": (error("futex", "EAGAIN", 90_000, spread=1.0), stat("futex", 100_000)),
    "wake-ups through an event counter": (stat("write", 50_000),),
    "big writes": (stat("write", 50_000, transferred_bytes=10**9, transfers=50_000),),
    "server that gives short answers": (
        stat("write", 50_000, transferred_bytes=250_000, transfers=50_000),
        stat("read", 50_000, transferred_bytes=2_000_000, transfers=50_000),
    ),
    "ping-pong through pipes": (
        stat("write", 50_000, transferred_bytes=50_000, transfers=50_000, object="pipe:[1]"),
        stat("read", 50_000, transferred_bytes=50_000, transfers=50_000, object="pipe:[2]"),
    ),
    "header of a database read again and again": (
        stat("pread64", 50_000, transferred_bytes=800_000, transfers=50_000, object="/a.db"),
    ),
    "few fsyncs": (stat("fsync", 5, total_s=2.0),),
    "fsyncs that are quick": (stat("fsync", 500, total_s=0.5),),
    "short connect": (SyscallSlow(name="connect", duration_s=0.2, tid=9, args="3"),),
    "server that waits": (
        SyscallSlow(name="epoll_wait", duration_s=5.0, tid=9, args="4", finished=False),
        stat("epoll_wait", 2, total_s=5.0),
    ),
    "children asked for": (error("wait4", "ECHILD", 5000, spread=1.0),),
}


@pytest.mark.parametrize(("data", "severity", "said"), TROUBLE.values(), ids=TROUBLE)
def test_trouble_is_told(data: tuple[Data, ...], severity: str, said: str) -> None:
    (draft,) = conclude(*data)
    assert draft.severity == severity
    assert said in draft.summary


@pytest.mark.parametrize("data", HEALTHY.values(), ids=HEALTHY)
def test_healthy_is_silent(data: tuple[Data, ...]) -> None:
    assert conclude(*data) == []


def test_a_server_that_takes_the_next_port_got_what_it_wanted() -> None:
    (draft,) = conclude(error("bind", "EADDRINUSE", 1, recovered=True))
    assert draft.severity == "info"


def test_sqlite_that_looks_for_its_journal_is_no_missing_file() -> None:
    (draft,) = conclude(error("newfstatat", "ENOENT", 5000, spread=1.0, object="/a.db-journal"))
    assert (draft.severity, draft.confidence) == ("info", "inferred")
    assert "many small ones" in draft.summary


def test_tiny_writes_on_one_file_count_also_among_big_ones() -> None:
    whole = stat("write", 60_000, transferred_bytes=10**9, transfers=60_000)
    part = stat("write", 40_000, transferred_bytes=40_000, transfers=40_000, object="/x")
    (draft,) = conclude(whole, part)
    assert list(draft.evidence_ids) == ["t.e1"]
