"""How a process ended."""

import signal
from collections.abc import Iterator

from dea.contracts.data import LogExcerpt, Metric, Stack
from dea.rules.draft import Cited, Draft, Facts, Rule

# sysexits.h and the shell's conventions; others have no common meaning.
_MEANINGS = {
    126: "found but could not be executed",
    127: "a command was not found",
    137: "128+9: killed by SIGKILL, as its parent shell reports it",
    139: "128+11: SIGSEGV, as its parent shell reports it",
    143: "128+15: ended by SIGTERM, as its parent shell reports it",
}
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
        detail="" if planned else "Who sent it and where it struck need a core dump or a tracer.",
        weight=1.0,
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
            weight=1.0,
        )
    meaning = f" ({_MEANINGS[code]})" if code in _MEANINGS else ""
    return Draft(
        severity="warn",
        summary=f"process {pid} exited with {code}{meaning}{_last_words(facts)}",
        evidence_ids=[exit_code.id, *_output_ids(facts)],
        confidence="observed",
        weight=0.8,
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
