"""Rules over where the wall time of each thread went: what keeps it waiting, and what is fine."""

from dea.rules.draft import Rule
from dea.rules.waiting_host import disk, page_faults, starvation, stopped, throttling
from dea.rules.waiting_idle import busy, children, idle, sleepers
from dea.rules.waiting_locks import interpreter_lock, owned_locks, unowned_locks
from dea.rules.waiting_peers import answers, connections, file_locks, pipes, upstreams

RULES: tuple[Rule, ...] = (
    *(owned_locks, unowned_locks, interpreter_lock),
    *(answers, upstreams, connections, pipes, file_locks),
    *(disk, page_faults, throttling, starvation, stopped),
    *(idle, sleepers, children, busy),
)
