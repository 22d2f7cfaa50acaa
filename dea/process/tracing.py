"""One tracer at a time per process, and the proof that it let go."""

import os
import signal
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

import anyio

from dea.errors import BackendError
from dea.process import identity

_LET_GO_LIMIT_S = 2.0
_CONTINUE_AFTER_S = 0.3
_POLL_S = 0.02
_WRONG = "did not let go of the target"

_locks: WeakValueDictionary[int, anyio.Lock] = WeakValueDictionary()


@asynccontextmanager
async def tracing(pids: Sequence[int], tracer: str) -> AsyncGenerator[None]:
    """The sole right to trace these processes, waited for if another of our runs has it.

    Raises TracedError when somebody else traces one of them. Afterwards, also after an error or a
    cancellation, they run on untraced, or BackendError says what is wrong with them.
    """
    async with AsyncExitStack() as held:
        for pid in sorted(set(pids)):
            await held.enter_async_context(_locks.setdefault(pid, anyio.Lock()))
        for pid in pids:
            identity.require_untraced(pid)
        stopped = frozenset(pid for pid in pids if identity.is_stopped(pid))
        try:
            yield
        except BaseException as error:
            trouble = await _let_go(pids, stopped)
            if trouble and isinstance(error, Exception):
                raise BackendError(f"{error}; and {tracer} {_WRONG}: {trouble}") from error
            raise
        if trouble := await _let_go(pids, stopped):
            raise BackendError(f"{tracer} {_WRONG}: {trouble}")


async def _let_go(pids: Sequence[int], stopped_before: frozenset[int]) -> str:
    """What is still wrong shortly after the tracer ended; empty when all is well."""
    trouble = ""
    with anyio.CancelScope(shield=True):
        began = anyio.current_time()
        continued = False
        while (elapsed_s := anyio.current_time() - began) < _LET_GO_LIMIT_S:
            trouble = "; ".join(_troubles(pids, stopped_before))
            if not trouble:
                break
            if elapsed_s > _CONTINUE_AFTER_S and not continued:
                continued = True
                _continue(pids, stopped_before)
            await anyio.sleep(_POLL_S)
    return trouble


def _continue(pids: Sequence[int], stopped_before: frozenset[int]) -> None:
    """A tracer that was killed right after PTRACE_ATTACH leaves its SIGSTOP behind, see ptrace(2)."""
    for pid in pids:
        if pid not in stopped_before and identity.state(pid) == "T":
            os.kill(pid, signal.SIGCONT)


def _troubles(pids: Sequence[int], stopped_before: frozenset[int]) -> Iterator[str]:
    for pid in pids:
        if tracer := identity.tracer_of(pid):
            yield f"process {pid} is still traced by {tracer}"
        if pid not in stopped_before and identity.is_stopped(pid):
            yield f"process {pid} is stopped"
