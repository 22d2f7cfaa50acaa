"""Reads a ToolResult the way the tests ask about it."""

import re
from pathlib import Path
from typing import Any, Protocol

from tests.real.catalogue import Cause
from tests.real.targets import SPECIMENS, Target

Result = dict[str, Any]


class Why(Protocol):
    """The fixture `why`: `dea why` on a target; `duration=4` becomes `--duration 4`."""

    def __call__(self, target: Target, symptom: str, **options: object) -> Result: ...


def first(result: Result) -> Result:
    """The finding that is ranked first."""
    assert result["findings"], f"no finding; limitations: {result['limitations']}"
    finding: Result = result["findings"][0]
    return finding


def loud(result: Result) -> list[str]:
    """The findings that claim a fault, as text."""
    claims = [finding for finding in result["findings"] if finding["severity"] != "info"]
    return [f"{claim['severity']}: {said(claim)}" for claim in claims]


def said(finding: Result) -> str:
    """Summary and detail of a finding."""
    return "\n".join([finding["summary"], finding.get("detail", "")])


def assert_names(finding: Result, cause: Cause, target: Target) -> None:
    """The finding names the function, its file and line, and what else belongs to the cause."""
    expected = [name.format(**target.facts) for name in cause.names]
    if cause.function:
        hot = line_of(SPECIMENS / (cause.hot or cause.specimen.source), "HOT")
        expected += [rf"\b{cause.function}\b", rf"\b{re.escape(hot)}\b"]
    text = said(finding)
    missing = [name for name in expected if not re.search(name, text)]
    assert not missing, f"not named: {missing} in\n{text}"


def line_of(path: Path, marker: str) -> str:
    """`file:line` of the line that ends with the comment `# MARKER` or `// MARKER`."""
    lines = path.read_text().splitlines()
    numbers = [n for n, line in enumerate(lines, 1) if re.search(rf"(#|//) {marker}$", line)]
    assert len(numbers) == 1, f"{marker} stands on lines {numbers} of {path.name}"
    return f"{path.name}:{numbers[0]}"
