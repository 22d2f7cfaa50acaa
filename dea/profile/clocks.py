"""How much CPU each process and thread used and waited for, from /proc read before and after."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dea.contracts.data import Metric
from dea.contracts.evidence import Fact
from dea.profile.stacks import said

_TASKS = 512  # of a process that are read
_PROCESSES = 6  # that become evidence, the busiest
_THREADS = 5  # of a process that become evidence
_SATURATED = 0.8
_WORTH = 0.05  # of a core: what a thread must use to be evidence
_WAIT_PER_USE = (
    10  # a thread kept waiting for a CPU gets one now and then, also under a small quota
)
_KERNEL_MIN_CPU_S = 0.3  # the split into user and kernel is sampled, so it needs some time
_GC_THREADS = ("GC Thread", "G1 ", "ZWorker", "ZDriver", "Shenandoah", "CMS ", "Concurrent Mark")


@dataclass(frozen=True)
class ThreadUse:
    """`share` is of one core; `wait_share` is the part of the window it was kept waiting for one."""

    tid: int
    name: str
    share: float
    wait_share: float

    @property
    def is_saturated(self) -> bool:
        """It had work for the whole time."""
        return self.share + self.wait_share >= _SATURATED


@dataclass(frozen=True)
class CpuUse:
    """What one process used in the window; `share` is of one core, threads the busiest first."""

    pid: int
    comm: str
    window_s: float
    share: float
    kernel_share: float | None  # of the CPU time it used
    threads: Sequence[ThreadUse]

    @property
    def wait_share(self) -> float:
        """What its neediest thread could have used beyond `share`, had a CPU been free."""
        wanted = max((thread.share + thread.wait_share for thread in self.threads), default=0.0)
        return max(0.0, wanted - self.share)

    @property
    def gc_share(self) -> float:
        """The collector threads' part of the CPU time."""
        used = sum(t.share for t in self.threads if t.name.startswith(_GC_THREADS))
        return used / self.share if self.share > 0 else 0.0


def read_clocks(pids: Iterable[int]) -> str:
    """One line per process and thread: pid, tid (0: the whole process), ns that it waited for a CPU
    (of threads), then its stat as in proc(5)."""
    lines = [f"at {time.monotonic():.6f} s, {os.sysconf('SC_CLK_TCK')} ticks per s"]
    for pid in pids:
        root = Path(f"/proc/{pid}")
        try:
            lines.append(f"{pid} 0 0 {_stat(root)}")
            tasks = sorted(os.listdir(root / "task"), key=int)[:_TASKS]
        except OSError:
            continue
        for tid in tasks:
            try:
                task = root / "task" / tid
                lines.append(f"{pid} {tid} {_delay_ns(task)} {_stat(task)}")
            except OSError:
                continue  # it has just ended
    return "\n".join(lines) + "\n"


def cpu_use(before: str, after: str) -> list[CpuUse]:
    """Use of each process that was there both times, the busiest first."""
    start_s, hz, old = _parse(before)
    end_s, _, new = _parse(after)
    window_s = max(end_s - start_s, 0.001)
    uses = [
        _use(pid, window_s, hz, old, new)
        for pid, tid in new
        if tid == 0 and (pid, 0) in old and old[pid, 0].started == new[pid, 0].started
    ]
    return sorted(uses, key=lambda use: -use.share)


def cpu_facts(uses: Iterable[CpuUse], runtime: str | None, file: str) -> Iterator[Fact]:
    """Metrics `cpu_share` (process, busy threads), `cpu_wait_share`, `kernel_share`, `gc_share`."""
    for use in list(uses)[:_PROCESSES]:
        kind = "" if runtime in (None, "unknown", "native") else f"{runtime} "
        process = f"{kind}process {use.pid} ({use.comm})"

        def metric(name: str, value: float, summary: str, use: CpuUse = use) -> Fact:
            data = Metric(name=name, value=round(value, 4), unit="", pid=use.pid, runtime=runtime)
            return Fact(data, summary, file)

        used = f"{process} used {use.share:.0%} of a core over {use.window_s:.1f} s"
        yield metric("cpu_share", use.share, used)
        if use.wait_share >= _WORTH:
            text = f"{process} waited {use.wait_share:.0%} of the time for a CPU that it could have used"
            yield metric("cpu_wait_share", use.wait_share, text)
        if use.kernel_share is not None:
            text = f"{use.kernel_share:.0%} of the CPU time of {process} was in the kernel"
            yield metric("kernel_share", use.kernel_share, text)
        if use.gc_share >= 0.05:
            text = f"{use.gc_share:.0%} of the CPU time of {process} was in collector threads"
            yield metric("gc_share", use.gc_share, text)
        yield from _thread_facts(use, runtime, file)


