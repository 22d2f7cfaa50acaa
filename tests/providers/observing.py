"""Lets a backend look without a session, and reads observations that were recorded."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dea.backend import Backend, Observation, ProgramResult, Request
from dea.contracts.artifact import ArtifactKind
from dea.contracts.data import Data
from dea.contracts.evidence import Evidence, Fact
from dea.contracts.target import Target
from dea.process.host import find_program
from dea.process.lifeline import guarded
from dea.process.runner import run_program

FIXTURES = Path(__file__).parents[1] / "fixtures"


@dataclass
class Folder:
    """The instruments of a backend, over a plain folder."""

    path_: Path
    names: list[str] = field(default_factory=list[str])

    def path(self, name: str, kind: ArtifactKind = "raw_text") -> Path:
        self.names.append(name)
        (self.path_ / name).touch()
        return self.path_ / name

    def save(self, name: str, data: bytes | str, kind: ArtifactKind = "raw_text") -> None:
        self.path(name, kind).write_bytes(data.encode() if isinstance(data, str) else data)

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        writes: Path | None = None,
        max_bytes: int = 64 * 2**20,
        guards: int | None = None,
    ) -> ProgramResult:
        program = find_program(argv[0]) or argv[0]
        command = [str(program), *argv[1:]]
        return await run_program(
            command if guards is None else guarded(command, guards),
            timeout_s=timeout_s,
            writes=writes,
            max_bytes=max_bytes,
        )

    async def progress(self, fraction: float, message: str) -> None:
        return


async def observe(
    backend: Backend,
    pids: Sequence[int],
    folder: Path,
    duration_s: float = 0.0,
    target_pid: int | None = None,
    **options: Any,
) -> Observation:
    """What the backend sees of these processes; `target_pid` when it is not the first of them."""
    folder.mkdir(exist_ok=True)
    instruments = Folder(folder)
    pid = target_pid or pids[0]
    target = Target(kind="pid", id=str(pid), pid=pid)
    facts = await backend.observe(Request(target, tuple(pids), duration_s, options), instruments)
    facts = json.loads(json.dumps(facts))  # they must survive being stored
    files = {name: (folder / name).read_bytes() for name in instruments.names}
    return Observation(backend.name, backend.tool, pid, files, facts)


def record(observation: Observation, case: str) -> None:
    """Keep an observation as a fixture: its files, and the rest in `observation.json`."""
    folder = FIXTURES / observation.backend / case
    folder.mkdir(parents=True)
    for name, raw in observation.files.items():
        (folder / name).write_bytes(raw)
    rest = {key: value for key, value in asdict(observation).items() if key != "files"}
    (folder / "observation.json").write_text(json.dumps(rest, indent=1))


def recorded(backend: str, case: str) -> Observation:
    """A fixture that was recorded before."""
    folder = FIXTURES / backend / case
    rest = json.loads((folder / "observation.json").read_text())
    files = {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.name != "observation.json"
    }
    return Observation(files=files, **rest)


def evidence_of(facts: Sequence[Fact]) -> list[Evidence]:
    """The facts with ids `t.e0`, `t.e1`, ..."""
    return [
        Evidence(id=f"t.e{n}", kind=fact.data.kind, summary=fact.summary, data=fact.data)
        for n, fact in enumerate(facts)
    ]


def as_evidence(*data: Data) -> list[Evidence]:
    """Evidence for a rule, with ids `t.e0`, `t.e1`, ..."""
    return evidence_of([Fact(item, "x") for item in data])
