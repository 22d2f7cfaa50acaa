"""One node process: its memory, the symbols of its code, and V8's layout, all checked once."""

from bisect import bisect_right
from dataclasses import replace

from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError
from dea_runtimes.cpython_heap.reader.memory import Mapping, Memory, read_mappings
from dea_runtimes.v8.reader.elf import Binary, read_binary
from dea_runtimes.v8.reader.layout import read_layout
from dea_runtimes.v8.reader.native import BUILTIN

_LARGEST_STACK_BYTES = 1 << 30


class Target:
    """`base` is what is added to addresses of the file at `path`."""

    def __init__(self, pid: int, path: str, binary: Binary, base: int) -> None:
        self.pid, self.path, self.binary, self.base = pid, path, binary, base
        self.memory = Memory(pid)
        self.layout = read_layout(binary, base, self.memory)
        self.refresh()
        self.isolate_key = self._isolate_key()

    def refresh(self) -> None:
        """Look again at what is mapped where."""
        self._mappings = read_mappings(self.pid)
        self._starts = [mapping.start for mapping in self._mappings]

    def _isolate_key(self) -> int | None:
        """Only where glibc keeps the values of keys is known."""
        at = self.binary.isolate_key
        if at is None or any("musl" in mapping.path for mapping in self._mappings):
            return None
        key = self.memory.i32(self.base + at)
        return key if 0 <= key < 32 else None

    def stack_top(self, rsp: int) -> int:
        """The end of the mapping that the stack lies in. Raises TornError when there is none."""
        mapping = self._mapping(rsp)
        if mapping is None:  # the main thread's stack may have grown
            mapping = self._mappings[min(bisect_right(self._starts, rsp), len(self._starts) - 1)]
        if "w" not in mapping.permissions or not rsp < mapping.end < rsp + _LARGEST_STACK_BYTES:
            raise TornError(f"no stack at {rsp:#x}")
        return mapping.end

    def file_of(self, address: int) -> str:
        """The file or `[vdso]` that code at the address comes from; empty for compiled JavaScript."""
        mapping = self._mapping(address)
        return mapping.path if mapping else ""

    def symbol(self, address: int) -> str:
        """The mangled name of node's own function at the address.

        Also of the second copy that V8 maps of its builtins, to have them near compiled code.
        """
        mapping = self._mapping(address)
        if mapping is None or mapping.path != self.path:
            return ""
        return self.binary.function_at(address - mapping.start + mapping.offset)

    def is_generated(self, address: int) -> bool:
        """Code that V8 compiled, now or when node was built: it keeps frame pointers."""
        return not self.file_of(address) or self.symbol(address).startswith(BUILTIN)

    def _mapping(self, address: int) -> Mapping | None:
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._mappings[index].end:
            return None
        return self._mappings[index]


def read_target(pid: int) -> Target:
    """Raises CannotLookError when this is no node whose layout is known."""
    mappings = read_mappings(pid)
    path, first = _node_file(mappings)
    binary = read_binary(f"/proc/{pid}/exe" if first is None else f"/proc/{pid}/root{path}")
    if first is not None:  # the place of a library's thread-local variables is not known
        binary = replace(binary, isolate_at=None)
    own = [mapping.start for mapping in mappings if mapping.path == path]
    if not own:
        raise CannotLookError(f"the code of process {pid} is not in its memory map")
    base = 0 if binary.is_fixed else min(own) - binary.first_address
    return Target(pid, path, binary, base)


def _node_file(mappings: list[Mapping]) -> tuple[str, str | None]:
    """The program itself, or the library that holds V8."""
    paths = dict.fromkeys(mapping.path for mapping in mappings if mapping.path.startswith("/"))
    if not paths:
        raise CannotLookError("the process has no code")
    for path in paths:
        if path.rpartition("/")[2].startswith("libnode.so"):
            return path, path
    return next(iter(paths)), None
