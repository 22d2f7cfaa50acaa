"""How a process ended."""

import re
import signal
from collections.abc import Iterator

from dea.contracts.data import LogExcerpt, Metric, Process, SocketSummary, Stack
from dea.rules.draft import Cited, Draft, Facts, Rule

# sysexits.h and the shell's conventions; others have no common meaning.
_MEANINGS = {
    126: "found but could not be executed",
    127: "a command was not found",
    137: "128+9: killed by SIGKILL, as its parent shell reports it",
    139: "128+11: SIGSEGV, as its parent shell reports it",
    143: "128+15: ended by SIGTERM, as its parent shell reports it",
}
_IN_USE = re.compile(r"address already in use|EADDRINUSE", re.IGNORECASE)
_PLANNED = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


def how_it_ended(facts: Facts) -> Iterator[Draft]:
    """One finding per exit: normal, exit code, signal, unhandled exception."""
    for exit_code in facts.of(Metric):
        if exit_code.data.name != "exit_code":
            continue
        code = int(exit_code.data.value)
        if code < 0:
            yield _by_signal(facts, exit_code, -code)
        elif code == 0:
            pid = exit_code.data.pid
            yield Draft("info", f"process {pid} ended normally", [exit_code.id], "observed")
        else:
            yield _by_code(facts, exit_code, code)


def _by_signal(facts: Facts, exit_code: Cited[Metric], number: int) -> Draft:
    name = signal.Signals(number).name if number in signal.valid_signals() else f"signal {number}"
    planned = number in _PLANNED
    return Draft(
        severity="info" if planned else "high",
        summary=f"process {exit_code.data.pid} was ended by {name}{_last_words(facts)}",
        evidence_ids=[exit_code.id, *_output_ids(facts)],
        confidence="observed",
        detail="" if planned else _where_it_struck(facts),
        weight=1.0,
    )


def _where_it_struck(facts: Facts) -> str:
    """How to see it the next time."""
    commands = [process.data.cmdline for process in facts.of(Process) if process.data.cmdline]
    command = commands[0] if commands else "COMMAND"
    return (
        "Where it struck needs a debugger. Run it once more under one, which prints the stack: "
        f"gdb -batch -ex run -ex bt --args {command}"
    )


def _by_code(facts: Facts, exit_code: Cited[Metric], code: int) -> Draft:
    pid = exit_code.data.pid
    stacks = list(facts.of(Stack))
    errors = [log for log in facts.of(LogExcerpt) if log.data.source.endswith(" error")]
    if stacks and errors:
        frames = stacks[0].data.frames
        place = next((frame for frame in frames if frame.own), frames[0]).place()
        raised = "" if place == frames[0].place() else f" (raised in {frames[0].place()})"
        return Draft(
            severity="high",
            summary=f"process {pid} exited with {code}: {errors[0].data.text} in {place}{raised}",
            evidence_ids=[exit_code.id, stacks[0].id, errors[0].id],
            confidence="observed",
            detail=_of_a_port(facts, errors[0].data.text),
            weight=1.0,
        )
    meaning = f" ({_MEANINGS[code]})" if code in _MEANINGS else ""
    return Draft(
        severity="warn",
        summary=f"process {pid} exited with {code}{meaning}{_last_words(facts)}",
        evidence_ids=[exit_code.id, *_output_ids(facts)],
        confidence="observed",
        detail=_of_a_port(facts, " ".join(log.data.text for log in facts.of(LogExcerpt))),
        weight=0.8,
    )


def _of_a_port(facts: Facts, said: str) -> str:
    """Where to look on, unless the port was looked at already."""
    if not _IN_USE.search(said) or any(facts.of(SocketSummary)):
        return ""
    return (
        "Another program holds the port that it wants. Who: investigate port_busy, "
        "naming the port (dea why --symptom port_busy --port PORT)."
    )


def _last_words(facts: Facts) -> str:
    for log in facts.of(LogExcerpt):
        lines = [line for line in log.data.text.splitlines() if line.strip()]
        if lines:
            return f"; its last line on {log.data.source}: {lines[-1].strip()[:160]}"
    return ""


def _output_ids(facts: Facts) -> list[str]:
    return [log.id for log in facts.of(LogExcerpt)][:2]


RULES: tuple[Rule, ...] = (how_it_ended,)
