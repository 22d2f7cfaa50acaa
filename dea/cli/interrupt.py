"""Ctrl-C and kill: what runs is cancelled, lets go of the target, and only then we end."""

import os
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from dea.errors import DeaError

T = TypeVar("T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """A signal ended the work; `code` is the exit code that says so."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal.Signals(signal_number).name)
        self.code = 128 + signal_number


def run_interruptible(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` to its end. Raises Interrupted after its cleanup when a signal came.

    A second signal ends the process at once. Signals that the caller ignores (nohup) stay ignored.
    """
    return anyio.run(_run, work)


async def _run(work: Callable[[], Awaitable[T]]) -> T:
    working = anyio.CancelScope()
    received: list[int] = []
    failed: list[Exception] = []
    results: list[T] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_on_signal, working, received)
        with working:
            try:
                results.append(await work())
            except (DeaError, OSError) as error:  # raised below, not as a group of one
                failed.append(error)
        group.cancel_scope.cancel()
    if received:
        raise Interrupted(received[0])
    if failed:
        raise failed[0]
    return results[0]


async def _cancel_on_signal(working: anyio.CancelScope, received: list[int]) -> None:
    listened = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    with anyio.open_signal_receiver(*listened) as signals:
        async for number in signals:
            if received:
                os._exit(128 + number)
            received.append(number)
            working.cancel()
