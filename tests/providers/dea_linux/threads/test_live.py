"""The sampler on real processes: what it says must be what the programs did."""

import subprocess
from pathlib import Path

import pytest

from dea.contracts.data import LockWait
from tests.providers.dea_linux.threads.watching import (
    Program,
    largest,
    main_thread,
    said,
    sample,
    share,
    threads,
)

pytestmark = pytest.mark.anyio

# Says how its wall time really went: CPU by its own clock, the rest of each phase without the time
# in the run queue, which the kernel counts for it.
MIX = """
import os, time
answers, to_us = os.pipe()
asks, to_child = os.pipe()
if os.fork() == 0:
    os.close(to_child), os.close(answers)
    while os.read(asks, 1):
        time.sleep(0.02)
        os.write(to_us, b"x")
    os._exit(0)
def queued():
    return int(open("/proc/self/schedstat").read().split()[1]) / 1e9
ready()
spent = dict.fromkeys(["cpu", "sleep", "pipe", "wall"], 0.0)
began = time.monotonic()
def phase(name, act):
    wall, cpu, queue = time.monotonic(), time.thread_time(), queued()
    act()
    used = time.thread_time() - cpu
    spent["cpu"] += used
    spent[name] += max(0, time.monotonic() - wall - used - (queued() - queue)) if name != "cpu" else 0
def compute():
    until = time.thread_time() + 0.03
    while time.thread_time() < until: pass
def ask():
    os.write(to_child, b"x")
    os.read(answers, 1)
while time.monotonic() < began + 3:
    phase("cpu", compute), phase("sleep", lambda: time.sleep(0.05)), phase("pipe", ask)
spent["wall"] = time.monotonic() - began
print(*spent.values(), flush=True)
time.sleep(60)
"""


async def test_tells_the_truth_about_a_known_mix(program: Program, tmp_path: Path) -> None:
    process = program(MIX)
    said(process)
    facts = await sample(process.pid, tmp_path, 2.8)
    cpu_s, sleep_s, pipe_s, wall_s = map(float, said(process).split())
    metric = main_thread(facts, process.pid)
    assert share(metric, "cpu_user", "cpu_kernel") == pytest.approx(cpu_s / wall_s, abs=0.05)
    assert share(metric, "sleep") == pytest.approx(sleep_s / wall_s, abs=0.05)
    assert share(metric, "pipe_read") == pytest.approx(pipe_s / wall_s, abs=0.05)
    assert sum(part.share for part in metric.parts) == pytest.approx(1.0)


async def test_threads_that_come_and_go_add_up_too(program: Program, tmp_path: Path) -> None:
    process = program(
        "import threading, time\nready()\n"
        "while True:\n"
        "    one = threading.Thread(target=time.sleep, args=(0.15,))\n"
        "    one.start(), one.join()\n"
    )
    said(process)
    facts = await sample(process.pid, tmp_path, 1.0)
    found = threads(facts)
    assert [metric.tid for metric in found] == [process.pid, None]
    assert share(found[1], "sleep") > 0.5
    for metric in found:
        assert sum(part.share for part in metric.parts) == pytest.approx(1.0, abs=0.003)


@pytest.mark.needs("gcc")
async def test_names_the_owner_of_a_mutex_and_what_it_does(
    mutex_program: Path, tmp_path: Path
) -> None:
    with subprocess.Popen([mutex_program], stdout=subprocess.PIPE) as process:
        try:
            owner = int(said(process))
            facts = await sample(process.pid, tmp_path, 1.0)
        finally:
            process.kill()
    lock = next(fact.data for fact in facts if isinstance(fact.data, LockWait))
    assert lock.owner_tid == owner
    assert lock.owner_state == "sleep"
    assert len(lock.waiters) == 2
    waiter = next(metric for metric in threads(facts) if metric.tid == lock.waiters[0])
    assert largest(waiter).cause == "lock"
    assert f"owned by tid {owner}" in (largest(waiter).object or "")


@pytest.fixture(scope="module")
def mutex_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One thread keeps a mutex for 90 ms of 95, two others want it. Prints the owner's thread id."""
    source = tmp_path_factory.mktemp("mutex") / "mutex.c"
    source.write_text(
        "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n"
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
        'static void *keep(void *a) { printf("%ld\\n", syscall(SYS_gettid)); fflush(stdout);\n'
        "  for (;;) { pthread_mutex_lock(&m); usleep(90000); pthread_mutex_unlock(&m);\n"
        "    usleep(5000); } }\n"
        "static void *want(void *a) { for (;;) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m);\n"
        "    usleep(2000); } }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, keep, 0);\n"
        "  pthread_create(&t, 0, want, 0); pthread_create(&t, 0, want, 0); pause(); }\n"
    )
    program = source.with_suffix("")
    subprocess.run(["gcc", "-pthread", "-o", program, source], check=True)
    return program


@pytest.mark.parametrize("think_s", [0, 0.01])
async def test_outbound_wait_names_the_peer_and_what_is_owed(
    program: Program, tmp_path: Path, think_s: float
) -> None:
    server = program(
        "import socket, time\nserver = socket.create_server(('127.0.0.1', 0))\n"
        "ready(server.getsockname()[1])\nclient, _ = server.accept()\n"
        "while client.recv(100): time.sleep(0.2), client.sendall(b'answer')\n"
    )
    port = said(server)
    client = program(
        f"import socket, time\npeer = socket.create_connection(('127.0.0.1', {port}))\nready()\n"
        f"while True: peer.sendall(b'question'), peer.recv(100), time.sleep({think_s})\n"
    )
    said(client)
    facts = await sample(client.pid, tmp_path, 1.5)
    part = largest(main_thread(facts, client.pid))
    assert (part.cause, part.object) == ("receive", f"tcp 127.0.0.1:{port} (outbound)")
    assert part.peer_pids == [server.pid]
    assert (part.unanswered or 0) > 0.6
    assert (part.sent_bytes or 0) > 0
    assert (part.received_bytes or 0) > 0
    peer = main_thread(facts, server.pid, "peer_time")
    assert largest(peer).cause == "sleep"
