"""Commands that DEA launches: what is kept of them, and that all of them ends and nobody else."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from dea.errors import TargetError
from dea.process import identity, keeper
from dea.process.launch import Launched, end, launch, look
from tests.process.waiting import is_our_child, lines, pids_in, until, wait_gone

pytestmark = pytest.mark.anyio


class Launcher:
    """Launches commands into one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.status = folder / "launched.json"
        self.out, self.err = folder / "out.log", folder / "err.log"
        self.pids = folder / "pids"
        self.start_ticks: int | None = None

    async def sh(self, script: str) -> Launched:
        """`$PIDS` in the script is a file for pids."""
        return await self.argv("env", f"PIDS={self.pids}", "sh", "-c", script)

    async def argv(self, *argv: str) -> Launched:
        launched = await launch(argv, self.status, self.out, self.err)
        self.start_ticks = identity.start_ticks(launched.pid)
        return launched

    async def exit_code(self) -> int:
        await until(lambda: (now := look(self.status)) and now.exit_code is not None)
        now = look(self.status)
        assert now is not None
        assert now.exit_code is not None
        return now.exit_code

    async def end(self) -> Launched | None:
        return await end(self.status, self.start_ticks)

    def keeper(self) -> int:
        return int(json.loads(self.status.read_bytes())["keeper"])


@pytest.fixture
async def launcher(tmp_path: Path) -> AsyncIterator[Launcher]:
    started = Launcher(tmp_path)
    yield started
    await started.end()


async def test_output_and_exit_code_are_kept(launcher: Launcher) -> None:
    await launcher.sh("echo out; echo err >&2; exit 7")
    assert await launcher.exit_code() == 7
    assert (launcher.out.read_text(), launcher.err.read_text()) == ("out\n", "err\n")
    for path in (launcher.status, launcher.out, launcher.err):
        assert path.stat().st_mode & 0o777 == 0o600


async def test_the_middle_of_too_much_output_is_left_out(launcher: Launcher) -> None:
    await launcher.sh("echo first; head -c 90000000 /dev/zero; echo last; exit 6")
    assert await launcher.exit_code() == 6
    assert launcher.out.stat().st_size <= keeper.MOST_BYTES
    kept = launcher.out.read_bytes()
    assert kept.startswith(b"first\n")
    assert kept.endswith(b"last\n")
    assert b"bytes left out ...]" in kept


def test_what_was_left_out_is_counted_over_several_cuts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "MOST_BYTES", 100)
    monkeypatch.setattr(keeper, "FIRST_BYTES", 5)
    monkeypatch.setattr(keeper, "TAIL_BYTES", 3)
    output = keeper.Output(str(tmp_path / "out"))
    for letter in "abc":
        os.write(output.descriptor, letter.encode() * 97 + b"xyz\n")
        output.cap()
    os.close(output.descriptor)
    assert (tmp_path / "out").read_bytes() == b"aaaaa\n[... 295 bytes left out ...]\nyz\n"


async def test_a_signal_is_a_negative_exit_code(launcher: Launcher) -> None:
    await launcher.sh("kill -SEGV $$")
    assert await launcher.exit_code() == -signal.SIGSEGV


async def test_a_command_that_closes_its_output_is_kept(launcher: Launcher) -> None:
    await launcher.sh("exec <&- >&- 2>&-; exec sh -c 'exit 4'")
    assert await launcher.exit_code() == 4


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["nosuchcommand"], "No such file or directory"),
        (["/etc/passwd"], "Permission denied"),
        (["/etc"], "Permission denied"),
        (["x\0y"], "null byte"),
    ],
)
async def test_a_command_that_cannot_be_started(
    launcher: Launcher, argv: list[str], why: str
) -> None:
    with pytest.raises(TargetError, match=f"cannot start .*{why}.*Check its path"):
        await launcher.argv(*argv)
    assert look(launcher.status) is None
    assert await launcher.end() is None


async def test_a_script_without_an_interpreter_cannot_be_started(launcher: Launcher) -> None:
    script = launcher.folder / "script"
    script.write_text("echo hi\n")
    script.chmod(0o755)
    with pytest.raises(TargetError, match="Exec format error"):
        await launcher.argv(str(script))


