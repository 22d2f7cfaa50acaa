"""The target of a look: still the same, traced by one at a time, let go afterwards."""

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from dea.backend import Instruments, Observation, Parsed, Request
from dea.contracts.target import Target
from dea.errors import BackendError, TargetError
from dea.process import identity
from dea.tools.run import Run
from tests.backends import Scripted
from tests.observe.looking import artifact_names, look, save_one

pytestmark = pytest.mark.anyio


async def test_a_target_that_ended_before_is_not_looked_at(
    run: Run, sleeper: "subprocess.Popen[bytes]"
) -> None:
    request = await run.request()
    sleeper.kill()
    sleeper.wait()
    with pytest.raises(TargetError, match=f"process {sleeper.pid} has ended"):
        await run.observe(request, backends=[Scripted(save_one)])  # type: ignore[list-item]
    assert artifact_names(run) == []


async def test_a_pid_that_another_process_has_by_now_is_not_looked_at(run: Run) -> None:
    session, _ = run.stored()
    pid = run.require_pid()
    session.save_private("identity", {str(pid): (identity.start_ticks(pid) or 0) - 1})
    with pytest.raises(TargetError, match="belongs to another process"):
        await look(run, Scripted(save_one))


async def test_a_descendant_that_ended_is_left_out(run: Run) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    seen: list[tuple[int, ...]] = []

    async def note(request: Request, _instruments: Instruments) -> dict[str, Any]:
        seen.append(request.pids)
        return {}

    pid = run.require_pid()
    request = Request(run.target, (dead.pid, pid))
    await run.observe(request, backends=[Scripted(note)])  # type: ignore[list-item]
    assert seen == [(pid,)]


@pytest.mark.parametrize("fails", [True, False])
async def test_a_target_that_ends_while_it_is_looked_at(
    run: Run, sleeper: "subprocess.Popen[bytes]", fails: bool
) -> None:
    async def kill_it(request: Request, instruments: Instruments) -> dict[str, Any]:
        await save_one(request, instruments)
        sleeper.kill()
        sleeper.wait()
        if fails:
            raise ProcessLookupError(3, "No such process")
        return {}

    second = Scripted(save_one, name="next.look")
    if fails:
        with pytest.raises(TargetError, match="ended while fake.look looked at it.*No such proc"):
            await look(run, Scripted(kill_it), second)
    else:
        await look(run, Scripted(kill_it), second)
        assert len(run.evidence) == 1
        assert run.limitations == [f"process {sleeper.pid} ended while it was observed"]
    assert not [name for name in artifact_names(run) if "next" in name]


async def test_only_one_traces_at_a_time_and_the_rest_looks_meanwhile(run: Run) -> None:
    at_it: list[str] = []
    most: list[int] = []

    def tracer(name: str) -> Scripted:
        async def trace(_request: Request, _instruments: Instruments) -> dict[str, Any]:
            at_it.append(name)
            most.append(len(at_it))
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            at_it.remove(name)
            return {}

        return Scripted(trace, name=name, traces=True)

    async with anyio.create_task_group() as group:
        for name in ("a.trace", "b.trace", "c.trace"):
            group.start_soon(look, run, tracer(name))
    assert most == [1, 1, 1]
    session, _ = run.stored()
    stored = json.loads((session.artifacts / "001-a.trace.observation.json").read_bytes())
    assert stored["facts"] == {"detached": True}


@pytest.mark.needs("strace")
async def test_a_target_that_is_traced_already_is_left_to_what_needs_no_ptrace(run: Run) -> None:
    pid = run.require_pid()
    strace = subprocess.Popen(
        ["strace", "-p", str(pid)], stderr=subprocess.PIPE, text=True, errors="replace"
    )
    try:
        assert strace.stderr is not None
        assert "attached" in strace.stderr.readline()
        tracer = Scripted(save_one, name="gdb.dump", traces=True)
        with pytest.raises(BackendError, match=rf"already traced by strace \(pid {strace.pid}\)"):
            await look(run, tracer)
        await look(run, tracer, Scripted(save_one))
        assert run.evidence[0].artifact == "artifacts/001-fake.look.raw.txt"
        assert identity.tracer_of(pid) == strace.pid
    finally:
        strace.kill()
        strace.communicate()


async def test_a_parser_that_never_ends_is_left_behind(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dea.observe.look._PARSE_LIMIT_S", 0.05)
    over = threading.Event()

    def hang(_observation: Observation) -> Parsed:
        over.wait(60)
        return Parsed([])

    with pytest.raises(BackendError, match="could not be read within"):
        await look(run, Scripted(save_one, hang))
    over.set()


async def test_parsers_do_not_wait_for_each_other(run: Run) -> None:
    together = threading.Barrier(4, timeout=20)

    def meet(_observation: Observation) -> Parsed:
        together.wait()
        return Parsed([])

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(look, run, Scripted(save_one, meet, name=f"fake.{number}"))


async def test_a_backend_that_gives_no_answer_is_ended(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dea.observe.look._LOOK_LIMIT_S", 0.05)

    async def hang(_request: Request, _instruments: Instruments) -> dict[str, Any]:
        await anyio.sleep_forever()
        return {}

    with pytest.raises(BackendError, match="fake.look gave no answer within 0 s"):
        await look(run, Scripted(hang))


async def test_facts_that_are_no_json_are_a_fault_of_the_backend(run: Run) -> None:
    async def note(_request: Request, _instruments: Instruments) -> dict[str, Any]:
        return {"path": Path("/")}

    with pytest.raises(BackendError, match="what it noted is no JSON"):
        await look(run, Scripted(note))


async def test_what_comes_from_a_target_is_one_safe_line_in_limitations(run: Run) -> None:
    def parse(_observation: Observation) -> Parsed:
        return Parsed([], ["cannot read\n--password hunter2 \x1b[31m", "twice", "twice"])

    await look(run, Scripted(save_one, parse))
    assert run.limitations == ["cannot read --password <secret> �[31m", "twice"]


async def test_the_busiest_of_a_family_is_looked_at_first(run: Run) -> None:
    me = Target(kind="pid", id="x", pid=os.getpid())
    run.target = me
    request = await run.request(whole_family=True, port=80)
    assert set(request.pids) >= {os.getpid()}
    assert request.options == {"port": 80}
