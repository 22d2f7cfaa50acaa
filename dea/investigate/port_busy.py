"""Port busy: who holds the port that the target, or the user, wants."""

import re

from dea.contracts.data import LogExcerpt, Socket, SyscallError
from dea.contracts.scrub import one_line
from dea.contracts.secrets import hide_secrets
from dea.errors import ArgumentError
from dea.investigate.inquiry import Inquiry
from dea.rules import ports

_IN_USE = re.compile(r"address already in use|EADDRINUSE|errno 98|bind\(\).* failed", re.IGNORECASE)
_PORT = re.compile(r"(?:[:\s\[(]|port[ =:]*)(\d{2,5})\b(?!\s*\])")
_LOOK_S = 3


async def investigate_port_busy(inquiry: Inquiry) -> None:
    port = inquiry.port or _port_from_output(inquiry) or await _port_from_bind(inquiry)
    if port is None:
        raise ArgumentError(
            "no port was given, and the target was not seen failing to bind one",
            "Say which: port=8080 (dea why ... --port 8080)",
        )
    await inquiry.observe("port_busy", port=port)
    inquiry.judge(ports.PORT_RULES)


def _port_from_output(inquiry: Inquiry) -> int | None:
    """The port in the line in which a launched command complained."""
    for stream in ("stderr", "stdout"):
        for number, line in enumerate(inquiry.output(stream), 1):
            if not _IN_USE.search(line):
                continue
            excerpt = LogExcerpt(source=stream, text=hide_secrets(one_line(line, 500)))
            inquiry.cite(excerpt, f"{stream}: {excerpt.text}", stream, (number, number))
            ports_named = [int(found) for found in _PORT.findall(line) if 0 < int(found) < 65536]
            plausible = [port for port in ports_named if port not in (48, 98)]  # EADDRINUSE itself
            if plausible:
                return plausible[0]
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
