"""How memory, threads and descriptors change over a window, and what holds the memory."""

from collections.abc import Iterable, Sequence

import anyio

from dea import registry
from dea.backend import Backend, Request
from dea.contracts.arguments import SnapshotMemory
from dea.contracts.data import MetricSeries, Process
from dea.contracts.evidence import Evidence, Fact
from dea.contracts.target import Target
from dea.errors import BackendError, DeaError, TargetError
from dea.rules import growth
from dea.targets.resolve import describe
from dea.tools.run import Run, host
from dea.tools.tool import Tool

_HEAP, _SITES = "snapshot_memory.heap", "snapshot_memory.sites"
_SITES_S = 3.0
_OF_ALL = "family_rss_bytes"  # a sum, of no process in particular


async def snapshot_memory(arguments: SnapshotMemory, run: Run) -> None:
    request = await run.request(float(arguments.window_s))
    heap = _serving(_HEAP, run.target) if arguments.heap else ()
    series = await _watch(request, heap, run)
    growing = [data for item in series if isinstance(data := item.data, MetricSeries)]
    growing = [found for found in growing if found.shape == "growing"]
    for pid in dict.fromkeys(found.pid for found in growing if found.name != _OF_ALL):
        _say_who(pid, run)
    if arguments.heap:
        fattest = _fattest(growing)
        if fattest not in (None, request.pid) or not heap:
            await _look_closer(fattest, request, run)
    run.judge(growth.ALONE)


async def _watch(request: Request, heap: Sequence[Backend], run: Run) -> list[Evidence]:
    """The series, and meanwhile two looks at the heap where that can be read."""
    series: list[Evidence] = []
    failure: DeaError | None = None
    async with anyio.create_task_group() as side_by_side:
        if heap:
            side_by_side.start_soon(_observe, request, heap, run)
        try:
            series = await run.observe(request)
        except DeaError as error:
            failure = error
            side_by_side.cancel_scope.cancel()
    if failure:
        raise failure
    return series


def _fattest(growing: Iterable[MetricSeries]) -> int | None:
    """The process whose memory grows most, if any does."""
    anon = [found for found in growing if found.name == "anon_bytes"]
    return max(anon, key=lambda found: found.slope_per_s).pid if anon else None


def _say_who(pid: int, run: Run) -> None:
    """Which runtime it is decides what its growth can mean."""
    process = _describe(pid, run)
    if process is not None:
        data = Process(
            pid=pid, comm=process.comm or "?", cmdline=process.cmdline, runtime=process.runtime
        )
        run.cite(Fact(data, f"process {pid} ({data.comm}) is a {data.runtime} process"))


async def _look_closer(growing_pid: int | None, request: Request, run: Run) -> None:
    """The heap of a process that was not read yet; else, if it grows, where it touches memory."""
    pid = growing_pid or request.pid
    process = _describe(pid, run)
    if process is None:
        return
    if heap := _serving(_HEAP, process):
        await _observe(Request(process, (pid,), request.duration_s), heap, run)
        return
    sites = _serving(_SITES, process) if growing_pid else ()
    run.limit(_no_heap_reader(process) + ("" if sites else ": metrics only"))
    if sites:
        await _observe(Request(process, (pid,), _SITES_S), sites, run)


async def _observe(request: Request, backends: Sequence[Backend], run: Run) -> None:
    """The series stand on their own where this fails."""
    try:
        await run.observe(request, backends=backends)
    except (BackendError, TargetError) as error:  # or it has ended: the series tell until when
        run.limit(f"what holds the memory was not read: {error}")


def _describe(pid: int, run: Run) -> Target | None:
    """The target or a descendant; None when it has ended by now."""
    try:
        return run.target if pid == run.target.pid else describe(pid)
    except TargetError:
        return None


def _serving(tool: str, process: Target) -> Sequence[Backend]:
    try:
        return registry.choose(tool, process, host()).usable
    except BackendError:
        return ()


def _no_heap_reader(process: Target) -> str:
    runtime = process.runtime or "unknown"
    known = [b for b in registry.backends() if b.tool == _HEAP and process.runtime in b.runtimes]
    states = [backend.availability(host()) for backend in known]
    if states:
        return f"the {runtime} heap cannot be read here, {states[0].reason} ({states[0].remedy})"
    return f"no heap reader for {runtime} yet"


TOOL = Tool(
    name="snapshot_memory",
    title="Watch memory and find what holds it",
    description=(
        "Sample memory, threads, descriptors and children of the target and its descendants over "
        "window_s and say what grows, how fast and with which certainty; and, where the runtime "
        "is supported, what the heap holds or where in the code new memory is touched "
        "(heap=false: metrics only). Use for a suspected leak. The series never stop the target; "
        "reading a Python heap holds it twice, for a third of a millisecond per MiB."
    ),
    arguments=SnapshotMemory,
    run=snapshot_memory,
)
