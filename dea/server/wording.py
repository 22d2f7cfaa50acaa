"""Says to an agent which tool to call where a message names a command line.

Messages are written once, for people at a terminal; here is the one place that knows both.
"""

import re

from dea.contracts.result import ToolResult

_SPOKEN: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), said)
    for pattern, said in (
        (r"`?dea ps`?", "list_processes"),
        (r"`?dea (doctor|readiness)`?", "readiness"),
        (r"`?dea sessions`?", "the resource dea://sessions"),
        (r"`dea show (\S+) RUN`, or their resources over MCP", "the resources of session \\1"),
        (r"`?dea show (\S+)`?", "the resource dea://session/\\1"),
        (r" \(dea why [^)]*\)", ""),
        (r"`?dea why (?:--symptom (\w+) )?-- COMMAND`?", "attach with kind=command"),
        (
            r"`?dea why --symptom port_busy --port PORT`?",
            "investigate with symptom=port_busy and port",
        ),
        (r"`?dea attach (\d+)`?", "attach with target \\1"),
        (r"`?dea (profile|trace|dump|inspect|snapshot|time|list)-(\w+)`?", "\\1_\\2"),
    )
)


def for_agents(text: str) -> str:
    """The text with every command of ours replaced by the tool that does the same."""
    for pattern, said in _SPOKEN:
        text = pattern.sub(said, text)
    return text


def in_tools(result: ToolResult) -> ToolResult:
    """The same result, its error, limits and advice worded for an agent."""
    findings = [
        found.model_copy(update={"detail": for_agents(found.detail)}) if found.detail else found
        for found in result.findings
    ]
    return result.model_copy(
        update={
            "error": None if result.error is None else for_agents(result.error),
            "limitations": [for_agents(text) for text in result.limitations],
            "findings": findings,
        }
    )
