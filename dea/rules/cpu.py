"""Rules over CPU profiles: which function burns the CPU, of which process, and doing what."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dea.contracts.data import FrameHot, Metric, Process
from dea.contracts.finding import Severity
from dea.rules.draft import Cited, Draft, Facts, Rule
from dea.rules.patterns import kind_of_work, repeated_query

FEWEST_SAMPLES = 30  # below that a share means nothing
_BUSY, _VERY_BUSY, _SOME = 0.8, 0.9, 0.3  # of one core
_HALF, _MOST = 0.5, 0.75  # of the samples
_QUERY_SHARE = 0.3
_FINDINGS = 3
_KERNEL_SHARE, _GC_SHARE = 0.5, 0.2

Hots = Sequence[Cited[FrameHot]]


@dataclass
class _Case:
    """What is known about the CPU use of one process, or of one thread when `tid` is set."""

    pid: int
    tid: int | None = None
    cpu: Cited[Metric] | None = None
    wait: Cited[Metric] | None = None
    hots: list[Cited[FrameHot]] = field(default_factory=list[Cited[FrameHot]])

    @property
    def used(self) -> float:
        return self.cpu.data.value if self.cpu else 0.0

    @property
    def busy(self) -> float:
        """What it used and would have used had a CPU been free, as share of one core."""
        return self.used + (self.wait.data.value if self.wait else 0.0)

    @property
    def samples(self) -> int:
        return self.hots[0].data.total_samples if self.hots else 0

    def ids(self, *hots: Cited[FrameHot]) -> list[str]:
        shares = [metric.id for metric in (self.cpu, self.wait) if metric]
        return [*(hot.id for hot in hots), *shares]


def hot_functions(facts: Facts) -> Iterator[Draft]:
    """Where the CPU time of each busy process goes."""
    cases = sorted(_cases(facts), key=lambda case: -case.busy)
    told: dict[tuple[str, str | None], Draft] = {}
    for case in [case for case in cases if case.busy >= _SOME and case.samples >= FEWEST_SAMPLES]:
        top = case.hots[0].data.frame
        place = (top.function, top.file)
        if place not in told and len(told) < _FINDINGS:
            told[place] = _explain(facts, case)
    yield from told.values()
    if not told and cases and cases[0].cpu:
        yield _mostly_off_cpu(facts, cases[0])


def queries_in_loops(facts: Facts) -> Iterator[Draft]:
    """Threads that spend their time, waiting or not, on one database statement per item."""
    for hot in facts.of(FrameHot):
        data = hot.data
        pattern = repeated_query(data) if data.scope == "wall" else None
        if pattern and data.share >= _QUERY_SHARE and data.total_samples >= FEWEST_SAMPLES:
            yield Draft(
                severity="high" if data.share >= _MOST else "warn",
                summary=f"thread {data.thread or data.tid} of process {data.pid} spends "
                f"{data.share:.0%} of its time in {data.frame.place()}, {pattern.phrase}",
                evidence_ids=[hot.id],
                confidence="inferred",
                detail=_detail(hot, [], pattern.how_to),
                weight=data.share,
                next=("trace_syscalls",),
            )


def kernel_work(facts: Facts) -> Iterator[Draft]:
    """Processes whose CPU time goes to the kernel on their behalf."""
    for share in _metrics(facts, "kernel_share"):
        cpu = _metric_of(facts, "cpu_share", share.data.pid)
        if share.data.value >= _KERNEL_SHARE and cpu and cpu.data.value >= _SOME:
            yield Draft(
                severity="info",
                summary=f"{share.data.value:.0%} of the CPU time of {_subject(facts, share.data.pid)} "
                "is spent in the kernel: in system calls or page faults, not in its own code",
                evidence_ids=[share.id, cpu.id],
                confidence="observed",
                detail="trace_syscalls says which calls.",
                weight=0.2 * share.data.value,
                next=("trace_syscalls",),
            )


def collectors(facts: Facts) -> Iterator[Draft]:
    """Garbage collector threads that take a good part of the CPU time."""
    for share in _metrics(facts, "gc_share"):
        cpu = _metric_of(facts, "cpu_share", share.data.pid)
        if share.data.value >= _GC_SHARE and cpu and cpu.data.value >= _SOME:
            loud = share.data.value >= _HALF and cpu.data.value >= _BUSY
            yield Draft(
                severity="warn" if loud else "info",
                summary=f"garbage collection takes {share.data.value:.0%} of the CPU time of "
                f"{_subject(facts, share.data.pid)}",
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
        if data.target is None or data.target == data.pid or shares[data.pid] < _SOME:
            continue
        target = shares.get(data.target, 0.0)
        if target <= 0.25 * shares[data.pid]:
            yield Draft(
                severity="info",
                summary=f"the work is done by process {data.pid} ({data.cmdline or data.comm}), a "
                f"descendant of the target {data.target}: {shares[data.pid]:.0%} of a core, "
                f"the target itself {target:.0%}",
                evidence_ids=[one.id],
                confidence="observed",
                weight=0.1,
            )


def _explain(facts: Facts, case: _Case) -> Draft:
    best = case.hots[0]
    share = best.data.share
    if not best.data.frame.own:
        return _foreign(facts, case)
    if share < _HALF:
        return _spread(facts, case)
    pattern = kind_of_work(best.data)
    doing = f", {pattern.phrase}" if pattern else _via(best.data)
    caller = f" (called from {best.data.callers[0]})" if best.data.callers else ""
    return Draft(
        severity=_severity(case, best.data),
        summary=f"{_bound(facts, case)}: {share:.0%} of it in {best.data.frame.place()}{caller}{doing}",
        evidence_ids=case.ids(best),
        confidence="inferred" if pattern else "observed",
        detail=_detail(best, case.hots[1:3], pattern.how_to if pattern else ""),
        weight=min(case.busy, 1.0) * share,
        next=("trace_syscalls",) if pattern and repeated_query(best.data) else (),
    )


def _severity(case: _Case, hot: FrameHot) -> Severity:
    if case.busy >= _VERY_BUSY and hot.share >= _MOST and hot.frame.line is not None:
        return "high"
    return "warn" if case.busy >= _BUSY else "info"


def _spread(facts: Facts, case: _Case) -> Draft:
    top = [hot for hot in case.hots if hot.data.frame.own][:3]
    places = ", ".join(f"{hot.data.frame.place()} {hot.data.share:.0%}" for hot in top)
    return Draft(
        severity="info",
        summary=f"{_bound(facts, case)}, spread over many functions; the largest: {places}",
        evidence_ids=case.ids(*top),
        confidence="observed",
        weight=min(case.busy, 1.0) * top[0].data.share,
    )


def _foreign(facts: Facts, case: _Case) -> Draft:
    """No function of the user's own can be named: only what runs below is known."""
    best = case.hots[0]
    where = best.data.frame.module or "the runtime"
    return Draft(
        severity="info",
        summary=f"{_bound(facts, case)}: {best.data.share:.0%} of it in {best.data.frame.place()} of "
        f"{where.rsplit('/', 1)[-1].strip('[]')}, which is not the program's own code",
        evidence_ids=case.ids(best),
        confidence="observed",
        detail="Which line of the program causes it cannot be told from this profile.",
        weight=0.3 * min(case.busy, 1.0) * best.data.share,
    )


