"""How memory, threads and descriptors change over a window, and what the heap holds."""

from collections.abc import Sequence

from dea import registry
from dea.backend import Request
from dea.contracts.arguments import SnapshotMemory
from dea.contracts.data import MetricSeries, Process
from dea.contracts.evidence import Evidence, Fact
from dea.contracts.target import Target
from dea.errors import BackendError, TargetError
from dea.rules import growth
from dea.targets.resolve import describe
from dea.tools.run import Run, host
from dea.tools.tool import Tool

_HEAP = "snapshot_memory.heap"


async def snapshot_memory(arguments: SnapshotMemory, run: Run) -> None:
    request = await run.request(float(arguments.window_s))
    series = await run.observe(request)
    growing = _growing_processes(series)
    for process in growing.values():
        _say_who(process, run)
    if arguments.heap:
        main = next(iter(growing.values()), run.target)
        await _read_heap(Request(main, (main.pid or request.pid,), request.duration_s), run)
    run.judge(growth.RULES)


def _growing_processes(evidence: Sequence[Evidence]) -> dict[int, Target]:
    """The processes in which something grows, by pid: the target or descendants of it."""
    found: dict[int, Target] = {}
    for item in evidence:
        if isinstance(item.data, MetricSeries) and item.data.shape == "growing":
            try:
                found.setdefault(item.data.pid, describe(item.data.pid))
            except TargetError:  # it has ended by now
                continue
    return found


def _say_who(process: Target, run: Run) -> None:
    """Which runtime it is decides what its growth can mean."""
    assert process.pid is not None
    data = Process(
        pid=process.pid,
        comm=process.comm or "?",
        cmdline=process.cmdline,
        runtime=process.runtime,
    )
    run.cite(Fact(data, f"process {data.pid} ({data.comm}) is a {data.runtime} process"))


async def _read_heap(request: Request, run: Run) -> None:
    """What holds the memory; the series stand on their own where no heap can be read."""
    runtime = request.target.runtime or "unknown"
    try:
        choice = registry.choose(_HEAP, request.target, host())
    except BackendError as error:
        served = {known for b in registry.backends() if b.tool == _HEAP for known in b.runtimes}
        reason = f": {error}" if runtime in served else ""
        run.limit(f"no heap reader for {runtime} yet: metrics only{reason}")
        return
    try:
        await run.observe(request, backends=choice.usable)
    except BackendError as error:
        run.limit(f"the heap was not read: {error}")


TOOL = Tool(
    name="snapshot_memory",
    title="Watch memory and read the heap",
    description=(
        "Sample memory, threads, descriptors and children of the target and its descendants over "
        "window_s and say what grows, how fast and with which certainty; then, where the runtime "
        "is supported, what the heap holds (heap=false: metrics only). Use for a suspected leak. "
        "The target is not stopped for the series; reading a heap may pause it for milliseconds."
    ),
    arguments=SnapshotMemory,
    run=snapshot_memory,
)
