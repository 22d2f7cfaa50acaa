"""Waits that are worth a word, those of several threads for one thing told as one."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from dea.contracts.data import Cause, Part
from dea.contracts.finding import Severity
from dea.rules.places import Place
from dea.rules.thread_view import RUNNING, ThreadTime, View

NOTICED, MUCH, MOST = 0.2, 0.25, 0.7  # of a thread's wall time


@dataclass(frozen=True)
class Waiting:
    """Threads of one process that wait for the same thing; `part` is the longest wait of all."""

    threads: list[ThreadTime]
    thread: ThreadTime
    part: Part
    place: Place | None
    peers: tuple[int, ...]
    has_more: bool = False  # threads that are only known summed up wait like this too

    @property
    def who(self) -> str:
        """The subject with its verb: `the main thread of pid 12 waits`."""
        if len(self.threads) == 1:
            return f"{self.thread.title} of pid {self.thread.pid} waits"
        at_least = "at least " if self.has_more else ""
        return f"{at_least}{len(self.threads)} threads of pid {self.thread.pid} wait"

    @property
    def at(self) -> str:
        return f", at {self.place.text}" if self.place else ""

    @property
    def ids(self) -> list[str]:
        places = [self.place.id] if self.place else []
        return [*(thread.id for thread in self.threads), *places]

    @property
    def next(self) -> tuple[str, ...]:
        return () if self.place else ("dump_stacks",)

    def severity(self, view: View) -> Severity:
        """A side thread that waits while the main thread works does not make much slow."""
        mains = [thread for thread in view.of(self.thread.pid) if thread.is_main]
        main_works = any(main.share(*RUNNING, "runnable") >= 0.5 for main in mains)
        if self.part.share < MUCH:
            return "info"
        side = main_works and not any(thread.is_main for thread in self.threads)
        return "high" if self.part.share >= MOST and not side else "warn"


def waits(view: View, fits: Callable[[Part], bool]) -> list[Waiting]:
    """Noticeable waits that fit, those of one process for one thing together; the longest first."""
    groups: dict[tuple[int, Cause, str], list[tuple[ThreadTime, Part]]] = defaultdict(list)
    for thread in view.threads:
        for part in thread.parts:
            if part.share >= NOTICED and fits(part):
                groups[thread.pid, part.cause, part.object or ""].append((thread, part))
    found: list[Waiting] = []
    for group in groups.values():
        thread, part = max(group, key=lambda pair: pair[1].share)
        peers = dict.fromkeys(pid for _, each in group for pid in each.peer_pids)
        threads, more = [t for t, _ in group], _has_more(view, thread.pid, part.cause)
        found.append(Waiting(threads, thread, part, _place(group), tuple(peers), more))
    return sorted(found, key=lambda waiting: -waiting.part.share)


def _has_more(view: View, pid: int, cause: Cause) -> bool:
    """Threads that wait alike are listed one by one only up to a few."""
    return any(rest.pid == pid and rest.share(cause) >= NOTICED for rest in view.groups)


def _place(group: list[tuple[ThreadTime, Part]]) -> Place | None:
    """Of the longest wait whose place is known."""
    ordered = sorted(group, key=lambda pair: -pair[1].share)
    return next((place for thread, part in ordered if (place := thread.place(part))), None)