def _thread_facts(use: CpuUse, runtime: str | None, file: str) -> Iterator[Fact]:
    busy = [t for t in use.threads if t.share >= _WORTH or t.is_saturated]
    if len(busy) < 2:
        return  # the process says it all
    for thread in busy[:_THREADS]:

        def metric(name: str, value: float, summary: str, thread: ThreadUse = thread) -> Fact:
            data = Metric(
                name=name,
                value=round(value, 4),
                unit="",
                pid=use.pid,
                tid=thread.tid,
                thread=thread.name,
                runtime=runtime,
            )
            return Fact(data, f"thread {thread.tid} ({thread.name}) {summary}", file)

        yield metric("cpu_share", thread.share, f"used {thread.share:.0%} of a core")
        if thread.is_saturated and thread.wait_share >= _WORTH:
            told = f"waited {thread.wait_share:.0%} of the time for a CPU"
            yield metric("cpu_wait_share", thread.wait_share, told)


@dataclass(frozen=True)
class _Task:
    name: str
    user: int
    kernel: int
    delay_ns: int
    started: int
    was_ready: bool  # it ran or was ready to, at one of the readings

    def since(self, old: "_Task | None") -> "_Task":
        """What came in the window; a thread that began in it started from nothing."""
        if old is None or old.started != self.started:
            return self
        return _Task(
            self.name,
            self.user - old.user,
            self.kernel - old.kernel,
            self.delay_ns - old.delay_ns,
            self.started,
            self.was_ready or old.was_ready,
        )


def _parse(text: str) -> tuple[float, int, dict[tuple[int, int], _Task]]:
    head, *lines = text.rstrip("\n").split("\n")
    words = head.split()
    tasks: dict[tuple[int, int], _Task] = {}
    for line in lines:
        pid, tid, delay_ns, stat = line.split(" ", 3)
        fields = stat[stat.rindex(")") + 2 :].split()
        tasks[int(pid), int(tid)] = _Task(
            name=said(stat[stat.index("(") + 1 : stat.rindex(")")]),
            user=int(fields[11]),
            kernel=int(fields[12]),
            delay_ns=int(delay_ns),
            started=int(fields[19]),
            was_ready=fields[0] == "R",
        )
    return float(words[1]), int(words[3]), tasks


def _use(
    pid: int,
    window_s: float,
    hz: int,
    old: dict[tuple[int, int], _Task],
    new: dict[tuple[int, int], _Task],
) -> CpuUse:
    process = new[pid, 0].since(old.get((pid, 0)))
    cpu_s = (process.user + process.kernel) / hz
    threads = [
        _thread(tid, task.since(old.get((pid, tid))), window_s, hz)
        for (owner, tid), task in new.items()
        if owner == pid and tid != 0
    ]
    return CpuUse(
        pid=pid,
        comm=process.name,
        window_s=window_s,
        share=cpu_s / window_s,
        kernel_share=process.kernel / hz / cpu_s if cpu_s >= _KERNEL_MIN_CPU_S else None,
        threads=sorted(threads, key=lambda thread: -thread.share),
    )


def _thread(tid: int, used: _Task, window_s: float, hz: int) -> ThreadUse:
    """Some kernels count sleep as waiting for a CPU when they balance load meanwhile, so the wait is
    believed only in proportion to the CPU time, and less when nobody saw the thread ready."""
    share = (used.user + used.kernel) / hz / window_s
    waited = used.delay_ns / 1e9 / window_s  # told when the wait ends, so it may have begun before
    credible = min(1.0 - share, share * (_WAIT_PER_USE if used.was_ready else 1))
    return ThreadUse(tid, used.name, share, min(waited, max(0.0, credible)))


def _stat(task: Path) -> str:
    return " ".join((task / "stat").read_text(errors="replace").split("\n"))


def _delay_ns(task: Path) -> str:
    """The second field of schedstat, which a kernel may be built without."""
    try:
        return (task / "schedstat").read_text().split()[1]
    except (OSError, IndexError):
        return "0"
