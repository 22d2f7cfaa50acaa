"""The memory limit that a process's cgroup sets, version 1 and 2."""

import re
from collections.abc import Iterator
from pathlib import Path

from dea.contracts.data import Cgroup

_UNLIMITED = 2**60  # version 1 says "no limit" by a number near 2**63
_NUMBERS = re.compile(r"(\w+)=(\d+)")


def read(pid: int) -> str:
    """One line about the nearest limit; empty when there is none or it cannot be read."""
    try:
        groups = Path(f"/proc/{pid}/cgroup").read_text(errors="replace")
        mounts = Path("/proc/self/mountinfo").read_text(errors="replace")
    except OSError:
        return ""
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        for root in _roots(mounts, controllers):
            if found := nearest(Path(root), path, version=1 if controllers else 2):
                return found
    return ""


def parse(text: str) -> Cgroup | None:
    """What `read` wrote."""
    numbers = {name: int(value) for name, value in _NUMBERS.findall(text.partition(" path=")[0])}
    if "limit_bytes" not in numbers:
        return None
    return Cgroup(
        path=text.partition(" path=")[2].strip(),
        version=1 if numbers.get("version") == 1 else 2,
        memory_limit_bytes=numbers["limit_bytes"],
        memory_bytes=numbers.get("used_bytes"),
        oom_kills=numbers.get("oom_kills"),
    )


def _roots(mounts: str, controllers: str) -> Iterator[str]:
    """Where the hierarchy is mounted: field 5 of mountinfo, the type after the dash (proc(5))."""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        kind, options = after.split()[0], after.rpartition(" ")[2].split(",")
        if kind == ("cgroup" if controllers else "cgroup2") and (
            not controllers or "memory" in options
        ):
            yield before.split()[4]


def nearest(root: Path, path: str, version: int) -> str:
    """The group with the least memory left, of the process's own and those above it."""
    own = root / path.strip("/")
    if ".." in own.parts:  # outside our view of the hierarchy
        return ""
    groups = [own, *own.parents]
    lines = [_limit(g, g.relative_to(root), version) for g in groups if g.is_relative_to(root)]
    found = [line for line in lines if line]
    return min(found, key=_left, default="")


def _left(line: str) -> int:
    group = parse(line)
    return (group.memory_limit_bytes or 0) - (group.memory_bytes or 0) if group else 0


def _limit(group: Path, name: Path, version: int) -> str:
    limit_file, used_file, idle, events = (
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "oom_control")
        if version == 1
        else ("memory.max", "memory.current", "inactive_file", "events")
    )
    limit, used = _number(group / limit_file), _number(group / used_file)
    if limit is None or used is None or limit >= _UNLIMITED:
        return ""
    # The page cache that the kernel drops first does not count against the limit.
    used -= _field(group / "memory.stat", idle)
    kills = _field(group / f"memory.{events}", "oom_kill")
    return (
        f"version={version} limit_bytes={limit} used_bytes={max(0, used)} oom_kills={kills} "
        f"path=/{'' if name == Path('.') else name}"
    )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # version 2 says "max"
        return None


def _field(path: Path, name: str) -> int:
    try:
        fields = dict(line.split(None, 1) for line in path.read_text().splitlines())
    except (OSError, ValueError):
        return 0
    return int(fields.get(name, "0"))
