"""Lists the descriptors of a process and its descendants several times over a window."""

import time
from typing import Any, ClassVar

import anyio

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, Request
from dea_linux.files.parser import parse
from dea_linux.files.watch import Watch
from dea_linux.own_cost import OwnCost

_LOOKS = 20
_SOONEST_S = 0.25


class Window(LinuxBackend):
    """Reads /proc and asks the kernel about sockets: the target is never stopped."""

    name: ClassVar[str] = "files.window"
    tool: ClassVar[str] = "inspect_files"

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        """Raises BackendError when the target's descriptors may not be read."""
        every_s = max(_SOONEST_S, request.duration_s / _LOOKS)
        watch = Watch(request.pid, every_s)
        cost, began_s = OwnCost(), time.monotonic()
        await anyio.to_thread.run_sync(cost.of, watch.begin)
        while (left_s := request.duration_s - (time.monotonic() - began_s)) > 0:
            await anyio.sleep(min(every_s, left_s))
            await anyio.to_thread.run_sync(cost.of, watch.look)
            done = 1 - max(0, left_s) / request.duration_s
            await instruments.progress(done, "watching descriptors")
            if watch.ended:
                break
        await anyio.to_thread.run_sync(cost.of, watch.end)
        for name, data in watch.files().items():
            instruments.save(name, data)
        return watch.facts | cost.noted()

    def parse(self, observation: Observation) -> Parsed:
        return parse(observation)
