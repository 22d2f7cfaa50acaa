"""What one look at a thread means, by its system call, state and what it waits on."""

import struct
from typing import Any

import pytest

from dea_linux.threads.calls import kinds_by_number
from dea_linux.threads.futexes import read_futex, static_ranges
from dea_linux.threads.stored import Look, ProcessRecord, Stored, ThreadRecord
from dea_linux.threads.waits import Waits

X86, ARM = "x86_64", "aarch64"


def look(number: int | None, *arguments: int, **fields: Any) -> Look:
    known: dict[str, Any] = {
        "tid": 5,
        "at_ms": 100,
        "until_ms": 100,
        "samples": 1,
        "state": "S",
        "runs": 1,
        "wchan": "",
        "link": "",
        "memory": b"",
        "readable": True,
    }
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    return Look(number=number, arguments=padded, **(known | fields))


def stored(arch: str = X86, **fields: Any) -> Stored:
    return Stored({"arch": arch}, **fields)


CASES = [
    (X86, look(230), "sleep"),
    (ARM, look(115), "sleep"),
    (X86, look(34), "signal_wait"),
    (X86, look(61, 0xFFFFFFFF), "child"),
    (X86, look(74, 3, link="/var/x.db", state="D"), "disk"),
    (ARM, look(82, 3, link="/var/x.db", state="D"), "disk"),
    (X86, look(0, 3, link="/var/x.db", state="D"), "disk"),
    (X86, look(0, 0, link="/dev/pts/3"), "tty"),
    (X86, look(0, 0, link="/srv/jobs", wchan="anon_pipe_read"), "pipe_read"),
    (X86, look(1, 1, link="pipe:[7]"), "pipe_write"),
    (X86, look(257, 0xFFFFFF9C, 0x1000, 0, wchan="wait_for_partner"), "pipe_read"),
    (X86, look(257, 0xFFFFFF9C, 0x1000, 0, wchan="io_schedule", state="D"), "disk"),
    (X86, look(73, 3, 2, link="/run/lock"), "file_lock"),
    (X86, look(72, 3, 7, link="/run/lock"), "file_lock"),
    (X86, look(7, 0x1000, 0, 500), "sleep"),
    (X86, look(23, 0, 0, 0, 0), "sleep"),
    (X86, look(45, 3, link="socket:[9]"), "receive"),
    (X86, look(219, wchan="hrtimer_nanosleep"), "sleep"),
    (X86, look(-1, state="D", wchan="folio_wait_bit_common"), "page_fault"),
    (X86, look(202, 0x1000, 0x189, 0), "futex"),
    (X86, look(230, state="T"), "stopped"),
    (X86, look(9999), "other"),
    # Without the right to read the call, the kernel function has to do.
    (X86, look(None, readable=False, wchan="ep_poll"), "poll"),
]


@pytest.mark.parametrize(("arch", "seen", "cause"), CASES)
def test_cause_of_a_look(arch: str, seen: Look, cause: str) -> None:
    wait = Waits(stored(arch)).wait(5, seen)
    assert wait is not None
    assert wait.cause == cause


def test_a_running_thread_waits_for_nothing() -> None:
    assert Waits(stored()).wait(5, look(None, state="R")) is None


def test_file_lock_names_who_has_it() -> None:
    locks = (
        "1: FLOCK  ADVISORY  WRITE 77 fe:00:9 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 5 fe:00:9 0 EOF"
    )
    wait = Waits(stored(host={"locks": locks})).wait(5, look(73, 3, 2, link="/run/lock"))
    assert wait is not None
    assert wait.object == "/run/lock held by pid 77"
    assert wait.peer_pids == (77,)


def child(pid: int, lived_s: float, *, ended: bool) -> tuple[ThreadRecord, ProcessRecord]:
    thread = ThreadRecord(pid, pid, False, "wc", round(lived_s * 1e9), 0, 0, 1, 1.0, (2, 3))
    stat = f"{pid} (wc) S 5 5"
    return thread, ProcessRecord(
        pid, False, "wc", ["S", "5"], ["S", "5"], {"stat": [stat, "" if ended else stat]}
    )


