"""Where the CPU time goes: functions and lines, with a flame graph."""

from dea.contracts.arguments import ProfileCpu
from dea.rules import cpu
from dea.tools.by_runtime import observe_each
from dea.tools.run import Run
from dea.tools.tool import Tool


async def profile_cpu(arguments: ProfileCpu, run: Run) -> None:
    request = await run.request(
        arguments.duration_s, whole_family=True, consent=bool(arguments.consent)
    )
    await observe_each(run, request)
    run.judge(cpu.RULES)


TOOL = Tool(
    name="profile_cpu",
    title="Profile CPU time",
    description=(
        "Sample which functions and lines burn CPU (python: py-spy without pausing the target; "
        "node: very short stops; native and others: perf). Use when a process is busy. Waiting "
        "threads do not show: for those call time_budget. Gives folded stacks and a flame graph as "
        "artifacts."
    ),
    arguments=ProfileCpu,
    run=profile_cpu,
)
