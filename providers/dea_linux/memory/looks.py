"""Single looks at a process: its numbers, each from one small file of /proc (proc(5))."""

import os
import time

from dea_linux import procfs
from dea_linux.descendants import is_zombie

_KIB = 1024
_STATUS = {
    "VmRSS": "rss_bytes",
    "RssAnon": "anon_bytes",
    "RssFile": "file_bytes",
    "RssShmem": "shmem_bytes",
    "VmSwap": "swap_bytes",
}
_ROLLUP = {"Pss": "pss_bytes", "Anonymous": "exact_anon_bytes"}


def status(pid: int) -> dict[str, int]:
    """Memory and threads; empty when it has no memory (any more): a zombie, a kernel thread.

    Raises OSError when the process is gone.
    """
    fields = _fields(f"/proc/{pid}/status")
    numbers = _bytes(fields, _STATUS)
    return {**numbers, "threads": int(fields["Threads"])} if numbers else {}


def rollup(pid: int) -> dict[str, int]:
    """Memory counted page by page, which takes long for a large process. Raises OSError."""
    return _bytes(_fields(f"/proc/{pid}/smaps_rollup"), _ROLLUP)


def descriptors(pid: int) -> dict[str, int]:
    """How many descriptors, and how many of them are sockets. Raises OSError."""
    folder = f"/proc/{pid}/fd"
    numbers = os.listdir(folder)
    return {"fds": len(numbers), "sockets": sum(_is_socket(f"{folder}/{n}") for n in numbers)}


def offspring(pid: int) -> dict[str, int]:
    """How many children, and how many of them have ended without being waited for."""
    pids = procfs.children(pid)
    return {"children": len(pids), "zombies": sum(map(is_zombie, pids))}


def age_s(pid: int) -> float | None:
    """Seconds since it started, from field 22 of /proc/PID/stat; None when it is gone."""
    fields = procfs.stat_fields(procfs.read_text(f"/proc/{pid}/stat"))
    if len(fields) < 20:
        return None
    started_s = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return round(time.clock_gettime(time.CLOCK_BOOTTIME) - started_s, 1)


def _is_socket(path: str) -> bool:
    try:
        return os.readlink(path).startswith("socket:")
    except OSError:  # closed meanwhile
        return False


def _fields(path: str) -> dict[str, str]:
    with open(path, errors="replace") as file:
        pairs = (line.partition(":") for line in file)
        return {name: value.strip() for name, _, value in pairs}


def _bytes(fields: dict[str, str], wanted: dict[str, str]) -> dict[str, int]:
    return {
        name: int(fields[field].split()[0]) * _KIB
        for field, name in wanted.items()
        if field in fields
    }
