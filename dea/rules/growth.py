"""What grows and does not stop: memory, descriptors, threads, children."""

from collections.abc import Iterator

from dea.rules.draft import Draft, Facts, Rule
from dea.rules.growth_counts import count_growth
from dea.rules.growth_descriptors import descriptor_growth, nearly_full
from dea.rules.growth_memory import memory_growth
from dea.rules.growth_unclear import still, unclear


def growth(facts: Facts) -> Iterator[Draft]:
    """Counted things first: when a descriptor or a thread leaks, its memory leaks with it."""
    counted = [*descriptor_growth(facts), *count_growth(facts)]
    found = [*counted, *memory_growth(facts, counted)]
    yield from (grown.draft for grown in found)
    yield from unclear(facts, found)


def nothing_grew(facts: Facts) -> Iterator[Draft]:
    """For a tool that was asked alone: its answer when there is no other."""
    if not list(growth(facts)):
        yield from still(facts)


RULES: tuple[Rule, ...] = (growth, nearly_full)
ALONE: tuple[Rule, ...] = (*RULES, nothing_grew)
