"""Where sessions live, and how one is found."""

import os
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, cast

from dea.contracts.session import Session
from dea.contracts.target import Target
from dea.errors import SessionError
from dea.store.atomic import make_folder
from dea.store.session import StoredSession

Platform = Literal["linux", "darwin", "win32"]
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that reads like something else


def now() -> str:
    """The time as ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def home() -> Path:
    """~/.dea, or what DEA_HOME says."""
    return Path(os.environ.get("DEA_HOME") or Path.home() / ".dea").expanduser().absolute()


def sessions_folder() -> Path:
    return home() / "sessions"


def new_id() -> str:
    """An id that sorts by time: yymmdd-hhmmss-xxx."""
    suffix = "".join(secrets.choice(_ALPHABET) for _ in range(3))
    return f"{datetime.now(UTC):%y%m%d-%H%M%S}-{suffix}"


def create(target: Target) -> StoredSession:
    """A new, attached session."""
    make_folder(home())
    folder = sessions_folder() / new_id()
    for path in (folder.parent, folder, folder / "runs", folder / "artifacts"):
        make_folder(path)
    session = Session(
        id=folder.name,
        state="attached",
        target=target,
        created_at=now(),
        dir=str(folder),
        platform=cast(Platform, sys.platform),
        runs=[],
    )
    stored = StoredSession(folder)
    stored.write(session)
    return stored


def names() -> list[str]:
    """Ids of all sessions, newest first."""
    try:
        return sorted((p.name for p in sessions_folder().iterdir() if p.is_dir()), reverse=True)
    except FileNotFoundError:
        return []


def find(prefix: str) -> StoredSession:
    """The session whose id is, or uniquely starts with, `prefix`. Raises SessionError."""
    known = names()
    matches = [prefix] if prefix in known else [name for name in known if name.startswith(prefix)]
    if len(matches) == 1:
        return StoredSession(sessions_folder() / matches[0])
    if not matches:
        newest = f"the newest is {known[0]}" if known else "there are none yet"
        raise SessionError(
            f"no session {prefix!r}", f"List them with `dea sessions` ({newest}), or attach first"
        )
    raise SessionError(
        f"{prefix!r} matches {len(matches)} sessions", "Use " + ", ".join(matches[:5])
    )
