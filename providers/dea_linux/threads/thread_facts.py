"""Evidence about threads: one metric for each that matters, the others of a process summed up."""

from collections import defaultdict
from collections.abc import Iterable

from dea.contracts.data import Cause, Metric, Part
from dea.contracts.evidence import Fact
from dea_linux.threads.accounts import Account, Share
from dea_linux.threads.contention import Lock
from dea_linux.threads.stored import SAMPLES, Stored
from dea_linux.threads.things import safe
from dea_linux.threads.traffic import TrafficLog

_MOST_GROUPS = 6
_MOST_OF_WINDOW = 0.5
_SINGLE_LOOK = 2  # samples: one more when the processes at other ends have been found
_FEW = 4  # threads of one process that are all listed, idle or not
_BUSY_CAUSES: tuple[Cause, ...] = (
    "cpu_user",
    "cpu_kernel",
    "runnable",
    "throttled",
    "lock",
    "gil",
    "disk",
)


class ThreadFacts:
    """Makes evidence of accounts."""

    def __init__(self, stored: Stored, locks: dict[int, Lock], runtimes: dict[int, str]) -> None:
        self._stored = stored
        self._locks = locks
        self._runtimes = runtimes
        self._traffic = TrafficLog(stored)

    def family(self, accounts: Iterable[Account], name: str, most: int) -> list[Fact]:
        """The threads that matter most, then what is left of each process.

        Threads that lived for a part of the window only are never listed on their own.
        """
        listed: list[Account] = []
        rest: list[Account] = []
        for account in sorted(accounts, key=_interest, reverse=True):
            of_process = [one for one in listed if one.thread.pid == account.thread.pid]
            matters = _interest(account) >= 0.05 or len(of_process) < _FEW
            chosen = len(listed) < most and matters and not self._is_short(account)
            (listed if chosen else rest).append(account)
        known = {account.thread.pid for account in listed}
        groups: dict[int, list[Account]] = defaultdict(list)
        for account in rest:
            groups[account.thread.pid if account.thread.pid in known else 0].append(account)
        largest = sorted(groups.items(), key=lambda item: -len(item[1]))[:_MOST_GROUPS]
        return [
            *(self.of_thread(account, name) for account in listed),
            *(self._of_group(pid, group, name) for pid, group in largest),
        ]

    def _is_short(self, account: Account) -> bool:
        """Of a single look nothing is: how long that took says more about the host."""
        if int(self._stored.facts["samples"]) <= _SINGLE_LOOK:
            return False
        window_s = float(self._stored.facts["window_s"])
        return account.thread.wall_ns / 1e9 < _MOST_OF_WINDOW * window_s

    def of_thread(self, account: Account, name: str) -> Fact:
        thread = account.thread
        parts = [self._part(share) for share in account.shares]
        data = Metric(
            name=name,
            value=round(thread.wall_ns / 1e9, 3),
            unit="s",
            pid=thread.pid,
            tid=thread.tid,
            thread=safe(thread.name),
            runtime=self._runtimes.get(thread.pid),
            parts=parts,
        )
        who = f"pid {thread.pid}" if thread.tid == thread.pid else f"{thread.tid} of {thread.pid}"
        summary = f"{data.thread} ({who}): {described(parts)}"
        lines = thread.lines if thread.lines[0] <= thread.lines[1] else None
        return Fact(data, summary, SAMPLES, lines)

    def _of_group(self, pid: int, group: list[Account], name: str) -> Fact:
        wall = max(1, sum(account.thread.wall_ns for account in group))
        sums: dict[tuple[str, str | None], list[tuple[float, Share]]] = defaultdict(list)
        for account in group:
            for share in account.shares:
                weight = share.share * account.thread.wall_ns / wall
                sums[share.wait.cause, share.wait.syscall].append((weight, share))
        parts = [_joined(shares) for shares in sums.values()]
        parts = [part for part in sorted(parts, key=lambda p: -p.share) if part.share >= 0.001]
        title = _group_title(pid, group)
        data = Metric(
            name=name,
            value=round(wall / 1e9 / len(group), 3),
            unit="s",
            pid=pid or None,
            thread=title,
            runtime=self._runtimes.get(pid),
            parts=parts,
        )
        owner = f" of pid {pid}" if pid else ""
        return Fact(data, f"{title}{owner}: {described(parts)}", SAMPLES)

    def _part(self, share: Share) -> Part:
        wait = share.wait
        is_wait = share.samples > 0
        traffic = self._traffic.of(wait.inodes) if wait.inodes else None
        return Part(
            cause=wait.cause,
            share=share.share,
            syscall=wait.syscall,
            object=self._object(share),
            role=wait.role,
            longest_s=round(share.longest_ms / 1000, 3) if is_wait else None,
            episodes=share.episodes if is_wait else None,
            peer_pids=list(wait.peer_pids),
            sent_bytes=traffic.sent_bytes if traffic else None,
            received_bytes=traffic.received_bytes if traffic else None,
            unanswered=traffic.unanswered if traffic else None,
            unanswered_s=traffic.unanswered_s if traffic else None,
        )

    def _object(self, share: Share) -> str | None:
        lock = self._locks.get(share.wait.address)
        if share.wait.cause != "lock" or lock is None or not lock.owner:
            return share.wait.object
        name = safe(self._stored.thread_name(lock.owner))
        return f"{share.wait.object} owned by tid {lock.owner} ({name})"


def _interest(account: Account) -> float:
    """Main threads, and those that work or wait for what others should give up; then listeners."""
    thread = account.thread
    per_s = thread.switches / max(thread.wall_ns / 1e9, 0.001)
    is_main = 0.5 if thread.tid == thread.pid else 0.0
    serves = 0.05 if any(share.wait.role == "listen" for share in account.shares) else 0.0
    return is_main + serves + account.of(*_BUSY_CAUSES) + min(0.5, per_s / 40)


def _group_title(pid: int, group: list[Account]) -> str:
    """`5 other threads`, or for pid 0 `9 short-lived or idle processes (sleep, sed)`."""
    if pid:
        return f"{len(group)} other threads" if len(group) > 1 else safe(group[0].thread.name)
    names = dict.fromkeys(safe(account.thread.name) for account in group)
    pids = {account.thread.pid for account in group}
    return f"{len(pids)} short-lived or idle processes ({', '.join(list(names)[:3])})"


def _joined(shares: list[tuple[float, Share]]) -> Part:
    objects = {share.wait.object for _, share in shares}
    first = shares[0][1].wait
    return Part(
        cause=first.cause,
        share=round(sum(weight for weight, _ in shares), 3),
        syscall=first.syscall,
        object=first.object if len(objects) == 1 else None,
        role=first.role if len({share.wait.role for _, share in shares}) == 1 else None,
    )


def described(parts: Iterable[Part]) -> str:
    """The largest parts in words."""
    words = [
        f"{part.share:.1%} {part.cause}" + (f" ({part.object})" if part.object else "")
        for part in list(parts)[:4]
        if part.share >= 0.005
    ]
    return ", ".join(words) or "no time"
