"""Thread dumps of Java programs: one for their stacks, many for where their time goes."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import anyio

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, Request
from dea.contracts.target import Runtime
from dea.errors import BackendError
from dea.profile.clocks import read_clocks
from dea.profile.family import read_family
from dea.profile.states import read_states
from dea_runtimes.jvm import samples_parser, threads_parser
from dea_runtimes.jvm.attach import open_door
from dea_runtimes.jvm.looks import Watch, open_watch
from dea_runtimes.jvm.process import outer_tids, read_machine, resident_bytes

T = TypeVar("T")
_PROCESSES = 4
_DEEP_RESIDENT_BYTES = 512 * 2**20  # about 0.3 s in which the JVM stands still


class Threads(LinuxBackend):
    """Every Java thread's stack and monitors at one moment."""

    name: ClassVar[str] = "jvm.threads"
    tool: ClassVar[str] = "dump_stacks"
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"java"})
    rank: ClassVar[int] = 10

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        dumps, failures = await _each(request.pids[:_PROCESSES], _dump)
        for pid, (text, states, _) in dumps.items():
            instruments.save(threads_parser.dump_file(pid), text)
            instruments.save(threads_parser.states_file(pid), states)
        return {
            "pids": list(dumps),
            "notes": {str(pid): notes for pid, (_, _, notes) in dumps.items()},
            "failures": failures,
            "left_out": len(request.pids[_PROCESSES:]),
        }

    def parse(self, observation: Observation) -> Parsed:
        return threads_parser.parse(observation)


class _Sampler(LinuxBackend):
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"java"})
    rank: ClassVar[int] = 10
    look: ClassVar[str] = "jvm.sampling"

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        watches, failures = await _each(request.pids[:_PROCESSES], open_watch)
        pids = list(watches)
        family = read_family(pids)
        instruments.save(samples_parser.BEFORE, read_clocks(pids))
        failures += await _sample(list(watches.values()), max(1.0, request.duration_s))
        instruments.save(samples_parser.AFTER, read_clocks(pids))
        for pid, watch in watches.items():
            instruments.save(samples_parser.dumps_file(pid), "".join(watch.dumps))
            instruments.save(samples_parser.looks_file(pid), json.dumps(watch.looks), "json")
        return {
            "pids": pids,
            "target_pid": request.target.pid or request.pid,
            "family": family,
            "tids": {str(pid): list(watch.tids.items()) for pid, watch in watches.items()},
            "failures": failures,
            "left_out": len(request.pids[_PROCESSES:]),
        }


class Samples(_Sampler):
    """The methods and lines that burn CPU."""

    name: ClassVar[str] = "jvm.samples"
    tool: ClassVar[str] = "profile_cpu"

    def parse(self, observation: Observation) -> Parsed:
        return samples_parser.parse_cpu(observation)


class Wall(_Sampler):
    """Where each thread is, waiting or not, and which locks keep them waiting."""

    name: ClassVar[str] = "jvm.wall"
    tool: ClassVar[str] = "time_budget.stacks"

    def parse(self, observation: Observation) -> Parsed:
        return samples_parser.parse_wall(observation)


async def _each(pids: Sequence[int], look: Callable[[int], T]) -> tuple[dict[int, T], list[str]]:
    """What was found of each process, and why others could not be looked at. Raises BackendError
    when that is all of them."""
    found: dict[int, T] = {}
    failures: list[BackendError] = []
    for pid in pids:
        try:
            found[pid] = await anyio.to_thread.run_sync(look, pid)
        except BackendError as error:
            failures.append(error)
    if not found:
        raise failures[0]
    return found, [str(failure) for failure in failures]


def _dump(pid: int) -> tuple[str, str, dict[str, Any]]:
    """The dump, what the kernel says of the threads, and notes. Owners of lock objects need a walk
    over the heap, so they are asked for only where that is quick, and wanted."""
    machine = read_machine(pid)
    door = open_door(machine)
    states = read_states(pid)
    text = door.command("threaddump")
    wanted = threads_parser.misses_owners(text)
    small = resident_bytes(pid) <= _DEEP_RESIDENT_BYTES
    if wanted and small:
        text = door.command("threaddump", "-l")
    tids = list(outer_tids(pid).items()) if machine.inner_pid != pid else []
    return text, states, {"tids": tids, "owners_unknown": wanted and not small}


async def _sample(watches: Sequence[Watch], duration_s: float) -> list[str]:
    """Dump each process again and again. Returns why a process was given up, if any was."""
    failures: list[str] = []
    running = list(watches)
    end_s = time.monotonic() + duration_s
    while running:
        is_last = time.monotonic() >= end_s  # it shows what came since the one before
        for watch in [w for w in running if is_last or w.next_s <= time.monotonic()]:
            try:
                await anyio.to_thread.run_sync(watch.look)
            except BackendError as error:
                failures.append(str(error))
                running.remove(watch)
            else:
                if watch.is_full:
                    running.remove(watch)
        if is_last:
            break
        due_s = min([end_s, *(watch.next_s for watch in running)])
        await anyio.sleep(max(0.0, due_s - time.monotonic()))
    if all(not watch.looks for watch in watches):
        raise BackendError(failures[0])
    return failures
