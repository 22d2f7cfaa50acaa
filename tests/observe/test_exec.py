"""A target that executes another program while it is looked at."""

import subprocess
import sys
from typing import Any

import pytest

from dea.backend import Instruments, Request
from dea.errors import BackendError
from tests.backends import Scripted, run_on
from tests.observe.looking import look, save_one

pytestmark = pytest.mark.anyio

# The second program is the first one again: neither path nor name tells that it is another.
CODE = "import os, sys; print('up', flush=True); sys.stdin.readline()"
AGAIN = f"{CODE}; os.execv(sys.executable, [sys.executable, '-c', {CODE!r}])"


@pytest.mark.parametrize(
    ("tool", "executes"),
    [("profile_cpu", True), ("trace_syscalls", True), ("profile_cpu", False)],
)
async def test_stacks_of_two_programs_are_not_mixed(tool: str, executes: bool) -> None:
    async def meanwhile(request: Request, instruments: Instruments) -> dict[str, Any]:
        if executes:
            assert process.stdin
            assert process.stdout
            process.stdin.write(b"go\n")
            process.stdin.flush()
            process.stdout.readline()
        return await save_one(request, instruments)

    backend = Scripted(meanwhile)
    backend.__dict__["tool"] = tool
    with subprocess.Popen(
        [sys.executable, "-c", AGAIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        run = run_on(process.pid, tool)
        if executes and tool == "profile_cpu":
            with pytest.raises(BackendError, match=f"process {process.pid} executed another"):
                await look(run, backend)
            assert not run.evidence
        else:
            await look(run, backend)
            assert len(run.evidence) == 1
            said = any("executed another program (python" in text for text in run.limitations)
            assert said == executes
        process.kill()
