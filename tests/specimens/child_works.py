# FAULT in the child: the parent only waits, the child (cpu_hot.py) burns a CPU in checksum().
import os
import subprocess
import sys
from pathlib import Path

from lifeline import lifeline


def run_report() -> int:
    """The child inherits where to say ready, so the pid in that line is the child's."""
    given = [int(fd) for fd in [os.environ.get("DEA_READY_FD")] if fd]
    command = [sys.executable, str(Path(__file__).with_name("cpu_hot.py"))]
    child = subprocess.Popen(command, pass_fds=given)
    for fd in given:
        os.close(fd)
    return child.wait()


if __name__ == "__main__":
    lifeline()
    sys.exit(run_report())
