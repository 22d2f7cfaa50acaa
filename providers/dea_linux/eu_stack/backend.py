"""Takes the stack of every thread once, with ptrace: each thread pauses for some milliseconds."""

from typing import Any, ClassVar

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, ProgramResult, Request
from dea_linux.eu_stack import parser
from dea_linux.stack_dumper import dump_each

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
        return await dump_each(
            request,
            instruments,
            lambda pid: _dump(pid, instruments),
            program="eu-stack",
            most=_PROCESSES,
            shows_stacks=_shows_stacks,
            states_file=parser.states_file,
            stacks_file=parser.stacks_file,
        )

    def parse(self, observation: Observation) -> Parsed:
        return parser.parse(observation)


async def _dump(pid: int, instruments: Instruments) -> ProgramResult:
    return await instruments.run(
        ["eu-stack", "-s", "-i", "-m", "-p", str(pid)], timeout_s=_TIMEOUT_S
    )


def _shows_stacks(result: ProgramResult) -> bool:
    return bool(result.stdout.strip()) and result.returncode != _NOTHING_SHOWN
