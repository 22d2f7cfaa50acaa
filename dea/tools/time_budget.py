"""Where the wall time of each thread went, adding up to 100 %, with the code that waits."""

import anyio

from dea import registry
from dea.backend import Request
from dea.contracts.arguments import TimeBudget
from dea.errors import DeaError
from dea.rules import waiting
from dea.rules.stacks import deadlocks
from dea.targets.runtime import detect_runtime
from dea.tools.by_runtime import observe_each
from dea.tools.run import Run
from dea.tools.tool import Tool

STACKS = "time_budget.stacks"
_PROCESSES = 32  # whose runtime is looked up


async def time_budget(arguments: TimeBudget, run: Run) -> None:
    request = await run.request(arguments.duration_s, whole_family=True)
    failures: list[DeaError] = []

    async def budget() -> None:
        try:
            await run.observe(request)
        except DeaError as error:
            failures.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(budget)
        group.start_soon(_stacks, request, run)
    if failures:
        raise failures[0]
    run.judge((deadlocks, *waiting.RULES))


async def _stacks(request: Request, run: Run) -> None:
    """Where in the code each thread is, over the same window; the budget stands without it too."""
    if not _can_sample(request):
        run.limit(
            "where in the code threads wait was not sampled over the window: that exists for Python, "
            "Node and Java only; dump_stacks shows it at one moment"
        )
        return
    try:
        await observe_each(run, request, STACKS)
    except DeaError as error:
        run.limit(f"where in the code threads wait could not be sampled: {error}")


def _can_sample(request: Request) -> bool:
    """Whether anything samples stacks of such programs, installed or not."""
    found = {request.target.runtime, *(detect_runtime(pid) for pid in request.pids[:_PROCESSES])}
    return any(
        backend.tool == STACKS and (not backend.runtimes or found.intersection(backend.runtimes))
        for backend in registry.backends()
    )


TOOL = Tool(
    name="time_budget",
    title="Time budget of each thread",
    description=(
        "Say where the wall time of each thread went, adding up to 100 %: on CPU, ready but without "
        "a CPU, throttled, or waiting, and for what (lock and owner, socket and peer, pipe and "
        "process, disk, sleep, child). Use first when a process is slow or seems stuck. Only reads "
        "/proc; the target is not stopped."
    ),
    arguments=TimeBudget,
    run=time_budget,
)
