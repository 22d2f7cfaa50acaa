"""Runs the heap reader on a Python process: held for two short copies, otherwise left alone."""

from typing import Any, ClassVar

from dea.backend import Instruments, Observation, Parsed, Request
from dea.contracts.target import Runtime
from dea_runtimes.cpython_heap.parser import parse_growth
from dea_runtimes.outside_reader import OutsideReader

RECORDS = "heap.jsonl"
_DEFAULT_S = 4.0
_EXTRA_S = 45.0  # for walking two copies, on a busy host
COPY_LIMIT_MIB = 1024  # the target is held about 0.3 ms for each
_RECORDS_LIMIT_BYTES = 8 << 20


class CPythonHeapGrowth(OutsideReader):
    """Two looks at all objects, and what grew between them."""

    name: ClassVar[str] = "cpython_heap.growth"
    tool: ClassVar[str] = "snapshot_memory.heap"
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"python"})
    rank: ClassVar[int] = 10
    reader: ClassVar[str] = "dea_runtimes.cpython_heap.reader"
    knows: ClassVar[str] = "CPython's heap"

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        """Raises BackendError, with the reason, when the heap could not be read for sure."""
        duration_s = request.duration_s or _DEFAULT_S
        out = instruments.path(RECORDS)
        await instruments.progress(0.1, "reading the Python heap")
        await self.read(
            instruments,
            [str(request.pid), str(duration_s), str(COPY_LIMIT_MIB)],
            out,
            timeout_s=duration_s + _EXTRA_S,
            max_bytes=_RECORDS_LIMIT_BYTES,
        )
        return {"pid": request.pid, "duration_s": duration_s}

    def parse(self, observation: Observation) -> Parsed:
        return parse_growth(observation, RECORDS)
