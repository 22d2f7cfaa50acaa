"""The commands that a result ends with."""

from dataclasses import replace
from pathlib import Path

import pytest

from dea.cli import next_steps
from dea.contracts.session import RunEntry, Session
from dea.contracts.target import Target
from dea.process import packages
from dea.tools.run import host


def session(*tools: str, ok: bool = True, state: str = "attached") -> Session:
    runs = [
        RunEntry(
            run_id=f"{tool}#1", tool=tool, ok=ok, started_at="x", duration_ms=1, file=f"runs/{tool}"
        )
        for tool in tools
    ]
    return Session.model_validate(
        {
            "id": "261130-175402-abc",
            "state": state,
            "target": Target(kind="pid", id="7", pid=7, runtime="native"),
            "created_at": "x",
            "dir": "/s",
            "platform": "linux",
            "runs": runs,
        }
    )


def _only_apt(name: str) -> Path | None:
    return Path("/usr/bin/apt-get") if name == "apt-get" else None


def test_each_command_is_one_that_exists_and_takes_its_words() -> None:
    tools = ["list_processes", "readiness", "investigate", "dump_stacks"]
    assert list(next_steps.commands(tools, session(state="detached"))) == [
        "dea ps",
        "dea doctor",
        "dea why 7",
        "dea dump-stacks 7",
    ]
    assert list(next_steps.commands(["dump_stacks"], session())) == [
        "dea dump-stacks 261130-175402-abc"
    ]


def test_what_could_not_look_is_installed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = replace(host(), programs={})
    monkeypatch.setattr(next_steps, "host", lambda: bare)
    monkeypatch.setattr(packages, "find_program", _only_apt)
    line = next_steps.install_first(session("profile_cpu", ok=False))
    assert "apt-get install -y" in line
    assert "perf" in line
    assert next_steps.install_first(session("profile_cpu")) == ""
