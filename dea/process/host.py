"""Reads what this host allows."""

import os
import platform
import shutil
import sys
from pathlib import Path

from dea.backend import Host

# linux/capability.h; those that matter for observing
_CAPABILITIES = {
    5: "CAP_KILL",
    12: "CAP_NET_ADMIN",
    13: "CAP_NET_RAW",
    19: "CAP_SYS_PTRACE",
    21: "CAP_SYS_ADMIN",
    24: "CAP_SYS_RESOURCE",
    38: "CAP_PERFMON",
    39: "CAP_BPF",
}


def read_host(programs: tuple[str, ...]) -> Host:
    """Host facts, with the paths of those `programs` that are installed.

    Read anew each time: what was missing may have been installed while a server runs.
    """
    found = {name: path for name in programs if (path := find_program(name)) is not None}
    return Host(
        os=sys.platform,
        kernel=platform.release(),
        arch=platform.machine(),
        is_root=os.geteuid() == 0,
        capabilities=_capabilities(),
        ptrace_scope=_number("/proc/sys/kernel/yama/ptrace_scope"),
        perf_event_paranoid=_number("/proc/sys/kernel/perf_event_paranoid"),
        programs=found,
    )


def find_program(name: str) -> Path | None:
    """Beside our own interpreter first (py-spy comes with us), then on PATH and in sbin."""
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join([beside, os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    found = shutil.which(name, path=path)
    return Path(found) if found else None


def _capabilities() -> frozenset[str]:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return frozenset()
    effective = next(
        (int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), 0
    )
    return frozenset(name for bit, name in _CAPABILITIES.items() if effective >> bit & 1)


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None
