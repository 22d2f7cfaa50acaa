"""strace on real processes: what it sees, and that they are left as they were."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from dea.backend import Observation
from dea.contracts.data import Metric, SyscallError, SyscallSlow, SyscallStat
from dea.errors import BackendError
from dea.process import identity
from dea.rules.draft import judge
from dea.rules.syscalls import RULES
from dea_linux.strace.backend import StraceTrace
from tests.providers.observing import evidence_of, observe

pytestmark = [pytest.mark.anyio, pytest.mark.needs("strace")]
ROOT = Path(__file__).parents[4]
Start = Callable[[str], "subprocess.Popen[bytes]"]

BUSY = """
import os
read, write = os.pipe()
while True:
    os.write(write, b"ab")
    os.read(read, 2)
"""
IDLE = "sys.stdin.read()"


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts Python code, which runs when `ready` was read, and kills it after the test."""
    with ExitStack() as stack:

        def start_one(code: str) -> "subprocess.Popen[bytes]":
            process = subprocess.Popen(
                [sys.executable, "-c", f"import sys; print('ready', flush=True)\n{code}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            return process

        yield start_one


async def until(true: Callable[[], object], within_s: float = 10.0) -> None:
    with anyio.fail_after(within_s):
        while not true():
            await anyio.sleep(0.005)


def progress(pid: int) -> int:
    fields = Path(f"/proc/{pid}/io").read_text().split()
    return int(fields[fields.index("syscw:") + 1])


async def assert_runs_on(pid: int) -> None:
    """Untraced, not stopped, and it gets on."""
    await until(lambda: not identity.tracer_of(pid) and identity.state(pid) in ("R", "S", "D"))
    before = progress(pid)
    await until(lambda: progress(pid) > before + 10)


async def test_a_busy_process_is_counted_and_runs_on(start: Start, tmp_path: Path) -> None:
    target = start(BUSY)
    observation = await observe(StraceTrace(), [target.pid], tmp_path / "trace", 1.0)
    await assert_runs_on(target.pid)
    parsed = StraceTrace().parse(observation)
    stats = {fact.data.name: fact.data for fact in parsed.facts if type(fact.data) is SyscallStat}
    assert stats["write"].count > 100
    assert stats["write"].transferred_bytes == 2 * (stats["write"].transfers or 0)
    assert (stats["write"].object or "").startswith("pipe:[")


async def test_an_idle_process_says_nothing_and_its_wait_is_shown(
    start: Start, tmp_path: Path
) -> None:
    target = start(IDLE)
    await until(lambda: identity.state(target.pid) == "S")
    observation = await observe(StraceTrace(), [target.pid], tmp_path / "trace", 0.5)
    parsed = StraceTrace().parse(observation)
    (slow,) = [fact.data for fact in parsed.facts if isinstance(fact.data, SyscallSlow)]
    assert (slow.name, slow.finished) == ("read", False)
    assert not judge(evidence_of(parsed.facts), RULES)


async def test_two_processes_that_want_one_port(start: Start, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        target = start(
            "import socket, time\n"
            "while True:\n"
            "    time.sleep(0.02)\n"
            "    try:\n"
            f"        socket.create_server(('127.0.0.1', {port}))\n"
            "    except OSError:\n"
            "        pass"
        )
        observation = await observe(StraceTrace(), [target.pid], tmp_path / "trace", 0.5)
    first = judge(evidence_of(StraceTrace().parse(observation).facts), RULES)[0]
    assert first.severity == "high"
    assert f"bind to 127.0.0.1:{port} fails: address already in use" in first.summary


async def test_several_processes_and_a_filter(start: Start, tmp_path: Path) -> None:
    targets = [start(BUSY), start(BUSY)]
    observation = await observe(
        StraceTrace(),
        [target.pid for target in targets],
        tmp_path / "trace",
        0.5,
        categories=["network", "file", "process", "signal", "memory"],
    )
    for target in targets:
        await assert_runs_on(target.pid)
        assert f"{target.pid} ".encode() in observation.files["trace.txt"]


async def test_a_target_that_ends_meanwhile_tells_how(start: Start, tmp_path: Path) -> None:
    target = start("sys.stdin.read(1); import os; os.kill(os.getpid(), 11)")
    observations: list[Observation] = []

    async def look() -> None:
        observations.append(await observe(StraceTrace(), [target.pid], tmp_path / "trace", 20.0))

    async with anyio.create_task_group() as group:
        group.start_soon(look)
        await until(lambda: identity.tracer_of(target.pid))
        assert target.stdin is not None
        target.stdin.write(b"x")
        target.stdin.flush()
    (observation,) = observations
    parsed = StraceTrace().parse(observation)
    (code,) = [
        fact.data
        for fact in parsed.facts
        if isinstance(fact.data, Metric) and fact.data.name == "exit_code"
    ]
    assert code.value == -signal.SIGSEGV
    assert observation.facts["window_s"] < 20


async def test_a_process_that_is_gone_is_an_error(start: Start, tmp_path: Path) -> None:
    target = start("")
    target.wait(10)
    with pytest.raises(BackendError, match=r"No such process|cannot read"):
        await observe(StraceTrace(), [target.pid], tmp_path / "trace", 0.2)


async def test_cancelling_lets_go_of_the_target(start: Start, tmp_path: Path) -> None:
    target = start(BUSY)
    async with anyio.create_task_group() as group:
        group.start_soon(observe, StraceTrace(), [target.pid], tmp_path / "trace", 30.0)
        await until(lambda: identity.tracer_of(target.pid))
        group.cancel_scope.cancel()
    await assert_runs_on(target.pid)


@pytest.mark.parametrize("attempt", range(int(os.environ.get("DEA_TEST_KILLS", "3"))))
async def test_killing_us_lets_go_of_the_target(start: Start, tmp_path: Path, attempt: int) -> None:
    """SIGKILL at another moment each time; strace dies with us, and the kernel detaches."""
    target = start(BUSY)
    code = (
        "import sys, anyio, pathlib\n"
        "from tests.providers.observing import observe\n"
        "from dea_linux.strace.backend import StraceTrace\n"
        "anyio.run(observe, StraceTrace(), [int(sys.argv[1])], pathlib.Path(sys.argv[2]), 60.0)"
    )
    argv = [sys.executable, "-c", code, str(target.pid), str(tmp_path / "trace")]
    with subprocess.Popen(argv, cwd=ROOT) as dea:
        try:
            await until(lambda: identity.tracer_of(target.pid), 30.0)
            tracer = os.pidfd_open(identity.tracer_of(target.pid))
            await anyio.sleep(0.03 * attempt)
        finally:
            dea.kill()
    assert select.select([tracer], [], [], 10)[0], "strace outlived us"
    os.close(tracer)
    await assert_runs_on(target.pid)


async def test_errors_of_connect_name_the_peer(start: Start, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
        target = start(
            "import socket, time\n"
            "while True:\n"
            "    time.sleep(0.01)\n"
            f"    socket.socket().connect_ex({address})"
        )
        observation = await observe(StraceTrace(), [target.pid], tmp_path / "trace", 1.0)
    parsed = StraceTrace().parse(observation)
    error = next(fact.data for fact in parsed.facts if isinstance(fact.data, SyscallError))
    assert (error.errno, error.object) == ("ECONNREFUSED", f"127.0.0.1:{address[1]}")
    assert "nobody listens there" in judge(evidence_of(parsed.facts), RULES)[0].summary
