"""Lets one backend look at a target: guarded before, recorded meanwhile, proven undone after."""

import contextlib
import json
import sys
import traceback
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import anyio

from dea.backend import Backend, Observation, Parsed, Request
from dea.errors import BackendError, DeaError, root_of
from dea.observe.recorder import Recorder
from dea.observe.shared import share
from dea.process import identity
from dea.process.image import executed, image_of
from dea.process.tracing import tracing
from dea.store.atomic import write_json

_LOOK_LIMIT_S = 120.0  # beyond the time that was asked for; no backend needs that long
_PARSE_LIMIT_S = 120.0
# Tools whose evidence names places in the code.
_SEES_CODE = {"profile_cpu", "time_budget.stacks", "dump_stacks", "snapshot_memory.sites"}


async def observe(
    backend: Backend, request: Request, recorder: Recorder, start_ticks: Mapping[int, int]
) -> Parsed:
    """Look, store, check that nothing of ours is left in the target, parse.

    `start_ticks` tells which process each pid was when the session began. Raises TargetError when
    the target is not there (any more), BackendError when the backend could not look or read.
    """
    request = _without_ended(request, start_ticks)
    pid = request.target.pid or request.pid
    before = image_of(pid)
    facts = await share(backend, request, recorder, _look)
    mixed = executed(pid, before)
    if mixed and (backend.runtimes or backend.tool in _SEES_CODE):
        raise BackendError(mixed)  # no line of the old program is to blame for the new one
    observation = Observation(
        backend=backend.name,
        tool=backend.tool,
        pid=request.pid,
        files={name: path.read_bytes() for name, (path, _) in recorder.saved.items()},
        facts=_index(backend, request, recorder, facts),
    )
    parsed = await _parse(backend, observation)
    for product in parsed.products:
        recorder.save(product.name, product.data, product.kind)
    return replace(parsed, limitations=[*parsed.limitations, mixed]) if mixed else parsed


def _without_ended(request: Request, start_ticks: Mapping[int, int]) -> Request:
    """Descendants come and go, also between the choice of pids and the look; the target must not."""
    alive = tuple(p for p in request.pids if identity.is_same(p, start_ticks.get(p)))
    for pid in request.pids:
        if pid not in alive and (pid == request.target.pid or not alive):
            identity.require_same(pid, start_ticks.get(pid))
    return replace(request, pids=alive)


async def _look(backend: Backend, request: Request, recorder: Recorder) -> dict[str, Any]:
    limit_s = request.duration_s + _LOOK_LIMIT_S
    with anyio.move_on_after(limit_s), _as_backend_error(f"{backend.name} could not look"):
        if not backend.traces:
            return await backend.observe(request, recorder)
        async with tracing(request.pids, backend.name):
            facts = await backend.observe(request, recorder)
        return {**facts, "detached": True}
    raise BackendError(f"{backend.name} gave no answer within {limit_s:.0f} s")


async def _parse(backend: Backend, observation: Observation) -> Parsed:
    """In a thread, so that other runs go on; one that is cut short is left to end by itself."""
    with anyio.move_on_after(_PARSE_LIMIT_S), _as_backend_error(f"{backend.name}: not readable"):
        return await anyio.to_thread.run_sync(backend.parse, observation, abandon_on_cancel=True)
    raise BackendError(f"what {backend.name} saw could not be read within {_PARSE_LIMIT_S:.0f} s")


@contextlib.contextmanager
def _as_backend_error(what: str) -> Generator[None]:
    """A fault in one backend must not keep the next one from looking."""
    try:
        yield
    except Exception as error:
        found = root_of(error)
        if isinstance(found, DeaError):
            raise found from error
        if isinstance(found, OSError):
            place = f" ({found.filename})" if found.filename else ""
            raise BackendError(f"{what}: {found.strerror or found}{place}") from error
        traceback.print_exc(file=sys.stderr)
        raise BackendError(f"{what}: {type(found).__name__}: {found}") from error


def _index(
    backend: Backend, request: Request, recorder: Recorder, facts: dict[str, Any]
) -> dict[str, Any]:
    """Store what replay needs besides the raw files. Returns the facts as a replay reads them."""
    document = {
        "backend": backend.name,
        "tool": backend.tool,
        "pid": request.pid,
        "pids": list(request.pids),
        "commands": recorder.commands,
        "files": {name: path.name for name, (path, _) in recorder.saved.items()},
        "facts": facts,
    }
    path = recorder.file("observation.json")
    with _as_backend_error(f"{backend.name}: what it noted is no JSON"):
        write_json(path, document)
        recorder.session.record_hashes([path])
        read_back: dict[str, Any] = json.loads(path.read_bytes())["facts"]
    return read_back
