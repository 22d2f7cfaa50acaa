"""What the programs share that print the stack of every thread of one process at a time."""

from collections.abc import Awaitable, Callable
from typing import Any

from dea.backend import Instruments, ProgramResult, Request
from dea.errors import BackendError
from dea.profile.family import read_family
from dea.profile.states import read_states
from dea_linux.ptrace_refusal import refusal

FileOf = Callable[[int], str]  # the name under which something of that pid is stored


async def dump_each(
    request: Request,
    instruments: Instruments,
    dump: Callable[[int], Awaitable[ProgramResult]],
    *,
    program: str,
    most: int,
    shows_stacks: Callable[[ProgramResult], bool],
    states_file: FileOf,
    stacks_file: FileOf,
) -> dict[str, Any]:
    """Dump the first `most` processes, one after the other. Returns the observation's facts.

    Raises BackendError when none shows its stacks.
    """
    family = read_family(request.pids[:most])
    dumped: list[int] = []
    failures: list[str] = []
    took_s = 0.0
    for relative in family:
        pid = relative["pid"]
        instruments.save(states_file(pid), read_states(pid))
        result = await dump(pid)
        took_s = max(took_s, result.duration_s)
        if shows_stacks(result):
            instruments.save(stacks_file(pid), result.stdout)
            dumped.append(pid)
        else:
            failures.append(str(refusal(program, result, pid)))
    if not dumped:
        raise BackendError("; ".join(failures) or f"process {request.pid} has ended")
    return {
        "pids": dumped,
        "family": family,
        "failures": failures,
        "runtime": request.target.runtime,
        "took_s": round(took_s, 3),
        "left_out": len(request.pids) - len(request.pids[:most]),
    }
