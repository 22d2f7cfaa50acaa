"""Captures the target's packets. Not built yet: says so, and what works meanwhile."""

from dea.contracts.arguments import CaptureTraffic
from dea.errors import ConsentError, DeaError
from dea.tools.run import Run
from dea.tools.tool import Tool

_MISSING = "packet capture is not available yet"
_INSTEAD = "inspect_sockets shows peers, queues, round trip times and retransmits"


async def capture_traffic(arguments: CaptureTraffic, run: Run) -> None:
    if not arguments.consent:
        raise ConsentError(
            "packets may hold secrets, so capturing them needs the user's consent",
            f"Besides, {_MISSING}: {_INSTEAD}",
        )
    raise DeaError(_MISSING, f"Use what needs no packets: {_INSTEAD}")


TOOL = Tool(
    name="capture_traffic",
    title="Capture network traffic",
    description=(
        "Not available yet. Would capture the packets of the target's ports; needs consent: true, "
        "since packets may hold secrets. Use inspect_sockets instead."
    ),
    arguments=CaptureTraffic,
    run=capture_traffic,
    missing=_MISSING,
)
