"""Programs that run too long, say too much, do not listen or leave something behind."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import psutil
import pytest

from dea.errors import BackendError
from dea.process.runner import run_program
from tests.process.waiting import lines, pids_in, until, wait_gone

pytestmark = pytest.mark.anyio
LONG_S = 60.0


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


async def test_what_it_printed_and_how_it_ended() -> None:
    result = await run_program(sh("echo out; echo err >&2; exit 3"), timeout_s=LONG_S)
    assert (result.returncode, result.stdout, result.stderr) == (3, b"out\n", "err\n")
    assert not result.truncated
    assert not result.timed_out


async def test_stderr_need_not_be_utf8() -> None:
    result = await run_program(sh(r"printf 'a\377b' >&2"), timeout_s=LONG_S)
    assert result.stderr == "a�b"


async def test_a_program_that_is_not_there_or_not_executable() -> None:
    for program in ("/nonexistent/strace", "/etc/passwd", "nul\0byte"):
        with pytest.raises(BackendError, match="cannot start .*dea doctor"):
            await run_program([program], timeout_s=LONG_S)


async def test_the_time_limit_ends_it_politely_and_keeps_what_it_said() -> None:
    script = "trap 'echo bye; exit 0' INT; echo hello; while :; do sleep 0.05; done"
    result = await run_program(sh(script), timeout_s=0.3)
    assert result.timed_out
    assert result.returncode == 0
    assert result.stdout.split() == [b"hello", b"bye"]


async def test_a_program_that_ignores_every_request_is_killed() -> None:
    result = await run_program(sh("trap '' INT TERM; while :; do sleep 1; done"), timeout_s=0.2)
    assert result.timed_out
    assert result.returncode == -signal.SIGKILL


async def test_too_much_output_ends_it() -> None:
    result = await run_program(["yes"], timeout_s=LONG_S, max_bytes=5000)
    assert result.truncated
    assert len(result.stdout) == 5000
    assert not result.timed_out


async def test_too_much_on_stderr_ends_it_too() -> None:
    result = await run_program(sh("yes >&2"), timeout_s=LONG_S, max_bytes=5000)
    assert result.truncated


async def test_a_quick_program_that_printed_too_much_says_so() -> None:
    result = await run_program(sh("head -c 9000 /dev/zero"), timeout_s=LONG_S, max_bytes=5000)
    assert result.truncated
    assert (result.returncode, len(result.stdout)) == (0, 5000)


async def test_too_large_a_file_of_its_own_ends_it(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    script = f"yes > {shlex.quote(str(raw))}"
    result = await run_program(sh(script), timeout_s=LONG_S, writes=raw, max_bytes=5000)
    assert result.truncated
    assert result.stdout == b""


async def test_what_it_writes_is_for_the_owner_alone(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    await run_program(sh(f"umask; echo x > {shlex.quote(str(raw))}"), timeout_s=LONG_S)
    assert raw.stat().st_mode & 0o777 == 0o600


async def test_cancelling_ends_its_whole_group(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"echo $$ >> {pids}; sh -c 'echo $$ >> {pids}; exec sleep 600' & wait"
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: run_program(sh(script), timeout_s=LONG_S))
        await until(lambda: len(pids_in(pids)) == 2)
        group.cancel_scope.cancel()
    for pid in pids_in(pids):
        wait_gone(pid)


async def test_what_it_left_in_the_background_is_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sh -c 'echo $$ >> {pids}; exec sleep 600' & while [ ! -s {pids} ]; do :; done"
    result = await run_program(sh(script), timeout_s=LONG_S)
    assert result.returncode == 0
    wait_gone(pids_in(pids)[0])


async def test_no_zombie_and_no_descriptor_is_left() -> None:
    await run_program(["true"], timeout_s=LONG_S)
    before = len(os.listdir("/proc/self/fd"))
    for program, limit_s in (("true", LONG_S), ("sleep 600", 0.05), ("false", LONG_S)):
        await run_program(shlex.split(program), timeout_s=limit_s)
    with pytest.raises(BackendError):
        await run_program(["/nonexistent"], timeout_s=LONG_S)
    assert len(os.listdir("/proc/self/fd")) == before
    assert [p for p in psutil.Process().children() if p.status() == psutil.STATUS_ZOMBIE] == []


async def test_many_programs_side_by_side() -> None:
    said: list[bytes] = []

    async def run(number: int) -> None:
        result = await run_program(sh(f"echo {number}"), timeout_s=LONG_S)
        said.append(result.stdout)

    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(run, number)
    assert sorted(map(int, said)) == list(range(30))


async def test_a_program_heeds_sigint_also_when_we_ignore_it() -> None:
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell does for `dea ... &`
    try:
        result = await run_program(["sleep", "600"], timeout_s=0.1)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert result.returncode == -signal.SIGINT


async def test_the_program_dies_when_we_are_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import anyio, functools, sys\n"
        "from dea.process.runner import run_program\n"
        f"argv = ['sh', '-c', 'echo $$ > {pids}; exec sleep 600']\n"
        "anyio.run(functools.partial(run_program, argv, timeout_s=60))\n"
    )
    dea = subprocess.Popen([sys.executable, "-c", code])
    await until(lambda: lines(pids))
    dea.kill()
    dea.wait()
    wait_gone(pids_in(pids)[0])
