"""Says what a profile shows, in the words that are the same for every sampler."""

from collections.abc import Iterator, Sequence

from dea.contracts.data import Note
from dea.contracts.evidence import Fact
from dea.profile.hot import Hot
from dea.profile.stacks import Sampled

# Most samplers can't tell a thread on the CPU from one that is ready for it.
_WHEN = " (running or ready)"
_SCOPES = {"cpu": "", "wall": "wall clock ", "wait": "waiting "}


def hot_fact(hot: Hot, file: str, *, only_on_cpu: bool = False) -> Fact:
    """One hot frame; `only_on_cpu`: the sampler leaves out threads that wait for a CPU."""
    data = hot.data
    when = "" if data.scope != "cpu" else " (on the CPU)" if only_on_cpu else _WHEN
    whose = f"thread {data.thread}" if data.thread else f"process {data.pid}"
    caller = f", called from {data.callers[0]}" if data.callers else ""
    text = (
        f"{data.share:.0%} of {data.total_samples} {_SCOPES[data.scope]}samples of {whose}{when} "
        f"in {data.frame.place()}{caller}"
    )
    return Fact(data, text, file, hot.lines)


def skipped_fact(skipped: int, first_bad_line: str, file: str) -> Iterator[Fact]:
    """A note about what could not be read, if anything."""
    if skipped:
        text = f"{skipped} lines of the sampler's output could not be read"
        data = Note(text=text, skipped_lines=skipped, first_bad_line=first_bad_line)
        yield Fact(data, text, file)


def unreadable(stacks: Sequence[Sampled]) -> Iterator[str]:
    """A limitation when many samples hold no stack."""
    total = sum(stack.samples for stack in stacks)
    empty = sum(stack.samples for stack in stacks if not stack.frames)
    if empty > total * 0.02:
        yield f"{empty / total:.0%} of the samples hold no readable stack"
