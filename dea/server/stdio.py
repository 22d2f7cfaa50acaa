"""Serves one client on stdin and stdout; ends within two seconds when it goes or a signal comes."""

import os
import signal
import sys
import threading
from collections.abc import AsyncIterable

import anyio
from anyio.abc import ObjectSendStream
from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from dea.server.app import build

_Message = SessionMessage | Exception

# What a client sends before it kills: it closes stdin and waits two seconds. A program of ours that
# has not ended by then is killed by the kernel together with us (see dea.process.lifeline).
_GRACE_S = 1.6
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run() -> None:
    """Serve until the client goes or a signal comes; in that case the exit code says which."""
    anyio.run(serve)


async def serve() -> None:
    """Serve one connection, in the protocol era that its first request chooses."""
    server = build()
    options = server.create_initialization_options(NotificationOptions())
    async with stdio_server() as (wire, write), anyio.create_task_group() as group:
        serving = anyio.CancelScope()
        ended_by: list[int] = []
        group.start_soon(_cancel_on_signal, serving, ended_by)
        relay, read = anyio.create_memory_object_stream[_Message]()
        group.start_soon(_relay, wire, relay)
        with serving:
            await server.run(read, write, options)
        if ended_by:
            _leave(128 + ended_by[0])
        group.cancel_scope.cancel()


async def _cancel_on_signal(serving: anyio.CancelScope, ended_by: list[int]) -> None:
    with anyio.open_signal_receiver(*_SIGNALS) as signals:
        async for number in signals:
            if not ended_by:
                _leave_later(128 + number)
            ended_by.append(number)
            serving.cancel()


async def _relay(wire: AsyncIterable[_Message], server: ObjectSendStream[_Message]) -> None:
    """Pass on what the client sends, and see when it is gone."""
    async with server:
        try:
            async for message in wire:
                await server.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the server has stopped listening
    _leave_later(0)


def _leave_later(code: int) -> None:
    """End the process after the grace, whatever still runs: a thread cannot be cancelled."""
    timer = threading.Timer(_GRACE_S, _leave, (code,))
    timer.daemon = True
    timer.start()


def _leave(code: int) -> None:
    """End at once: the thread that waits for stdin would keep us until the client speaks."""
    sys.stderr.flush()
    os._exit(code)
