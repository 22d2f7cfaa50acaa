"""Who a process is: command, user, since when, who started it, in which container."""

import os
import pwd
import re
import time
from collections.abc import Iterable
from datetime import datetime
from typing import TypedDict

from dea_linux import procfs
from dea_linux.descendants import descendants

_CONTAINER = re.compile(r"(?:^|[/:-])([0-9a-f]{64})(?:\.scope)?(?:/|$)")
_UNIT = re.compile(r"/([^/]+\.service)(?:/|$)")
_PARENTS = 16  # how far up to look


class Who(TypedDict, total=False):
    """One process as it is stored; a key is missing when it could not be read."""

    pid: int
    ppid: int
    comm: str
    cmdline: str
    uid: int
    user: str
    started_at: str  # ISO 8601, local time
    cwd: str
    container: str
    unit: str
    orphaned: bool  # init took it over from a parent that has ended
    may_bind_any: bool  # has CAP_NET_BIND_SERVICE
    parents: list[str]


def describe(pids: Iterable[int]) -> dict[str, Who]:
    """Each process that still exists, by pid (as text, so that it can be stored as JSON)."""
    return {str(pid): who for pid in pids if (who := _describe(pid))}


def parents_of(pid: int) -> list[int]:
    """Its ancestors, the nearest first."""
    found: list[int] = []
    while (pid := _ppid(pid)) and len(found) < _PARENTS:
        found.append(pid)
    return found


def family_of(pid: int) -> set[int]:
    """The process, its ancestors but for init, and all that descend from it."""
    above = {parent for parent in parents_of(pid) if parent != 1}
    return {pid, *above, *descendants(pid)}


def _describe(pid: int) -> Who | None:
    status = _status(pid)
    if "Name" not in status:
        return None
    uid = int(status["Uid"].split()[0])
    who = Who(
        pid=pid,
        ppid=int(status["PPid"]),
        comm=status["Name"],
        cmdline=_read(pid, "cmdline").replace("\0", " ").strip(),
        uid=uid,
        user=_user(uid),
        started_at=_started_at(pid),
        orphaned=_is_orphan(pid),
        may_bind_any=bool(int(status.get("CapEff", "0"), 16) >> 10 & 1),
        parents=[f"{parent} {_read(parent, 'comm').strip()}" for parent in parents_of(pid)],
    )
    cgroup = _read(pid, "cgroup")
    if container := _CONTAINER.search(cgroup):
        who["container"] = container[1][:12]
    elif unit := _UNIT.search(cgroup):
        who["unit"] = unit[1]
    if cwd := procfs.read_link(f"/proc/{pid}/cwd"):
        who["cwd"] = cwd
    return who


def _ppid(pid: int) -> int:
    """0 when there is none, or no such process."""
    fields = procfs.stat_fields(_read(pid, "stat"))
    return int(fields[1]) if len(fields) > 1 else 0


def _is_orphan(pid: int) -> bool:
    """Whether init is its parent, and the leader of the group that it was born into is gone."""
    fields = procfs.stat_fields(_read(pid, "stat"))
    if len(fields) < 3 or int(fields[1]) != 1:
        return False
    group = int(fields[2])
    return group not in (0, pid) and not _read(group, "stat")


def _started_at(pid: int) -> str:
    """From field 22 of /proc/PID/stat, clock ticks since boot."""
    fields = procfs.stat_fields(_read(pid, "stat"))
    if len(fields) < 20:
        return ""
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return datetime.fromtimestamp(time.time() - age_s).astimezone().isoformat(timespec="seconds")


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _status(pid: int) -> dict[str, str]:
    pairs = (line.partition(":\t") for line in _read(pid, "status").splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _read(pid: int, name: str) -> str:
    return procfs.read_text(f"/proc/{pid}/{name}")
