"""Samples the JavaScript stacks of node, each look a stop of a fraction of a millisecond."""

from typing import Any, ClassVar

from dea.backend import Instruments, Observation, Parsed, Request
from dea.contracts.target import Runtime
from dea.profile.clocks import read_clocks
from dea.profile.family import read_family
from dea.profile.states import read_states
from dea_runtimes.outside_reader import OutsideReader
from dea_runtimes.v8 import parser
from dea_runtimes.v8.records import AFTER, BEFORE, STACKS, states_file

_PROCESSES = 8
_RATE_HZ = 50
_MOST_SAMPLES_PER_S = 200  # over all processes
_EXTRA_S = 20.0  # to read node's symbols, on a busy host
_RECORDS_LIMIT_BYTES = 16 << 20


class _V8(OutsideReader):
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"node"})
    rank: ClassVar[int] = 10
    reader: ClassVar[str] = "dea_runtimes.v8.reader"
    knows: ClassVar[str] = "V8's frames"

    async def _look(
        self, request: Request, instruments: Instruments, duration_s: float, scope: str
    ) -> dict[str, Any]:
        """Raises BackendError, with the reason, when no stack could be read for sure."""
        pids = request.pids[:_PROCESSES]
        rate_hz = max(10, min(_RATE_HZ, _MOST_SAMPLES_PER_S // len(pids)))
        family = read_family(pids)
        out = instruments.path(STACKS)
        instruments.save(BEFORE, read_clocks(pids))
        await self.read(
            instruments,
            [",".join(map(str, pids)), str(duration_s), str(rate_hz), scope],
            out,
            timeout_s=duration_s + _EXTRA_S,
            max_bytes=_RECORDS_LIMIT_BYTES,
        )
        instruments.save(AFTER, read_clocks(pids))
        return {
            "target_pid": request.target.pid or request.pid,
            "pids": list(pids),
            "rate_hz": rate_hz,
            "family": family,
            "left_out": len(request.pids) - len(pids),
        }


class _Sampling(_V8):
    look: ClassVar[str] = "v8.sampling"

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        return await self._look(request, instruments, max(1.0, request.duration_s), "wall")


class Record(_Sampling):
    """The functions that burn CPU."""

    name: ClassVar[str] = "v8.record"
    tool: ClassVar[str] = "profile_cpu"

    def parse(self, observation: Observation) -> Parsed:
        return parser.parse_cpu(observation)


class Wall(_Sampling):
    """Where each thread is, waiting or not."""

    name: ClassVar[str] = "v8.wall"
    tool: ClassVar[str] = "time_budget.stacks"

    def parse(self, observation: Observation) -> Parsed:
        return parser.parse_wall(observation)


class Dump(_V8):
    """One look, also at a thread that waits or never comes back to its event loop."""

    name: ClassVar[str] = "v8.dump"
    tool: ClassVar[str] = "dump_stacks"

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        facts = await self._look(request, instruments, 0.0, "wall")
        for pid in facts["pids"]:
            instruments.save(states_file(pid), read_states(pid))
        return facts

    def parse(self, observation: Observation) -> Parsed:
        return parser.parse_dump(observation)
