"""Crash: how a launched command ended, where, and what it printed last."""

from dea.contracts.data import LogExcerpt, Metric, Process
from dea.contracts.scrub import clean_text, one_line
from dea.contracts.secrets import hide_secrets
from dea.errors import TargetError
from dea.investigate.inquiry import Inquiry
from dea.investigate.refused_port import refusal_in
from dea.investigate.traceback import last_traceback
from dea.rules import exits, ports

DURATION_S = 10
_LAST_LINES = 8


async def investigate_crash(inquiry: Inquiry) -> None:
    spawned = inquiry.session().spawned
    if spawned is None:
        raise TargetError(
            "DEA did not launch this process, and the crash of others cannot be examined yet",
            "Launch it under DEA, as a command, and investigate again",
        )
    limit_s = inquiry.duration_s or DURATION_S
    code = await inquiry.wait_for_exit(limit_s)
    state = f"still runs after {limit_s} s" if code is None else f"ended with {code}"
    if code is not None:
        inquiry.cite(
            Metric(name="exit_code", value=code, unit="code", pid=spawned.pid),
            f"process {spawned.pid} {state}",
        )
        if code < 0:
            _cite_command(inquiry, spawned.pid)
    for stream in ("stderr", "stdout"):
        _cite_traceback(inquiry, stream, spawned.pid)
        _cite_last_lines(inquiry, stream)
    await _look_who_holds_the_port(inquiry)
    inquiry.judge(exits.RULES)
    inquiry.limit(
        "core dumps are not read yet: a native crash is told by its signal, not by its place"
    )
    if code is None:
        inquiry.limit(f"the command {state}; it was not seen to end")


async def _look_who_holds_the_port(inquiry: Inquiry) -> None:
    """A command that says it was refused a port ended because of somebody else."""
    refusals = [refusal_in(inquiry.output(stream)) for stream in ("stderr", "stdout")]
    refused = next((refusal for refusal in refusals if refusal), None)
    port = inquiry.port or (refused.port if refused else None)
    if refused and port and await inquiry.observe("port_busy", port=port):
        inquiry.judge(ports.PORT_RULES)


def _cite_command(inquiry: Inquiry, pid: int) -> None:
    """For the rules, which say how to run it once more."""
    command = inquiry.target.id
    inquiry.cite(
        Process(pid=pid, comm=inquiry.target.comm or "?", cmdline=command),
        f"it was launched as: {command}",
    )


def _cite_traceback(inquiry: Inquiry, stream: str, pid: int) -> None:
    found = last_traceback(inquiry.output(stream), pid)
    if found is None:
        return
    where = found.stack.frames[0].place()
    inquiry.cite(found.stack, f"traceback: {found.error} at {where}", stream, found.lines)
    excerpt = LogExcerpt(source=f"{stream} error", text=found.error)
    inquiry.cite(excerpt, found.error, stream, (found.lines[1], found.lines[1]))


def _cite_last_lines(inquiry: Inquiry, stream: str) -> None:
    lines = inquiry.output(stream)
    if not lines:
        return
    first = max(1, len(lines) - _LAST_LINES + 1)
    text = hide_secrets(clean_text("\n".join(lines[first - 1 :])))[-2000:]
    summary = f"last lines on {stream}: {one_line(text, 160)}"
    inquiry.cite(LogExcerpt(source=stream, text=text), summary, stream, (first, len(lines)))
