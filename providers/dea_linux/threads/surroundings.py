"""What surrounds the threads, read at the beginning and the end: processes, cgroups, the host."""

import os
from collections.abc import Container, Iterable
from typing import Any

from dea_linux import procfs

_HOST_FILES = {
    "loadavg": "/proc/loadavg",
    "stat": "/proc/stat",
    "pressure_cpu": "/proc/pressure/cpu",
    "pressure_io": "/proc/pressure/io",
    "pressure_memory": "/proc/pressure/memory",
}
_CGROUP_FILES = ("cpu.stat", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")
_FROZEN_FILES = ("cgroup.events", "freezer.state")
_RUNTIMES = ("python", "libpython", "libjvm.so", "libnode.so", "node")
_NEIGHBOUR_TICKS = 2  # what a process must have used in the window to count


def read_host() -> dict[str, str]:
    """Raw texts; of /proc/stat only the line that sums all CPUs."""
    texts = {name: procfs.read_text(path) for name, path in _HOST_FILES.items()}
    texts["stat"] = texts["stat"].partition("\n")[0]
    return texts


def read_all_stats() -> dict[int, str]:
    """The stat line of every process, to tell who else used the CPUs."""
    return {pid: procfs.read_text(f"/proc/{pid}/stat") for pid in procfs.processes()}


def busy_neighbours(
    before: dict[int, str], after: dict[int, str], family: Container[int]
) -> list[dict[str, Any]]:
    """Stat lines of the ten other processes that used most CPU."""
    used = {
        pid: _ticks(stat) - _ticks(before.get(pid, stat))
        for pid, stat in after.items()
        if pid not in family and not _is_ours(pid, after)
    }
    busiest = sorted((pid for pid in used if used[pid] >= _NEIGHBOUR_TICKS), key=lambda p: -used[p])
    return [{"pid": pid, "stat": [before.get(pid, ""), after[pid]]} for pid in busiest[:10]]


def _is_ours(pid: int, stats: dict[int, str]) -> bool:
    """Whether DEA itself, or a program that it runs."""
    while pid > 1 and pid != os.getpid():
        fields = procfs.stat_fields(stats.get(pid, ""))
        pid = int(fields[1]) if len(fields) > 1 else 0
    return pid == os.getpid()


def _ticks(stat: str) -> int:
    fields = procfs.stat_fields(stat)
    return int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0


def read_contended_locks() -> str:
    """Lines of /proc/locks about file locks that somebody waits for."""
    lines = procfs.read_text("/proc/locks").splitlines()
    waited_for = {line.split(":")[0] for line in lines if "->" in line}
    return "\n".join(line for line in lines if line.split(":")[0] in waited_for)


def describe_process(pid: int) -> dict[str, Any]:
    """What does not change: raw texts, of the maps only lines of language runtimes."""
    command = procfs.read_text(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
    return {
        "exe": procfs.read_link(f"/proc/{pid}/exe"),
        "class": procfs.read_bytes(f"/proc/{pid}/exe", 5)[4:5].hex(),
        "command_line": command[:500],
        "cgroup": procfs.read_text(f"/proc/{pid}/cgroup"),
        "maps": _runtime_maps(procfs.read_text(f"/proc/{pid}/maps").splitlines()),
    }


def _runtime_maps(lines: list[str]) -> list[str]:
    """Lines of runtimes, and the line after the last of each: static data may go on there."""
    kept: list[str] = []
    follows = False
    for line in lines:
        fields = line.split()
        name = fields[5].rpartition("/")[2] if len(fields) > 5 else ""
        is_runtime = name.startswith(_RUNTIMES)
        if is_runtime or (follows and not name):
            kept.append(line)
        follows = is_runtime
    return kept[:40]


def cgroup_folders(cgroup: str, mounts: str) -> list[tuple[str, str]]:
    """(path, folder) of the cgroups that may limit or freeze a process, each with its ancestors."""
    found: list[tuple[str, str]] = []
    for line in cgroup.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in ("cpu", "freezer") if controllers else ("",):
            mount = _mount_of(controller, mounts)
            if mount and (not controllers or controller in controllers.split(",")):
                found += [(part, mount + part) for part in _ancestry(path)]
    return found


def read_cgroups(folders: Iterable[tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Raw texts of the files that tell limits, throttling and freezing, by folder."""
    found: dict[str, dict[str, str]] = {}
    for path, folder in folders:
        files = {
            name: text
            for name in (*_CGROUP_FILES, *_FROZEN_FILES)
            if (text := procfs.read_text(f"{folder}/{name}"))
        }
        if files:
            found[folder] = {"path": path, **files}
    return found


def _ancestry(path: str) -> list[str]:
    """The path and its ancestors, without the root, which limits nothing."""
    parts = [part for part in path.split("/") if part]
    return ["/" + "/".join(parts[:length]) for length in range(len(parts), 0, -1)]


def _mount_of(controller: str, mountinfo: str) -> str:
    """Where a version 1 controller is mounted; version 2 for an empty name."""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.partition(" ")
        if (kind == "cgroup2" and not controller) or (
            kind == "cgroup" and controller and controller in options.split()[-1].split(",")
        ):
            return before.split()[4]
    return ""
