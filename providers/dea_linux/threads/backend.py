"""Looks at threads through /proc: for a while (`threads.sample`) or once (`threads.look`).

Nothing is stopped, traced or changed in the target.
"""

import json
from collections.abc import Iterable
from typing import Any, ClassVar

from anyio import to_thread

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, Request
from dea_linux.threads import parser, stored
from dea_linux.threads.sampler import Sampler
from dea_linux.threads.watch import COLUMNS


class ThreadsSample(LinuxBackend):
    """Samples all threads of the processes for the time asked for."""

    name: ClassVar[str] = "threads.sample"
    tool: ClassVar[str] = "time_budget"
    rank: ClassVar[int] = 20  # a backend that sees every switch is better, not cheaper for us

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        return await _observe(request, instruments, max(0.1, request.duration_s))

    def parse(self, observation: Observation) -> Parsed:
        return parser.parse(observation)


class ThreadsLook(LinuxBackend):
    """Looks once at every thread."""

    name: ClassVar[str] = "threads.look"
    tool: ClassVar[str] = "dump_stacks.waits"
    rank: ClassVar[int] = 10

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        return await _observe(request, instruments, 0.0)

    def parse(self, observation: Observation) -> Parsed:
        return parser.parse_look(observation)


async def _observe(request: Request, instruments: Instruments, duration_s: float) -> dict[str, Any]:
    sampler = Sampler(request.pids, duration_s)
    try:
        await to_thread.run_sync(sampler.run, abandon_on_cancel=True)
    finally:
        sampler.stop.set()
    lines = [COLUMNS, *sampler.lines]
    instruments.save(stored.SAMPLES, "".join(f"{line}\n" for line in lines))
    instruments.save(stored.THREADS, _json_lines(sampler.threads), "json")
    instruments.save(stored.PROCESSES, _json_lines(sampler.processes.values()), "json")
    instruments.save(
        stored.DESCRIPTORS, _json_lines([*sampler.descriptors.records, *sampler.holders]), "json"
    )
    instruments.save(stored.SOCKETS, _json_lines(sampler.sockets.records), "json")
    instruments.save(stored.HOST, _json_lines([sampler.host]), "json")
    return sampler.facts | {"target": request.target.pid, "runtime": request.target.runtime}


def _json_lines(objects: Iterable[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in objects)
