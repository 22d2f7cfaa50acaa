"""What reaches an agent names tools and arguments, never commands of a terminal."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import dea
from dea.contracts.data import Note
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.result import ToolResult
from dea.contracts.target import Target
from dea.server.wording import for_agents, in_tools
from tests.server.conftest import Checked, Connect

COMMAND = re.compile(
    r"\bdea (ps|doctor|sessions|show|why|attach|detach|report|[a-z]+-[a-z]+)\b(?!-)"
)
PEOPLE_ONLY = ("cli", "server", "report")


def literals(source: str) -> Iterator[str]:
    """Texts that a program may say; a number stands for what is filled in."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "7" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def messages() -> Iterator[str]:
    package = Path(dea.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in PEOPLE_ONLY:
            source = path.read_text(encoding="utf-8")
            doc = ast.get_docstring(ast.parse(source), clean=False)
            yield from (text for text in literals(source) if text != doc)


def test_no_message_of_ours_keeps_a_command() -> None:
    said = list(messages())
    assert len(said) > 1000  # else this test looks at nothing
    named = [text for text in said if COMMAND.search(text)]
    # Pieces of a text that something is filled into are looked at as part of the whole.
    whole = [text for text in named if not text.endswith((" ", "`dea show "))]
    assert [text for text in whole if COMMAND.search(for_agents(text))] == []


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("there is no process 7. See `dea ps`", "there is no process 7. See list_processes"),
        ("9 is a thread. Attach to that: dea attach 7", "9 is a thread. Attach to that: attach with target 7"),
        ("or `dea why -- COMMAND`", "or attach with kind=command"),
        ("the idea shows nothing", "the idea shows nothing"),
    ],
)  # fmt: skip
def test_commands_become_tools(written: str, read: str) -> None:
    assert for_agents(written) == read


def test_limits_and_advice_are_reworded_too() -> None:
    found = Finding(id="f", severity="warn", summary="s", evidence_ids=["e"], confidence="observed",
                    detail="Who: dea why --symptom port_busy --port PORT")  # fmt: skip
    note = Evidence(id="e", kind="note", summary="s", data=Note(text="s"))
    result = ToolResult(
        ok=True, tool="t", session_id="", target=Target(kind="pid", id="7"), duration_ms=1,
        findings=[found], evidence=[note], limitations=["nothing serves it. See `dea doctor`"],
        suggested_next=[], artifacts=[],
    )  # fmt: skip
    said = in_tools(result)
    assert said.limitations == ["nothing serves it. See readiness"]
    assert said.findings[0].detail == "Who: investigate with symptom=port_busy and port"


@pytest.mark.anyio
async def test_an_agent_is_told_the_tool(connect: Connect, checked: Checked) -> None:
    async with connect() as client:
        lost = checked(await client.call_tool("attach", {"target": "4194305"}))
        early = checked(await client.call_tool("profile_cpu", {"session_id": "nope"}))
    assert not COMMAND.search(lost["error"])
    assert not COMMAND.search(early["error"])
    assert "attach first" in early["error"].lower()
