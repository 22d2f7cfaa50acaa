"""Runs a tracer, and sets its target going again when DEA is killed meanwhile.

Run as `python -I -S guardian.py TARGET_PID TRACER ARGV...`, in a process group of its own. A tracer
that is killed right after PTRACE_ATTACH leaves the SIGSTOP of that request behind (ptrace(2)), and a
killed DEA cannot undo it. Signals to the group reach the tracer directly; its exit code is passed on.
It imports nothing of DEA, so that it starts fast.
"""

import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1  # linux/prctl.h
DEA_DIED = signal.SIGUSR1  # nobody else sends us this one
WATCHED = {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, DEA_DIED}
WATCH_S = 0.5  # each thread got a SIGSTOP of its own, and may heed it late
POLL_S = 0.005
libc = ctypes.PyDLL(None)  # keeps the GIL, see lifeline.py


def main() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    libc.prctl(PR_SET_PDEATHSIG, DEA_DIED)  # until now it was SIGKILL, which suited as well
    target, *argv = sys.argv[1:]
    stopped_before = seen(target)[0] == "T"
    tracer = start(argv)
    status = wait(tracer)
    if status is not None:
        code = os.waitstatus_to_exitcode(status)
        sys.exit(code if code >= 0 else 128 - code)
    os.kill(tracer, signal.SIGKILL)
    os.waitpid(tracer, 0)
    if not stopped_before:
        set_going(target)
    os.killpg(0, signal.SIGKILL)  # whatever the tracer has started


def start(argv: list[str]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
        os.execv(argv[0], argv)
    except OSError as error:
        os.write(2, f"cannot start {argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


def wait(tracer: int) -> int | None:
    """The wait status of the tracer; None when DEA died before it ended."""
    while True:
        pid, status = os.waitpid(tracer, os.WNOHANG)
        if pid:
            return status
        if signal.sigwait(WATCHED) == DEA_DIED:
            return None


def set_going(target: str) -> None:
    until = time.monotonic() + WATCH_S
    while time.monotonic() < until:
        if seen(target) == ("T", "0"):
            os.kill(int(target), signal.SIGCONT)
        time.sleep(POLL_S)


def seen(pid: str) -> tuple[str, str]:
    """State letter and tracer of a process, see proc(5)."""
    try:
        with open(f"/proc/{pid}/status", errors="replace") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return "", ""
    return fields["State"].split()[0], fields["TracerPid"].strip()


if __name__ == "__main__":
    main()
