"""Threads, children and ended children that become more and more."""

from collections.abc import Iterator

from dea.contracts.data import StackSummary
from dea.contracts.quantities import in_figures
from dea.rules.draft import Draft, Facts
from dea.rules.series import Grown, Growth, growing, is_load

_FEWEST = 3


def count_growth(facts: Facts) -> Iterator[Grown]:
    """One conclusion for each process and kind that grows."""
    for growth in _material(facts, "threads"):
        yield Grown(growth.series.pid, _threads(growth, facts))
    zombies = {growth.series.pid: growth for growth in _material(facts, "zombies")}
    for growth in zombies.values():
        yield Grown(growth.series.pid, _zombies(growth))
    for growth in _material(facts, "children"):
        if growth.series.pid not in zombies:
            yield Grown(growth.series.pid, _children(growth, facts))


def _material(facts: Facts, name: str) -> Iterator[Growth]:
    for growth in growing(facts, name):
        if growth.series.last - growth.series.first >= _FEWEST:
            yield growth


def _threads(growth: Growth, facts: Facts) -> Draft:
    series = growth.series
    clients = is_load(facts, series.pid, growth.amount)
    stacks, doing = _most_alike(facts, series.pid)
    return Draft(
        "info" if clients else "warn",
        f"threads of process {series.pid} grow {growth.rate()}: {_from_to(growth)}{doing}"
        + (", one for each client that connects" if clients else ""),
        [growth.cited.id, *stacks, *clients],
        "observed",
        "A pool that fills up stops at its size; this did not stop while it was watched. Each "
        "thread keeps its stack and whatever it refers to.",
        weight=1.0,
        next=("dump_stacks",),
    )


def _most_alike(facts: Facts, pid: int) -> tuple[list[str], str]:
    """What most threads are doing, where their stacks were taken."""
    for cited in facts.of(StackSummary):
        if cited.data.pid != pid or not cited.data.groups:
            continue
        group = max(cited.data.groups, key=lambda group: group.threads)
        frame = next((frame for frame in group.frames if frame.own), None)
        if frame is not None and group.threads >= _FEWEST:
            return [cited.id], f"; {group.threads} of them are in {frame.place()}"
    return [], ""


def _zombies(growth: Growth) -> Draft:
    series = growth.series
    return Draft(
        "warn",
        f"process {series.pid} does not wait for its children: {in_figures(series.last)} have "
        f"ended and are kept as zombies, {growth.rate()} more",
        [growth.cited.id],
        "observed",
        "Each keeps its pid until the parent calls wait; in the end no process can be started.",
        weight=1.0,
        next=("dump_stacks",),
    )


def _children(growth: Growth, facts: Facts) -> Draft:
    series = growth.series
    clients = is_load(facts, series.pid, growth.amount)
    return Draft(
        "info" if clients else "warn",
        f"children of process {series.pid} grow {growth.rate()}: {_from_to(growth)}"
        + (", one for each client that connects" if clients else ""),
        [growth.cited.id, *clients],
        "observed",
        "It starts processes faster than they end.",
        weight=1.0,
        next=("list_processes",),
    )


def _from_to(growth: Growth) -> str:
    first, last = in_figures(growth.series.first), in_figures(growth.series.last)
    return f"{first} to {last} in {growth.window_s:.1f} s"
