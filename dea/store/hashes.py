"""SHA256SUMS of a session's artifacts, in the format that `sha256sum -c` reads."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from dea.store.atomic import locked, write_bytes

_LISTING = "SHA256SUMS"


def read(folder: Path) -> dict[str, str]:
    """sha256 by path relative to the folder."""
    try:
        lines = (folder / _LISTING).read_text(errors="replace").splitlines()
    except OSError:
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines) if name}


def record(folder: Path, paths: Iterable[Path]) -> None:
    """Add those of the files that exist, or renew them. Raises StoreError."""
    digests = {str(path.relative_to(folder)): _sha256(path) for path in paths if path.is_file()}
    if not digests:
        return
    with locked(folder):
        lines = [f"{d}  {name}\n" for name, d in sorted((read(folder) | digests).items())]
        write_bytes(folder / _LISTING, "".join(lines).encode())


def outdated(folder: Path, names: Iterable[str]) -> list[Path]:
    """Those of the named files that are not listed, or were written since they were."""
    known = read(folder)
    listed_ns = _written_ns(folder / _LISTING)
    return [
        folder / name
        for name in names
        if name not in known or _written_ns(folder / name) >= listed_ns
    ]


def _written_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