async def test_no_status_can_be_written(launcher: Launcher) -> None:
    launcher.status = launcher.folder / "missing" / "launched.json"
    with pytest.raises(TargetError, match="cannot write .*No such file"):
        await launcher.sh("echo $$ > $PIDS; exec sleep 600")
    for pid in pids_in(launcher.pids):
        wait_gone(pid)


async def test_ending_it_ends_its_children_too(launcher: Launcher) -> None:
    launched = await launcher.sh("for i in 1 2; do sleep 600 & echo $! >> $PIDS; done; wait")
    await until(lambda: len(lines(launcher.pids)) == 2)
    ended = await launcher.end()
    assert ended == Launched(launched.pid, -signal.SIGTERM)
    for pid in (*pids_in(launcher.pids), launcher.keeper()):
        wait_gone(pid)


async def test_ending_it_ends_a_daemon_that_outlived_it(launcher: Launcher) -> None:
    await launcher.sh("setsid sh -c 'echo $$ > $PIDS; exec sleep 600' & exit 5")
    assert await launcher.exit_code() == 5
    await until(lambda: lines(launcher.pids))
    (daemon,) = pids_in(launcher.pids)
    assert identity.parent(daemon) == launcher.keeper()
    ended = await launcher.end()
    assert ended is not None
    assert ended.exit_code == 5
    wait_gone(daemon)


async def test_a_command_that_is_stopped_and_ignores_sigterm_is_killed(launcher: Launcher) -> None:
    launched = await launcher.sh("trap '' TERM; echo $$ > $PIDS; kill -STOP $$; sleep 600")
    await until(lambda: identity.state(launched.pid) == "T")
    ended = await launcher.end()
    assert ended is not None
    assert ended.exit_code == -signal.SIGKILL


async def test_ending_twice_is_ending_once(launcher: Launcher) -> None:
    await launcher.sh("exec sleep 600")
    assert await launcher.end() == await launcher.end()


async def test_the_exit_code_is_kept_when_dea_has_ended(launcher: Launcher) -> None:
    gate = launcher.folder / "gate"
    os.mkfifo(gate)
    command = ["sh", "-c", f"read line < {gate}; exit 9"]
    code = (
        "import anyio, functools, pathlib\n"
        "from dea.process.launch import launch\n"
        f"paths = [pathlib.Path(p) for p in {[str(launcher.status), '/dev/null', '/dev/null']}]\n"
        f"anyio.run(functools.partial(launch, {command}, *paths))\n"
    )
    await anyio.run_process([sys.executable, "-c", code])
    now = look(launcher.status)
    assert now is not None
    assert now.exit_code is None
    gate.write_text("go\n")
    assert await launcher.exit_code() == 9
    wait_gone(launcher.keeper())


async def test_the_command_is_ended_when_its_keeper_was_killed(launcher: Launcher) -> None:
    launched = await launcher.sh("exec sleep 600")
    os.kill(launcher.keeper(), signal.SIGKILL)
    wait_gone(launcher.keeper())
    ended = await launcher.end()
    wait_gone(launched.pid)
    assert ended == Launched(launched.pid, None)  # nobody was there to see its exit code


async def test_pids_that_others_have_taken_are_left_alone(launcher: Launcher) -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as innocent:
        ticks = identity.start_ticks(innocent.pid)
        assert ticks is not None
        taken = {"keeper": innocent.pid, "keeper_ticks": ticks - 1, "pid": innocent.pid}
        launcher.status.write_text(json.dumps(taken))
        launcher.start_ticks = ticks - 1
        await launcher.end()
        assert identity.is_same(innocent.pid, ticks)
        innocent.kill()


async def test_the_command_hears_signals_and_is_not_ours_to_wait_for(launcher: Launcher) -> None:
    launched = await launcher.sh("exec grep -E 'SigBlk|SigIgn|PPid' /proc/self/status")
    assert await launcher.exit_code() == 0
    said = dict(line.split(":\t") for line in lines(launcher.out))
    assert int(said["SigBlk"], 16) == 0
    assert int(said["PPid"]) == launcher.keeper() != os.getpid()
    assert not is_our_child(launched.pid)
