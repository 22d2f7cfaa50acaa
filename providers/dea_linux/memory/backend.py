"""Samples a process and its descendants ten times a second, dearer numbers as often as is cheap."""

import random
import time
from typing import Any, ClassVar

import anyio

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, Request
from dea_linux.memory.parser import parse
from dea_linux.memory.watch import Watch
from dea_linux.own_cost import OwnCost

_EVERY_S = 0.1


class Series(LinuxBackend):
    """Reads /proc only: the target is never stopped."""

    name: ClassVar[str] = "memory.series"
    tool: ClassVar[str] = "snapshot_memory"

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        """Raises BackendError when the target has no memory of its own."""
        watch = Watch(request.pid)
        cost, began_s = OwnCost(), time.monotonic()
        await anyio.to_thread.run_sync(cost.of, watch.begin)
        while (left_s := request.duration_s - (time.monotonic() - began_s)) > 0:
            # Never in step with the target: it too may do something ten times a second.
            await anyio.sleep(min(_EVERY_S * random.uniform(0.5, 1.5), left_s))
            await anyio.to_thread.run_sync(cost.of, watch.look)
            await instruments.progress(1 - max(0, left_s) / request.duration_s, "sampling memory")
            if watch.ended:
                break
        await anyio.to_thread.run_sync(cost.of, watch.end)
        for name, text in watch.texts.items():
            instruments.save(name, text)
        return watch.facts | cost.noted()

    def parse(self, observation: Observation) -> Parsed:
        return parse(observation)
