"""Locks that several threads want: who waits, who has them, and what the owner does meanwhile."""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from dea.contracts.data import LockWait
from dea.contracts.evidence import Fact
from dea_linux.threads.accounts import Account
from dea_linux.threads.stored import SAMPLES, Look, Stored
from dea_linux.threads.things import safe
from dea_linux.threads.waits import Waits

_MOST_LOCKS = 6
_LEAST_SHARE = 0.02


@dataclass
class Lock:
    """`owners` and `owner_does` count looks at waiters; `waiters` gives each one's wall share."""

    pid: int
    address: int
    owners: Counter[int] = field(default_factory=Counter[int])
    owner_does: Counter[str] = field(default_factory=Counter[str])
    waiters: dict[int, float] = field(default_factory=dict[int, float])
    wait_s: float = 0.0
    episodes: int = 0

    @property
    def owner(self) -> int:
        """Who had it most often, 0 when nobody is known."""
        return self.owners.most_common(1)[0][0] if self.owners else 0


def find_locks(stored: Stored, accounts: list[Account], waits: Waits) -> dict[int, Lock]:
    """Every lock by address: mutexes, and futexes that several threads of a process wait on."""
    locks: dict[int, Lock] = {}
    for account in accounts:
        thread = account.thread
        for share in account.shares:
            if share.wait.address:
                lock = locks.setdefault(share.wait.address, Lock(thread.pid, share.wait.address))
                lock.waiters[thread.tid] = lock.waiters.get(thread.tid, 0.0) + share.share
                lock.wait_s += share.share * thread.wall_ns / 1e9
                lock.episodes += share.episodes
    for account in accounts:
        _find_owners(account, stored, waits, locks)
    return locks


def _find_owners(account: Account, stored: Stored, waits: Waits, locks: dict[int, Lock]) -> None:
    pid = account.thread.pid
    for look in stored.looks.get(account.thread.tid, []):
        if not look.memory or look.number is None:
            continue
        wait = waits.wait(pid, look)
        if wait is None or wait.cause != "lock" or wait.address not in locks:
            continue
        lock, owner = locks[wait.address], waits.futex(pid, look).owner
        lock.owners[owner] += look.samples
        doing = _look_at(stored.looks.get(owner, []), (look.at_ms + look.until_ms) // 2)
        if doing:
            does = waits.wait(pid, doing)
            lock.owner_does[does.cause if does else "running"] += look.samples


def _look_at(looks: list[Look], at_ms: int) -> Look | None:
    index = bisect_right(looks, at_ms, key=lambda look: look.at_ms) - 1
    return looks[index] if index >= 0 else None


def lock_facts(stored: Stored, locks: dict[int, Lock], python_pids: set[int]) -> list[Fact]:
    """The most contended locks as evidence; without an owner only those that are surely locks."""
    wanted = [
        lock
        for lock in locks.values()
        if max(lock.waiters.values(), default=0.0) >= _LEAST_SHARE
        and (lock.owner or _is_shared_lock(lock, python_pids))
    ]
    wanted.sort(key=lambda lock: -lock.wait_s)
    return [_fact(stored, lock) for lock in wanted[:_MOST_LOCKS]]


def _is_shared_lock(lock: Lock, python_pids: set[int]) -> bool:
    """Python gives each waiter of a condition a lock of its own, so a shared one is a real lock."""
    return lock.pid in python_pids and len(lock.waiters) > 1 and lock.episodes > len(lock.waiters)


def _fact(stored: Stored, lock: Lock) -> Fact:
    kind = "pthread mutex" if lock.owner else "futex"
    share = sum(lock.waiters.values()) / len(lock.waiters)
    name = safe(stored.thread_name(lock.owner)) if lock.owner else None
    does = lock.owner_does.most_common(1)[0][0] if lock.owner_does else None
    data = LockWait(
        pid=lock.pid,
        lock=f"{kind} {lock.address:#x}",
        waiters=sorted(lock.waiters),
        wait_s=round(lock.wait_s, 3),
        share=round(share, 3),
        owner_tid=lock.owner or None,
        owner_thread=name,
        owner_state=does,
    )
    owner = f", owned by thread {lock.owner} ({name})" if lock.owner else ""
    count = len(lock.waiters)
    summary = (
        f"{f'{count} threads' if count > 1 else 'one thread'} of pid {lock.pid} waited {share:.0%} of "
        f"the time for {data.lock}{owner}"
    )
    lines = [thread.lines for thread in stored.threads if thread.tid in lock.waiters]
    return Fact(data, summary, SAMPLES, (lines[0][0], lines[0][1]) if lines else None)
