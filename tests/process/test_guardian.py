"""A tracer with a guardian: its own ending is passed on, and DEA's death does not stop the target."""

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dea.process import identity
from dea.process.lifeline import guarded
from dea.process.runner import run_program
from tests.process.waiting import lines, pids_in, stop, until, wait_gone

pytestmark = pytest.mark.anyio
# As a tracer that is killed right after PTRACE_ATTACH: all that is left of it is the SIGSTOP.
TRACER = "echo $$ > {pids}; kill -STOP {target}; echo $$ >> {pids}; exec sleep 600"


@pytest.fixture
def target() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def sh(script: str, target_pid: int) -> list[str]:
    return guarded(["/bin/sh", "-c", script], target_pid)


async def test_output_and_exit_code_are_passed_on(target: subprocess.Popen[bytes]) -> None:
    result = await run_program(sh("echo out; echo err >&2; exit 3", target.pid), timeout_s=60)
    assert (result.returncode, result.stdout, result.stderr) == (3, b"out\n", "err\n")


async def test_a_tracer_that_cannot_be_started_says_why(target: subprocess.Popen[bytes]) -> None:
    result = await run_program(guarded(["/nonexistent"], target.pid), timeout_s=60)
    assert result.returncode == 127
    assert result.stderr == "cannot start /nonexistent: No such file or directory\n"


async def test_the_tracer_is_asked_politely_to_end(target: subprocess.Popen[bytes]) -> None:
    script = "trap 'echo bye; exit 4' INT; while :; do sleep 0.05; done"
    result = await run_program(sh(script, target.pid), timeout_s=0.4)
    assert result.timed_out
    assert (result.returncode, result.stdout) == (4, b"bye\n")


async def kill_dea_meanwhile(target_pid: int, pids: Path) -> None:
    script = TRACER.format(pids=shlex.quote(str(pids)), target=target_pid)
    code = (
        "import anyio, functools\n"
        "from dea.process.runner import run_program\n"
        f"anyio.run(functools.partial(run_program, {sh(script, target_pid)}, timeout_s=60))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as dea:
        await until(lambda: len(lines(pids)) == 2 and identity.state(target_pid) == "T")
        guardian = identity.parent(pids_in(pids)[0])
        dea.kill()
    assert guardian is not None
    wait_gone(guardian)
    wait_gone(pids_in(pids)[0])


async def test_the_target_runs_on_when_dea_is_killed(
    target: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    await kill_dea_meanwhile(target.pid, tmp_path / "pids")
    assert identity.state(target.pid) == "S"


async def test_a_target_that_was_stopped_before_stays_so(
    target: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    stop(target.pid)
    await kill_dea_meanwhile(target.pid, tmp_path / "pids")
    assert identity.state(target.pid) == "T"
    target.send_signal(signal.SIGCONT)
