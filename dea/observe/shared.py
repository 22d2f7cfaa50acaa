"""One look that serves two runs: a target is not sampled twice at the same time for the same bytes."""

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

from dea.backend import Backend, Request
from dea.observe.recorder import Recorder

Look = Callable[[Backend, Request, Recorder], Awaitable[dict[str, Any]]]
_Key = tuple[str, frozenset[int], float]


@dataclass
class _Running:
    """A look under way; `facts` stay None when it came to nothing."""

    recorder: Recorder
    done: anyio.Event = field(default_factory=anyio.Event)
    facts: dict[str, Any] | None = None


_running: dict[_Key, _Running] = {}


async def share(
    backend: Backend, request: Request, recorder: Recorder, look: Look
) -> dict[str, Any]:
    """Look, or wait for the same look of another run and take over what it saved."""
    if not backend.look:
        return await look(backend, request, recorder)
    key = (backend.look, frozenset(request.pids), request.duration_s)
    other = _running.get(key)
    if other is not None:
        await other.done.wait()
        if other.facts is not None:
            _take_over(other.recorder, recorder)
            return other.facts
        return await look(backend, request, recorder)
    mine = _running[key] = _Running(recorder)
    try:
        mine.facts = await look(backend, request, recorder)
        return mine.facts
    finally:
        del _running[key]
        mine.done.set()


def _take_over(theirs: Recorder, ours: Recorder) -> None:
    """Copies, so that each run stands by itself."""
    for name, (path, kind) in list(theirs.saved.items()):
        shutil.copyfile(path, ours.path(name, kind))
    ours.commands += theirs.commands
    ours.truncated |= theirs.truncated
