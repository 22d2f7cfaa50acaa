"""Launches a command, keeps its exit code though DEA itself ends, and ends all that came of it.

Run as `python -I -S keeper.py STATUS STDOUT STDERR ARGV...`. It goes to the background at once and
tells on stdout what it also writes to STATUS, one JSON object: {"error": "..."} when the command could
not be started, else {"keeper": 1, "keeper_ticks": 7, "pid": 2} and later its "exit_code" too. On SIGTERM
it ends the command and whatever still runs of it. Descendants that lose their parent become its own
children, which only it can reap: so the pids that it signals cannot have been taken by others.
It imports nothing of DEA, so that it starts fast and stays small.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
ENDING = ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))
POLL_S = 0.02
WATCHED = {signal.SIGCHLD, signal.SIGTERM}


def main() -> None:
    if os.fork():
        os._exit(0)  # orphaned, it is reaped by init and not by DEA, which may be gone by then
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    status, out, err, *argv = sys.argv[1:]
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    try:
        process = start(argv, out, err)
    except (OSError, ValueError) as error:
        answer({"error": getattr(error, "strerror", None) or str(error)})
        return
    state: dict[str, object] = {
        "keeper": os.getpid(),
        "keeper_ticks": int(stat_fields("self")[19]),
        "pid": process.pid,
    }
    try:
        write(status, state)
    except OSError as error:
        end_children()
        answer({"error": f"cannot write {status}: {error.strerror}"})
        return
    answer(state)
    keep(status, state, process)


def start(argv: list[str], out: str, err: str) -> "subprocess.Popen[bytes]":
    with open(out, "ab", opener=private) as stdout, open(err, "ab", opener=private) as stderr:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=hear_signals,  # noqa: PLW1509 (there are no threads here)
        )


def hear_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)


def keep(status: str, state: dict[str, object], process: "subprocess.Popen[bytes]") -> None:
    """Until the command and all that came of it have ended, or until told to end them.

    `process` is held only because subprocess reaps what nobody refers to any more.
    """
    told = False
    while children() and not told:
        told = signal.sigwait(WATCHED) == signal.SIGTERM
        ended = end_children() if told else reap()
        if process.pid in ended:
            state["exit_code"] = ended[process.pid]
            try_write(status, state)


def end_children() -> dict[int, int]:
    """Signal the process groups of our children, politely first, until there are none."""
    ended: dict[int, int] = {}
    for number, grace_s in ENDING:
        told: set[int] = set()
        until = time.monotonic() + grace_s
        while (left := children()) and time.monotonic() < until:
            for pid in set(left) - told:
                told.add(pid)
                signal_group(pid, number)
            time.sleep(POLL_S)
            ended |= reap()
    return ended


def signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(os.getpgid(pid), number)
        os.killpg(os.getpgid(pid), signal.SIGCONT)  # one that is stopped would not hear it
    except (ProcessLookupError, PermissionError):
        return


def reap() -> dict[int, int]:
    """Exit codes of the children that have ended, by pid."""
    ended: dict[int, int] = {}
    try:
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = os.waitstatus_to_exitcode(found[1])
    except ChildProcessError:
        pass
    return ended


def children() -> list[int]:
    """Processes whose parent we are, by field 4 of /proc/PID/stat, see proc(5)."""
    me = str(os.getpid())
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and stat_fields(pid)[1] == me]


def stat_fields(pid: str) -> list[str]:
    """From the third on; two empty ones when the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            return file.read().rpartition(")")[2].split() or ["", ""]
    except OSError:
        return ["", ""]


def answer(state: dict[str, object]) -> None:
    """Tell DEA, and let go of its pipe."""
    os.write(1, json.dumps(state).encode())
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def try_write(status: str, value: dict[str, object]) -> None:
    """The session may have been removed meanwhile; the command has to be kept all the same."""
    try:
        write(status, value)
    except OSError:
        return


def write(status: str, value: dict[str, object]) -> None:
    with open(f"{status}.part", "w", opener=private) as file:
        json.dump(value, file)
    os.replace(f"{status}.part", status)


def private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


if __name__ == "__main__":
    main()
