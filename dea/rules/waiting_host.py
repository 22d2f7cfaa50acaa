"""Rules over what the machine withholds: disk, memory, CPU time, or permission to run at all."""

from collections.abc import Iterator

from dea.contracts.data import Cause, Cgroup, Metric
from dea.contracts.finding import Severity
from dea.rules.draft import Cited, Draft, Facts
from dea.rules.thread_view import RUNNING, ThreadTime, View, read_threads
from dea.rules.waiting_groups import MOST, MUCH, Waiting, waits

_DISK = 0.4  # of a thread's wall time
_FAULTS = _THROTTLED = 0.2
_ALL = 0.9  # of a quota
_BUSY_HOST = 0.85
_OTHERS = 0.3  # of all CPUs
_BUSY_NEIGHBOUR = 0.2  # of one


def disk(facts: Facts) -> Iterator[Draft]:
    """Threads that wait for files to be read or written."""
    view = read_threads(facts)
    for waiting in waits(view, lambda part: part.cause == "disk"):
        part = waiting.part
        total = waiting.thread.share("disk")
        if total < _DISK or part is not max(waiting.thread.of("disk"), key=lambda p: p.share):
            continue
        call = f" in {part.syscall}" if part.syscall else ""
        yield Draft(
            severity="high" if total >= MOST else "warn",
            summary=f"{waiting.who} {total:.0%} of the time for the disk{call}"
            f"{f' of {part.object}' if part.object else ''}{waiting.at}",
            evidence_ids=waiting.ids,
            confidence="observed",
            detail=_disk_detail(waiting),
            weight=total,
            next=(*waiting.next, "trace_syscalls"),
        )


def _disk_detail(waiting: Waiting) -> str:
    if waiting.part.syscall in ("fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range"):
        return (
            f"{waiting.part.syscall} waits until the device has everything; "
            "doing it once for many writes costs about as much as once for one."
        )
    return "The file is not in the page cache, or the device cannot keep up."


def page_faults(facts: Facts) -> Iterator[Draft]:
    """Memory that was swapped out, or mapped files that are read page by page."""
    view = read_threads(facts)
    for waiting in waits(view, lambda part: part.cause == "page_fault"):
        if waiting.part.share >= _FAULTS:
            yield Draft(
                severity="high" if waiting.part.share >= MOST else "warn",
                summary=f"{waiting.who} {waiting.part.share:.0%} of the time for memory that must be "
                f"read from disk first (swapped out, or a mapped file){waiting.at}",
                evidence_ids=waiting.ids,
                confidence="observed",
                weight=waiting.part.share,
                next=("snapshot_memory",),
            )


def throttling(facts: Facts) -> Iterator[Draft]:
    """Threads that have used up the CPU quota of their cgroup.

    When the quota is used up, time in the run queue does not slow them further: it counts too.
    """
    view = read_threads(facts)
    groups = [group for group in facts.of(Cgroup) if (group.data.throttled_s or 0) > 0]
    binding = _uses_all_of(groups, view)
    worst = _worst(view, "throttled")
    if worst is None or worst.share("throttled") < (_THROTTLED / 2 if binding else _THROTTLED):
        return
    share = worst.share("throttled", "runnable") if binding else worst.share("throttled")
    limits = ", ".join(
        f"cgroup {group.data.path}"
        + (f" allows {group.data.cpu_limit_cores:g} CPUs" if group.data.cpu_limit_cores else "")
        for group in groups[:2]
    )
    place = worst.hottest
    yield Draft(
        severity="high" if share >= MOST else "warn",
        summary=f"{worst.title} of pid {worst.pid} is kept from running up to {share:.0%} of the time "
        f"by its CPU quota ({limits or 'cgroup not known'}){f', mostly at {place.text}' if place else ''}",
        evidence_ids=[worst.id, *(group.id for group in groups), *([place.id] if place else [])],
        confidence="observed",
        detail="It could use more CPU than its cgroup allows: raise the quota or do less work.",
        weight=share,
        next=("profile_cpu",),
    )


def _uses_all_of(groups: list[Cited[Cgroup]], view: View) -> bool:
    used = sum(thread.share(*RUNNING) for thread in view.threads)
    limits = [group.data.cpu_limit_cores for group in groups if group.data.cpu_limit_cores]
    return any(used >= _ALL * limit for limit in limits)


def starvation(facts: Facts) -> Iterator[Draft]:
    """Threads that are ready to run while others have the CPUs."""
    view = read_threads(facts)
    worst = _worst(view, "runnable")
    host = next((m for m in facts.of(Metric) if m.data.name == "host_load"), None)
    if worst is None or host is None or host.data.shares.get("busy", 0.0) < _BUSY_HOST:
        return
    share = worst.share("runnable")
    if _uses_all_of([group for group in facts.of(Cgroup) if group.data.throttled_s], view):
        return
    if share < MUCH or share + worst.share(*RUNNING) < 0.5:
        return
    place = worst.hottest
    at = f", mostly at {place.text}" if place else ""
    ids = [worst.id, host.id, *([place.id] if place else [])]
    target = host.data.shares.get("target", 0.0)
    others = host.data.shares["busy"] - target
    if others < max(_OTHERS, target / 2):
        yield Draft(
            severity="info",
            summary=f"{worst.title} of pid {worst.pid} is ready to run but gets no CPU {share:.0%} of the "
            f"time{at}: the target's own threads use {target:.0%} of all CPUs",
            evidence_ids=ids,
            confidence="observed",
            weight=0.3 * share,
            next=("profile_cpu",),
        )
        return
    known = _neighbours(view)[:3]
    names = ", ".join(f"{name} {load:.0%} of one" for name, load, _ in known)
    yield Draft(
        severity="high" if share >= MOST else "warn",
        summary=f"{worst.title} of pid {worst.pid} is ready to run but gets no CPU {share:.0%} of the "
        f"time{at}: other processes take {others:.0%} of all CPUs{f' ({names})' if names else ''}",
        evidence_ids=[*ids, *(i for *_, i in known)],
        confidence="observed",
        detail=host.summary,
        weight=share,
        next=("list_processes",),
    )


def _neighbours(view: View) -> list[tuple[str, float, str]]:
    """(name, load, evidence id) of processes outside the target that use the CPUs."""
    found = [
        (f"pid {pid} ({process.data.comm})", process.data.cpu_share or 0.0, process.id)
        for pid, process in view.processes.items()
        if pid not in view.pids and (process.data.cpu_share or 0.0) >= _BUSY_NEIGHBOUR
    ]
    return sorted(found, key=lambda item: -item[1])


def _worst(view: View, cause: Cause) -> ThreadTime | None:
    return max(view.threads, key=lambda thread: thread.share(cause), default=None)


def stopped(facts: Facts) -> Iterator[Draft]:
    """Processes that somebody has stopped."""
    view = read_threads(facts)
    for waiting in waits(view, lambda part: part.cause == "stopped"):
        severity: Severity = "high" if waiting.part.share >= MOST else "warn"
        yield Draft(
            severity=severity,
            summary=f"{waiting.who} {waiting.part.share:.0%} of the time, stopped by {waiting.part.object}",
            evidence_ids=waiting.ids,
            confidence="observed",
            detail="It does not run until it is continued (SIGCONT, the tracer, or the freezer).",
            weight=waiting.part.share,
        )
