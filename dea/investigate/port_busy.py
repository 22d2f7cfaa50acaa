"""Port busy: who holds the port that the target, or the user, wants."""

import os

from dea.contracts.data import LogExcerpt, Socket, SyscallError
from dea.contracts.scrub import one_line
from dea.contracts.secrets import hide_secrets
from dea.errors import ArgumentError
from dea.investigate.inquiry import Inquiry
from dea.investigate.refused_port import refusal_in
from dea.rules import ports

_LOOK_S = 3
_START_S = 3.0  # a server that is refused its port has ended by then


async def investigate_port_busy(inquiry: Inquiry) -> None:
    await inquiry.wait_for_exit(_START_S)
    told = _port_from_output(inquiry)
    port = inquiry.port or told or await _port_from_bind(inquiry)
    if port is None:
        raise ArgumentError(
            "no port was given, and the target was not seen failing to bind one",
            "Say which: port=8080 (dea why ... --port 8080)",
        )
    await inquiry.observe("port_busy", port=port)
    # Without a target DEA stands in for one, and nobody is known to have been refused the port.
    no_target = inquiry.target.pid == os.getpid()
    inquiry.judge(ports.RULES_WITHOUT_TARGET if no_target else ports.PORT_RULES)


def _port_from_output(inquiry: Inquiry) -> int | None:
    """The port in the line in which a launched command complained."""
    for stream in ("stderr", "stdout"):
        if refusal := refusal_in(inquiry.output(stream)):
            excerpt = LogExcerpt(source=stream, text=hide_secrets(one_line(refusal.line, 500)))
            at = (refusal.number, refusal.number)
            inquiry.cite(excerpt, f"{stream}: {excerpt.text}", stream, at)
            return refusal.port
    return None


async def _port_from_bind(inquiry: Inquiry) -> int | None:
    """The port that a retrying target asks for right now, else the one it listens on."""
    if await inquiry.wait_for_exit(0) is not None:
        return None
    await inquiry.step("trace_syscalls", duration_s=_LOOK_S, categories=["network"])
    for item in inquiry.evidence:
        if isinstance(item.data, SyscallError) and item.data.errno == "EADDRINUSE":
            port = (item.data.object or "").rpartition(":")[2]
            if port.isdigit():
                return int(port)
    await inquiry.step("inspect_sockets")
    listening = {
        int(item.data.local.rpartition(":")[2])
        for item in inquiry.evidence
        if isinstance(item.data, Socket) and item.data.role == "listen"
    }
    return listening.pop() if len(listening) == 1 else None
