"""Ids of threads that py-spy names by something else: old Pythons and containers."""

import os
import struct
import subprocess
import threading

import psutil
import pytest

from dea.contracts.data import Frame
from dea.profile.clocks import CpuUse, ThreadUse
from dea.profile.stacks import Sampled
from dea_runtimes.py_spy.native_ids import best_match, native_ids, while_on_cpu, with_native_ids

A, B = 0x7F0D3EB8EB80, 0x7F0D3DB8D6C0  # handles


def test_threads_of_this_very_process() -> None:
    """Their handles are what threading.get_ident() gives."""
    started, done = threading.Barrier(4), threading.Event()
    threads = [
        threading.Thread(target=lambda: (started.wait(), done.wait()), daemon=True)
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    started.wait()
    try:
        everyone = [threading.main_thread(), *threads]
        handles = [thread.ident for thread in everyone if thread.ident]
        found = native_ids(os.getpid(), handles)
        assert found == {thread.ident: thread.native_id for thread in everyone}
    finally:
        done.set()


def test_a_handle_of_a_thread_that_ended_is_left_out() -> None:
    here = threading.get_ident()
    gone = 0x10_0000_0000
    assert native_ids(os.getpid(), [here, gone]) == {here: threading.get_native_id(), gone: -1}
    assert native_ids(2**22 + 1, [here]) == {here: -1}


def test_where_threads_are_named_by_their_ids_nothing_is_to_be_done() -> None:
    assert native_ids(os.getpid(), [threading.get_native_id()]) == {}


@pytest.mark.needs("unshare")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a pid namespace")
def test_a_thread_in_a_container_has_another_id_there() -> None:
    script = "echo; exec sleep 60"
    outer = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", script], stdout=subprocess.PIPE
    )
    try:
        assert outer.stdout
        outer.stdout.readline()
        (inner,) = psutil.Process(outer.pid).children()
        assert native_ids(inner.pid, [1, 2]) == {1: inner.pid, 2: -1}
    finally:
        outer.kill()
        outer.communicate()


def test_the_place_where_most_have_an_id_of_their_own_is_taken() -> None:
    misleading = struct.pack("<iii", 7, 0, 7), struct.pack("<iii", 7, 0, 8)
    assert best_match({A: misleading[0], B: misleading[1]}, {7, 8}) == {A: 7, B: 8}


def stack(handle: int, line: int, samples: int) -> Sampled:
    frame = Frame(function="f", file="/a.py", line=line, own=True)
    return Sampled(7, handle, "t", (frame,), samples)


IDS = [[7, A, 7], [7, B, 8]]


def test_ids_take_the_place_of_handles() -> None:
    stacks = [stack(A, 1, 5), stack(0x7F0000000000, 2, 5), stack(9, 3, 5)]
    ids = [*IDS, [7, 0x7F0000000000, -1]]
    assert [found.tid for found in with_native_ids(stacks, ids)] == [7, None, 9]


def test_a_thread_that_waited_has_no_samples_on_the_cpu() -> None:
    use = CpuUse(7, "x", 1.0, 0.5, None, [ThreadUse(7, "x", 0.5, 0.0), ThreadUse(8, "x", 0.0, 0.0)])
    stacks = [stack(A, 1, 80), stack(A, 2, 20), stack(B, 3, 100), stack(9, 4, 100)]
    kept = while_on_cpu(stacks, IDS, [use], rate_hz=100)
    assert [(s.tid, s.samples) for s in kept] == [(7, 40), (7, 10), (9, 100)]


def test_threads_that_nothing_is_known_of_are_left_out() -> None:
    assert while_on_cpu([stack(A, 1, 80)], [[7, A, -1]], [], rate_hz=100) == []
