"""Looks at processes for a while and records what was seen, as JSON values."""

import gc
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError
from dea_runtimes.v8.reader.elf import read_binary
from dea_runtimes.v8.reader.functions import Functions
from dea_runtimes.v8.reader.names import Named, Names
from dea_runtimes.v8.reader.sampler import Seen, Thread
from dea_runtimes.v8.reader.target import Target, read_target

Record = Callable[[dict[str, Any]], None]
_THREADS = 32  # that are looked at once to find those that run JavaScript
_MOST_SCRIPTED = 4  # of a process
_BLIND = "this node does not tell where JavaScript waits, and none was seen to run"
_LEAST_PAUSE = 0.2  # of the time between two looks


class _Watched:
    """One process: its threads that run JavaScript, and how often each stack was seen."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.names = Names(target, Functions(target))
        self.threads = _find_threads(target)
        self.stacks: Counter[tuple[int, str, tuple[Named, ...]]] = Counter()
        self.held_s: list[float] = []
        self.missed = self.without_stack = self.cut = 0
        self.has_ended = False

    @property
    def is_blind(self) -> bool:
        """No JavaScript was seen, nor could it be where it waits or where it called into C++."""
        known = any(thread.is_known for thread in self.threads.values())
        return bool(self.threads) and not known and self.stacks.total() > 0

    def look(self, *, waiting_too: bool) -> None:
        for tid, thread in list(self.threads.items()):
            try:
                seen = thread.sample(waiting_too=waiting_too)
                if seen is not None:
                    self._add(tid, seen)
            except CannotLookError:
                del self.threads[tid]
                self.has_ended = not self.threads
            except TornError:
                self.missed += 1
                self.target.refresh()

    def _add(self, tid: int, seen: Seen) -> None:
        self.stacks[tid, seen.state, self.names.frames(seen)] += 1
        self.without_stack += seen.state == "R" and seen.walk is None
        self.cut += seen.walk is not None and seen.walk.is_cut
        if seen.held_s:
            self.held_s.append(seen.held_s)


def record_samples(
    pids: Sequence[int], duration_s: float, rate_hz: int, record: Record, *, waiting_too: bool
) -> None:
    """With no duration, one look. Raises CannotLookError when no process can be looked at."""
    watched = list(_watch(pids, record))
    gc.disable()  # not while a target is held
    until_s = time.monotonic() + duration_s
    while True:
        begun_s = time.monotonic()
        for one in watched:
            one.look(waiting_too=waiting_too)
        if time.monotonic() >= until_s or all(one.has_ended for one in watched):
            break
        # Not in step with timers of the target.
        pause_s = random.uniform(0.5, 1.5) / rate_hz - (time.monotonic() - begun_s)
        time.sleep(max(_LEAST_PAUSE / rate_hz, pause_s))
    numbers: dict[Named, int] = {}
    blind = [one for one in watched if one.is_blind]
    for one in watched:
        if one in blind:
            record({"record": "refused", "pid": one.target.pid, "reason": _BLIND})
        else:
            _write(one, numbers, record)
    if len(blind) == len(watched):
        raise CannotLookError(_BLIND)
    record({"record": "end"})


def _watch(pids: Sequence[int], record: Record) -> Iterator[_Watched]:
    failures: list[CannotLookError | TornError] = []
    for pid in pids:
        try:
            yield _Watched(read_target(pid))
        except (CannotLookError, TornError) as error:
            failures.append(error)
            record({"record": "refused", "pid": pid, "reason": str(error)})
    read_binary.cache_clear()
    if len(failures) == len(pids):
        raise failures[0]


def _find_threads(target: Target) -> dict[int, Thread]:
    """The main thread, and workers that run JavaScript."""
    threads = {target.pid: Thread(target, target.pid)}
    for tid in sorted(map(int, os.listdir(f"/proc/{target.pid}/task")))[:_THREADS]:
        thread = threads.get(tid) or Thread(target, tid)
        try:
            if thread.runs_javascript() and len(threads) < _MOST_SCRIPTED:
                threads[tid] = thread
        except (CannotLookError, TornError):
            if tid == target.pid:
                raise
    return threads


def _write(watched: _Watched, numbers: dict[Named, int], record: Record) -> None:
    pid = watched.target.pid
    for (tid, state, frames), samples in watched.stacks.most_common():
        for named in frames:
            if named not in numbers:
                numbers[named] = len(numbers)
                record({"record": "frame", "id": numbers[named], **asdict(named)})
        told = [numbers[named] for named in frames]
        seen = {"pid": pid, "tid": tid, "state": state, "samples": samples, "frames": told}
        record({"record": "stack", **seen})
    held_us = sorted(round(held_s * 1e6) for held_s in watched.held_s)
    record(
        {
            "record": "process",
            "pid": pid,
            "threads": {str(tid): _name(pid, tid) for tid in watched.threads},
            "samples": watched.stacks.total(),
            "missed": watched.missed,
            "without_stack": watched.without_stack,
            "cut": watched.cut,
            "unnamed": watched.names.unnamed,
            "reasons": watched.names.reasons,
            "stops": len(held_us),
            "held_us_median": median(held_us) if held_us else 0,
            "held_us_max": held_us[-1] if held_us else 0,
        }
    )


def _name(pid: int, tid: int) -> str:
    try:
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""
