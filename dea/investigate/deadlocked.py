"""What a proven deadlock makes needless to say: the same waits, seen once more by other rules."""

from collections.abc import Mapping, Sequence

from dea.contracts.data import FrameHot, LockWait, Metric, Stack
from dea.contracts.evidence import Evidence
from dea.rules.draft import Draft

Thread = tuple[int, int]  # pid and tid


def proven_first(drafts: Sequence[Draft], evidence: Sequence[Evidence]) -> list[Draft]:
    """Deadlocks that the locks themselves prove, then what is not about their threads."""
    by_id = {item.id: item for item in evidence}
    proven = [draft for draft in drafts if _is_circle(_locks(draft, by_id))]
    stuck = {thread for draft in proven for thread in _waiters(_locks(draft, by_id))}
    others = [draft for draft in drafts if draft not in proven]
    return [*proven, *(draft for draft in others if not _is_covered(draft, stuck, by_id))]


def _is_circle(locks: Sequence[LockWait]) -> bool:
    """Every owner waits for a lock of the circle itself."""
    owners = {(lock.pid, lock.owner_tid) for lock in locks}
    return bool(locks) and owners <= _waiters(locks)


def _waiters(locks: Sequence[LockWait]) -> set[Thread]:
    return {(lock.pid, tid) for lock in locks for tid in lock.waiters}


def _is_covered(draft: Draft, stuck: set[Thread], by_id: Mapping[str, Evidence]) -> bool:
    """A remark that is also about stuck threads, or a finding about nothing else."""
    threads = {
        thread for name in draft.evidence_ids if name in by_id for thread in _threads(by_id[name])
    }
    return bool(threads & stuck if draft.severity == "info" else threads and threads <= stuck)


def _threads(item: Evidence) -> set[Thread]:
    data = item.data
    if isinstance(data, LockWait):
        owner = {(data.pid, data.owner_tid)} if data.owner_tid else set[Thread]()
        return _waiters([data]) | owner
    if isinstance(data, Stack | FrameHot | Metric) and data.pid and data.tid:
        return {(data.pid, data.tid)}
    return set()


def _locks(draft: Draft, by_id: Mapping[str, Evidence]) -> list[LockWait]:
    cited = (by_id[name].data for name in draft.evidence_ids if name in by_id)
    return [data for data in cited if isinstance(data, LockWait)]
