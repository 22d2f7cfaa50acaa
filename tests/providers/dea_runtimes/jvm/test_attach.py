"""The attach protocol: against real virtual machines, and processes that must not be asked."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dea.contracts.data import FrameHot, Stack
from dea.errors import BackendError
from dea_runtimes.jvm import attach
from dea_runtimes.jvm.attach import open_door
from dea_runtimes.jvm.backend import Samples, Threads
from dea_runtimes.jvm.process import Machine, read_machine
from tests.providers.observing import observe

SPIN = """
public class Spin {
    static long turn(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += (i * 31) % 7; return sum; }
    public static void main(String[] words) {
        System.out.println("ready");
        long sum = 0;
        while (sum != 1) sum += turn(1_000_000);
    }
}
"""
needs_java = pytest.mark.needs("java", "javac")


@contextmanager
def started(*argv: str) -> Generator[int]:
    """A program that has said its first line; it may end by itself, so that it can tidy up."""
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        process.stdout.readline()
        yield process.pid
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def spin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("java")
    (folder / "Spin.java").write_text(SPIN)
    subprocess.run(["javac", "-d", str(folder), str(folder / "Spin.java")], check=True)
    return folder


@needs_java
@pytest.mark.anyio
async def test_a_busy_program_is_sampled_and_no_file_stays(spin: Path, tmp_path: Path) -> None:
    with started("java", "-cp", str(spin), "Spin") as pid:
        samples = Samples().parse(await observe(Samples(), [pid], tmp_path / "s", 1.0))
        dump = Threads().parse(await observe(Threads(), [pid], tmp_path / "t"))
        tokens = [Path("/tmp"), Path(f"/proc/{pid}/cwd")]
        assert not any((folder / f".attach_pid{pid}").exists() for folder in tokens)
    hot = next(fact.data for fact in samples.facts if isinstance(fact.data, FrameHot))
    assert hot.frame.function == "Spin.turn"
    assert hot.frame.file == "Spin.java"
    main = next(f.data for f in dump.facts if isinstance(f.data, Stack) and f.data.thread == "main")
    assert main.on_cpu
    assert main.frames[0].own


@needs_java
def test_a_machine_that_forbids_it_gets_no_signal(spin: Path) -> None:
    argv = ["java", "-XX:+DisableAttachMechanism", "-cp", str(spin), "Spin"]
    with started(*argv) as pid:
        machine = read_machine(pid)
        with pytest.raises(BackendError, match="DisableAttachMechanism"):
            open_door(machine)


def test_a_process_that_sigquit_would_end_lives_on() -> None:
    with started("sh", "-c", "echo ready; exec sleep 60") as pid:
        with pytest.raises(BackendError, match="SIGQUIT"):
            open_door(Machine(pid, pid, 0, Path("/tmp")))
        assert Path(f"/proc/{pid}").exists()


def test_the_file_goes_also_when_nobody_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attach, "_LISTENS_WITHIN_S", 0.1)
    code = "import signal\nsignal.signal(signal.SIGQUIT, lambda *_: None)\nprint(1, flush=True)\n"
    with started(sys.executable, "-c", f"{code}while True: signal.pause()") as pid:
        with pytest.raises(BackendError, match="did not open"):
            open_door(Machine(pid, pid, 0, tmp_path))
        assert list(tmp_path.iterdir()) == []


def test_a_process_without_a_machine_is_not_touched() -> None:
    with started("sh", "-c", "echo ready; exec sleep 60") as pid:
        with pytest.raises(BackendError, match="no HotSpot JVM"):
            read_machine(pid)
        assert Path(f"/proc/{pid}/status").exists()
