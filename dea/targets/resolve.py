"""From text to a target: pid, process name or command line."""

import os
import pwd
import shlex
from pathlib import Path

from dea.contracts.scrub import one_line
from dea.contracts.secrets import hide_secrets
from dea.contracts.target import Target, TargetKind
from dea.errors import TargetError
from dea.targets.family import descendants
from dea.targets.runtime import detect_runtime

_KERNEL_THREAD = 0x00200000  # PF_KTHREAD, include/linux/sched.h
_LISTED = 12


def guess_kind(text: str) -> TargetKind:
    """A number is a pid; words with spaces or a path are a command; one word is a process name."""
    if text.strip().lstrip("-").isdigit():
        return "pid"
    return "command" if len(text.split()) > 1 or "/" in text else "pid"


def resolve_process(text: str) -> Target:
    """The process that `text`, a pid or a unique name, means. Raises TargetError."""
    text = text.strip()
    pid = int(text) if text.lstrip("-").isdigit() else _pid_by_name(text)
    return describe(pid, text)


def describe(pid: int, text: str | None = None) -> Target:
    """A target for a live process that we may examine. Raises TargetError."""
    status = _examinable(pid)
    return Target(
        kind="pid",
        id=text or str(pid),
        pid=pid,
        comm=one_line(status.get("Name", "?"), 64),
        cmdline=command_line(pid) or None,
        pids=descendants(pid) or None,
        runtime=detect_runtime(pid),
    )


def command_line(pid: int) -> str:
    """argv as one line, secrets replaced; empty when it cannot be read."""
    try:
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    text = " ".join(shlex.quote(arg.decode("utf-8", "replace")) for arg in argv if arg)
    return one_line(hide_secrets(text), 300)


def parse_command(text: str) -> list[str]:
    """argv of a command line, without a shell. Raises TargetError."""
    try:
        argv = shlex.split(text)
    except ValueError as error:
        raise TargetError(f"cannot parse the command {one_line(text, 80)!r}: {error}") from error
    if not argv:
        raise TargetError("the command is empty", "Give a pid, a process name or a command line")
    return argv


def _examinable(pid: int) -> dict[str, str]:
    """/proc/PID/status of a process that can be a target. Raises TargetError."""
    if pid <= 0:
        raise TargetError(f"{pid} is not a pid", "Pids are positive; see `dea ps`")
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
        flags = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[6])
    except (OSError, IndexError, ValueError) as error:
        raise TargetError(f"there is no process {pid}", "See `dea ps`") from error
    status = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
    if int(status.get("Tgid", pid)) != pid:
        raise TargetError(f"{pid} is a thread of process {status['Tgid']}", "Attach to that one")
    if status.get("State", "").startswith(("Z", "X")):
        raise TargetError(
            f"process {pid} ({status.get('Name')}) is a zombie: it has ended and its parent "
            f"{status.get('PPid')} has not reaped it",
            f"Look at the parent instead: dea attach {status.get('PPid')}",
        )
    if flags & _KERNEL_THREAD:
        raise TargetError(
            f"{pid} ({status.get('Name')}) is a kernel thread, which DEA does not examine",
            "See /proc/{pid}/stack as root for what it does".replace("{pid}", str(pid)),
        )
    _require_rights(pid, status)
    return status


def _require_rights(pid: int, status: dict[str, str]) -> None:
    try:
        os.readlink(f"/proc/{pid}/exe")
    except PermissionError as error:
        uid = int(status.get("Uid", "0").split()[0])
        raise TargetError(
            f"process {pid} ({status.get('Name')}) belongs to {_user(uid)} and may not be read by "
            f"{_user(os.geteuid())}",
            f"Run dea as {_user(uid)} or as root, or give it CAP_SYS_PTRACE",
        ) from error
    except OSError:
        return  # it has no executable any more (it is just ending); later steps will say so


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _pid_by_name(name: str) -> int:
    """The one process with that name, or whose program or script has it. Raises TargetError."""
    own = {os.getpid(), os.getppid()}
    matches = [pid for pid in _all_pids() if pid not in own and name in _names(pid)]
    tops = [
        pid for pid in matches if _parent(pid) not in matches
    ]  # a server and its workers are one
    if len(tops) == 1:
        return tops[0]
    if not matches:
        raise TargetError(
            f"no process is named {one_line(name, 60)!r}",
            "See `dea ps`; to launch it as a command say --kind command (kind=command)",
        )
    listed = "; ".join(f"{pid} {command_line(pid)[:60]}" for pid in tops[:_LISTED])
    raise TargetError(f"{len(tops)} processes are named {name!r}", f"Choose a pid: {listed}")


def _all_pids() -> list[int]:
    return sorted(int(entry) for entry in os.listdir("/proc") if entry.isdigit())


def _names(pid: int) -> set[str]:
    try:
        comm = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:3]
    except OSError:
        return set()
    words = [Path(arg.decode("utf-8", "replace")).name for arg in argv if arg]
    return {comm, *words}


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0
