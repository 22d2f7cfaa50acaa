"""What a client may read by address: sessions, their runs, artifacts and reports."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from dea.contracts.scrub import clean_text
from dea.contracts.secrets import hide_secrets
from dea.errors import SessionError
from dea.store import home
from dea.store.session import StoredSession

SESSIONS = "dea://sessions"
LIMIT_BYTES = 2**20
JSON_TYPE, MARKDOWN_TYPE = "application/json", "text/markdown"
_BINARY_TYPE = "application/octet-stream"
_LISTED = 20
_SCHEME = "dea://"
_TYPES = {
    ".json": JSON_TYPE,
    ".md": MARKDOWN_TYPE,
    ".svg": "image/svg+xml",
    ".html": "text/html",
}


@dataclass(frozen=True)
class Listed:
    """One address, or with `{...}` in it a pattern of addresses."""

    uri: str
    name: str
    mime_type: str | None
    description: str


@dataclass(frozen=True)
class Content:
    """`body` is text, or bytes where it is none."""

    mime_type: str
    body: str | bytes


TEMPLATES = (
    Listed("dea://session/{id}", "session", JSON_TYPE, "A session: its target and its runs"),
    Listed("dea://session/{id}/run/{run_id}", "run", JSON_TYPE, "The full result of one run"),
    Listed(
        "dea://session/{id}/artifact/{name}",
        "artifact",
        None,
        "A file of a session as it was observed, secrets hidden when it is text; up to 1 MiB",
    ),
    Listed("dea://session/{id}/report", "report", MARKDOWN_TYPE, "The report for a reviewer"),
)


def session_uri(session_id: str, *parts: str) -> str:
    """The address of a session, or of what `parts` name in it ("run", "profile_cpu#2")."""
    return _SCHEME + "/".join(quote(part, safe="") for part in ("session", session_id, *parts))


def artifact_uri(session_id: str, path: str) -> str:
    """The address of an artifact or report by its path in the session's folder."""
    name = path.removeprefix("artifacts/")
    return session_uri(session_id, *(("report",) if path == "report.md" else ("artifact", name)))


def listing() -> list[Listed]:
    """The list of sessions, and the newest of them with their reports."""
    found = [Listed(SESSIONS, "sessions", JSON_TYPE, "All sessions, newest first")]
    for name in home.names()[:_LISTED]:
        found.append(Listed(session_uri(name), name, JSON_TYPE, "A session and its runs"))
        if (home.sessions_folder() / name / "report.md").is_file():
            uri = session_uri(name, "report")
            found.append(Listed(uri, f"{name} report", MARKDOWN_TYPE, "The session's report"))
    return found


def read(uri: str) -> Content:
    """What stands at an address. Raises SessionError when there is nothing, or too much."""
    match _parts(uri):
        case ["sessions"]:
            return _json({"sessions": list(_sessions())})
        case ["session", session]:
            return _json(home.find(session).read().to_wire())
        case ["session", session, "run", run_id]:
            return _json(home.find(session).result(run_id).to_wire())
        case ["session", session, "artifact", name]:
            return _file(_artifact(home.find(session), name))
        case ["session", session, "report"]:
            return _file(_report(home.find(session)))
        case _:
            raise SessionError(f"no resource {uri[:200]!r}", f"There is {SESSIONS}; see templates")


def artifact_names(session: StoredSession) -> list[str]:
    """Regular files in a session's artifacts; links are none of ours."""
    if not session.artifacts.is_dir():
        return []
    entries = session.artifacts.iterdir()
    return sorted(p.name for p in entries if p.is_file() and not p.is_symlink())


def _parts(uri: str) -> list[str]:
    """The address without its scheme, split and decoded; `#` is part of a run's id."""
    if not uri.startswith(_SCHEME):
        return []
    return [unquote(part) for part in uri.removeprefix(_SCHEME).split("/")]


def _sessions() -> Iterator[dict[str, Any]]:
    for name in home.names():
        try:
            session = StoredSession(home.sessions_folder() / name).read()
        except SessionError as error:
            yield {"id": name, "state": "unreadable", "error": str(error)}
            continue
        yield {
            "id": name,
            "state": session.state,
            "target": session.target.to_wire(),
            "created_at": session.created_at,
            "runs": len(session.runs),
            "uri": session_uri(name),
        }


def _artifact(session: StoredSession, name: str) -> Path:
    """The file of that name. Only what the folder lists can be named, so no path leads out of it."""
    names = artifact_names(session)
    if name not in names:
        known = ", ".join(names[:20]) or "none yet"
        raise SessionError(
            f"session {session.id} has no artifact {name[:200]!r}", f"It has: {known}"
        )
    return session.artifacts / name


def _report(session: StoredSession) -> Path:
    report = session.folder / "report.md"
    if not report.is_file() or report.is_symlink():
        raise SessionError(f"session {session.id} has no report yet", "Call the tool report")
    return report


def _file(path: Path) -> Content:
    size = path.stat().st_size
    _require_small(size, path.name, f"Read it from disk: {path}")
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return Content(_BINARY_TYPE, data)
    if "\0" in text:
        return Content(_BINARY_TYPE, data)
    return Content(_TYPES.get(path.suffix.lower(), "text/plain"), hide_secrets(clean_text(text)))


def _json(value: dict[str, Any]) -> Content:
    text = json.dumps(value, ensure_ascii=False, indent=1)
    _require_small(len(text.encode()), "this document", "Read it from the session folder")
    return Content(JSON_TYPE, text)


def _require_small(size_bytes: int, what: str, remedy: str) -> None:
    if size_bytes > LIMIT_BYTES:
        raise SessionError(
            f"{what} has {size_bytes} bytes, and a resource may have {LIMIT_BYTES}", remedy
        )
