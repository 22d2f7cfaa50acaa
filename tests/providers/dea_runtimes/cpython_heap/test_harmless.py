"""The target runs on as if nothing had happened: busy, killed reader, signals on their way."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dea_runtimes.cpython_heap.reader.hold import held
from dea_runtimes.cpython_heap.reader.image import find_image
from dea_runtimes.cpython_heap.reader.interpreter import find_interpreter
from dea_runtimes.cpython_heap.reader.look import take_look
from dea_runtimes.cpython_heap.reader.memory import Memory
from tests.providers.dea_runtimes.cpython_heap.targets import interpreters, left_alone, running

LIMIT_BYTES = 1 << 30
HOLDER = """
import sys
from dea_runtimes.cpython_heap.reader.hold import held
with held(int(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
# Answers each SIGUSR1 with one line.
ECHO = """
import signal, time
signal.alarm(60)
signal.signal(signal.SIGUSR1, lambda *_: print("seen", flush=True))
print("ready", flush=True)
while True:
    time.sleep(0.001)
"""


@pytest.mark.parametrize("python", interpreters().values(), ids=interpreters().keys())
def test_ten_looks_at_a_busy_target(python: str) -> None:
    with running("busy.py", python) as target:
        for _ in range(10):
            memory = Memory(target.pid)
            interpreter = find_interpreter(memory, find_image(memory))
            look = take_look(interpreter, LIMIT_BYTES, time.monotonic())
            lengths = [length for _, _, length, _ in look.census.containers()]
            assert 20_000 in lengths
            assert look.census.objects > 3000
            look.snapshot.close()
            memory.close()
            assert left_alone(target.pid)


def test_a_reader_killed_while_it_holds_lets_go() -> None:
    with running("busy.py") as target:
        reader = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(target.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert reader.stdout is not None
        assert reader.stdin is not None
        assert reader.stdout.readline() == "held\n"
        assert not left_alone(target.pid)
        reader.kill()
        reader.wait()
        reader.stdout.close()
        reader.stdin.close()
        assert left_alone(target.pid)
        assert runs_on(target.pid)


def test_no_signal_is_lost_while_it_is_held() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ECHO], stdout=subprocess.PIPE, text=True
    ) as target:
        assert target.stdout is not None
        assert target.stdout.readline() == "ready\n"
        stop = threading.Event()
        holder = threading.Thread(target=hold_again_and_again, args=(target.pid, stop))
        holder.start()
        try:
            for _ in range(100):
                os.kill(target.pid, signal.SIGUSR1)
                assert target.stdout.readline() == "seen\n"
        finally:
            stop.set()
            holder.join()
            target.kill()


def hold_again_and_again(pid: int, stop: threading.Event) -> None:
    while not stop.is_set():
        with held(pid):
            pass


def runs_on(pid: int) -> bool:
    """Its CPU time goes up."""
    before = cpu_ns(pid)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if cpu_ns(pid) > before:
            return True
    return False


def cpu_ns(pid: int) -> int:
    return sum(
        int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat")
    )
