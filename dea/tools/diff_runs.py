"""Compares two runs of one session. Not built yet: it says so, and what to do meanwhile."""

from dea.contracts.arguments import DiffRuns
from dea.errors import DeaError
from dea.tools.run import Run
from dea.tools.tool import Tool

_MISSING = "runs cannot be compared yet"


async def diff_runs(arguments: DiffRuns, run: Run) -> None:
    raise DeaError(
        f"{_MISSING}: nothing was compared between {arguments.a} and {arguments.b}",
        f"Read both results: `dea show {arguments.session_id} RUN`, or their resources over MCP",
    )


TOOL = Tool(
    name="diff_runs",
    title="Compare two runs",
    description="Not available yet. Would say what changed between two runs of one tool.",
    arguments=DiffRuns,
    run=diff_runs,
    observes=False,
    missing=_MISSING,
)
