"""Rules over Java's monitors and locks, as many thread dumps show them: who waits, and who holds."""

from collections.abc import Iterator

from dea.contracts.data import LockWait
from dea.contracts.finding import Severity
from dea.rules.draft import Cited, Draft, Facts, Rule

_NOTICED, _MUCH, _MOST = 0.1, 0.25, 0.7  # of the waiters' time
_SEVERAL = 2
# An owner that waits for clients or work with a lock held: workers take turns at it.
_TAKING_TURNS = frozenset({"accept", "poll"})
_DOES = {
    "running": "runs",
    "sleep": "sleeps",
    "disk": "waits for the disk",
    "receive": "waits for data from a socket",
    "connect": "waits for a connection",
    "lock": "waits for another lock",
    "futex": "waits for another thread",
    "accept": "waits for clients",
    "poll": "waits for events",
}
_CURES = {
    "running": "It computes with the lock held: compute outside of it, or split the lock.",
    "sleep": "It sleeps with the lock held: sleep after giving it back.",
    "receive": "It waits for a peer with the lock held: ask outside of the lock.",
    "connect": "It waits for a peer with the lock held: connect outside of the lock.",
    "disk": "It waits for the disk with the lock held: write outside of the lock.",
}


def contended(facts: Facts) -> Iterator[Draft]:
    """Threads that wait again and again for a lock which changes hands."""
    for lock in facts.of(LockWait):
        data = lock.data
        share = data.share or 0.0
        # What one owner holds all the time is told by the rule over locks with a proven owner.
        if data.owner_tid is None and data.lock.startswith("java ") and share >= _NOTICED:
            yield _contended(lock, share)


def _contended(lock: Cited[LockWait], share: float) -> Draft:
    data = lock.data
    loud = share >= _MUCH and data.owner_state not in _TAKING_TURNS
    severity: Severity = "info"
    if loud and len(data.waiters) >= _SEVERAL:
        severity = "high" if share >= _MOST else "warn"
    count = len(data.waiters)
    of = f"of process {data.pid}"
    who = f"{count} threads {of} wait" if count > 1 else f"thread {data.waiters[0]} {of} waits"
    held = f", held most often by {data.owner_thread}" if data.owner_thread else ""
    where = f" at {data.owner_place.place()}" if data.owner_place and held else ""
    does = _DOES.get(data.owner_state or "")
    meanwhile = f", which mostly {does} meanwhile" if does and held else ""
    return Draft(
        severity=severity,
        summary=f"{who} {share:.0%} of the time for {data.lock}{_at(data)}{held}{where}{meanwhile}",
        evidence_ids=[lock.id],
        confidence="observed",
        detail=_CURES.get(data.owner_state or "", ""),
        weight=share,
    )


def _at(lock: LockWait) -> str:
    return f" at {lock.place.place()}" if lock.place else ""


RULES: tuple[Rule, ...] = (contended,)
