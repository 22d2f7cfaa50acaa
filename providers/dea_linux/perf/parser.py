"""From perf's samples to evidence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dea.backend import Observation, Parsed, Product
from dea.contracts.evidence import Fact
from dea.errors import BackendError
from dea.profile.clocks import CpuUse, cpu_facts, cpu_use
from dea.profile.evidence import hot_fact, skipped_fact
from dea.profile.family import process_facts
from dea.profile.flamegraph import flamegraph
from dea.profile.folded import fold
from dea.profile.hot import Hot, hot_frames, hot_frames_of_saturated
from dea.profile.stacks import NO_SYMBOLS, Sampled
from dea_linux.native_code import GENERATED, interpreters
from dea_linux.perf.lines import LINES, read_lines
from dea_linux.perf.script import Script, read_script
from dea_linux.perf.stacks import Program, stacks_of, without_symbols

SCRIPT = "script.txt"
BEFORE, AFTER = "cpu_before.txt", "cpu_after.txt"
_NOTABLE = 0.05


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when there is output and none of it can be read."""
    script = read_script(observation.text(SCRIPT))
    if script.skipped and not script.samples:
        raise BackendError(f"perf's output cannot be read, first line: {script.first_bad_line}")
    stacks = stacks_of(script.samples, program_of(observation.facts, observation.text(LINES)))
    uses = cpu_use(observation.text(BEFORE), observation.text(AFTER))
    return Parsed(
        facts=list(_facts(observation, script, stacks, uses)),
        limitations=list(_limitations(observation.facts, stacks)),
        products=list(_products(observation, stacks)),
    )


def program_of(noted: Mapping[str, Any], lines: str) -> Program:
    executables = {one["pid"]: one["executable"] for one in noted["family"]}
    return Program(executables, noted["runtime"], read_lines(lines, noted.get("asked", ())))


def hot_native_frames(stacks: Sequence[Sampled]) -> list[Hot]:
    """The hottest functions of each process; those without a name told by where they are."""
    return [_named(hot) for hot in hot_frames(stacks, "cpu")]


def _named(hot: Hot) -> Hot:
    callers = [caller for caller in hot.data.callers if caller != NO_SYMBOLS]
    update: dict[str, Any] = {"callers": callers}
    if hot.data.frame.function == NO_SYMBOLS:
        update |= {"frame": without_symbols(hot.data.frame), "lines": {}}
    return replace(hot, data=hot.data.model_copy(update=update))


def _facts(
    observation: Observation, script: Script, stacks: Sequence[Sampled], uses: Sequence[CpuUse]
) -> Iterator[Fact]:
    noted = observation.facts
    source: Mapping[str, str] = noted.get("source", {})
    of_threads = [_named(hot) for hot in hot_frames_of_saturated(stacks, uses)]
    for hot in [*hot_native_frames(stacks), *of_threads]:
        text = source.get(f"{hot.data.frame.file}:{hot.data.frame.line}")
        data = hot.data.model_copy(update={"source": text}) if text else hot.data
        yield hot_fact(replace(hot, data=data), SCRIPT, only_on_cpu=True)
    yield from cpu_facts(uses, noted["runtime"], AFTER)
    yield from process_facts(noted["family"], uses, noted["target_pid"], noted["runtime"])
    yield from skipped_fact(script.skipped, script.first_bad_line, SCRIPT)


def _products(observation: Observation, stacks: Sequence[Sampled]) -> Iterator[Product]:
    if stacks:
        total = sum(stack.samples for stack in stacks)
        title = f"CPU time of process {observation.pid}, {total} samples (perf)"
        yield Product("stacks.folded", "folded_stacks", fold(stacks))
        yield Product("flamegraph.svg", "flamegraph_svg", flamegraph(stacks, title))


def _limitations(noted: Mapping[str, Any], stacks: Sequence[Sampled]) -> Iterator[str]:
    total = sum(stack.samples for stack in stacks) or 1
    generated = sum(s.samples for s in stacks if s.frames and s.frames[0].module == GENERATED)
    nameless = sum(s.samples for s in stacks if s.frames and s.frames[0].function == NO_SYMBOLS)
    yield f"sampled {noted['rate_hz']} times a second of CPU time; deep stacks are cut at 8 KB"
    if generated > _NOTABLE * total:
        yield (
            f"{generated / total:.0%} of the samples are in code generated at run time (such as "
            "JIT code of node or java), which is not symbolised here"
        )
    if names := interpreters(one["executable"] for one in noted["family"]):
        yield f"perf shows the functions of the interpreter ({names}), not those of the program it runs"
    if nameless > _NOTABLE * total:
        yield f"{nameless / total:.0%} of the samples are in files without symbols: install their debug symbols"
    if noted["timed_out"]:
        yield "reading the stacks took too long, so only the first samples are used"
    if noted["left_out"]:
        yield f"{noted['left_out']} more processes were not sampled"
