"""A process as far as its virtual machine must be known before it may be asked anything."""

import re
from dataclasses import dataclass
from pathlib import Path

from dea.errors import BackendError

_SIGQUIT_BIT = 1 << 2
_NO_ATTACH = "+DisableAttachMechanism"
_HOTSPOT = re.compile(r"/(?:server|client|minimal|zero)/libjvm\.so\b")
_OPENJ9 = re.compile(r"/libj9vm\d*\.so\b")


@dataclass(frozen=True)
class Machine:
    """`inner_pid` is the pid as the process itself knows it, `temporary` its /tmp as we see it."""

    pid: int
    inner_pid: int
    uid: int
    temporary: Path

    def require_willing(self) -> None:
        """Raises BackendError where SIGQUIT would end the process, or would be in vain."""
        status = _status(self.pid)
        if not int(status["SigCgt"], 16) & _SIGQUIT_BIT:
            raise BackendError(
                f"could not look: JVM {self.pid} does not handle SIGQUIT, which would end it",
                "It has only just started, or runs with -Xrs; use perf",
            )
        if _says(self.pid, _NO_ATTACH):
            raise BackendError(
                f"could not look: JVM {self.pid} was started with -XX:{_NO_ATTACH}",
                "Start it without that option, or use perf",
            )


def read_machine(pid: int) -> Machine:
    """Raises BackendError when the process is not one of HotSpot, or can't answer."""
    maps = _maps(pid)
    if _OPENJ9.search(maps):
        raise BackendError(
            f"could not look: process {pid} runs OpenJ9, whose dumps are files of its own",
            "Use perf",
        )
    if not _HOTSPOT.search(maps):
        raise BackendError(f"could not look: process {pid} runs no HotSpot JVM", "Use perf")
    status = _status(pid)
    if status["State"][:1] in "Tt":
        raise BackendError(
            f"could not look: process {pid} is stopped", "Continue it (SIGCONT) first"
        )
    return Machine(
        pid=pid,
        inner_pid=int(status.get("NSpid", str(pid)).split()[-1]),
        uid=int(status["Uid"].split()[1]),
        temporary=Path(f"/proc/{pid}/root/tmp"),
    )


def resident_bytes(pid: int) -> int:
    """How much of its memory is in RAM: an upper bound of the heap that can be walked quickly."""
    return int(_status(pid).get("VmRSS", "0 kB").split()[0]) * 1024


def outer_tids(pid: int) -> dict[int, int]:
    """The tid that we see of each that the process itself sees: they differ in a container."""
    found: dict[int, int] = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            inner = _status(pid, int(task.name)).get("NSpid", task.name).split()[-1]
        except BackendError:
            continue  # it has just ended
        found[int(inner)] = int(task.name)
    return found


def _says(pid: int, option: str) -> bool:
    """Whether its command line or the variables that a JVM reads options from hold this one."""
    try:
        root = Path(f"/proc/{pid}")
        words = (root / "cmdline").read_bytes().split(b"\0")
        variables = (root / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    words += [
        v for v in variables if v.split(b"=")[0] in (b"JAVA_TOOL_OPTIONS", b"JDK_JAVA_OPTIONS")
    ]
    return any(option.encode() in word for word in words)


def _maps(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except PermissionError as error:
        raise BackendError(
            f"could not look: process {pid} may not be read", "Run dea as root or as its user"
        ) from error
    except OSError as error:
        raise BackendError(f"could not look: process {pid} has ended") from error


def _status(pid: int, tid: int | None = None) -> dict[str, str]:
    path = Path(f"/proc/{pid}/status" if tid is None else f"/proc/{pid}/task/{tid}/status")
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise BackendError(f"could not look: process {pid} has ended") from error
    return {key: value.strip() for key, _, value in (ln.partition(":") for ln in text.split("\n"))}
