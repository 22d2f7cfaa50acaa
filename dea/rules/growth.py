"""What grows and does not stop: memory, descriptors, threads, children."""

from collections.abc import Iterator

from dea.rules.draft import Draft, Facts, Rule
from dea.rules.growth_counts import count_growth
from dea.rules.growth_descriptors import descriptor_growth, nearly_full
from dea.rules.growth_memory import memory_growth


def growth(facts: Facts) -> Iterator[Draft]:
    """Counted things first: when a descriptor or a thread leaks, its memory leaks with it."""
    counted = [*descriptor_growth(facts), *count_growth(facts)]
    for found in (*counted, *memory_growth(facts, counted)):
        yield found.draft


RULES: tuple[Rule, ...] = (growth, nearly_full)
