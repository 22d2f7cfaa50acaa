"""The instant look, and the limits of the sampler, on real processes."""

import os
import socket
from pathlib import Path

import anyio
import pytest

from dea.contracts.data import Part, Process
from dea_linux.threads.backend import ThreadsLook, ThreadsSample
from tests.providers.dea_linux.threads.watching import (
    Program,
    largest,
    main_thread,
    said,
    sample,
    threads,
)
from tests.providers.observing import observe

pytestmark = pytest.mark.anyio


IDLE = {
    "select on a listener": (
        "import select, socket; s = socket.create_server(('127.0.0.1', 0)); ready(); "
        + "select.select([s], [], [])",
        "accept",
        "listen",
    ),
    "epoll over a listener and an own pipe": (
        "import os, select, socket; s = socket.create_server(('127.0.0.1', 0)); r, w = os.pipe(); "
        + "e = select.epoll(); e.register(s, 1), e.register(r, 1); ready(); e.poll()",
        "poll",
        "listen",
    ),
    "a timer in a poll": ("import select\nready()\nselect.poll().poll(60000)", "sleep", None),
    "standard input": ("import sys\nready()\nsys.stdin.read()", "pipe_read", None),
    "a signal": ("import signal\nready()\nsignal.pause()", "signal_wait", None),
    "a child": (
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nready()\nchild.wait()",
        "child",
        None,
    ),
    "another thread": (
        "import threading, time; t = threading.Thread(target=time.sleep, args=(60,)); "
        + "t.start(); ready(); t.join()",
        "futex",
        None,
    ),
}


@pytest.mark.parametrize(("code", "cause", "role"), IDLE.values(), ids=IDLE)
async def test_one_look_tells_what_an_idle_thread_waits_for(
    program: Program, tmp_path: Path, code: str, cause: str, role: str | None
) -> None:
    process = program(code)
    said(process)
    part = await settled(process.pid, tmp_path, cause)
    assert (part.cause, part.role) == (cause, role)


async def settled(pid: int, folder: Path, cause: str) -> Part:
    """The wait of the main thread, once it has got there: ready() comes a moment before."""
    part = None
    for attempt in range(50):
        backend = ThreadsLook()
        facts = list(backend.parse(await observe(backend, [pid], folder / str(attempt))).facts)
        part = largest(main_thread(facts, pid, "thread_wait"))
        if part.cause == cause:
            break
    assert part is not None
    return part


async def test_unix_socket_names_its_path_and_holder(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        process = program(
            f"import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect({str(path)!r})\n"
            "ready()\ns.recv(10)"
        )
        connection, _ = server.accept()
        with connection:
            said(process)
            part = await settled(process.pid, tmp_path, "receive")
    assert part.object == f"unix {path} (outbound)"
    assert part.peer_pids == [os.getpid()]


async def test_children_that_end_count_for_their_parent(program: Program, tmp_path: Path) -> None:
    process = program(
        "import subprocess, sys\nready()\n"
        "while True: subprocess.run([sys.executable, '-S', '-c', 'sum(range(300000))'])"
    )
    said(process)
    facts = await sample(process.pid, tmp_path, 1.5)
    ended = threads(facts, "ended_children_cpu")
    assert ended
    assert ended[0].pid == process.pid
    listed = [fact.data for fact in facts if isinstance(fact.data, Process)]
    assert not [each for each in listed if each.ppid == process.pid]


async def test_many_threads_are_capped_and_cost_little(program: Program, tmp_path: Path) -> None:
    process = program(
        "import threading\nstop = threading.Event()\n"
        "for _ in range(230): threading.Thread(target=stop.wait, daemon=True).start()\n"
        "ready()\nstop.wait()"
    )
    said(process)
    opened = len(os.listdir("/proc/self/fd"))
    backend = ThreadsSample()
    observation = await observe(backend, [process.pid], tmp_path, 1.0)
    assert len(os.listdir("/proc/self/fd")) == opened
    assert observation.facts["threads_left_out"] == 31
    assert observation.facts["own_cpu_s"] < 0.5
    parsed = backend.parse(observation)
    assert any("31 more threads" in limit for limit in parsed.limitations)
    listed = threads(list(parsed.facts))
    assert len(listed) < 12
    assert listed[-1].tid is None


async def test_cancelled_sampler_lets_go(program: Program, tmp_path: Path) -> None:
    process = program("import time\nready()\ntime.sleep(60)")
    said(process)
    opened = len(os.listdir("/proc/self/fd"))
    with anyio.move_on_after(0.3) as scope:
        await observe(ThreadsSample(), [process.pid], tmp_path, 30.0)
    assert scope.cancelled_caught
    with anyio.fail_after(10):
        while len(os.listdir("/proc/self/fd")) > opened:
            await anyio.sleep(0.01)
