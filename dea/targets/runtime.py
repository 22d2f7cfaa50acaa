"""Which language runtime a process runs, from its executable and its maps, never from a name."""

import functools
import os
from collections.abc import Callable
from pathlib import Path

from dea.contracts.target import Runtime
from dea.targets import elf

_LIBRARIES: tuple[tuple[str, Runtime], ...] = (
    ("libpython3", "python"),
    ("libpython2", "python"),
    ("libnode.so", "node"),
    ("libjvm.so", "java"),
    ("libjli.so", "java"),  # the launcher, which loads the virtual machine later
)
# What an executable defines that has the runtime linked in.
_SYMBOLS: tuple[tuple[str, Runtime], ...] = (
    ("_PyRuntime", "python"),
    ("PyEval_EvalFrameEx", "python"),
    ("_ZN4node5StartEiPPc", "node"),
)
_GO_SECTION = ".go.buildinfo"
# They carry an interpreter for plug-ins or documents, which is not what they are about.
_EMBEDDING = frozenset({"gdb", "perf", "lldb", "vim", "nvim", "postgres", "soffice", "weechat"})


def detect_runtime(pid: int) -> Runtime:
    """`unknown` when the process may not be read. Interpreters that we do not know are `native`."""
    root = Path(f"/proc/{pid}")
    try:
        executable = os.readlink(root / "exe")
        status = os.stat(root / "exe")
        maps = (root / "maps").read_text(errors="replace")
    except OSError:
        return "unknown"
    name = Path(executable.removesuffix(" (deleted)")).name.partition(".")[0]
    if name in _EMBEDDING:
        return "native"
    linked = _linked_runtime(f"/proc/{pid}/exe", status.st_dev, status.st_ino, status.st_mtime_ns)
    if linked in ("native", "unknown"):
        return _first(lambda file: f"/{file}" in maps) or linked
    return linked


@functools.lru_cache(maxsize=1024)
def _linked_runtime(path: str, _device: int, _inode: int, _changed_ns: int) -> Runtime:
    """What the executable itself says; cached by which file it is, not by the process."""
    try:
        with open(path, "rb") as file:
            image = elf.read(file)
    except (OSError, elf.NotElf):
        return "unknown"
    if _GO_SECTION in image.sections:
        return "go"
    for symbol, runtime in _SYMBOLS:
        if image.defines(symbol):
            return runtime
    # Not yet in the maps of a process that has only just been started.
    return _first(image.needs) or "native"


def _first(holds: Callable[[str], bool]) -> Runtime | None:
    for library, runtime in _LIBRARIES:
        if holds(library):
            return runtime
    return None
