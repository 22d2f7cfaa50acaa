"""Small readers of /proc. What is gone or may not be read comes back empty, never as an error."""

import os


def read_bytes(path: str, limit: int = 1 << 20) -> bytes:
    """The first `limit` bytes of a file. One read of a file in /proc gives a page at most."""
    chunks: list[bytes] = []
    try:
        with open(path, "rb", buffering=0) as file:
            while limit > 0 and (chunk := file.read(limit)):
                chunks.append(chunk)
                limit -= len(chunk)
    except OSError:
        pass
    return b"".join(chunks)


def read_text(path: str) -> str:
    """A file as text; bytes that are not UTF-8 become replacement characters."""
    return read_bytes(path).decode("utf-8", "replace")


def read_link(path: str) -> str:
    try:
        return os.fsencode(os.readlink(path)).decode("utf-8", "replace")
    except OSError:
        return ""


def processes() -> list[int]:
    """Pids of all processes that we can see."""
    return _numbers("/proc")


def threads(pid: int) -> list[int]:
    return _numbers(f"/proc/{pid}/task")


def children(pid: int) -> list[int]:
    """Children of any thread of the process; exact unless some end meanwhile, see proc(5)."""
    found: list[int] = []
    for tid in threads(pid):
        found += map(int, read_text(f"/proc/{pid}/task/{tid}/children").split())
    return found


def stat_fields(stat: str) -> list[str]:
    """Fields of a stat file from the third (the state) on; the second may hold any character."""
    return stat.rpartition(")")[2].split()


def command_of(stat: str) -> str:
    """The second field of a stat file: the name of the process or thread."""
    return stat.partition("(")[2].rpartition(")")[0]


def _numbers(path: str) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(path) if name.isdigit())
    except OSError:
        return []
