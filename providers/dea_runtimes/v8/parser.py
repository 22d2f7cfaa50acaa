"""From looks at JavaScript stacks to evidence."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dea.backend import Observation, Parsed, Product
from dea.contracts.data import Metric, Stack
from dea.contracts.evidence import Fact
from dea.errors import BackendError
from dea.profile.clocks import CpuUse, cpu_facts, cpu_use
from dea.profile.evidence import hot_fact, skipped_fact, unreadable
from dea.profile.family import process_facts
from dea.profile.flamegraph import flamegraph
from dea.profile.folded import fold
from dea.profile.hot import Hot, hot_frames, hot_frames_by_thread, hot_frames_of_saturated
from dea.profile.pictures import Picture, stack_facts
from dea.profile.stacks import Sampled, merged, said
from dea_runtimes.v8.frames import COLLECTOR, EVENT_LOOP, TOP_LEVEL
from dea_runtimes.v8.records import AFTER, BEFORE, STACKS, Looked, Looks, read_looks

_PER_THREAD, _LEAST_SHARE = 2, 0.08
_INLINED = 4
_LEAST_COLLECTED = 0.05


def parse_cpu(observation: Observation) -> Parsed:
    """Raises BackendError when the records cannot be read."""
    looks = read_looks(observation)
    stacks = merged(looked.stack for looked in looks.stacks if looked.state == "R")
    uses = cpu_use(observation.text(BEFORE), observation.text(AFTER))
    hots = [*hot_frames(stacks, "cpu"), *hot_frames_of_saturated(stacks, uses)]
    hots = [_with_inlined(hot, looks) for hot in hots]
    facts = [*_facts(observation, looks, hots, uses), *_collected(stacks)]
    return _parsed(observation, looks, stacks, facts, "CPU time")


def parse_wall(observation: Observation) -> Parsed:
    """Raises BackendError when the records cannot be read."""
    looks = read_looks(observation)
    stacks = merged(looked.stack for looked in looks.stacks)
    hots = hot_frames_by_thread(stacks, "wall", top=_PER_THREAD)
    hots = [_in_loop(hot) for hot in hots if hot.data.share >= _LEAST_SHARE]
    uses = cpu_use(observation.text(BEFORE), observation.text(AFTER))
    facts = list(_facts(observation, looks, hots, uses))
    return _parsed(observation, looks, stacks, facts, "Wall clock time")


def parse_dump(observation: Observation) -> Parsed:
    """Raises BackendError when the records cannot be read, or no thread was seen."""
    looks = read_looks(observation)
    if not looks.stacks:
        raise BackendError("could not look: no thread that runs JavaScript could be seen")
    facts: list[Fact] = []
    for pid in observation.facts["pids"]:
        pictures = [_picture(looked) for looked in looks.stacks if looked.stack.pid == pid]
        if pictures:
            facts += stack_facts(pid, pictures, STACKS)
    facts += skipped_fact(len(looks.bad), said(looks.bad[0]) if looks.bad else "", STACKS)
    told = ["one moment only; threads that run no JavaScript (of libuv, of V8) are not shown"]
    return Parsed(facts, [*told, *_limitations(observation, looks)])


def _picture(looked: Looked) -> Picture:
    stack = looked.stack
    data = Stack(
        pid=stack.pid,
        tid=stack.tid or stack.pid,
        thread=stack.thread,
        frames=list(stack.frames),
        state=looked.state,
        on_cpu=looked.state == "R",
    )
    return Picture(data, stack.lines)


def _parsed(
    observation: Observation,
    looks: Looks,
    stacks: Sequence[Sampled],
    facts: Sequence[Fact],
    what: str,
) -> Parsed:
    total = sum(stack.samples for stack in stacks)
    title = f"{what} of process {observation.pid}, {total} samples of JavaScript stacks"
    pictures = [
        Product("flamegraph.svg", "flamegraph_svg", flamegraph(stacks, title)),
        Product("stacks.folded", "folded_stacks", fold(stacks)),
    ]
    rate = (
        f"sampled {observation.facts['rate_hz']} times a second, only threads that run JavaScript; "
        "one that is ready but has no CPU counts as running"
    )
    return Parsed(
        facts,
        [rate, *_limitations(observation, looks), *unreadable(stacks)],
        pictures if stacks else [],
    )


def _with_inlined(hot: Hot, looks: Looks) -> Hot:
    """The functions compiled into a hot one count for it, so they are told with it."""
    names = [f"{name} (compiled into it)" for name in looks.inlined.get(hot.data.frame, [])]
    below = [*hot.data.below, *names[:_INLINED]]
    return replace(hot, data=hot.data.model_copy(update={"below": below}))


def _in_loop(hot: Hot) -> Hot:
    """Callbacks run from the thread's event loop, which goes on only when they return.

    A script's own top level is another matter: nothing else need be going on while it runs.
    """
    if not hot.data.frame.own or any(frame.function == TOP_LEVEL for frame in hot.chain):
        return hot
    return replace(hot, data=hot.data.model_copy(update={"event_loop": EVENT_LOOP}))


def _facts(
    observation: Observation, looks: Looks, hots: Sequence[Hot], uses: Sequence[CpuUse]
) -> Iterator[Fact]:
    noted = observation.facts
    yield from (hot_fact(hot, STACKS) for hot in hots)
    yield from cpu_facts(uses, "node", AFTER)
    yield from process_facts(noted["family"], uses, noted["target_pid"], "node")
    yield from skipped_fact(len(looks.bad), said(looks.bad[0]) if looks.bad else "", STACKS)


def _collected(stacks: Sequence[Sampled]) -> Iterator[Fact]:
    """The collector's part of the main thread's CPU time; its helpers run in threads of their own."""
    for pid in dict.fromkeys(stack.pid for stack in stacks):
        own = [stack for stack in stacks if stack.pid == pid]
        total = sum(stack.samples for stack in own)
        inside = [stack for stack in own if stack.frames[:1] and _collects(stack)]
        share = sum(stack.samples for stack in inside) / max(total, 1)
        if share >= _LEAST_COLLECTED:
            text = f"{share:.0%} of the samples of process {pid} were in V8's garbage collector"
            data = Metric(name="gc_share", value=round(share, 4), unit="", pid=pid, runtime="node")
            yield Fact(data, text, STACKS, inside[0].lines)


def _collects(stack: Sampled) -> bool:
    return stack.frames[0].function == COLLECTOR


def _limitations(observation: Observation, looks: Looks) -> Iterator[str]:
    for process in looks.processes:
        if process["stops"]:
            yield (
                f"process {process['pid']} was held {process['stops']} times, for "
                f"{process['held_us_median'] / 1000:.1f} ms at the median and "
                f"{process['held_us_max'] / 1000:.1f} ms at the longest"
            )
        if process["unnamed"]:
            yield f"{process['unnamed']} frames of process {process['pid']} did not pass the checks"
        if process["cut"]:
            yield f"{process['cut']} stacks of process {process['pid']} were too deep to be followed"
    yield (
        "lines are where a function begins; one that V8 compiled into its caller counts for the "
        "caller"
    )
    for refused in looks.refused:
        yield f"could not look at process {refused['pid']}: {said(str(refused['reason']), 200)}"
    if observation.facts["left_out"]:
        yield f"{observation.facts['left_out']} more processes were not looked at"
