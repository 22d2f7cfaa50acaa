"""The processes that could be a target, the busiest first."""

from pathlib import Path

from dea.contracts.arguments import ListProcesses
from dea.contracts.data import ProcessList, ProcessRow
from dea.contracts.evidence import Fact
from dea.contracts.scrub import one_line
from dea.targets import listing
from dea.targets.names import command_line
from dea.targets.runtime import detect_runtime
from dea.tools.run import Run
from dea.tools.tool import Tool

_LOOK_S = 0.25
_ARGUMENTS_KEPT = 120


async def list_processes(arguments: ListProcesses, run: Run) -> None:
    found = listing.processes()
    if arguments.filter:
        found = listing.matching(arguments.filter, found)
    ranked = await listing.busiest(found, _LOOK_S)
    shown = ranked[: arguments.limit]
    rows = [_row(seen, share) for seen, share in shown]
    run.cite(Fact(ProcessList(total=len(ranked), processes=rows), _summary(len(ranked), rows)))
    if len(ranked) > len(rows):
        run.limit(f"{len(ranked) - len(rows)} more match; use filter, or a larger limit")
    if not Path("/proc/1").exists():
        run.limit("processes of other users are hidden on this host (/proc has hidepid)")
    run.suggested_next.append("attach")


def _row(seen: listing.Seen, share: float) -> ProcessRow:
    return ProcessRow(
        pid=seen.pid,
        ppid=seen.ppid,
        comm=one_line(seen.comm, 64),
        user=seen.user(),
        cpu_share=round(share, 2),
        rss_bytes=seen.rss_bytes,
        runtime=detect_runtime(seen.pid),
        cmdline=one_line(command_line(seen.pid), _ARGUMENTS_KEPT),
    )


def _summary(total: int, rows: list[ProcessRow]) -> str:
    if not rows:
        return "no process matches"
    first = rows[0]
    return (
        f"{total} processes; the busiest is {first.comm} (pid {first.pid}) "
        f"with {first.cpu_share:.0%} of a core"
    )


TOOL = Tool(
    name="list_processes",
    title="List processes",
    description=(
        "Find the pid to attach to: processes of this host with CPU share (over a quarter of a "
        "second), memory, runtime and arguments (secrets replaced), the busiest first. Filter by "
        "a part of the command, its arguments or the user."
    ),
    arguments=ListProcesses,
    run=list_processes,
)
