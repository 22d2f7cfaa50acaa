"""Takes one picture of every Python thread's stack, without pausing the target."""

from collections.abc import Sequence
from typing import Any, ClassVar

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, ProgramResult, Request
from dea.contracts.target import Runtime
from dea.errors import BackendError
from dea.profile.states import read_states
from dea_runtimes.py_spy import dump_parser
from dea_runtimes.py_spy.native_ids import native_ids
from dea_runtimes.py_spy.record import INSTALL_HINT
from dea_runtimes.py_spy.refusal import refusal

_PROCESSES = 8
_TRIES = 3  # memory that changes while it is read can make one fail
_TIMEOUT_S = 15.0


class Dump(LinuxBackend):
    """Names, lines and who holds the GIL; local variables are left out."""

    name: ClassVar[str] = "py_spy.dump"
    tool: ClassVar[str] = "dump_stacks"
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"python"})
    rank: ClassVar[int] = 10
    programs: ClassVar[tuple[str, ...]] = ("py-spy",)
    install_hint: ClassVar[str] = INSTALL_HINT

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        failures: list[str] = []
        dumped: list[int] = []
        ids: dict[str, list[tuple[int, int]]] = {}
        for pid in request.pids[:_PROCESSES]:
            try:
                ids[str(pid)] = list((await _dump(pid, instruments)).items())
                dumped.append(pid)
            except BackendError as error:
                failures.append(str(error))
        if not dumped:
            raise BackendError("; ".join(failures))
        return {
            "pids": dumped,
            "native_ids": ids,
            "failures": failures,
            "left_out": len(request.pids) - len(request.pids[:_PROCESSES]),
        }

    def parse(self, observation: Observation) -> Parsed:
        return dump_parser.parse(observation)


async def _dump(pid: int, instruments: Instruments) -> dict[int, int]:
    """Saves the stacks and returns the ids of threads that py-spy names by something else."""
    argv = ["py-spy", "dump", "-p", str(pid), "--nonblocking", "--json", "--full-filenames"]
    result = await _repeated(argv, instruments)
    if result.returncode != 0:
        raise refusal(result, pid)
    instruments.save(dump_parser.stacks_file(pid), result.stdout, "json")
    instruments.save(dump_parser.states_file(pid), read_states(pid))
    return native_ids(pid, dump_parser.thread_names(result.stdout))


async def _repeated(argv: Sequence[str], instruments: Instruments) -> ProgramResult:
    result = await instruments.run(argv, timeout_s=_TIMEOUT_S)
    for _ in range(_TRIES - 1):
        if result.returncode == 0:
            break
        result = await instruments.run(argv, timeout_s=_TIMEOUT_S)
    return result
