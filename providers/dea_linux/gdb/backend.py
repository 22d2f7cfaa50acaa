"""Takes the stack of every thread once; all threads pause until gdb has read the symbols."""

from typing import Any, ClassVar

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, ProgramResult, Request
from dea_linux.gdb import parser
from dea_linux.stack_dumper import dump_each

_PROCESSES = 4
_TIMEOUT_S = 30.0
# No init files, no scripts that come with libraries, no downloads, no values of arguments: nothing
# is run in the target or on its behalf.
_SETTINGS = (
    "set debuginfod enabled off",
    "set pagination off",
    "set auto-load off",
    "set width 0",
    "set print frame-arguments presence",
    "set print entry-values no",
)


class Dump(LinuxBackend):
    """Functions with source lines where there is debug information."""

    name: ClassVar[str] = "gdb.dump"
    tool: ClassVar[str] = "dump_stacks"
    rank: ClassVar[int] = 60
    programs: ClassVar[tuple[str, ...]] = ("gdb",)
    install_hint: ClassVar[str] = "apt-get install gdb"
    traces: ClassVar[bool] = True

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        return await dump_each(
            request,
            instruments,
            lambda pid: _dump(pid, instruments),
            program="gdb",
            most=_PROCESSES,
            shows_stacks=_shows_stacks,
            states_file=parser.states_file,
            stacks_file=parser.stacks_file,
        )

    def parse(self, observation: Observation) -> Parsed:
        return parser.parse(observation)


async def _dump(pid: int, instruments: Instruments) -> ProgramResult:
    return await instruments.run(_argv(pid), timeout_s=_TIMEOUT_S, guards=pid)


def _shows_stacks(result: ProgramResult) -> bool:
    return b"\nThread " in result.stdout


def _argv(pid: int) -> list[str]:
    settings = [word for setting in _SETTINGS for word in ("-iex", setting)]
    return ["gdb", "-nx", "-batch", *settings, "-p", str(pid), "-ex", "thread apply all backtrace"]
