"""Lets one backend look at a target: guarded before, recorded meanwhile, proven undone after."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from dea.backend import Backend, Observation, Parsed, ProgramResult, Request
from dea.contracts.artifact import Artifact, ArtifactKind
from dea.errors import BackendError, StoreError
from dea.process import identity
from dea.process.runner import run_program
from dea.store.session import RunSlot, StoredSession

Progress = Callable[[float, str], Awaitable[None]]

_tracing: dict[int, anyio.Lock] = {}  # one tracer at a time per target


@dataclass
class Recorder:
    """The instruments of one backend in one run: what it saves lies in the session at once."""

    session: StoredSession
    slot: RunSlot
    backend: str
    programs: dict[str, Path]
    report: Progress
    saved: dict[str, tuple[Path, ArtifactKind]] = field(
        default_factory=dict[str, tuple[Path, ArtifactKind]]
    )
    truncated: set[str] = field(default_factory=set[str])
    commands: list[list[str]] = field(default_factory=list[list[str]])  # what it ran, to repeat it

    def path(self, name: str, kind: ArtifactKind = "raw_text") -> Path:
        path = self.session.artifacts / f"{self.slot.number:03}-{self.backend}.{name}"
        try:
            path.touch(mode=0o600)
        except OSError as error:
            raise StoreError(
                f"cannot write {path}: {error.strerror}",
                "Free some space or set DEA_HOME elsewhere",
            ) from error
        self.saved[name] = (path, kind)
        return path

    def save(self, name: str, data: bytes | str, kind: ArtifactKind = "raw_text") -> None:
        path = self.path(name, kind)
        try:
            path.write_bytes(data.encode("utf-8", "replace") if isinstance(data, str) else data)
        except OSError as error:
            raise StoreError(
                f"cannot write {path}: {error.strerror}",
                "Free some space or set DEA_HOME elsewhere",
            ) from error

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        writes: Path | None = None,
        max_bytes: int = 64 * 2**20,
    ) -> ProgramResult:
        self.commands.append(list(argv))
        program = self.programs.get(argv[0])
        result = await run_program(
            [str(program or argv[0]), *argv[1:]],
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
        ]


async def observe(
    backend: Backend, request: Request, recorder: Recorder, start_ticks: dict[int, int]
) -> Parsed:
    """Look, store, check that nothing of ours is left in the target, parse.

    `start_ticks` tells which process each pid was when the session began.
    """
    for pid in request.pids:
        identity.require_same(pid, start_ticks.get(pid))
    if backend.traces:
        lock = _tracing.setdefault(request.pid, anyio.Lock())
        async with lock:
            facts = await _trace(backend, request, recorder)
    else:
        facts = await backend.observe(request, recorder)
    _index(backend, request, recorder, facts)
    observation = Observation(
        backend=backend.name,
        tool=backend.tool,
        pid=request.pid,
        files={name: path.read_bytes() for name, (path, _) in recorder.saved.items()},
        facts=facts,
    )
    parsed = await anyio.to_thread.run_sync(backend.parse, observation)
    for product in parsed.products:
        recorder.save(product.name, product.data, product.kind)
    recorder.session.record_hashes([path for path, _ in recorder.saved.values()])
    return parsed


async def _trace(backend: Backend, request: Request, recorder: Recorder) -> dict[str, Any]:
    """Observe with ptrace, and prove that the target runs on untraced."""
    for pid in request.pids:
        identity.require_untraced(pid)
    stopped_before = {pid for pid in request.pids if identity.state(pid) == "T"}
    left = ""
    try:
        facts = await backend.observe(request, recorder)
    finally:
        with anyio.CancelScope(shield=True):
            left = await _left_behind(request.pids, stopped_before)
    if left:
        raise BackendError(f"{backend.name} did not let go of the target: {left}")
    return {**facts, "detached": True}


async def _left_behind(pids: Sequence[int], stopped_before: set[int]) -> str:
    """What is still wrong with a target shortly after its tracer ended; empty when all is well."""
    problem = ""
    for _ in range(20):
        problem = "; ".join(_troubles(pids, stopped_before))
        if not problem:
            break
        await anyio.sleep(0.02)
    return problem


def _troubles(pids: Sequence[int], stopped_before: set[int]) -> list[str]:
    found: list[str] = []
    for pid in pids:
        if tracer := identity.tracer_of(pid):
            found.append(f"process {pid} is still traced by {tracer}")
        if identity.state(pid) in ("T", "t") and pid not in stopped_before:
            found.append(f"process {pid} is stopped")
    return found


def _index(backend: Backend, request: Request, recorder: Recorder, facts: dict[str, Any]) -> None:
    """Store what replay needs besides the raw files."""
    files = {name: path.name for name, (path, _) in recorder.saved.items()}
    document = {
        "backend": backend.name,
        "tool": backend.tool,
        "pid": request.pid,
        "pids": list(request.pids),
        "commands": recorder.commands,
        "files": files,
        "facts": facts,
    }
    path = recorder.session.artifacts / f"{recorder.slot.number:03}-{backend.name}.observation.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1))
    recorder.session.record_hashes([path])
