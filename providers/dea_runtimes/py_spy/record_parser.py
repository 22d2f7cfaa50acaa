"""From a py-spy recording to evidence."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dea.backend import Observation, Parsed, Product
from dea.contracts.evidence import Fact
from dea.errors import BackendError
from dea.profile.clocks import CpuUse, cpu_facts, cpu_use
from dea.profile.evidence import hot_fact, skipped_fact, unreadable
from dea.profile.family import process_facts
from dea.profile.flamegraph import flamegraph
from dea.profile.hot import Hot
from dea.profile.stacks import Sampled
from dea_runtimes.py_spy.hot import hot_of_processes, hot_of_threads
from dea_runtimes.py_spy.native_ids import while_on_cpu, with_native_ids
from dea_runtimes.py_spy.raw_parser import RawStacks, read_raw
from dea_runtimes.py_spy.source import from_json

STACKS, FUNCTIONS = "stacks.folded", "functions.json"
BEFORE, AFTER = "cpu_before.txt", "cpu_after.txt"
_MANY_ERRORS = 0.05  # of the samples


def parse_cpu(observation: Observation) -> Parsed:
    """Raises BackendError when there is output and none of it can be read."""
    raw, noted = _read(observation), observation.facts
    uses = cpu_use(observation.text(BEFORE), observation.text(AFTER))
    stacks = while_on_cpu(raw.stacks, noted["native_ids"], uses, noted["rate_hz"])
    hots = hot_of_processes(stacks, from_json(observation.text(FUNCTIONS)), uses)
    return _parsed(observation, replace(raw, stacks=stacks), hots, "CPU time")


def parse_wall(observation: Observation) -> Parsed:
    """Raises BackendError when there is output and none of it can be read."""
    raw = _read(observation)
    stacks = with_native_ids(raw.stacks, observation.facts["native_ids"])
    hots = hot_of_threads(stacks, from_json(observation.text(FUNCTIONS)))
    return _parsed(observation, replace(raw, stacks=stacks), hots, "Wall clock time")


def _read(observation: Observation) -> RawStacks:
    raw = read_raw(observation.text(STACKS), observation.facts["root_pid"])
    if raw.skipped and not raw.stacks:
        raise BackendError(f"py-spy's output cannot be read, first line: {raw.first_bad_line}")
    return raw


def _parsed(observation: Observation, raw: RawStacks, hots: Sequence[Hot], what: str) -> Parsed:
    uses = cpu_use(observation.text(BEFORE), observation.text(AFTER))
    total = sum(stack.samples for stack in raw.stacks)
    title = f"{what} of process {observation.pid}, {total} samples (py-spy)"
    pictures = [Product("flamegraph.svg", "flamegraph_svg", flamegraph(raw.stacks, title))]
    return Parsed(
        facts=list(_facts(observation, raw, hots, uses)),
        limitations=list(_limitations(observation, raw.stacks)),
        products=pictures if raw.stacks else [],
    )


def _facts(
    observation: Observation, raw: RawStacks, hots: Sequence[Hot], uses: Sequence[CpuUse]
) -> Iterator[Fact]:
    noted = observation.facts
    for hot in hots:
        yield hot_fact(hot, STACKS)
    yield from cpu_facts(uses, "python", AFTER)
    yield from process_facts(noted["family"], uses, noted["target_pid"], "python")
    yield from skipped_fact(raw.skipped, raw.first_bad_line, STACKS)


def _limitations(observation: Observation, stacks: Sequence[Sampled]) -> Iterator[str]:
    noted = observation.facts
    total = sum(stack.samples for stack in stacks)
    yield (
        f"sampled {noted['rate_hz']} times a second without pausing the target, so a stack may be "
        "torn; time inside C extensions counts for the Python line that called them"
    )
    if noted["errors"] > _MANY_ERRORS * max(total, 1):
        yield f"py-spy could not read {noted['errors']} stacks besides {total} good ones"
    if noted["left_out"]:
        yield f"only process {noted['root_pid']}, the busiest, was sampled, not {noted['left_out']} others"
    if noted["native_ids"]:
        yield (
            "py-spy cannot tell here which threads wait (an old Python, or a container), so waiting "
            "at a line counts as running it as far as the thread's CPU time allows"
        )
    yield from unreadable(stacks)
