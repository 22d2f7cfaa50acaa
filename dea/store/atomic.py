"""Writes that are whole or not there at all, readable only by their owner."""

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from dea.errors import StoreError

_ELSEWHERE = "Free some space or set DEA_HOME elsewhere"
_LEFTOVER_AFTER_S = 60.0
_LOCK_LIMIT_S = 10.0
_LOCK_POLL_S = 0.002


def make_folder(path: Path) -> Path:
    """A folder of mode 0700; its parent must exist, but for that of the home folder."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot make {path}: {error.strerror}", "Set DEA_HOME to a folder you can write"
        ) from error
    return path


def write_bytes(path: Path, data: bytes) -> None:
    """Replace `path` by `data` in one step, mode 0600."""
    with _explained(path):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by a JSON document in one step."""
    write_bytes(path, json.dumps(value, ensure_ascii=False, indent=1).encode())


def make_file(path: Path) -> Path:
    """An empty file of mode 0600, or the one that is there."""
    with _explained(path), open(path, "ab", opener=_private):
        return path


def write_raw(path: Path, data: bytes) -> None:
    """Write raw bytes, mode 0600. Not in one step: half of what was seen is better than nothing."""
    with _explained(path), open(path, "wb", opener=_private) as file:
        file.write(data)


@contextlib.contextmanager
def locked(folder: Path) -> Generator[None]:
    """Hold the folder's lock, also against other processes. Released by the kernel if we die.

    Raises StoreError when another process keeps it, which only one that is stopped does.
    """
    with _explained(folder):
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    until = time.monotonic() + _LOCK_LIMIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > until:
                raise StoreError(
                    f"another process keeps {folder} locked",
                    "Continue or end the `dea` that is stopped in the middle of a write",
                ) from error
            time.sleep(_LOCK_POLL_S)
        else:
            return


def hold(path: Path) -> int:
    """Open a file and mark it as in use until the descriptor is closed, or we die."""
    with _explained(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def is_held(path: Path) -> bool:
    """Whether some process holds the file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def sweep(folder: Path) -> None:
    """Remove what writers that were killed left half-written."""
    for path in folder.glob(".*.part"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _LEFTOVER_AFTER_S:
                path.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextlib.contextmanager
def _explained(path: Path) -> Generator[None]:
    """Says where a write failed, and what to do about it."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", _ELSEWHERE) from error