@pytest.mark.parametrize(
    ("lived_s", "ended", "named"),
    [
        (0.1, True, "short-lived commands: wc"),
        (0.1, False, "pid 8 (wc), pid 9 (wc)"),
        (3.0, True, "pid 8 (wc), pid 9 (wc)"),
    ],
)
def test_children_are_named_one_by_one_unless_they_come_and_go(
    lived_s: float, ended: bool, named: str
) -> None:
    children = [child(pid, lived_s, ended=ended) for pid in (8, 9)]
    seen = stored(
        threads=[thread for thread, _ in children],
        processes={process.pid: process for _, process in children},
    )
    seen.facts["window_s"] = 4.0
    wait = Waits(seen).wait(5, look(61, 0xFFFFFFFF))
    assert wait is not None
    assert wait.object == named


def holder(pid: int, access: int) -> dict[str, Any]:
    return {"holder": pid, "fd": 1, "link": "pipe:[7]", "access": access, "command": "cat"}


def test_a_pipe_that_only_its_own_process_writes_is_a_wake_up() -> None:
    ends = {"pipe:[7]": [holder(5, 0o400), holder(5, 0o200)]}
    wait = Waits(stored(holders=ends)).wait(5, look(0, 3, link="pipe:[7]"))
    assert wait is not None
    assert (wait.cause, wait.peer_pids) == ("poll", ())
    ends["pipe:[7]"].append(holder(88, 0o200))
    wait = Waits(stored(holders=ends)).wait(5, look(0, 3, link="pipe:[7]"))
    assert wait is not None
    assert (wait.cause, wait.peer_pids) == ("pipe_read", (88,))


def test_poll_of_several_descriptors_as_they_were_at_that_time() -> None:
    seen = [
        {"at_ms": 0, "pid": 5, "tid": 5, "array": struct.pack("=ihhihh", 3, 1, 0, 4, 1, 0).hex()},
        {"at_ms": 0, "pid": 5, "fd": 3, "link": "/dev/pts/1", "access": 0},
        {"at_ms": 0, "pid": 5, "fd": 4, "link": "pipe:[7]", "access": 0},
        {"at_ms": 200, "pid": 5, "fd": 4, "link": "/dev/pts/2", "access": 0},
    ]
    wait = Waits(stored(descriptors=seen)).wait(5, look(7, 0x1000, 2, 0xFFFFFFFF))
    assert wait is not None
    assert (wait.cause, wait.object) == ("poll", "/dev/pts/1; pipe:[7]")


def mutex(lock: int = 2, owner: int = 12, users: int = 2, kind: int = 0) -> bytes:
    return struct.pack("=iIiIi", lock, 0, owner, users, kind)


@pytest.mark.parametrize(
    ("memory", "owner"),
    [
        (mutex(), 12),
        (mutex(owner=13), 0),  # no thread of this process
        (mutex(lock=1), 0),  # nobody waits by now
        (mutex(users=0), 0),
        (mutex(kind=4), 0),
        (b"\x02\0\0\0", 0),  # a lock word alone, as Rust has it
    ],
)
def test_owner_of_a_mutex_is_taken_only_when_all_fields_fit(memory: bytes, owner: int) -> None:
    assert read_futex((0x1000, 0x80, 2, 0, 0, 0), memory, {5, 12}, ()).owner == owner


def test_join_and_gil_are_told_from_other_futexes() -> None:
    assert read_futex((0x1000, 0x109, 12, 0, 0, 0), b"", {5, 12}, ()).joins == 12
    assert read_futex((0x1000, 0x189, 12, 0, 0, 0), b"", {5, 12}, ()).joins == 0
    assert read_futex((0x1040, 0x189, 0, 0, 0, 0), b"", {5}, [(0x1000, 0x2000)]).is_gil


def test_static_data_goes_on_behind_the_library() -> None:
    maps = [
        "1000-2000 r-xp 0 fe:00 1 /usr/lib/libpython3.11.so.1.0",
        "2000-3000 rw-p 0 fe:00 1 /usr/lib/libpython3.11.so.1.0",
        "3000-4000 rw-p 0 00:00 0",
        "9000-a000 rw-p 0 00:00 0",
        "b000-c000 rw-p 0 fe:00 1 /usr/lib/_json.cpython-311-x86_64-linux-gnu.so",
    ]
    assert static_ranges(maps) == [(0x2000, 0x3000), (0x3000, 0x4000)]


def test_both_architectures_know_the_calls_that_wait() -> None:
    kinds = set(kinds_by_number(X86).values())
    assert kinds == set(kinds_by_number(ARM).values())
    assert kinds_by_number("mips") == {}
