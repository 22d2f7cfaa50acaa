"""What every thread is doing at one moment, and what it waits for."""

from dea import registry
from dea.backend import Request
from dea.contracts.arguments import InSession
from dea.errors import DeaError
from dea.rules import stacks
from dea.tools.by_runtime import observe_each
from dea.tools.run import Run, host
from dea.tools.tool import Tool

WAITS = "dump_stacks.waits"


async def dump_stacks(_arguments: InSession, run: Run) -> None:
    request = await run.request(whole_family=True)
    await _waits(request, run)  # first, since taking stacks may disturb the waits
    await observe_each(run, request)
    run.judge(stacks.RULES)


async def _waits(request: Request, run: Run) -> None:
    """What each thread waits for; the stacks stand without it too."""
    try:
        choice = registry.choose(WAITS, request.target, host())
        await run.observe(request, backends=choice.usable)
    except DeaError as error:
        run.limit(f"what the threads wait for could not be read: {error}")


TOOL = Tool(
    name="dump_stacks",
    title="Dump the stack of every thread",
    description=(
        "Take one picture of all threads: each one's stack with function and file:line, what it "
        "waits for, and who owns the lock when that can be read. Use when a process hangs. Python "
        "is not paused (py-spy), node for under a millisecond; native threads pause some milliseconds "
        "(eu-stack, else gdb)."
    ),
    arguments=InSession,
    run=dump_stacks,
)
