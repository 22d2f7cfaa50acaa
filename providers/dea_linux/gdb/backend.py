"""Takes the stack of every thread once; all threads pause until gdb has read the symbols."""

from typing import Any, ClassVar

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, Request
from dea.errors import BackendError
from dea.profile.family import read_family
from dea.profile.states import read_states
from dea_linux.gdb import parser
from dea_linux.ptrace_refusal import refusal

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
        family = read_family(request.pids[:_PROCESSES])
        dumped: list[int] = []
        failures: list[str] = []
        took_s = 0.0
        for relative in family:
            pid = relative["pid"]
            instruments.save(parser.states_file(pid), read_states(pid))
            result = await instruments.run(_argv(pid), timeout_s=_TIMEOUT_S, guards=pid)
            took_s = max(took_s, result.duration_s)
            if b"\nThread " in result.stdout:
                instruments.save(parser.stacks_file(pid), result.stdout)
                dumped.append(pid)
            else:
                failures.append(str(refusal("gdb", result, pid)))
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


def _argv(pid: int) -> list[str]:
    settings = [word for setting in _SETTINGS for word in ("-iex", setting)]
    return ["gdb", "-nx", "-batch", *settings, "-p", str(pid), "-ex", "thread apply all backtrace"]
