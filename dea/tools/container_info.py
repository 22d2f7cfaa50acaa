"""What a container's engine knows about the target. Not built yet: says so, and what works meanwhile."""

from dea.contracts.arguments import InSession
from dea.errors import DeaError
from dea.tools.run import Run
from dea.tools.tool import Tool

_MISSING = "container engines are not asked yet"


async def container_info(arguments: InSession, run: Run) -> None:
    raise DeaError(
        f"{_MISSING}: nothing is known about the container of {run.target.id}",
        "A process in a container is examined through its pid as the host sees it; restarts, "
        "limits and the exit code are in `docker inspect` or `kubectl describe pod`",
    )


TOOL = Tool(
    name="container_info",
    title="Look at the target's container",
    description="Not available yet. Would give limits, restarts and state of a container or pod.",
    arguments=InSession,
    run=container_info,
    missing=_MISSING,
)
