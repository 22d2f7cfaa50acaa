"""Samples one thread: stopped for a moment while it runs, only read while it waits."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError
from dea_runtimes.v8.reader.stack import StackCopy, Walk, Walker
from dea_runtimes.v8.reader.stop import Registers, look
from dea_runtimes.v8.reader.target import Target

# How much is searched of V8's per-thread data, in which it notes where JavaScript was left: in node
# 18, which does not tell where this data is, that stands further on.
_ISOLATE_BYTES, _OLD_ISOLATE_BYTES = 4096, 20480
_KEYED_VALUES = 0x310  # where glibc has a thread's values of the first 32 keys
_ROOT_BIAS = 128  # generated code keeps r13 that far into this data


@dataclass(frozen=True)
class Seen:
    """One look. `shared` maps the functions of the frames to their shared info."""

    walk: Walk | None
    rip: int
    state: str
    shared: dict[int, int]
    returns: Sequence[int] = ()  # words below the innermost frame: return addresses, among others
    held_s: float = 0.0
    syscall: int | None = None  # that it is in


class Thread:
    """The thread that runs JavaScript."""

    def __init__(self, target: Target, tid: int) -> None:
        self._target, self._tid = target, tid
        self._isolate = 0
        self._fs_base = 0

    def sample(self, *, waiting_too: bool) -> Seen | None:
        """None when the thread waits and only running ones are asked for, or did not stop in time."""
        state = read_state(self._target.pid, self._tid)
        if state == "R" or self._fs_base == 0:
            found = look(self._tid, lambda registers: self._stopped(registers, state))
            if found is None:
                return None
            seen, held_s = found
            if state == "R" or waiting_too:
                return replace(seen, held_s=held_s)
            return None
        return self._waiting(state) if waiting_too else None

    def runs_javascript(self) -> bool:
        """Whether V8 runs on this thread. Raises CannotLookError when it may not be traced."""
        look(self._tid, self._note_isolate)
        return self.is_known

    @property
    def is_known(self) -> bool:
        """Whether it can be told where JavaScript waits for a call into C++."""
        return self._isolate != 0

    def _stopped(self, registers: Registers, state: str) -> Seen:
        self._note_isolate(registers)
        stack = self._copy(registers.rsp)
        walker = Walker(stack, self._target.layout)
        walk = None
        if self._target.is_generated(registers.rip):
            self._isolate = self._isolate or registers.r13 - _ROOT_BIAS
            walk = walker.walk(registers.rbp, registers.rip)
            if walk is None:  # a frame of another shape, such as a regular expression's
                walk = walker.walk(stack.word(registers.rbp), stack.word(registers.rbp + 8))
        if walk is None:
            walk = self._left_at(stack, walker) or walker.walk(registers.rbp, 0)
        returns = _words(stack.data[: max(0, walk.first - stack.bottom)]) if walk else ()
        shared = self._shared(walk)
        return Seen(walk, registers.rip, state, shared, returns, syscall=registers.syscall)

    def _waiting(self, state: str) -> Seen | None:
        """In a system call nothing moves, so the stack can be read without a stop."""
        try:
            words = Path(f"/proc/{self._target.pid}/task/{self._tid}/syscall").read_text().split()
        except OSError:
            raise CannotLookError(f"thread {self._tid} has ended") from None
        if len(words) < 3 or not words[0].isdecimal():
            return None  # it runs again
        stack = self._copy(int(words[-2], 16))
        walk = self._left_at(stack, Walker(stack, self._target.layout))
        return Seen(walk, int(words[-1], 16), state, self._shared(walk), syscall=int(words[0]))

    def _note_isolate(self, registers: Registers) -> None:
        self._fs_base = registers.fs_base
        if not self._isolate and self._target.binary.isolate_at is not None:
            data = self._target.memory.read_now(
                registers.fs_base + self._target.binary.isolate_at, 8
            )
            self._isolate = int.from_bytes(data, "little")
        elif not self._isolate and self._target.isolate_key is not None:
            at = registers.fs_base + _KEYED_VALUES + 16 * self._target.isolate_key
            in_use, value = _words(self._target.memory.read_now(at, 16))
            self._isolate = value if in_use & 1 and value & 7 == 0 else 0

    def _left_at(self, stack: StackCopy, walker: Walker) -> Walk | None:
        """From where JavaScript called into C++, as V8 notes it."""
        if not self._isolate:
            return None
        is_old = self._target.binary.isolate_at is None
        count = _OLD_ISOLATE_BYTES if is_old else _ISOLATE_BYTES
        words = _words(self._target.memory.read_now(self._isolate, count))
        for word in sorted({word for word in words if stack.holds(word)}):
            walk = walker.walk(word, 0)
            if walk is not None and walk.frames:
                return walk
        return None

    def _copy(self, rsp: int) -> StackCopy:
        bottom = rsp & ~7
        return StackCopy(
            lambda address, count: self._target.memory.read_now(address, count),
            bottom,
            self._target.stack_top(rsp),
        )

    def _shared(self, walk: Walk | None) -> dict[int, int]:
        """Read while the thread is held, since the collector may move functions afterwards."""
        found: dict[int, int] = {}
        offset = self._target.layout.function_shared
        for frame in walk.frames if walk else ():
            if frame.function and frame.function not in found:
                try:
                    data = self._target.memory.read_now(frame.function - 1 + offset, 8)
                except TornError:
                    continue
                found[frame.function] = int.from_bytes(data, "little")
        return found


def _words(data: bytes) -> tuple[int, ...]:
    return struct.unpack_from(f"<{len(data) // 8}Q", data)


def read_state(pid: int, tid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/task/{tid}/stat").read_bytes()
    except OSError:
        raise CannotLookError(f"thread {tid} has ended") from None
    return chr(stat[stat.rindex(b")") + 2])
