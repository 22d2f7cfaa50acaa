"""Reads a file as the target sees it, carefully: what it names may be anything."""

import os
import stat
from pathlib import Path

_LARGEST_BYTES = 2**20


def read_target_text(pid: int, file: str) -> str | None:
    """A source file of the process; None when it is not a plain file of bounded size.

    A relative path is taken from where the process is now.
    """
    base = Path(f"/proc/{pid}/root" if file.startswith("/") else f"/proc/{pid}/cwd")
    path = base / file.lstrip("/")
    try:
        if not _shares_our_root(pid) and _leads_elsewhere(base, path):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode) or state.st_size > _LARGEST_BYTES:
                return None
            return opened.read(_LARGEST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def _shares_our_root(pid: int) -> bool:
    return os.path.samestat(os.stat(f"/proc/{pid}/root"), os.stat("/"))


def _leads_elsewhere(base: Path, path: Path) -> bool:
    """A link inside a container would be followed in our own file system."""
    below = [path, *path.parents]
    return ".." in path.parts or any(part.is_symlink() for part in below[: below.index(base)])
