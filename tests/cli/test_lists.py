"""ps, doctor, sessions and show, as people and as machines read them."""

import json
import os
import subprocess
import sys

from dea.store import home
from tests.cli.conftest import Dea

Process = subprocess.Popen[bytes]


def test_ps_finds_a_process(dea: Dea, sleeper: Process) -> None:
    lines = dea("ps", "sys.stdout.write").out.splitlines()
    assert lines[0].split() == ["PID", "USER", "CPU%", "MEMORY", "RUNTIME", "COMMAND"]
    row = next(line for line in lines if line.split()[0] == str(sleeper.pid))
    assert row.split()[4] == "python"


def test_ps_for_machines_is_whole(dea: Dea, sleeper: Process) -> None:
    result = dea("ps", "sys.stdout.write", "--limit", "500", "--json").result()
    rows = result["evidence"][0]["data"]["processes"]
    assert sleeper.pid in [row["pid"] for row in rows]


def test_doctor_names_each_backend(dea: Dea) -> None:
    result = dea("doctor", "--json").result()
    data = result["evidence"][0]["data"]
    shown = dea("doctor").out
    assert data["dea_version"] in shown
    for provider in data["providers"]:
        assert provider["name"] in shown


def test_sessions_and_show(dea: Dea, sleeper: Process) -> None:
    assert "no sessions yet" in dea("sessions").out
    id_ = dea("attach", sleeper.pid, "--json").result()["session_id"]
    assert id_ in dea("sessions").out
    assert json.loads(dea("sessions", "--json").out)[0]["id"] == id_
    assert "attach#1" in dea("show", id_).out
    assert json.loads(dea("show", id_, "--json").out)["target"]["pid"] == sleeper.pid
    assert f"process {sleeper.pid}" in dea("show", id_, "attach#1").out
    assert dea("show", id_, "attach", "--json").result()["run_id"] == "attach#1"
    answer = dea("show", id_, "profile_cpu#9")
    assert (answer.code, answer.out) == (2, "")
    assert "It has: attach#1" in answer.err


def test_an_unreadable_session_is_listed_with_the_reason(dea: Dea, sleeper: Process) -> None:
    id_ = dea("attach", sleeper.pid, "--json").result()["session_id"]
    (home.sessions_folder() / id_ / "session.json").write_text('{"id": "')
    assert "unreadable" in dea("sessions").out
    assert "unreadable" in json.loads(dea("sessions", "--json").out)[0]["error"]
    answer = dea("show", id_)
    assert answer.code == 2
    assert "unreadable" in answer.err


def test_a_start_that_several_sessions_have_is_refused(dea: Dea, sleeper: Process) -> None:
    for _ in range(2):
        dea("attach", sleeper.pid)
    answer = dea("show", os.path.commonprefix(home.names()))
    assert answer.code == 2
    assert "matches 2 sessions" in answer.err


def test_sessions_and_show_say_what_was_asked_and_found(dea: Dea) -> None:
    crash = [sys.executable, "-c", "raise ValueError('no such order')"]
    id_ = dea("why", "--symptom", "crash", "--json", "--", *crash).result()["session_id"]
    listed = " ".join(dea("sessions").out.split())
    assert "crash" in listed
    assert "high: process" in listed
    shown = dea("show", id_).out
    assert "Asked    crash" in shown
    assert "no such order" in shown
    assert f"Report   {home.sessions_folder() / id_ / 'report.md'}" in shown
