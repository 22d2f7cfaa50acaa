"""Says what each frame of a look is, as plain values for the records."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.v8.reader.functions import Function, Functions
from dea_runtimes.v8.reader.inlined import inlined_into
from dea_runtimes.v8.reader.native import (
    COLLECTING,
    builtin_name,
    is_collector,
    is_regexp,
    plain_name,
)
from dea_runtimes.v8.reader.sampler import Seen
from dea_runtimes.v8.reader.stack import RawFrame
from dea_runtimes.v8.reader.target import Target

_INLINED = 8
_SYSCALLS: dict[int, str] = {
    0: "read",
    1: "write",
    7: "poll",
    17: "pread64",
    18: "pwrite64",
    23: "select",
    35: "nanosleep",
    42: "connect",
    44: "sendto",
    45: "recvfrom",
    47: "recvmsg",
    61: "wait4",
    73: "flock",
    74: "fsync",
    75: "fdatasync",
    202: "futex",
    230: "clock_nanosleep",
    232: "epoll_wait",
    257: "openat",
    262: "newfstatat",
    271: "ppoll",
    281: "epoll_pwait",
}


@dataclass(frozen=True)
class Named:
    """`what`: js, builtin (V8's own library), native (C++), gc, regexp, syscall or unknown."""

    what: str
    function: str = ""
    file: str = ""
    line: int | None = None
    inlined: tuple[str, ...] = ()  # what V8 compiled into it


UNKNOWN = Named("unknown")


class Names:
    """Names frames; `unnamed` counts those that did not pass the checks."""

    def __init__(self, target: Target, functions: Functions) -> None:
        self._target, self._functions = target, functions
        self._known: dict[int, Named] = {}
        self._collecting = [
            (start + target.base, end + target.base)
            for start, end in target.binary.ranges(*COLLECTING)
        ]
        self._inlined_by_code: dict[tuple[int, int], tuple[str, ...]] = {}
        self.unnamed = 0
        self.reasons: dict[str, int] = {}

    def frames(self, seen: Seen) -> tuple[Named, ...]:
        """Innermost first, calls to the same function in a row told once."""
        self._target.memory.forget()
        found: list[Named] = []
        for named in [*self._innermost(seen), *self._outer(seen)]:
            if not found or named != found[-1]:
                found.append(named)
        return tuple(found)

    def _innermost(self, seen: Seen) -> Iterator[Named]:
        """What is at work below JavaScript."""
        if self._collects(seen):
            yield Named("gc", "garbage collection")
            return
        if seen.syscall is not None:
            yield Named("syscall", _SYSCALLS.get(seen.syscall, f"syscall {seen.syscall}"))
            return
        symbol = self._target.symbol(seen.rip)
        if builtin_name(symbol):
            yield Named("regexp" if is_regexp(symbol) else "builtin", builtin_name(symbol))
        elif self._target.is_generated(seen.rip):
            return
        elif is_collector(symbol):
            yield Named("gc", "garbage collection")
        elif is_regexp(symbol):
            yield Named("regexp", "regular expression")
        else:
            file = self._target.file_of(seen.rip)
            yield Named("native", plain_name(symbol) or "native code", file)

    def _collects(self, seen: Seen) -> bool:
        return any(start <= word < end for word in seen.returns for start, end in self._collecting)

    def _outer(self, seen: Seen) -> Iterator[Named]:
        for frame in seen.walk.frames if seen.walk else ():
            named = self._frame(frame, seen.shared)
            if named is not None:
                yield named

    def _frame(self, frame: RawFrame, shared: dict[int, int]) -> Named | None:
        if frame.marker == self._target.layout.regexp_frame:
            return Named("regexp", "regular expression")
        if not frame.function:
            return None
        address = shared.get(frame.function, 0)
        if address not in self._known:
            self._known[address] = self._read(address)
        named = self._known[address]
        if named == UNKNOWN:
            self.unnamed += 1
        if named.what != "js":
            return named
        return replace(named, inlined=self._inlined(frame, address))

    def _inlined(self, frame: RawFrame, shared: int) -> tuple[str, ...]:
        if self._target.file_of(frame.pc):
            return ()  # interpreted
        key = (shared, frame.pc >> 8)  # code seldom moves while we look
        if key not in self._inlined_by_code:
            objects = self._functions.objects
            found = [self._read(inner) for inner in inlined_into(objects, shared, frame.pc)]
            own = [
                f"{n.function} {n.file.rsplit('/', 1)[-1]}:{n.line}"
                for n in found
                if n.what == "js" and not n.file.startswith("node:")
            ]
            self._inlined_by_code[key] = tuple(dict.fromkeys(own))[:_INLINED]
        return self._inlined_by_code[key]

    def _read(self, shared: int) -> Named:
        try:
            found = self._functions.read(shared)
        except TornError as error:
            self.reasons[str(error)] = self.reasons.get(str(error), 0) + 1
            return UNKNOWN
        return _named(found)


def _named(function: Function) -> Named:
    if not function.file and function.line is None:
        return Named("builtin", function.name or "built-in function")
    return Named("js", function.name or "(anonymous)", function.file, function.line)
