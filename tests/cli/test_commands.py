"""Every tool is a command; its options are the tool's arguments, with their defaults and bounds."""

import json
import re

import pytest

from dea import __version__
from dea.cli.options import arguments_from
from dea.contracts.arguments import Investigate, SnapshotMemory, TraceSyscalls
from dea.contracts.schemas import arguments_schema
from dea.tools import catalog
from tests.cli.conftest import Dea

NAMED_OTHERWISE = {"session_id", "target"}


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_version(dea: Dea) -> None:
    answer = dea("--version")
    assert (answer.code, answer.out) == (0, f"dea {__version__}\n")


def test_help_lists_every_tool(dea: Dea) -> None:
    listed = dea("--help").out
    for name in catalog.tools():
        assert f" {name.replace('_', '-')} " in listed


@pytest.mark.parametrize("name", sorted(catalog.tools()))
def test_help_of_a_tool_shows_its_arguments(name: str, dea: Dea) -> None:
    shown = dea(name.replace("_", "-"), "--help").out
    for argument, schema in arguments_schema(name)["properties"].items():
        if argument in NAMED_OTHERWISE:
            continue
        is_positional = argument in ("a", "b")
        text = argument.upper() if is_positional else f"--{argument.replace('_', '-')}"
        line = next(line for line in shown.splitlines() if re.search(rf"{text}\b", line))
        if "maximum" in schema:
            assert f"{schema['minimum']}<=x<={schema['maximum']}" in line
        if isinstance(schema.get("default"), int) and "maximum" in schema:
            assert f"[default: {schema['default']}]" in shown


def test_values_become_the_arguments_of_the_tool() -> None:
    values = {"subject": "x", "duration_s": 3, "categories": ["network,file", "signal"]}
    assert arguments_from(TraceSyscalls, values) == {
        "duration_s": 3,
        "categories": ["network", "file", "signal"],
    }
    assert arguments_from(SnapshotMemory, {"heap": False, "window_s": 0}) == {
        "heap": False,
        "window_s": 0,
    }
    assert arguments_from(Investigate, {"consent": False, "port": None, "symptom": "leak"}) == {
        "symptom": "leak"
    }


BAD_USAGE = [
    (["frob"], "No such command 'frob'"),
    (["why"], "nothing to examine was named"),
    (["why", "--"], "the command behind -- is empty"),
    (["why", "12", "--", "true"], "both '12' and a command were given"),
    (["why", "python", "app.py"], "put -- before it"),
    (["why", "1", "--symptom", "sad"], "--symptom"),
    (["why", "1", "--port", "0"], "--port"),
    (["why", "1", "--duration", "121"], "--duration"),
    (["profile-cpu", "1", "--duration-s", "61"], "--duration-s"),
    (["profile-cpu", "1", "--duration-s", "many"], "--duration-s"),
    (["profile-cpu", "1", "--depth", "3"], "--depth"),
    (["trace-syscalls", "1", "--categories", "disk"], "categories"),
    (["ps", "--limit", "501"], "--limit"),
    (["diff-runs", "260101-"], "'A'"),
    (["detach"], "SESSION"),
    (["show", "260101-x"], "no session '260101-x'"),
]


@pytest.mark.parametrize(("words", "says"), BAD_USAGE)
def test_bad_usage_is_told_and_exits_with_2(words: list[str], says: str, dea: Dea) -> None:
    answer = dea(*words)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("dea: ")
    assert says in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(("words", "says"), BAD_USAGE)
def test_bad_usage_is_a_result_for_machines(words: list[str], says: str, dea: Dea) -> None:
    at = words.index("--") if "--" in words else len(words)
    answer = dea(*words[:at], "--json", *words[at:])
    assert answer.code == 2
    result = answer.result()
    assert result["ok"] is False
    assert result["error"]


def test_an_unknown_session_is_a_result_too(dea: Dea) -> None:
    answer = dea("report", "260101-x", "--json")
    assert answer.code == 2
    assert "no session '260101-x'" in json.loads(answer.out)["error"]


def test_no_words_at_all_show_the_help(dea: Dea) -> None:
    answer = dea()
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == dea("--help").out


def test_help_sets_apart_what_is_not_available_yet(dea: Dea) -> None:
    available, _, later = dea("--help").out.partition("Not available yet")
    for name, tool in catalog.tools().items():
        assert f" {name.replace('_', '-')} " in (later if tool.missing else available)
