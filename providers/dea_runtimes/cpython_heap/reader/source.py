"""Opens a target's source files as the target sees them, and nothing outside its root."""

import ast
import ctypes
import os
import stat
import struct
import warnings

_OPENAT2 = 437  # asm/unistd.h, the same on every architecture
_IN_ROOT, _NO_MAGIC_LINKS = 0x10, 0x02
_MOST_BYTES = 1 << 20
_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long


class Sources:
    """Parsed source files of a process, each read once."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._trees: dict[str, ast.Module | None] = {}
        self._lines: dict[str, list[str]] = {}

    def tree(self, file: str) -> ast.Module | None:
        """None when there is no such file, or it is no Python that we can parse."""
        if file not in self._trees:
            self._trees[file] = self._parse(file)
        return self._trees[file]

    def line(self, file: str, number: int) -> str:
        lines = self._lines.get(file, [])
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def mentions(self, file: str, name: str) -> bool:
        return self.tree(file) is not None and any(name in line for line in self._lines[file])

    def _parse(self, file: str) -> ast.Module | None:
        data = self._read(file) if file.endswith(".py") else None
        if data is None:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        self._lines[file] = data.decode("utf-8", "replace").splitlines()
        return tree

    def _read(self, file: str) -> bytes | None:
        try:
            if not file.startswith("/"):
                file = os.path.join(os.readlink(f"/proc/{self._pid}/cwd"), file)
            descriptor = _open_inside(f"/proc/{self._pid}/root", file)
        except OSError:
            return None
        with open(descriptor, "rb") as source:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode) or state.st_size > _MOST_BYTES:
                return None
            return source.read(_MOST_BYTES)


def _open_inside(root: str, path: str) -> int:
    """Open a path of another root; links in it cannot lead out of that root."""
    base = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        how = struct.pack("QQQ", flags, 0, _IN_ROOT | _NO_MAGIC_LINKS)
        found = int(_syscall(_OPENAT2, base, os.fsencode(path), how, len(how)))
        if found < 0:
            raise OSError(ctypes.get_errno(), "openat2")
        return found
    finally:
        os.close(base)