def _mostly_off_cpu(facts: Facts, case: _Case) -> Draft:
    return Draft(
        severity="info",
        summary=f"{_subject(facts, case.pid)} was mostly off CPU: it used {case.used:.0%} of a core",
        evidence_ids=case.ids(),
        confidence="observed",
        detail="What it waits for does not show in a CPU profile; time_budget tells.",
        next=("time_budget",),
    )


def _bound(facts: Facts, case: _Case) -> str:
    subject = _subject(facts, case.pid)
    if case.tid is not None and case.hots[0].data.thread:
        subject = f"thread {case.hots[0].data.thread} ({case.tid}) of {subject}"
    how = "is CPU-bound" if case.busy >= _BUSY else "uses CPU"
    waited = case.busy - case.used
    starved = f", and {waited:.0%} of the time waiting for one" if waited >= 0.1 else ""
    return f"{subject} {how} ({case.used:.0%} of a core{starved})"


def _via(hot: FrameHot) -> str:
    if hot.below and hot.share - hot.self_share >= _HALF * hot.share:
        return f", mostly through {hot.below[0]}"
    return ""


def _detail(best: Cited[FrameHot], others: Hots, how_to: str) -> str:
    said: list[str] = []
    if best.data.source:
        said.append(f"The line: {best.data.source}")
    if len(best.data.callers) > 1:
        said.append(f"Called by {' <- '.join(best.data.callers)}.")
    if best.data.below:
        said.append(f"Below it: {', '.join(best.data.below)}.")
    if others:
        rest = ", ".join(f"{hot.data.frame.place()} {hot.data.share:.0%}" for hot in others)
        said.append(f"Next: {rest}.")
    return " ".join([*said, how_to]).strip()


def _subject(facts: Facts, pid: int | None) -> str:
    """`python process 12`, with its command and whose descendant it is when it isn't the target."""
    cpu = _metric_of(facts, "cpu_share", pid)
    runtime = cpu.data.runtime if cpu and cpu.data.runtime not in (None, "unknown") else None
    name = f"{runtime} process {pid}" if runtime else f"process {pid}"
    for one in facts.of(Process):
        if one.data.pid == pid and one.data.target not in (None, pid):
            return (
                f"{name} ({one.data.cmdline or one.data.comm}, a descendant of {one.data.target})"
            )
    return name


def _cases(facts: Facts) -> Iterator[_Case]:
    cases: dict[tuple[int, int | None], _Case] = {}
    for hot in facts.of(FrameHot):
        if hot.data.scope == "cpu":
            key = (hot.data.pid, hot.data.tid)
            cases.setdefault(key, _Case(*key)).hots.append(hot)
    for metric in _metrics(facts, "cpu_share"):
        if metric.data.pid is not None:
            key = (metric.data.pid, metric.data.tid)
            if metric.data.tid is None:
                cases.setdefault(key, _Case(*key))
            if key in cases:
                cases[key].cpu = metric
                cases[key].wait = _metric_of(facts, "cpu_wait_share", *key)
    yield from cases.values()


def _metrics(facts: Facts, name: str) -> Iterator[Cited[Metric]]:
    yield from (metric for metric in facts.of(Metric) if metric.data.name == name)


def _metric_of(
    facts: Facts, name: str, pid: int | None, tid: int | None = None
) -> Cited[Metric] | None:
    """The metric of a process, or of one of its threads."""
    found = (m for m in _metrics(facts, name) if (m.data.pid, m.data.tid) == (pid, tid))
    return next(found, None)


RULES: tuple[Rule, ...] = (
    hot_functions,
    queries_in_loops,
    kernel_work,
    collectors,
    working_descendants,
)
