"""A child that will have ended before the window is over is not given to perf, which would spin."""

import os
import subprocess

from dea_linux.perf.lasting import lasting


def test_a_child_that_was_just_born_and_sleeps_is_left_to_inheritance() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        pids = [os.getpid(), child.pid]
        assert lasting(pids, window_s=30) == [os.getpid()]
        assert lasting(pids, window_s=0) == pids
        assert lasting(pids[1:], window_s=30) == [child.pid]  # the target itself, however young
        child.kill()


def test_a_busy_child_is_sampled_however_young() -> None:
    with subprocess.Popen(
        ["sh", "-c", "echo; while :; do :; done"], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        while not (kept := lasting([os.getpid(), child.pid], window_s=600)[1:]):
            assert child.poll() is None
        assert kept == [child.pid]
        child.kill()
