"""Who uses the CPU: processes, their kernel side, their collector, descendants of the target."""

from collections.abc import Iterator

from dea.contracts.data import Metric, Process
from dea.rules.draft import Cited, Draft, Facts

SOME, BUSY, VERY_BUSY = 0.3, 0.8, 0.9  # of one core
_KERNEL_SHARE, _GC_SHARE, _GC_LOUD = 0.5, 0.2, 0.5
_COMMAND = 60  # letters; the end of a command line tells more than the path it begins with
_PLAIN = (None, "unknown", "native")  # runtimes that need no word: a shell script is no native code
_LITTLE = 0.25  # of what the descendant uses


def kernel_work(facts: Facts) -> Iterator[Draft]:
    """Processes whose CPU time goes to the kernel on their behalf."""
    for share in metrics(facts, "kernel_share"):
        cpu = metric_of(facts, "cpu_share", share.data.pid)
        if share.data.value >= _KERNEL_SHARE and cpu and cpu.data.value >= SOME:
            yield Draft(
                severity="info",
                summary=f"{share.data.value:.0%} of the CPU time of {who(facts, share.data.pid)} "
                "is spent in the kernel: in system calls or page faults, not in its own code",
                evidence_ids=[share.id, cpu.id],
                confidence="observed",
                detail="trace_syscalls says which calls.",
                weight=0.2 * share.data.value,
                next=("trace_syscalls",),
            )


def collectors(facts: Facts) -> Iterator[Draft]:
    """Garbage collector threads that take a good part of the CPU time."""
    for share in metrics(facts, "gc_share"):
        cpu = metric_of(facts, "cpu_share", share.data.pid)
        if share.data.value >= _GC_SHARE and cpu and cpu.data.value >= SOME:
            loud = share.data.value >= _GC_LOUD and cpu.data.value >= BUSY
            yield Draft(
                severity="warn" if loud else "info",
                summary=f"garbage collection takes {share.data.value:.0%} of the CPU time of "
                f"{who(facts, share.data.pid)}",
                evidence_ids=[share.id, cpu.id],
                confidence="observed",
                detail="The heap may be nearly full, or much is allocated; snapshot_memory tells.",
                weight=share.data.value,
                next=("snapshot_memory",),
            )


def working_descendants(facts: Facts) -> Iterator[Draft]:
    """The work is done by another process than the one that was attached to."""
    family = list(facts.of(Process))
    shares = {one.data.pid: one.data.cpu_share or 0.0 for one in family}
    for one in family:
        data = one.data
        if data.target is None or data.target == data.pid or shares[data.pid] < SOME:
            continue
        target = shares.get(data.target, 0.0)
        if target <= _LITTLE * shares[data.pid]:
            yield Draft(
                severity="info",
                summary=f"the work is done by process {data.pid} ({_command(data)}), a "
                f"descendant of the target {data.target}: {shares[data.pid]:.0%} of a core, "
                f"the target itself {target:.0%}",
                evidence_ids=[one.id],
                confidence="observed",
                weight=0.1,
            )


def who(facts: Facts, pid: int | None) -> str:
    """`python process 12`, with its command and whose descendant it is when it isn't the target."""
    cpu = metric_of(facts, "cpu_share", pid)
    runtime = cpu.data.runtime if cpu and cpu.data.runtime not in _PLAIN else None
    name = f"{runtime} process {pid}" if runtime else f"process {pid}"
    for one in facts.of(Process):
        if one.data.pid == pid and one.data.target not in (None, pid):
            return f"{name} ({_command(one.data)}, a descendant of {one.data.target})"
    return name


def _command(process: Process) -> str:
    command = process.cmdline or process.comm
    return command if len(command) <= _COMMAND else f"…{command[-_COMMAND:]}"


def metrics(facts: Facts, name: str) -> Iterator[Cited[Metric]]:
    yield from (metric for metric in facts.of(Metric) if metric.data.name == name)


def metric_of(
    facts: Facts, name: str, pid: int | None, tid: int | None = None
) -> Cited[Metric] | None:
    """The metric of a process, or of one of its threads."""
    found = (m for m in metrics(facts, name) if (m.data.pid, m.data.tid) == (pid, tid))
    return next(found, None)
