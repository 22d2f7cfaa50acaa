"""Launches a command, keeps its exit code though DEA itself ends, and ends all that came of it.

Run as `python -I -S keeper.py STATUS STDOUT STDERR ARGV...`. It goes to the background at once and
tells on stdout what it also writes to STATUS, one JSON object: {"error": "..."} when the command could
not be started, else {"keeper": 1, "keeper_ticks": 7, "pid": 2} and later its "exit_code" too. On SIGTERM
it ends the command and whatever still runs of it. Descendants that lose their parent become its own
children, which only it can reap: so the pids that it signals cannot have been taken by others.
The command writes its output straight into the files, so that it never waits for the keeper, which
cuts what is in the middle of a file that has grown too large.
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
CAP_CHECK_S = 0.1
MOST_BYTES = 64 * 2**20  # of each output, but for what is written between two checks
FIRST_BYTES = 48 * 2**20
TAIL_BYTES = 64 * 1024
WATCHED = {signal.SIGCHLD, signal.SIGTERM}


def main() -> None:
    if os.fork():
        os._exit(0)  # orphaned, it is reaped by init and not by DEA, which may be gone by then
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    status, out, err, *argv = sys.argv[1:]
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    try:
        outputs = [Output(out), Output(err)]
        process = start(argv, outputs)
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
        end_children(outputs)
        answer({"error": f"cannot write {status}: {error.strerror}"})
        return
    answer(state)
    keep(status, state, process, outputs)


class Output:
    """A file that the command appends to. Once too large, its first part and its end are kept."""

    def __init__(self, path: str) -> None:
        self.descriptor = private(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        self.left_out_bytes = 0
        self.note = b""

    def cap(self) -> None:
        """The end that an earlier cut kept goes as well, so that there is only one gap."""
        try:
            size = os.fstat(self.descriptor).st_size  # 0 for a device
            if size > MOST_BYTES:
                self.cut(size)
        except OSError:  # such as a full disk; the command has to be kept all the same
            return

    def cut(self, size: int) -> None:
        tail = os.pread(self.descriptor, TAIL_BYTES, size - TAIL_BYTES)
        self.left_out_bytes += size - FIRST_BYTES - len(self.note) - len(tail)
        self.note = f"\n[... {self.left_out_bytes} bytes left out ...]\n".encode()
        os.ftruncate(self.descriptor, FIRST_BYTES)
        os.write(self.descriptor, self.note + tail)


def start(argv: list[str], outputs: list[Output]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=outputs[0].descriptor,
        stderr=outputs[1].descriptor,
        start_new_session=True,
        preexec_fn=hear_signals,  # noqa: PLW1509 (there are no threads here)
    )


def hear_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)


def keep(
    status: str,
    state: dict[str, object],
    process: "subprocess.Popen[bytes]",
    outputs: list[Output],
) -> None:
    """Until the command and all that came of it have ended, or until told to end them.

    `process` is held only because subprocess reaps what nobody refers to any more.
    """
    told = False
    while children() and not told:
        told = next_signal(outputs) == signal.SIGTERM
        ended = end_children(outputs) if told else reap()
        if process.pid in ended:
            state["exit_code"] = ended[process.pid]
            try_write(status, state)


def next_signal(outputs: list[Output]) -> int:
    while True:
        found = signal.sigtimedwait(WATCHED, CAP_CHECK_S)
        for output in outputs:
            output.cap()
        if found is not None:
            return found.si_signo


def end_children(outputs: list[Output]) -> dict[int, int]:
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
            for output in outputs:
                output.cap()
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
