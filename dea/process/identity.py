"""Is this pid still the process it was, and is somebody tracing it?"""

from pathlib import Path

from dea.errors import TargetError, TracedError

_ENDED = ("Z", "X", "x", None)


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when there is no such process.

    Field 22 of /proc/PID/stat, see proc(5); the second field may hold spaces and brackets.
    """
    fields = _stat_fields(pid)
    return int(fields[19]) if len(fields) > 19 else None


def state(pid: int | str) -> str | None:
    """The one-letter state of proc(5); None when there is no such process."""
    fields = _stat_fields(pid)
    return fields[0] if fields else None


def is_stopped(pid: int) -> bool:
    """Whether any thread is stopped, by a signal or by a tracer."""
    try:
        tasks = [task.name for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return False
    return any(state(f"{pid}/task/{task}") in ("T", "t") for task in tasks)


def parent(pid: int) -> int:
    """The parent's pid; 0 when there is no such process, or it has no parent that we can see."""
    fields = _stat_fields(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def code_and_stack(pid: int) -> tuple[str, ...] | None:
    """Where the program's code begins and ends and its stack begins; None when that is hidden."""
    places = tuple(_stat_fields(pid)[23:26])
    return places if len(places) == 3 and places[-1] != "0" else None


def is_same(pid: int, expected_ticks: int | None) -> bool:
    """Whether the process still runs; when `expected_ticks` is known, whether it is that one."""
    fields = _stat_fields(pid)
    if len(fields) < 20 or fields[0] in _ENDED:
        return False
    return expected_ticks is None or int(fields[19]) == expected_ticks


def require_same(pid: int, expected_ticks: int | None) -> None:
    """Raises TargetError when the process is gone or its pid was taken by another."""
    if is_same(pid, expected_ticks):
        return
    if state(pid) in _ENDED:
        raise TargetError(f"process {pid} has ended", "Attach to its successor, if there is one")
    raise TargetError(
        f"pid {pid} now belongs to another process than the one attached to",
        "The target has ended; attach again",
    )


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


def require_untraced(pid: int) -> None:
    """Raises TracedError naming the tracer, since a process can have only one."""
    if tracer := tracer_of(pid):
        name = _read(Path(f"/proc/{tracer}/comm")).strip() or "?"
        raise TracedError(
            f"process {pid} is already traced by {name} (pid {tracer})",
            f"End or detach {name} first",
        )


def _stat_fields(pid: int | str) -> list[str]:
    """Fields of /proc/PID/stat from the third on."""
    return _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
