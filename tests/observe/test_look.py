"""What one look stores and says, whatever the backend does."""

import json
import stat
from typing import Any

import pytest

from dea.backend import Instruments, Observation, Parsed, Product, Request
from dea.contracts.data import Note
from dea.contracts.evidence import Fact
from dea.errors import BackendError, StoreError
from dea.tools.run import Run
from tests.backends import Scripted
from tests.observe.looking import artifact_names, look, save_one

pytestmark = pytest.mark.anyio


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
