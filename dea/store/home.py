"""Where sessions live, and how one is found."""

import errno
import os
import secrets
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, cast

from dea.contracts.session import Session
from dea.contracts.target import Target
from dea.errors import SessionError, StoreError
from dea.store.atomic import make_folder
from dea.store.session import StoredSession

Platform = Literal["linux", "darwin", "win32"]
_DIGITS = "23456789abcdefghjkmnpqrstuvwxyz"  # in order; nothing that reads like something else
_NEW = ".new-"
_TRIES = 20


def now() -> str:
    """The time as ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def home() -> Path:
    """~/.dea, or what DEA_HOME says. Raises StoreError when this user has no home."""
    if given := os.environ.get("DEA_HOME"):
        return Path(given).expanduser().absolute()
    try:
        return Path.home() / ".dea"
    except RuntimeError as error:
        raise StoreError("this user has no home folder", "Set DEA_HOME to a folder") from error


def sessions_folder() -> Path:
    return home() / "sessions"


def new_id() -> str:
    """An id that sorts by time: yymmdd-hhmmss-xxx, where xxx is the fraction of the second."""
    time = datetime.now(UTC)
    fraction, suffix = time.microsecond * len(_DIGITS) ** 3 // 1_000_000, ""
    for _ in range(3):
        fraction, digit = divmod(fraction, len(_DIGITS))
        suffix = _DIGITS[digit] + suffix
    return f"{time:%y%m%d-%H%M%S}-{suffix}"


def create(target: Target) -> StoredSession:
    """A new, attached session. It is there as a whole or not at all."""
    make_folder(home())
    parent = make_folder(sessions_folder())
    building = make_folder(parent / f"{_NEW}{secrets.token_hex(8)}")
    try:
        for name in ("runs", "artifacts"):
            make_folder(building / name)
        for _ in range(_TRIES):
            folder = parent / new_id()
            StoredSession(building).write(_session(folder, target))
            if _rename(building, folder):
                return StoredSession(folder)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    raise StoreError(f"no free session id in {parent}", "Try again in a second")


def _session(folder: Path, target: Target) -> Session:
    return Session(
        id=folder.name,
        state="attached",
        target=target,
        created_at=now(),
        dir=str(folder),
        platform=cast(Platform, sys.platform),
        runs=[],
    )


def _rename(building: Path, folder: Path) -> bool:
    """False when another session has that id. Raises StoreError."""
    try:
        building.rename(folder)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise StoreError(f"cannot make {folder}: {error.strerror}") from error
    return True


def names() -> list[str]:
    """Ids of all sessions, newest first. Raises StoreError when they may not be read."""
    try:
        entries = list(sessions_folder().iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(
            f"cannot read {sessions_folder()}: {error.strerror}",
            "Set DEA_HOME to a folder you can read and write",
        ) from error
    return sorted((p.name for p in entries if p.is_dir() and p.name[0] != "."), reverse=True)


def find(prefix: str) -> StoredSession:
    """The session whose id is, or uniquely starts with, `prefix`. Raises SessionError."""
    known = names()
    matches = [prefix] if prefix in known else [name for name in known if name.startswith(prefix)]
    if prefix and len(matches) == 1:
        return StoredSession(sessions_folder() / matches[0])
    if not prefix or not matches:
        newest = f"the newest is {known[0]}" if known else "there are none yet"
        raise SessionError(
            f"no session {prefix!r}", f"Attach first, or name one that exists ({newest})"
        )
    raise SessionError(
        f"{prefix!r} matches {len(matches)} sessions", "Use " + ", ".join(matches[:5])
    )
