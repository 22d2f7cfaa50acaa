"""From many thread dumps to hot methods, locks that threads wait for, and what the JVM itself uses."""

from collections.abc import Iterator, Sequence

from dea.backend import Observation, Parsed, Product
from dea.contracts.data import Stack
from dea.contracts.evidence import Fact
from dea.profile.clocks import CpuUse, cpu_facts, cpu_use
from dea.profile.evidence import hot_fact, skipped_fact
from dea.profile.family import process_facts
from dea.profile.flamegraph import flamegraph
from dea.profile.folded import fold
from dea.profile.hot import Hot, hot_frames, hot_frames_by_thread, hot_frames_of_saturated
from dea.profile.pictures import stack_facts
from dea.profile.stacks import Sampled, merged
from dea_runtimes.jvm.contention import window_facts
from dea_runtimes.jvm.machine_work import machine_facts
from dea_runtimes.jvm.series import Series, read_series
from dea_runtimes.jvm.threads_parser import LEFT_BEHIND, picture
from dea_runtimes.jvm.weights import in_wall_time, on_cpu

BEFORE, AFTER, FOLDED = "cpu_before.txt", "cpu_after.txt", "stacks.folded"
_THREADS, _PER_THREAD, _LEAST_SHARE = 16, 2, 0.08
_IN_LIBRARIES = 3  # threads with no code of the user's own that are told, such as idle workers
_STUCK = 8  # threads in deadlocks
_UNSEEN = 0.1  # of the CPU time
_PAUSED = 0.05  # of the window
_FEW = 20  # dumps


def dumps_file(pid: int) -> str:
    return f"dumps.{pid}.txt"


def looks_file(pid: int) -> str:
    return f"looks.{pid}.json"


def parse_cpu(observation: Observation) -> Parsed:
    """Raises BackendError when no dump shows a thread."""
    series = _series(observation)
    uses = _uses(observation)
    stacks = merged(sample for one in series for sample in on_cpu(one))
    hots = [*hot_frames(stacks, "cpu"), *hot_frames_of_saturated(stacks, uses)]
    facts = [
        *(hot_fact(hot, dumps_file(hot.data.pid)) for hot in hots),
        *cpu_facts(uses, "java", AFTER),
        *machine_facts(uses, AFTER),
        *_common_facts(observation, series, uses),
    ]
    return Parsed(
        facts,
        [*_cpu_limitations(stacks), *_limitations(observation, series)],
        _pictures(stacks, f"CPU time of process {observation.pid} (thread dumps)"),
    )


def parse_wall(observation: Observation) -> Parsed:
    """Raises BackendError when no dump shows a thread."""
    series = _series(observation)
    stacks = merged(sample for one in series for sample in in_wall_time(one))
    facts = [
        *(hot_fact(hot, dumps_file(hot.data.pid)) for hot in _hot_of_threads(stacks)),
        *(fact for one in series for fact in window_facts(one, dumps_file(one.pid))),
        *(fact for one in series for fact in _stuck(one)),
        *_common_facts(observation, series, _uses(observation)),
    ]
    return Parsed(
        facts,
        list(_limitations(observation, series)),
        _pictures(stacks, f"Wall clock time of process {observation.pid} (thread dumps)"),
    )


def _series(observation: Observation) -> list[Series]:
    found: list[Series] = []
    for pid in observation.facts["pids"]:
        looks = observation.text(looks_file(pid))
        if looks not in ("", "[]"):
            tids = dict(observation.facts["tids"][str(pid)])
            found.append(read_series(pid, observation.text(dumps_file(pid)), looks, tids))
    return found


def _uses(observation: Observation) -> list[CpuUse]:
    return cpu_use(observation.text(BEFORE), observation.text(AFTER))


def _hot_of_threads(stacks: Sequence[Sampled]) -> list[Hot]:
    """Where each thread spent its time, waiting or not; threads in the user's own code first."""
    by_thread: dict[tuple[int, int | None], list[Hot]] = {}
    for hot in hot_frames_by_thread(stacks, "wall", top=_PER_THREAD):
        if hot.data.share >= _LEAST_SHARE:
            by_thread.setdefault((hot.data.pid, hot.data.tid), []).append(hot)
    own = [hots for hots in by_thread.values() if any(hot.data.frame.own for hot in hots)]
    rest = [hots for hots in by_thread.values() if hots not in own]
    chosen = [*own, *rest[:_IN_LIBRARIES]][:_THREADS]
    return [hot for hots in chosen for hot in hots]


def _stuck(series: Series) -> Iterator[Fact]:
    """The stacks of threads in deadlocks, as they were in the last dump."""
    moment = series.moments[-1]
    names = {name for name, _, _ in moment.dump.circles}
    stuck = [thread for thread in moment.dump.threads if thread.name in names][:_STUCK]
    pictures = [picture(series.pid, thread, moment) for thread in stuck]
    facts = stack_facts(series.pid, pictures, dumps_file(series.pid))
    yield from (fact for fact in facts if isinstance(fact.data, Stack))


def _common_facts(
    observation: Observation, series: Sequence[Series], uses: Sequence[CpuUse]
) -> Iterator[Fact]:
    noted = observation.facts
    yield from process_facts(noted["family"], uses, noted["target_pid"], "java")
    for one in series:
        dumps = [moment.dump for moment in one.moments]
        first = next((dump.first_bad_line for dump in dumps if dump.skipped), "")
        yield from skipped_fact(sum(dump.skipped for dump in dumps), first, dumps_file(one.pid))


def _pictures(stacks: Sequence[Sampled], title: str) -> list[Product]:
    if not stacks:
        return []
    return [
        Product(FOLDED, "folded_stacks", fold(stacks)),
        Product("flamegraph.svg", "flamegraph_svg", flamegraph(stacks, title)),
    ]


def _cpu_limitations(stacks: Sequence[Sampled]) -> Iterator[str]:
    yield (
        "a stack counts by the CPU time that its thread used around the dump, one sample per 10 ms; "
        "stacks are those of safepoints, so a tight loop may count for the next safepoint after it, "
        "and inlined methods for their callers"
    )
    total = sum(stack.samples for stack in stacks)
    unseen = sum(stack.samples for stack in stacks if not stack.frames)
    if unseen > _UNSEEN * total:
        yield f"for {unseen / total:.0%} of the CPU time no dump shows the thread running"


def _limitations(observation: Observation, series: Sequence[Series]) -> Iterator[str]:
    noted = observation.facts
    for one in series:
        count = len(one.moments)
        longest_ms = 1000 * max(moment.took_s for moment in one.moments)
        few = ", too few for small shares" if count < _FEW else ""
        yield (
            f"{count} thread dumps of process {one.pid}{few}; each took at most {longest_ms:.0f} ms, "
            f"all {one.pause_share:.1%} of the time, for part of which its Java threads stood still"
        )
    yield LEFT_BEHIND
    yield "virtual threads that wait do not show"
    yield from (f"not all processes could be looked at: {failure}" for failure in noted["failures"])
    if noted["left_out"]:
        yield f"{noted['left_out']} more processes were not looked at"
