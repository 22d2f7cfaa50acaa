"""Reads one thread over and over without stopping it; looks that show the same become one line."""

import os
import time
from dataclasses import dataclass
from typing import Any

from dea_linux import procfs
from dea_linux.threads.calls import (
    FUTEX_COMMAND,
    FUTEX_CONTENDED,
    FUTEX_LOCK_PI,
    FUTEX_LOCK_PI2,
    FUTEX_WAIT,
    FUTEX_WAIT_BITSET,
    MUTEX_BYTES,
    TAKES_DESCRIPTOR,
    WATCHES_DESCRIPTORS,
    Kind,
    parse_call,
)
from dea_linux.threads.descriptors import Descriptors

COLUMNS = "pid tid at_ms until_ms samples state runs syscall wchan link memory"
RUNNING = "running"
UNREADABLE = "?"
_SOCKADDR_BYTES = 110  # the longest is struct sockaddr_un


@dataclass
class Seen:
    """What several looks in a row showed."""

    at_ms: int
    until_ms: int
    samples: int
    key: tuple[str, ...]  # state, runs, syscall, wchan, link, memory
    owned: bool  # the wait has an owner, which may change while the wait lasts

    def line(self, pid: int, tid: int) -> str:
        fields = (pid, tid, self.at_ms, self.until_ms, self.samples, *self.key)
        return "\t".join(str(field) or "-" for field in fields)


class Watch:
    """One thread. `lines` are the looks so far; `peer`: a process that the target waits for."""

    def __init__(
        self, pid: int, tid: int, kinds: dict[int, Kind], descriptors: Descriptors, *, peer: bool
    ) -> None:
        self.pid, self.tid, self.peer = pid, tid, peer
        self.lines: list[str] = []
        self._kinds = kinds
        self._descriptors = descriptors
        self._folder = f"/proc/{pid}/task/{tid}"
        self._files = {name: self._open(name) for name in ("schedstat", "syscall")}
        self._seen: Seen | None = None
        self._first = self._account()
        self._last_schedstat = ""

    def look(self, at_ms: int) -> bool:
        """One sample; False when the thread has ended.

        `syscall` is read before `stat`: the other way round, a short disk wait that ends in
        between is taken for something else.
        """
        schedstat = self._read("schedstat")
        if not schedstat:
            return False
        self._last_schedstat = schedstat
        call, runs = self._call(), schedstat.split()[-1]
        seen = self._seen
        if seen and not seen.owned and self._unchanged(seen, call, runs):
            seen.samples, seen.until_ms = seen.samples + 1, at_ms
        else:
            self._note(at_ms, call, runs)
        return True

    def finish(self) -> dict[str, Any]:
        """What is known of the thread as a whole; its last look is added to `lines`."""
        self._flush()
        for file in self._files.values():
            if file >= 0:
                os.close(file)
        last = self._account()
        schedstat = last["schedstat"] or self._last_schedstat
        return {
            "pid": self.pid,
            "tid": self.tid,
            "peer": self.peer,
            "first": self._first,
            "last": last | {"schedstat": schedstat},
        }

    def _unchanged(self, seen: Seen, call: str, runs: str) -> bool:
        """A thread that has not run since still waits in the same call, for the same thing."""
        _, runs_then, call_then, *_ = seen.key
        return call == call_then and (call == RUNNING or runs == runs_then)

    def _note(self, at_ms: int, call: str, runs: str) -> None:
        number, arguments = parse_call(call)
        kind = None if number is None else self._kinds.get(number)
        state = "R" if call == RUNNING else self._state()
        memory = self._argument_memory(kind, arguments)
        link = ""
        if kind in TAKES_DESCRIPTOR and arguments:
            link = self._descriptors.link(at_ms, self.pid, arguments[0] & 0xFFFFFFFF)
        if kind in WATCHES_DESCRIPTORS:
            self._descriptors.watching(at_ms, self.pid, self.tid, kind, arguments)
        wchan = self._wchan(kind, state, link) if call != RUNNING else ""
        if link.startswith("/") and "pipe" in wchan:  # a FIFO: somebody holds its other end
            self._descriptors.links.add(link)
        key = (state, runs, call, wchan, link, memory)
        if self._seen and self._seen.key == key:
            self._seen.samples, self._seen.until_ms = self._seen.samples + 1, at_ms
            return
        self._flush()
        self._seen = Seen(at_ms, at_ms, 1, key, owned=kind == "futex" and bool(memory))

    def _flush(self) -> None:
        if self._seen:
            self.lines.append(self._seen.line(self.pid, self.tid))
            self._seen = None

    def _argument_memory(self, kind: Kind | None, arguments: list[int]) -> str:
        """What an argument points to: a lock, or the address of a connect."""
        if kind == "futex":
            return self._lock_memory(*arguments[:3])
        if kind == "connect":
            size = min(arguments[2], _SOCKADDR_BYTES)
            return self._descriptors.memory(self.pid, arguments[1], size).hex()
        return ""

    def _lock_memory(self, address: int, operation: int, value: int) -> str:
        """The lock itself, where glibc writes the owner's thread id beside it."""
        command = operation & FUTEX_COMMAND
        contended = value & 0xFFFFFFFF == FUTEX_CONTENDED
        if command in (FUTEX_WAIT, FUTEX_WAIT_BITSET) and contended:
            return self._descriptors.memory(self.pid, address, MUTEX_BYTES).hex()
        if command in (FUTEX_LOCK_PI, FUTEX_LOCK_PI2):
            return self._descriptors.memory(self.pid, address, 4).hex()
        return ""

    def _wchan(self, kind: Kind | None, state: str, link: str) -> str:
        """The kernel function it waits in, where the call alone does not tell."""
        if kind in (None, "path") or state == "D" or link.startswith("/"):
            return procfs.read_text(f"{self._folder}/wchan").strip()
        return ""

    def _state(self) -> str:
        fields = procfs.stat_fields(procfs.read_text(f"{self._folder}/stat"))
        return fields[0] if fields else ""

    def _call(self) -> str:
        """The call and its six arguments, without the stack pointer and program counter."""
        words = self._read("syscall").split()
        return " ".join(words[:7]) if words else UNREADABLE

    def _account(self) -> dict[str, Any]:
        return {
            "at_ns": time.monotonic_ns(),
            "schedstat": procfs.read_text(f"{self._folder}/schedstat").strip(),
            "stat": procfs.read_text(f"{self._folder}/stat").strip(),
        }

    def _open(self, name: str) -> int:
        try:
            return os.open(f"{self._folder}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # gone, not ours, or too many files open
            return -1

    def _read(self, name: str) -> str:
        file = self._files[name]
        if file < 0:
            return procfs.read_text(f"{self._folder}/{name}")
        try:
            return os.pread(file, 256, 0).decode("ascii", "replace")
        except OSError:
            return ""
