"""Writes that are whole or not there at all, readable only by their owner."""

import fcntl
import json
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dea.errors import StoreError


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
    try:
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
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror}", "Free some space or set DEA_HOME elsewhere"
        ) from error


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by a JSON document in one step."""
    write_bytes(path, json.dumps(value, ensure_ascii=False, indent=1).encode())


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Hold the folder's lock, also against other processes. Released by the kernel if we die."""
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
