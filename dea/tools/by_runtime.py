"""A family of processes may have several runtimes: each goes to the backend that suits it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import anyio

from dea import registry
from dea.backend import Backend, Request
from dea.contracts.target import Runtime
from dea.errors import BackendError, DeaError
from dea.targets.runtime import detect_runtime
from dea.tools.run import Run, host

_PROCESSES = 32  # whose runtime is looked up, the busiest first


@dataclass(frozen=True)
class Share:
    """What part of a request goes to which backends, the preferred one first."""

    request: Request
    backends: Sequence[Backend]


async def observe_each(run: Run, request: Request, serving: str = "") -> None:
    """Look at all processes of the request, side by side. Raises when none could be looked at.

    `serving`: what the backends shall serve, by default the tool itself.
    """
    shares = list(_shares(run, request, serving or run.tool))
    failures: list[DeaError] = []

    async def look(share: Share) -> None:
        try:
            await run.observe(share.request, backends=share.backends)
        except DeaError as error:
            failures.append(error)

    async with anyio.create_task_group() as group:
        for share in shares:
            group.start_soon(look, share)
    if len(failures) == len(shares):
        raise failures[0]
    run.limit(*(f"not all processes could be looked at: {failure}" for failure in failures))


def _shares(run: Run, request: Request, serving: str) -> Iterator[Share]:
    """One share per preferred backend; no two shares may ever use the same one."""
    pids: dict[str, list[int]] = {}
    usable: dict[str, tuple[Runtime | None, Sequence[Backend]]] = {}
    refused: list[BackendError] = []
    for pid in request.pids[:_PROCESSES]:
        runtime = request.target.runtime if pid == request.target.pid else detect_runtime(pid)
        try:
            target = request.target.model_copy(update={"runtime": runtime})
            choice = registry.choose(serving, target, host())
        except BackendError as error:
            refused.append(error)
            continue
        run.limit(*(f"passed over {reason}" for reason in choice.passed_over))
        preferred = choice.usable[0].name
        pids.setdefault(preferred, []).append(pid)
        usable.setdefault(preferred, (runtime, choice.usable))
    if not pids:
        raise refused[0]
    # A part that is missing for some leaves less detail; the tool itself missing is a blind spot.
    run.limit(*(str(error) for error in refused if serving == run.tool))
    for preferred, (runtime, backends) in usable.items():
        kept = [b for b in backends if b.name == preferred or b.name not in usable]
        target = request.target.model_copy(update={"runtime": runtime})
        yield Share(replace(request, target=target, pids=tuple(pids[preferred])), kept)
