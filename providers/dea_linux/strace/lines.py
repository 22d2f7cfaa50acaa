"""Reads the lines that `strace -f -ttt -T -y` writes: calls, interrupted calls, signals, exits."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Call(NamedTuple):
    """One system call. What most calls need not have converted stays as the line has it."""

    thread: bytes
    stamp: bytes  # when it began, seconds since the epoch
    name: str
    args: bytes
    result: bytes  # "0", "-1 ENOENT (No such ...)", "3</etc/passwd>", "?"
    duration_s: float | None  # None when it does not return, as exit
    line: int  # where it ends

    @property
    def tid(self) -> int:
        return int(self.thread)

    @property
    def at(self) -> float:
        return float(self.stamp)


class Event(NamedTuple):
    """A signal that was delivered (`what` "SIGUSR1 {...}") or an end ("exited with 3")."""

    tid: int
    what: str
    is_signal: bool
    line: int


class Begun(NamedTuple):
    """A call whose line was cut short by another thread's, or that did not return."""

    stamp: bytes
    name: bytes
    args: bytes
    line: int


@dataclass
class Trace:
    """Reads a whole trace. Afterwards `pending` holds, by thread, the calls that did not return,
    and `bad_lines` counts those that are none of strace's."""

    pending: dict[bytes, Begun] = field(default_factory=dict[bytes, Begun])
    bad_lines: int = 0
    first_bad: str = ""
    _names: dict[bytes, str] = field(default_factory=dict[bytes, str])

    def read(self, raw: bytes) -> Iterator[Call | Event]:
        """One record per call, signal or end. The first branch is what nearly all lines take."""
        names = self._names
        for number, line in enumerate(io.BytesIO(raw), 1):
            try:
                thread, stamp, rest = line.split(None, 2)  # the pid is padded
                head, _, took = rest[:-2].rpartition(b" <")
                if took[:1].isdigit() and rest[:1].isalpha():
                    call, _, result = head.rpartition(b") = ")
                    name, _, args = call.partition(b"(")
                    text = names.get(name) or names.setdefault(name, name.decode())
                    yield Call(thread, stamp, text, args, result, float(took), number)
                elif record := self._rare(thread, stamp, rest.rstrip(b"\n"), number):
                    yield record
            except ValueError:
                self.bad_lines += 1
                self.first_bad = self.first_bad or line.decode("utf-8", "replace")

    def _rare(self, thread: bytes, stamp: bytes, rest: bytes, number: int) -> Call | Event | None:
        """Whatever is not a complete call that returned. Raises ValueError when it is nothing."""
        float(stamp)
        if rest.startswith((b"--- ", b"+++ ")):
            if rest.startswith(b"+++ "):
                self.pending.pop(thread, None)
            what = rest[4:-4].decode("utf-8", "replace")
            return Event(int(thread), what, rest.startswith(b"--- "), number)
        if rest.startswith(b"<... "):
            return self._resumed(thread, stamp, rest, number)
        name, bracket, args = rest.partition(b"(")
        if not bracket or not name.replace(b"_", b"").isalnum():
            raise ValueError(rest)
        if rest.endswith((b"<unfinished ...>", b"<detached ...>")):
            self.pending[thread] = Begun(stamp, name, args.rpartition(b" <")[0], number)
            return None
        args, equals, result = args.rpartition(b") = ")
        if not equals:
            raise ValueError(rest)
        return Call(thread, stamp, name.decode(), args, result, None, number)

    def _resumed(self, thread: bytes, stamp: bytes, rest: bytes, number: int) -> Call | None:
        """`<... read resumed>"x"..., 10) = 1 <0.000012>`, begun on a line of its own before."""
        name, _, tail = rest[5:].partition(b" resumed>")
        begun = self.pending.pop(thread, None)
        if begun is None or begun.name != name:  # begun before we attached
            begun = Begun(stamp, name, b"", number)
        if tail.endswith((b"<unfinished ...>", b"<detached ...>")):
            self.pending[thread] = begun
            return None
        head, _, took = tail[:-1].rpartition(b" <")
        args, equals, result = head.rpartition(b") = ")
        if not equals:
            raise ValueError(rest)
        whole = begun.args + args
        return Call(thread, begun.stamp, name.decode(), whole, result, float(took), number)
