"""Takes the stack of every thread once, with ptrace: each thread pauses for some milliseconds."""

from typing import Any, ClassVar

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, ProgramResult, Request
from dea.errors import BackendError
from dea.profile.family import read_family
from dea.profile.states import read_states
from dea_linux.eu_stack import parser
from dea_linux.ptrace_refusal import refusal

_PROCESSES = 8
_TIMEOUT_S = 20.0
_NOTHING_SHOWN = 2  # its exit code; 1 says that some stacks are incomplete


class Dump(LinuxBackend):
    """Functions, inlined ones too, with source lines where there is debug information."""

    name: ClassVar[str] = "eu_stack.dump"
    tool: ClassVar[str] = "dump_stacks"
    rank: ClassVar[int] = 50  # it suits every target, so those made for a runtime come first
    programs: ClassVar[tuple[str, ...]] = ("eu-stack",)
    install_hint: ClassVar[str] = "apt-get install elfutils"
    traces: ClassVar[bool] = True

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        family = read_family(request.pids[:_PROCESSES])
        dumped: list[int] = []
        failures: list[str] = []
        took_s = 0.0
        for relative in family:
            pid = relative["pid"]
            instruments.save(parser.states_file(pid), read_states(pid))
            result = await _dump(pid, instruments)
            took_s = max(took_s, result.duration_s)
            if result.stdout.strip() and result.returncode != _NOTHING_SHOWN:
                instruments.save(parser.stacks_file(pid), result.stdout)
                dumped.append(pid)
            else:
                failures.append(str(refusal("eu-stack", result, pid)))
        if not dumped:
            raise BackendError("; ".join(failures) or f"process {request.pid} has ended")
        return {
            "pids": dumped,
            "family": family,
            "failures": failures,
            "runtime": request.target.runtime,
            "took_s": round(took_s, 3),
            "left_out": len(request.pids) - len(request.pids[:_PROCESSES]),
        }

    def parse(self, observation: Observation) -> Parsed:
        return parser.parse(observation)


async def _dump(pid: int, instruments: Instruments) -> ProgramResult:
    return await instruments.run(
        ["eu-stack", "-s", "-i", "-m", "-p", str(pid)], timeout_s=_TIMEOUT_S
    )
