"""Which processes were looked at: read beforehand, so that the result can name those that end."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from dea.contracts.data import Process
from dea.contracts.evidence import Fact
from dea.profile.clocks import CpuUse
from dea.profile.stacks import said

_LISTED = 4


class Relative(TypedDict):
    """One process of the target, as JSON holds it."""

    pid: int
    ppid: int
    comm: str
    command: str
    executable: str


def read_family(pids: Sequence[int]) -> list[Relative]:
    """The processes that still run."""
    found = (_read(pid) for pid in pids)
    return [relative for relative in found if relative is not None]


def process_facts(
    family: Sequence[Relative], uses: Sequence[CpuUse], target_pid: int, runtime: str | None
) -> Iterator[Fact]:
    """The target and its busiest relatives, where there are several."""
    share = {use.pid: use.share for use in uses}
    ranking = sorted(family, key=lambda one: (one["pid"] != target_pid, -share.get(one["pid"], 0)))
    if [one["pid"] for one in ranking] in ([], [target_pid]):
        return
    for one in ranking[:_LISTED]:
        pid, used = one["pid"], share.get(one["pid"], 0.0)
        inside = "" if pid == target_pid else f", a descendant of {target_pid},"
        data = Process(
            pid=pid,
            comm=one["comm"],
            ppid=one["ppid"],
            cmdline=one["command"] or None,
            runtime=runtime,
            cpu_share=round(used, 4),
            target=target_pid,
        )
        yield Fact(
            data,
            f"process {pid} ({one['command'] or one['comm']}){inside} used {used:.0%} of a core",
        )


def _read(pid: int) -> Relative | None:
    root = Path(f"/proc/{pid}")
    try:
        stat = (root / "stat").read_text(errors="replace")
        argv = (root / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return None
    try:
        executable = str((root / "exe").readlink())
    except OSError:
        executable = ""
    return Relative(
        pid=pid,
        ppid=int(stat.rpartition(")")[2].split()[1]),
        comm=said(stat[stat.index("(") + 1 : stat.rindex(")")], 40),
        command=said(argv, 120),
        executable=executable.encode("utf-8", "replace").decode(),
    )
