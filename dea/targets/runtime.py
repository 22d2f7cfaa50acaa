"""Which language runtime a process runs, from its executable and its maps."""

import mmap
import os
from pathlib import Path

from dea.contracts.target import Runtime

_LIBRARIES: tuple[tuple[str, Runtime], ...] = (
    ("/libjvm.so", "java"),
    ("/libnode.so", "node"),
    ("/libpython3", "python"),
    ("/libpython2", "python"),
)
# What only an executable with the runtime linked in holds.
_MARKS: tuple[tuple[bytes, Runtime], ...] = (
    (b"\xff Go buildinf:", "go"),  # cmd/go: the head of .go.buildinfo
    (b"_PyRuntime", "python"),
    (b"PyEval_EvalFrameEx", "python"),
    (b"_ZN4node5Start", "node"),
)
_EMBEDDING = frozenset(
    {"gdb", "perf", "lldb", "vim", "postgres"}
)  # carry an interpreter for plug-ins


def detect_runtime(pid: int) -> Runtime:
    """`unknown` when the process may not be read."""
    root = Path(f"/proc/{pid}")
    try:
        maps = (root / "maps").read_text(errors="replace")
        executable = os.readlink(root / "exe")
    except OSError:
        return "unknown"
    name = Path(executable.removesuffix(" (deleted)")).name
    if name not in _EMBEDDING:
        for library, runtime in _LIBRARIES:
            if library in maps:
                return runtime
    return _from_executable(root / "exe")


def _from_executable(path: Path) -> Runtime:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
            for mark, runtime in _MARKS:
                if image.find(mark) >= 0:
                    return runtime
            return "native" if image[:4] == b"\x7fELF" else "unknown"
    except (OSError, ValueError):
        return "unknown"
