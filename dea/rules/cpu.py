"""Rules over CPU profiles: which function burns the CPU, of which process, and doing what."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from dea.contracts.data import FrameHot, Metric
from dea.contracts.finding import Severity
from dea.rules.cpu_users import (
    BUSY,
    SOME,
    VERY_BUSY,
    collectors,
    kernel_work,
    metric_of,
    metrics,
    who,
    working_descendants,
)
from dea.rules.draft import Cited, Draft, Facts, Rule
from dea.rules.patterns import kind_of_work, repeated_query

FEWEST_SAMPLES = 30  # below that a share means nothing
_HALF, _MOST = 0.5, 0.75  # of the samples
_QUERY_SHARE = 0.3
_FINDINGS = 3
_BY_CHILDREN = 0.2  # of a core

Hots = Sequence[Cited[FrameHot]]


@dataclass
class _Case:
    """What is known about the CPU use of one process, or of one thread when `tid` is set."""

    pid: int
    tid: int | None = None
    cpu: Cited[Metric] | None = None
    wait: Cited[Metric] | None = None
    most_waited: float = 1.0  # what the samples of its threads allow
    hots: list[Cited[FrameHot]] = field(default_factory=list[Cited[FrameHot]])

    @property
    def used(self) -> float:
        return self.cpu.data.value if self.cpu else 0.0

    @property
    def busy(self) -> float:
        """What it used and would have used had a CPU been free, as share of one core."""
        return self.used + self.waited

    @property
    def waited(self) -> float:
        """One thread can wait only while it does not run, also when two looks measured the two."""
        wait = self.wait.data.value if self.wait else 0.0
        return min(wait, self.most_waited, max(0.0, 1.0 - self.used))

    @property
    def samples(self) -> int:
        return self.hots[0].data.total_samples if self.hots else 0

    def ids(self, *hots: Cited[FrameHot]) -> list[str]:
        shares = [metric.id for metric in (self.cpu, self.wait) if metric]
        return [*(hot.id for hot in hots), *shares]


def hot_functions(facts: Facts) -> Iterator[Draft]:
    """Where the CPU time of each busy process goes."""
    cases = sorted(_cases(facts), key=lambda case: -case.busy)
    by_place: dict[tuple[str, str | None], list[_Case]] = {}
    for case in [case for case in cases if case.busy >= SOME and case.samples >= FEWEST_SAMPLES]:
        top = case.hots[0].data.frame
        by_place.setdefault((top.function, top.file), []).append(case)
    for busiest, *alike in list(by_place.values())[:_FINDINGS]:
        yield _with_others(_explain(facts, busiest), [c for c in alike if c.pid != busiest.pid])
    if not by_place and cases and cases[0].cpu and not _works_through_children(facts, cases[0]):
        yield _mostly_off_cpu(facts, cases[0])


def queries_in_loops(facts: Facts) -> Iterator[Draft]:
    """Threads that spend their time, waiting or not, on one database statement per item."""
    by_place: dict[tuple[int, str, str | None], list[Cited[FrameHot]]] = {}
    for hot in facts.of(FrameHot):
        data = hot.data
        enough = data.share >= _QUERY_SHARE and data.total_samples >= FEWEST_SAMPLES
        if data.scope == "wall" and enough and repeated_query(data):
            key = (data.pid, data.frame.function, data.frame.file)
            by_place.setdefault(key, []).append(hot)
    bound = [case for case in _cases(facts) if case.busy >= BUSY and case.samples]
    told = {(case.pid, case.hots[0].data.frame.function) for case in bound}
    for (pid, function, _), hots in by_place.items():
        if (pid, function) not in told:  # that it is CPU-bound says the same and more
            yield _waits_for_queries(hots)


def _waits_for_queries(hots: Sequence[Cited[FrameHot]]) -> Draft:
    """The same in one or several threads of a process."""
    most = max(hots, key=lambda hot: hot.data.share)
    data, pattern = most.data, repeated_query(most.data)
    more = f" and {len(hots) - 1} more" if len(hots) > 1 else ""
    return Draft(
        severity="high" if data.share >= _MOST else "warn",
        summary=f"thread {data.thread or data.tid}{more} of process {data.pid} spends "
        f"{data.share:.0%} of its time in {data.frame.place()}, {pattern.phrase if pattern else ''}",
        evidence_ids=[hot.id for hot in hots],
        confidence="inferred",
        detail=_detail(most, [], pattern.how_to if pattern else ""),
        weight=data.share,
        next=("trace_syscalls",),
    )


def _explain(facts: Facts, case: _Case) -> Draft:
    best = case.hots[0]
    share = best.data.share
    if not best.data.frame.own or _is_nameless(best.data):
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


def _with_others(draft: Draft, alike: Sequence[_Case]) -> Draft:
    """The same place is hottest in other processes too, as in the workers of a server."""
    if not alike:
        return draft
    pids = ", ".join(str(case.pid) for case in alike[:6])
    ids = [*draft.evidence_ids, *(name for case in alike for name in case.ids(case.hots[0]))]
    more = f"{draft.summary}; likewise in {len(alike)} more (pid {pids})"
    return replace(draft, summary=more, evidence_ids=ids)


def _severity(case: _Case, hot: FrameHot) -> Severity:
    if case.busy >= VERY_BUSY and hot.share >= _MOST:
        return "high"
    return "warn" if case.busy >= BUSY else "info"


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
    where = (best.data.frame.module or "the runtime").rsplit("/", 1)[-1].strip("[]")
    cure = "Which line of the program causes it cannot be told from this profile."
    if _is_nameless(best.data):
        near = f"hottest near {best.data.frame.function}"
        why = f"in {where}, which has no symbols ({near}){_via(best.data)}"
        cure = "Install its debug symbols to see which function that is."
    elif best.data.frame.module == "[generated]":
        why = f"in {best.data.frame.function}, which has no names here"
    else:
        why = f"in {best.data.frame.place()} of {where}, which is not the program's own code"
    return Draft(
        severity="info",
        summary=f"{_bound(facts, case)}: {best.data.share:.0%} of it {why}",
        evidence_ids=case.ids(best),
        confidence="observed",
        detail=_detail(best, case.hots[1:3], cure),
        weight=0.3 * min(case.busy, 1.0) * best.data.share,
    )


def _is_nameless(hot: FrameHot) -> bool:
    """A place in a stripped file is told as `file+0x123`."""
    module = (hot.frame.module or "").rsplit("/", 1)[-1]
    return hot.frame.file is None and hot.frame.function.startswith(f"{module}+0x")


def _works_through_children(facts: Facts, case: _Case) -> bool:
    """Its work is in commands that end too soon to be sampled, so it is not idle."""
    used = metric_of(facts, "ended_children_cpu", case.pid)
    return used is not None and used.data.value >= _BY_CHILDREN


def _mostly_off_cpu(facts: Facts, case: _Case) -> Draft:
    subject = who(facts, case.pid)
    if case.busy < SOME:
        summary = f"{subject} was mostly off CPU: it used {case.used:.0%} of a core"
        detail = "What it waits for does not show in a CPU profile; time_budget tells."
    else:
        summary = f"{_bound(facts, case)}, but {case.samples} samples are too few to say where"
        detail = "Profile for longer."
    return Draft(
        severity="info",
        summary=summary,
        evidence_ids=case.ids(),
        confidence="observed",
        detail=detail,
        next=("time_budget",),
    )


def _bound(facts: Facts, case: _Case) -> str:
    subject = who(facts, case.pid)
    if case.tid is not None and case.hots[0].data.thread:
        subject = f"thread {case.hots[0].data.thread} ({case.tid}) of {subject}"
    how = "is CPU-bound" if case.busy >= BUSY else "uses CPU"
    starved = f", kept waiting for another {case.waited:.0%}" if case.waited >= 0.1 else ""
    return f"{subject} {how} ({case.used:.0%} of a core{starved})"


def _via(hot: FrameHot) -> str:
    if hot.below and hot.share - hot.self_share >= _HALF * hot.share:
        return f", mostly through {hot.below[0]}"
    return ""


def _detail(best: Cited[FrameHot], others: Hots, how_to: str) -> str:
    said: list[str] = []
    if best.data.source:
        said.append(f"The line is `{best.data.source}`.")
    if len(best.data.callers) > 1:
        said.append(f"Called by {' <- '.join(best.data.callers)}.")
    if best.data.below:
        said.append(f"Below it: {', '.join(best.data.below)}.")
    if others:
        rest = ", ".join(f"{hot.data.frame.place()} {hot.data.share:.0%}" for hot in others)
        said.append(f"Next: {rest}.")
    return " ".join([*said, how_to]).strip()


def _cases(facts: Facts) -> Iterator[_Case]:
    cases: dict[tuple[int, int | None], _Case] = {}
    for hot in facts.of(FrameHot):
        if hot.data.scope == "cpu":
            key = (hot.data.pid, hot.data.tid)
            cases.setdefault(key, _Case(*key)).hots.append(hot)
    for metric in metrics(facts, "cpu_share"):
        if metric.data.pid is not None:
            key = (metric.data.pid, metric.data.tid)
            if metric.data.tid is None:
                cases.setdefault(key, _Case(*key))
            if key in cases:
                cases[key].cpu = metric
                cases[key].wait = metric_of(facts, "cpu_wait_share", *key)
    for case in cases.values():
        case.most_waited = _most_waited(facts, case)
    yield from cases.values()


def _most_waited(facts: Facts, case: _Case) -> float:
    """How much of the time a thread of it was seen ready without a CPU, when threads were sampled."""
    ready = [
        sum(part.share for part in metric.data.parts if part.cause in ("runnable", "throttled"))
        for metric in metrics(facts, "thread_time")
        if metric.data.pid == case.pid and case.tid in (None, metric.data.tid)
    ]
    return max(ready, default=1.0)


RULES: tuple[Rule, ...] = (
    hot_functions,
    queries_in_loops,
    kernel_work,
    collectors,
    working_descendants,
)
