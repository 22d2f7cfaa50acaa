"""The instruments of a backend: what it saves lies in the session at once."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dea.backend import ProgramResult
from dea.contracts.artifact import Artifact, ArtifactKind
from dea.process.lifeline import guarded
from dea.process.runner import run_program
from dea.store.atomic import make_file, write_raw
from dea.store.session import RunSlot, StoredSession

Progress = Callable[[float, str], Awaitable[None]]


@dataclass
class Recorder:
    """The instruments of one backend in one run: what it saves lies in the session at once."""

    session: StoredSession
    slot: RunSlot
    backend: str
    programs: Mapping[str, Path]
    report: Progress
    nth: int = 1  # it may look several times in one run
    saved: dict[str, tuple[Path, ArtifactKind]] = field(
        default_factory=dict[str, tuple[Path, ArtifactKind]]
    )
    truncated: set[str] = field(default_factory=set[str])
    commands: list[list[str]] = field(default_factory=list[list[str]])  # what it ran, to repeat it

    def file(self, name: str) -> Path:
        again = "" if self.nth == 1 else f"-{self.nth}"
        return self.session.artifacts / f"{self.slot.number:03}-{self.backend}{again}.{name}"

    def path(self, name: str, kind: ArtifactKind = "raw_text") -> Path:
        path = make_file(self.file(name))
        self.saved[name] = (path, kind)
        return path

    def save(self, name: str, data: bytes | str, kind: ArtifactKind = "raw_text") -> None:
        path = self.path(name, kind)
        write_raw(path, data.encode("utf-8", "replace") if isinstance(data, str) else data)

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        writes: Path | None = None,
        max_bytes: int = 64 * 2**20,
        guards: int | None = None,
    ) -> ProgramResult:
        self.commands.append(list(argv))
        program = self.programs.get(argv[0])
        command = [str(program or argv[0]), *argv[1:]]
        result = await run_program(
            command if guards is None else guarded(command, guards),
            timeout_s=timeout_s,
            writes=writes,
            max_bytes=max_bytes,
        )
        if result.truncated:
            self.truncated.update(n for n, (path, _) in self.saved.items() if path == writes)
        return result

    async def progress(self, fraction: float, message: str) -> None:
        await self.report(fraction, message)

    def artifacts(self) -> list[Artifact]:
        """Everything saved so far, as the result lists it."""
        return [
            Artifact(
                path=str(path.relative_to(self.session.folder)),
                kind=kind,
                bytes=path.stat().st_size,
                truncated=name in self.truncated or None,
            )
            for name, (path, kind) in self.saved.items()
            if path.is_file()
        ]
