"""Which files, sockets and pipes are open, and which become more."""

from dea.contracts.arguments import InspectFiles
from dea.rules import growth
from dea.tools.run import Run
from dea.tools.tool import Tool


async def inspect_files(arguments: InspectFiles, run: Run) -> None:
    await run.observe(await run.request(float(arguments.window_s)))
    run.judge(growth.ALONE)


TOOL = Tool(
    name="inspect_files",
    title="Inspect open files",
    description=(
        "List open descriptors of the target and its descendants by type, path and socket peer, "
        "how they grow over window_s, the limit, and deleted files that still take space. Use for "
        "'too many open files', a suspected descriptor or connection leak, or a full disk. Only "
        "looks: the target is not stopped."
    ),
    arguments=InspectFiles,
    run=inspect_files,
)
