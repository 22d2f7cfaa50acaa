"""Rules over where the wall time of each thread went: what keeps it waiting, and what is fine."""

from collections.abc import Iterator

from dea.rules import monitors
from dea.rules.draft import Draft, Facts, Rule
from dea.rules.event_loop import blocked_loops, synchronous_calls
from dea.rules.waiting_host import disk, page_faults, starvation, stopped, throttling
from dea.rules.waiting_idle import busy, children, idle, sleepers
from dea.rules.waiting_locks import interpreter_lock, owned_locks, unowned_locks
from dea.rules.waiting_peers import answers, connections, file_locks, pipes, upstreams

_FAULTS: tuple[Rule, ...] = (
    *(blocked_loops, synchronous_calls, *monitors.RULES),
    *(owned_locks, unowned_locks, interpreter_lock),
    *(answers, upstreams, connections, pipes, file_locks),
    *(disk, page_faults, throttling, starvation, stopped),
)


def all_idle(facts: Facts) -> Iterator[Draft]:
    """That nothing happens is said only when none of the waits is a fault."""
    found = (draft for rule in _FAULTS for draft in rule(facts))
    if not any(draft.severity != "info" for draft in found):
        yield from idle(facts)


RULES: tuple[Rule, ...] = (*_FAULTS, all_idle, sleepers, children, busy)
