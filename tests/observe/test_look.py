"""One look at a target: guarded before, recorded whatever happens, proven undone after."""

import json
import os
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from dea.backend import Instruments, Observation, Parsed, Product, Request
from dea.contracts.data import Note
from dea.contracts.evidence import Fact
from dea.contracts.target import Target
from dea.errors import BackendError, StoreError, TargetError
from dea.process import identity
from dea.tools.run import Run
from tests.backends import Scripted, run_on

pytestmark = pytest.mark.anyio


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def run(sleeper: "subprocess.Popen[bytes]") -> Run:
    return run_on(sleeper.pid)


async def save_one(_request: Request, instruments: Instruments) -> dict[str, Any]:
    instruments.save("raw.txt", b"caf\xc3\xa9 \xff\n")
    return {"rate": 99}


async def look(run: Run, *backends: Scripted) -> None:
    await run.observe(await run.request(), backends=backends)  # type: ignore[arg-type]


def artifact_names(run: Run) -> list[str]:
    return sorted(path.name for path in run.stored()[0].artifacts.iterdir())


async def test_raw_bytes_are_stored_and_cited(run: Run) -> None:
    def parse(observation: Observation) -> Parsed:
        note = Note(text=observation.text("raw.txt"))
        product = Product("graph.svg", "flamegraph_svg", b"<svg/>")
        return Parsed([Fact(note, "seen", "raw.txt", (1, 1))], ["sampled only"], [product])

    await look(run, Scripted(save_one, parse))
    (evidence,) = run.evidence
    assert evidence.id == "profile_cpu#1.e1"
    assert evidence.artifact == "artifacts/001-fake.look.raw.txt"
    assert evidence.lines == (1, 1)
    assert evidence.to_wire()["data"]["text"] == "café �\n"
    assert run.limitations == ["sampled only"]
    assert [(a.path, a.bytes) for a in run.artifacts] == [
        ("artifacts/001-fake.look.raw.txt", 8),
        ("artifacts/001-fake.look.graph.svg", 6),
    ]
    session, _ = run.stored()
    assert (session.artifacts / "001-fake.look.raw.txt").read_bytes() == b"caf\xc3\xa9 \xff\n"


async def test_a_replay_reads_the_same_as_the_parser_did(run: Run) -> None:
    seen: list[Observation] = []

    def parse(observation: Observation) -> Parsed:
        seen.append(observation)
        return Parsed([])

    async def note_things(_request: Request, instruments: Instruments) -> dict[str, Any]:
        instruments.save("raw.txt", "text")
        return {"pids": (1, 2), "by_tid": {7: "x"}}

    await look(run, Scripted(note_things, parse))
    session, _ = run.stored()
    stored = json.loads((session.artifacts / "001-fake.look.observation.json").read_bytes())
    assert seen[0].facts == stored["facts"] == {"pids": [1, 2], "by_tid": {"7": "x"}}
    assert stored["files"] == {"raw.txt": "001-fake.look.raw.txt"}


async def test_looking_twice_in_one_run_keeps_both(run: Run) -> None:
    await look(run, Scripted(save_one))
    await look(run, Scripted(save_one))
    assert artifact_names(run) == [
        "001-fake.look-2.observation.json",
        "001-fake.look-2.raw.txt",
        "001-fake.look.observation.json",
        "001-fake.look.raw.txt",
    ]
    assert [evidence.artifact for evidence in run.evidence] == [
        "artifacts/001-fake.look.raw.txt",
        "artifacts/001-fake.look-2.raw.txt",
    ]


async def test_every_file_is_for_the_owner_alone_also_one_that_a_program_replaced(run: Run) -> None:
    async def replace(_request: Request, instruments: Instruments) -> dict[str, Any]:
        path = instruments.path("raw.txt")
        await instruments.run(["sh", "-c", f"rm {path}; echo x > {path}"], timeout_s=20)
        return {}

    await look(run, Scripted(replace))
    session, _ = run.stored()
    for path in session.folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) in (0o600, 0o700), path


async def test_a_file_that_a_program_took_away_is_not_listed(run: Run) -> None:
    async def lose(_request: Request, instruments: Instruments) -> dict[str, Any]:
        instruments.path("lost.txt").unlink()
        raise BackendError("it was lost")

    with pytest.raises(BackendError, match="fake.look: it was lost"):
        await look(run, Scripted(lose))
    assert run.artifacts == []


async def test_output_that_was_cut_is_said(run: Run) -> None:
    async def flood(_request: Request, instruments: Instruments) -> dict[str, Any]:
        path = instruments.path("raw.txt")
        await instruments.run(
            ["sh", "-c", f"yes > {path}"], timeout_s=20, writes=path, max_bytes=5000
        )
        return {}

    def parse(_observation: Observation) -> Parsed:
        return Parsed([])

    await look(run, Scripted(flood, parse))
    assert run.artifacts[0].truncated
    assert run.limitations == ["artifacts/001-fake.look.raw.txt grew too large and was cut"]


class TooLate(Exception):
    """Like psutil's: not one of ours, not an OSError."""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BackendError("needs root"), "fake.look: needs root"),
        (FileNotFoundError(2, "No such file or directory", "/proc/7/maps"), "(/proc/7/maps)"),
        (TooLate("who knows"), "fake.look could not look: TooLate: who knows"),
        (ExceptionGroup("tasks", [ExceptionGroup("more", [BackendError("inner")])]), ": inner"),
    ],
)
@pytest.mark.parametrize("where", ["observe", "parse"])
async def test_what_one_backend_could_not_do_the_next_one_does(
    run: Run, error: Exception, said: str, where: str
) -> None:
    async def fail(request: Request, instruments: Instruments) -> dict[str, Any]:
        await save_one(request, instruments)
        if where == "observe":
            raise error
        return {}

    def fail_to_parse(_observation: Observation) -> Parsed:
        raise error

    await look(run, Scripted(fail, fail_to_parse), Scripted(save_one, name="next.look"))
    assert [evidence.artifact for evidence in run.evidence] == ["artifacts/001-next.look.raw.txt"]
    (limitation,) = run.limitations
    assert limitation.startswith("tried fake.look")
    assert said.replace("could not look", "").split(":")[-1].strip() in limitation
    assert "artifacts/001-fake.look.raw.txt" in [artifact.path for artifact in run.artifacts]


async def test_a_full_disk_is_not_blamed_on_the_backend(run: Run) -> None:
    async def full(_request: Request, instruments: Instruments) -> dict[str, Any]:
        instruments.save("no/such/folder.txt", "x")
        return {}

    with pytest.raises(StoreError, match="cannot write .*Free some space"):
        await look(run, Scripted(full), Scripted(save_one))


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
