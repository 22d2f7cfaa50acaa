"""Is this pid still the process it was, and is somebody tracing it?"""

from pathlib import Path

from dea.errors import TargetError


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when there is no such process.

    Field 22 of /proc/PID/stat, see proc(5); the second field may hold spaces and brackets.
    """
    fields = _stat_fields(pid)
    return int(fields[19]) if fields else None


def state(pid: int) -> str | None:
    """The one-letter state of proc(5); None when there is no such process."""
    fields = _stat_fields(pid)
    return fields[0] if fields else None


def tracer_of(pid: int) -> int:
    """Pid of whoever traces any thread of the process, 0 when nobody does."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return 0
    for task in tasks:
        for line in _read(task / "status").splitlines():
            if line.startswith("TracerPid:") and (tracer := int(line.split()[1])):
                return tracer
    return 0


def require_same(pid: int, expected_ticks: int | None) -> None:
    """Raises TargetError when the process is gone or its pid was taken by another."""
    ticks = start_ticks(pid)
    if ticks is None or state(pid) in ("Z", "X"):
        raise TargetError(f"process {pid} has ended", "Attach to its successor, if there is one")
    if expected_ticks is not None and ticks != expected_ticks:
        raise TargetError(
            f"pid {pid} now belongs to another process than the one attached to",
            "The target has ended; attach again",
        )


def require_untraced(pid: int) -> None:
    """Raises TargetError naming the tracer, since a process can have only one."""
    if tracer := tracer_of(pid):
        name = _read(Path(f"/proc/{tracer}/comm")).strip() or "?"
        raise TargetError(
            f"process {pid} is already traced by {name} (pid {tracer})",
            f"End or detach {name} first",
        )


def _stat_fields(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the third on."""
    return _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
