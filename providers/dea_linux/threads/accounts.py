"""Adds up where a thread's wall time went. Pure.

CPU time is exact (schedstat); the samples split what is left. Run-queue time is counted by the kernel
too, but some kernels count sleep as well, so it is believed only as far as the samples allow.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import sqrt

from dea.contracts.data.causes import Cause
from dea_linux.threads.stored import Look, ThreadRecord
from dea_linux.threads.wait import Wait

_MOST_WAITS = 6
_SMALL = 0.005  # of the wall time: waits below are summed up
_FEW_SWITCHES_PER_S = 5
_SIGMAS = 3  # how far a share of the samples may be off by chance


@dataclass
class Share:
    """One wait, summed over the window."""

    wait: Wait
    share: float = 0.0
    samples: int = 0
    episodes: int = 0
    longest_ms: int = 0


@dataclass
class Account:
    """Shares of one thread's wall time, largest first; they add up to 1."""

    thread: ThreadRecord
    shares: list[Share] = field(default_factory=list[Share])
    doubted_ns: int = 0  # of the run-queue time: the samples saw the thread wait instead

    def of(self, *causes: Cause) -> float:
        return sum(share.share for share in self.shares if share.wait.cause in causes)


def account(
    thread: ThreadRecord,
    looks: Iterable[Look],
    wait_of: Callable[[Look], Wait | None],
    throttled_ns: int,
    interval_ms: float,
) -> Account | None:
    """None for a thread that was there for no time at all."""
    wall = thread.wall_ns
    if wall <= 0:
        return None
    cpu = min(thread.cpu_ns, wall)
    looks = list(looks)
    counted = min(thread.delay_ns, wall - cpu)
    delay = min(counted, max(0, round(wall * _most_ready(looks, wait_of)) - cpu))
    doubted = counted - delay
    delay += _queued(thread, looks, wall - cpu - delay)
    throttled = min(delay, throttled_ns)  # the delay includes it
    running: dict[Cause, float] = {
        "cpu_user": cpu * thread.user_share,
        "cpu_kernel": cpu * (1 - thread.user_share),
        "runnable": delay - throttled,
        "throttled": throttled,
    }
    waits = _waits(looks, wait_of, interval_ms)
    seen = sum(share.samples for share in waits)
    rest = (wall - cpu - delay) / wall
    for share in waits:
        share.share = rest * share.samples / seen
    shares = [Share(Wait(cause), ns / wall) for cause, ns in running.items()]
    if not seen:
        shares.append(Share(Wait("unattributed"), rest))
    return Account(thread, _rounded(shares + _largest(waits)), doubted)


def _most_ready(looks: list[Look], wait_of: Callable[[Look], Wait | None]) -> float:
    """The largest share of the time, on the CPU or ready for it, with which the samples agree."""
    looked = sum(look.samples for look in looks)
    if not looked:
        return 1.0
    ready = sum(look.samples for look in looks if wait_of(look) is None)
    return min(1.0, (ready + 1 + _SIGMAS * sqrt(ready + 1)) / looked)


def _queued(thread: ThreadRecord, looks: list[Look], rest_ns: int) -> int:
    """How long it is in the run queue by now: the kernel adds that up only when it gets the CPU."""
    looked = sum(look.samples for look in looks)
    if not looked or thread.switches > _FEW_SWITCHES_PER_S * thread.wall_ns / 1e9:
        return 0
    ready = sum(look.samples for look in looks if look.number is None and look.readable)
    accounted = thread.wall_ns - rest_ns
    return max(0, min(rest_ns, round(thread.wall_ns * ready / looked) - accounted))


def _waits(
    looks: Iterable[Look], wait_of: Callable[[Look], Wait | None], interval_ms: float
) -> list[Share]:
    """Looks with the same wait together. A wait is a new one when the thread has run in between."""
    shares: dict[Wait, Share] = {}
    last: tuple[Wait | None, Look] | None = None
    began_ms = 0
    for look in looks:
        wait = wait_of(look)
        if wait is not None:
            share = shares.setdefault(_key(wait), Share(wait))
            share.wait = _merged(share.wait, wait)
            share.samples += look.samples
            same = last is not None and last[0] is not None and _key(last[0]) == _key(wait)
            goes_on = same and last is not None and last[1].runs == look.runs
            if not goes_on:
                began_ms = look.at_ms
                share.episodes += _episodes(look, last[1] if same and last else None)
            share.longest_ms = max(share.longest_ms, round(look.until_ms - began_ms + interval_ms))
        last = (wait, look)
    return list(shares.values())


def _episodes(look: Look, before: Look | None) -> int:
    """Waits that are shorter than a sample show only in how often the thread ran in between."""
    if before is None or look.samples > 1 or before.samples > 1:
        return 1
    return max(1, look.runs - before.runs)


def _key(wait: Wait) -> Wait:
    return replace(wait, peer_pids=(), inodes=())


def _merged(one: Wait, other: Wait) -> Wait:
    peers = tuple(dict.fromkeys((*one.peer_pids, *other.peer_pids)))[:4]
    return replace(one, peer_pids=peers, inodes=tuple({*one.inodes, *other.inodes}))


def _largest(waits: list[Share]) -> list[Share]:
    """The largest waits; of the small ones, those of one cause together."""
    ordered = sorted(waits, key=lambda share: -share.share)
    kept = [share for share in ordered[:_MOST_WAITS] if share.share >= _SMALL]
    small: dict[tuple[Cause, str | None], list[Share]] = defaultdict(list)
    for share in ordered[len(kept) :]:
        small[share.wait.cause, share.wait.syscall].append(share)
    summed = [_summed(cause, syscall, group) for (cause, syscall), group in small.items()]
    return kept + summed


def _summed(cause: Cause, syscall: str | None, group: list[Share]) -> Share:
    if len(group) == 1:
        return group[0]
    roles = Counter(share.wait.role for share in group)
    return Share(
        Wait(cause, syscall, f"{len(group)} others", role=roles.most_common(1)[0][0]),
        share=sum(share.share for share in group),
        samples=sum(share.samples for share in group),
        episodes=sum(share.episodes for share in group),
        longest_ms=max(share.longest_ms for share in group),
    )


def _rounded(shares: list[Share]) -> list[Share]:
    """To thousandths that still add up to 1: the largest takes the error. Zeros are left out."""
    for share in shares:
        share.share = round(share.share, 3)
    shares = sorted((share for share in shares if share.share > 0), key=lambda s: -s.share)
    if shares:
        error = 1 - sum(share.share for share in shares)
        shares[0].share = round(shares[0].share + error, 3)
    return shares
