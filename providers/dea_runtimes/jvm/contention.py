"""Which locks threads wait for, by the dumps: at one moment, and again and again over a window."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from dea.contracts.data import Frame, LockWait
from dea.contracts.evidence import Fact
from dea_runtimes.jvm.dump import JavaThread, Lock, ThreadDump
from dea_runtimes.jvm.series import Moment, Series

T = TypeVar("T")
_LEAST_MOMENTS, _LEAST_SHARE = 8, 0.1  # dumps in all, and the part in which a thread must wait
_ALWAYS = 0.9
_LOCKS = 5
# Who waits for clients or events with a lock held is one of several who take turns at it.
_TAKING_TURNS = frozenset({"accept", "poll"})


@dataclass(frozen=True)
class Sight:
    """One lock that was waited for at one moment."""

    lock: Lock
    waiters: Sequence[JavaThread]
    owner: JavaThread | None

    @property
    def place(self) -> Frame | None:
        """Where most of the waiters are."""
        return _most(thread.own for thread in self.waiters)


@dataclass
class _Contended:
    """The sights of what is taken for one lock, and in how many dumps each thread waited for it."""

    sights: list[Sight] = field(default_factory=list[Sight])
    owners: list[tuple[JavaThread, str | None]] = field(
        default_factory=list[tuple[JavaThread, str | None]]
    )
    seen: Counter[int] = field(default_factory=Counter[int])

    def is_same(self, sight: Sight) -> bool:
        """By its address; where the collector moved it, by where it is waited for."""
        last = self.sights[-1]
        same_type = last.lock.type == sight.lock.type
        return last.lock == sight.lock or (
            same_type and last.place is not None and last.place == sight.place
        )

    def add(self, sight: Sight, moment: Moment) -> None:
        self.sights.append(sight)
        self.seen.update(thread.tid for thread in sight.waiters)
        if sight.owner is not None:
            self.owners.append((sight.owner, doing(sight.owner, moment)))


def sights(dump: ThreadDump) -> list[Sight]:
    """The locks that somebody waits for, the most wanted first."""
    waiters: dict[Lock, list[JavaThread]] = {}
    for thread in dump.threads:
        if thread.wants is not None:
            waiters.setdefault(thread.wants, []).append(thread)
    found = [Sight(lock, threads, dump.owner(lock)) for lock, threads in waiters.items()]
    return sorted(found, key=lambda sight: -len(sight.waiters))


def moment_facts(pid: int, moment: Moment, file: str) -> Iterator[Fact]:
    """Locks that are waited for at this one moment; of circles all, of others the most wanted."""
    dump = moment.dump
    circled = {lock for _, lock, _ in dump.circles}
    for number, sight in enumerate(sights(dump)):
        if number >= _LOCKS and sight.lock not in circled:
            continue
        owner = sight.owner
        state = doing(owner, moment) if owner else None
        if state in _TAKING_TURNS:
            continue
        data = LockWait(
            pid=pid,
            lock=sight.lock.title,
            waiters=[thread.tid for thread in sight.waiters],
            owner_tid=owner.tid if owner else None,
            owner_thread=owner.name if owner else None,
            owner_state=state,
            owner_place=owner.own if owner else None,
            place=sight.place,
        )
        held = f"held by thread {owner.tid} ({owner.name})" if owner else "its owner is not told"
        text = f"{_threads(data.waiters, pid)} for {data.lock}{_at(data.place)}; {held}"
        circle = "; the JVM reports a deadlock" if sight.lock in circled else ""
        yield Fact(data, f"{text}{circle}", file, sight.waiters[0].lines)


def window_facts(series: Series, file: str) -> Iterator[Fact]:
    """Locks that were waited for in a good part of the window, the most wanted first."""
    if len(series.moments) < _LEAST_MOMENTS:
        return
    contended = sorted(_contended(series), key=lambda one: -one.seen.total())
    for one in contended[:_LOCKS]:
        if fact := _window_fact(series, one, file):
            yield fact


def _contended(series: Series) -> list[_Contended]:
    found: list[_Contended] = []
    for moment in series.moments:
        free = list(found)  # two locks of one moment are never the same
        for sight in sights(moment.dump):
            same = next((one for one in free if one.sights[-1].lock == sight.lock), None)
            one = same or next((one for one in free if one.is_same(sight)), None)
            if one is None:
                one = _Contended()
                found.append(one)
            else:
                free.remove(one)
            one.add(sight, moment)
    return found


def _window_fact(series: Series, one: _Contended, file: str) -> Fact | None:
    moments = len(series.moments)
    counts = {tid: n for tid, n in one.seen.items() if n >= max(2, _LEAST_SHARE * moments)}
    if not counts:
        return None
    waited = sum(counts.values()) / moments
    share = min(1.0, waited / len(counts))
    names = Counter((owner.tid, owner.name) for owner, _ in one.owners)
    (tid, name), held = names.most_common(1)[0] if names else ((None, None), 0)
    always = share >= _ALWAYS and held >= _ALWAYS * len(one.sights)
    data = LockWait(
        pid=series.pid,
        lock=one.sights[-1].lock.title,
        waiters=sorted(counts, key=lambda tid: -counts[tid]),
        wait_s=round(waited * series.window_s, 3),
        share=round(share, 4),
        owner_tid=tid if always else None,
        owner_thread=name,
        owner_state=_most(state for _, state in one.owners),
        owner_place=_most(owner.own for owner, _ in one.owners),
        place=_most(sight.place for sight in one.sights),
    )
    turns = (
        f"by {len(names)} threads in turn, most often {name}" if len(names) > 1 else f"by {name}"
    )
    text = (
        f"{_threads(data.waiters, series.pid)} {share:.0%} of the time for {data.lock}"
        f"{_at(data.place)}" + (f"; held {turns}{_at(data.owner_place)}" if names else "")
    )
    return Fact(data, text, file, one.sights[0].waiters[0].lines)


_DOES = (
    ("Thread.sleep", "sleep"),
    ("LockSupport.park", "futex"),
    ("Unsafe.park", "futex"),
    ("Object.wait", "futex"),
    ("accept", "accept"),
    ("EPoll.wait", "poll"),
    ("Net.poll", "poll"),
    ("SocketDispatcher.read", "receive"),
    ("SocketInputStream.socketRead", "receive"),
    ("NioSocketImpl.read", "receive"),
    ("connect", "connect"),
    ("FileDispatcherImpl.force", "disk"),
)


def doing(thread: JavaThread, moment: Moment) -> str | None:
    """What a thread that holds a lock does meanwhile, as `Part.cause` says it; None: unknown."""
    if thread.wants is not None:
        return "lock"
    if moment.is_running(thread):
        return "running"
    for frame in thread.frames[:4]:
        for call, cause in _DOES:
            if call in frame.function and not frame.own:
                return cause
    return None


def _most(items: Iterable[T | None]) -> T | None:
    known = [item for item in items if item is not None]
    return max(known, key=known.count, default=None)


def _threads(tids: Sequence[int], pid: int) -> str:
    if len(tids) == 1:
        return f"thread {tids[0]} of process {pid} waits"
    return f"{len(tids)} threads of process {pid} wait"


def _at(place: Frame | None) -> str:
    return f" at {place.place()}" if place else ""
