"""As a program among others: readers that leave, disks that are full, Ctrl-C."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dea.process import identity
from dea.store import home
from tests.cli.conftest import DEA

POLL_S = 0.02
LIMIT_S = 30


def test_a_reader_that_leaves_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)  # gone before the first line
    with open(writer, "wb") as stdout:
        done = subprocess.run([*DEA, "ps"], stdout=stdout, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_head_is_quiet() -> None:
    command = f"{' '.join(DEA)} ps --json | head -c 11"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b'{"ok": true', b"")


def test_a_full_disk_is_told() -> None:
    with open("/dev/full", "wb") as stdout:
        done = subprocess.run([*DEA, "ps"], stdout=stdout, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr == b"dea: No space left on device\n"


def test_text_that_the_terminal_cannot_show_is_no_error() -> None:
    done = subprocess.run(
        [*DEA, "why", "пять"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"dea: no process is named '????'")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_lets_go_of_the_target(
    number: signal.Signals, sleeper: subprocess.Popen[bytes], dea_home: Path
) -> None:
    with subprocess.Popen(
        [*DEA, "inspect-files", str(sleeper.pid), "--window-s", "30"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_run(dea_home, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + number
    assert out == b""
    assert b"Traceback" not in err
    assert b"let go of the target" in err
    session = home.find(home.names()[0]).read()
    assert session.state == "detached"
    assert session.runs[1].ok is False
    assert sleeper.poll() is None
    assert identity.state(sleeper.pid) == "S"


def wait_for_run(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the run after `attach` has begun."""
    for _ in ticks():
        if list(folder.glob("sessions/*/runs/002-*.begun")):
            return
        assert process.poll() is None
    raise AssertionError("no run began")


def ticks() -> Iterator[None]:
    for _ in range(int(LIMIT_S / POLL_S)):
        yield
        signal.sigtimedwait([], POLL_S)
