"""A result as people read it."""

import re

import pytest

from dea.cli.finish import failed, finish
from dea.contracts.artifact import Artifact
from dea.contracts.data import Note
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.result import ToolResult
from dea.contracts.target import Target
from dea.errors import BackendError

ESCAPE = "\x1b]0;gotcha\x07\x1b[31m"


def result(tool: str = "investigate", findings: int = 1, evidence: int = 2) -> ToolResult:
    return ToolResult(
        ok=True,
        tool=tool,
        session_id="261130-175402-abc",
        target=Target(kind="pid", id="7", pid=7, comm=f"shop{ESCAPE}", cmdline="shop [red]x[/]"),
        duration_ms=5,
        findings=[
            Finding(
                id=f"{tool}#1.f{number}",
                severity="high" if number == 1 else "info",
                summary=f"cause [bold]{number}[/bold]{ESCAPE}",
                detail=f"because{ESCAPE}",
                evidence_ids=["profile_cpu#1.e1"],
                confidence="inferred",
            )
            for number in range(1, findings + 1)
        ],
        evidence=[
            Evidence(
                id=f"profile_cpu#1.e{number}",
                kind="note",
                summary=f"fact {number}",
                data=Note(text="x"),
                artifact="artifacts/003-x.folded",
                lines=(4, 9),
            )
            for number in range(1, evidence + 1)
        ],
        limitations=[f"sampled{ESCAPE}"],
        suggested_next=["dump_stacks"],
        artifacts=[Artifact(path="artifacts/003-x.folded", kind="folded_stacks", bytes=1)],
        run_id=f"{tool}#1",
    )


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> str:
    assert finish(result(), as_json=False) == 0
    return capsys.readouterr().out


def test_names_the_cause_what_it_rests_on_and_what_is_next(shown: str) -> None:
    lines = shown.splitlines()
    assert lines[0].startswith("process 7 (shop")
    assert re.search(r"1 HIGH +cause", shown)
    assert "inferred, from profile_cpu#1.e1" in shown
    assert "artifacts/003-x.folded:4-9" in shown


def test_only_cited_evidence_is_shown_beside_findings(shown: str) -> None:
    assert "fact 1" in shown
    assert "fact 2" not in shown


def test_all_evidence_is_shown_without_findings(capsys: pytest.CaptureFixture[str]) -> None:
    finish(result("inspect_files", findings=0, evidence=30), as_json=False)
    shown = capsys.readouterr().out
    assert "fact 25" in shown
    assert "and 5 more: dea show 261130-175402-abc inspect_files#1 --json" in shown


def test_text_from_the_target_has_no_power(shown: str) -> None:
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[bold]1[/bold]" in shown
    assert "[red]x[/]" in shown


def test_no_fault_is_said_of_investigations_only(capsys: pytest.CaptureFixture[str]) -> None:
    finish(result(findings=0), as_json=False)
    assert "No fault was found" in capsys.readouterr().out
    finish(result("inspect_files", findings=0), as_json=False)
    assert "No fault was found" not in capsys.readouterr().out


@pytest.mark.parametrize(("level", "code"), [(None, 0), ("high", 1), ("warn", 1)])
def test_exit_code(level: str | None, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert finish(result(), as_json=True, fail_on=level) == code
    assert capsys.readouterr().err == ""


def test_what_could_not_run_says_why_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    error = BackendError("perf not found", "apt-get install linux-perf")
    assert finish(failed("profile_cpu", error), as_json=False, fail_on="high") == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "dea: perf not found. apt-get install linux-perf\n")


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    from io import StringIO

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for expected in (True, False):
        terminal = Terminal()
        monkeypatch.setattr("sys.stdout", terminal)
        finish(result(), as_json=False)
        assert ("\x1b[" in terminal.getvalue()) is expected
        monkeypatch.setenv("NO_COLOR", "1")


def test_a_look_without_findings_ends_with_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    finish(result("snapshot_memory", findings=0), as_json=False)
    assert "No sign of a fault in this look." in capsys.readouterr().out
    finish(result("snapshot_memory"), as_json=False)
    assert "No sign of a fault" not in capsys.readouterr().out


def test_limits_that_differ_in_numbers_only_are_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = ["sampled 100 times a second", "nothing else", "sampled 49.5 times a second"]
    finish(result().model_copy(update={"limitations": texts}), as_json=False)
    shown = capsys.readouterr().out
    assert shown.count("times a second") == 1
    assert "sampled 100 times" in shown
    assert "nothing else" in shown


def test_of_many_cited_pieces_the_first_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    many = result(evidence=14)
    ids = [item.id for item in many.evidence]
    cited = many.findings[0].model_copy(update={"evidence_ids": ids})
    finish(many.model_copy(update={"findings": [cited]}), as_json=False)
    shown = capsys.readouterr().out
    assert "fact 10\n" in shown
    assert "fact 11" not in shown
    assert "and 4 more: dea show 261130-175402-abc investigate#1 --json" in shown
