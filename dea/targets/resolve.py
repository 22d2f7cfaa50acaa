"""From text to a target: pid, process name or command line."""

import os
import pwd
import re
import shlex
import shutil
from pathlib import Path
from typing import Literal

from dea.contracts.scrub import one_line
from dea.contracts.secrets import hide_secrets
from dea.contracts.target import Target
from dea.errors import TargetError
from dea.process import identity
from dea.targets.family import descendants
from dea.targets.names import command_line, is_running, pid_by_name
from dea.targets.runtime import detect_runtime

__all__ = ["command_line", "describe", "meant_kind", "parse_command", "refresh", "resolve_process"]

_KERNEL_THREAD = 0x00200000  # PF_KTHREAD, include/linux/sched.h
_MOST_PIDS = 256  # of the descendants that a target names
_NUMBER = re.compile(r"-?[0-9]{1,18}")


def resolve_process(text: str) -> Target:
    """The process that `text`, a pid or a unique name, means. Raises TargetError."""
    text = text.strip()
    if not text:
        raise TargetError("no target was named", "Give a pid or a process name; see `dea ps`")
    pid = int(text) if _NUMBER.fullmatch(text) else pid_by_name(text)
    return describe(pid, one_line(hide_secrets(text)))


def meant_kind(text: str) -> Literal["pid", "command"]:
    """What a target of no stated kind is: a process, unless it is a command line that can be run.

    One bare word is never launched: it is more likely the misspelt name of a process.
    """
    words = text.split()
    is_line = len(words) > 1 or "/" in text
    if not is_line or shutil.which(words[0]) is None:
        return "pid"
    return "pid" if is_running(text.strip()) else "command"


def describe(pid: int, text: str | None = None) -> Target:
    """A target for a live process that we may examine. Raises TargetError."""
    status = _examinable(pid)
    return Target(
        kind="pid",
        id=text or str(pid),
        pid=pid,
        comm=one_line(status.get("Name", "?"), 64) or "?",
        cmdline=command_line(pid) or None,
        pids=descendants(pid)[:_MOST_PIDS] or None,
        runtime=detect_runtime(pid),
    )


def refresh(target: Target, start_ticks: int | None) -> Target:
    """The target as it is now: it may have children since, or have executed another program."""
    if target.pid is None or not identity.is_same(target.pid, start_ticks):
        return target
    try:
        now = describe(target.pid)
    except TargetError:
        return target
    changed = {"comm": now.comm, "cmdline": now.cmdline, "pids": now.pids, "runtime": now.runtime}
    return target.model_copy(update=changed)


def parse_command(text: str) -> list[str]:
    """argv of a command line, without a shell. Raises TargetError."""
    try:
        argv = shlex.split(text)
    except ValueError as error:
        shown = one_line(hide_secrets(text), 80)
        raise TargetError(
            f"cannot parse the command {shown!r}: {error}", "Close its quotes, or escape them"
        ) from error
    if not argv or not argv[0]:
        raise TargetError("the command is empty", "Give a command line, such as 'python app.py'")
    return argv


def _examinable(pid: int) -> dict[str, str]:
    """/proc/PID/status of a process that can be a target. Raises TargetError."""
    if pid <= 0:
        raise TargetError(f"{pid} is not a pid", "Pids are positive; see `dea ps`")
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        flags = int(stat.rpartition(")")[2].split()[6])
    except (OSError, IndexError, ValueError) as error:
        raise TargetError(f"there is no process {pid}", "See `dea ps`") from error
    status = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = one_line(status.get("Name", "?"), 64)
    if (process := int(status.get("Tgid", pid))) != pid:
        raise TargetError(
            f"{pid} is a thread of process {process}", f"Attach to that: dea attach {process}"
        )
    if status.get("State", "").startswith(("Z", "X")):
        raise TargetError(
            f"process {pid} ({name}) is a zombie: it has ended and its parent "
            f"{status.get('PPid')} has not reaped it",
            f"Look at the parent instead: dea attach {status.get('PPid')}",
        )
    if flags & _KERNEL_THREAD:
        raise TargetError(
            f"{pid} ({name}) is a kernel thread, which DEA does not examine",
            f"Read /proc/{pid}/stack as root to see what it does",
        )
    _require_rights(pid, name, status)
    return status


def _require_rights(pid: int, name: str, status: dict[str, str]) -> None:
    try:
        os.readlink(f"/proc/{pid}/exe")
    except PermissionError as error:
        raise _no_rights(pid, name, int(status.get("Uid", "0").split()[0])) from error
    except OSError:
        return  # it has no executable any more (it is just ending); later steps will say so


def _no_rights(pid: int, name: str, owner: int) -> TargetError:
    us, them = _user(os.geteuid()), _user(owner)
    helpers = ["root"] if them in (us, "root") else ["root", them]
    remedy = f"Run dea as {' or as '.join(helpers)}"
    if os.geteuid() == 0:
        remedy = "Give dea CAP_SYS_PTRACE, in a container with --cap-add SYS_PTRACE"
    whose = "is protected, even against its owner," if us == them else f"belongs to {them}"
    return TargetError(f"process {pid} ({name}) {whose} and may not be read by {us}", remedy)


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
