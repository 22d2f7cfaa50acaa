"""Sockets of the target and its descendants: states, queues, peers and what moved."""

from dea.contracts.arguments import InSession
from dea.rules import sockets
from dea.tools.run import Run
from dea.tools.tool import Tool


async def inspect_sockets(arguments: InSession, run: Run) -> None:
    request = await run.request(whole_family=True)
    await run.observe(request)
    run.judge(sockets.RULES)


TOOL = Tool(
    name="inspect_sockets",
    title="Inspect sockets",
    description=(
        "List the sockets of the target and its descendants with peers, queues, round trips and "
        "retransmits, looked at twice, one second apart. Use when it waits for the network, leaks "
        "connections or does not accept any. Costs the target nothing."
    ),
    arguments=InSession,
    run=inspect_sockets,
)
