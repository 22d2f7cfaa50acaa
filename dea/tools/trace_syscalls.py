"""System calls of the target: how many, how long, which failed."""

from dea.contracts.arguments import TraceSyscalls
from dea.rules import syscalls
from dea.tools.run import Run
from dea.tools.tool import Tool


async def trace_syscalls(arguments: TraceSyscalls, run: Run) -> None:
    request = await run.request(
        arguments.duration_s, whole_family=True, categories=list(arguments.categories)
    )
    await run.observe(request)
    run.judge(syscalls.RULES)


TOOL = Tool(
    name="trace_syscalls",
    title="Trace system calls",
    description=(
        "Trace the system calls of the target and its descendants for some seconds: counts, times, "
        "errors and the slowest calls, with the files and peers they were on. Slows the target "
        "10 to 70 times while it lasts when strace has to be used: keep it short, and prefer "
        "time_budget to learn what a slow process waits for."
    ),
    arguments=TraceSyscalls,
    run=trace_syscalls,
)
