"""Reads back what the sampler stored, line by line; a bad line costs only itself."""

import base64
import binascii
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dea.backend import Observation
from dea_linux import procfs
from dea_linux.netlink import InetSocket, UnixSocket, parse_inet, parse_unix
from dea_linux.threads.calls import parse_call

SAMPLES, THREADS, PROCESSES = "samples.txt", "threads.jsonl", "processes.jsonl"
DESCRIPTORS, SOCKETS, HOST = "descriptors.jsonl", "sockets.jsonl", "host.json"


@dataclass(frozen=True)
class Look:
    """Looks at one thread in a row that showed the same. `number` None: it ran."""

    tid: int
    at_ms: int
    until_ms: int
    samples: int
    state: str
    runs: int
    number: int | None
    arguments: tuple[int, ...]
    wchan: str
    link: str
    memory: bytes
    readable: bool


@dataclass(frozen=True)
class ThreadRecord:
    """One thread over the window; `lines` is its place in the samples."""

    pid: int
    tid: int
    peer: bool
    name: str
    wall_ns: int
    cpu_ns: int
    delay_ns: int  # ready to run but not running
    switches: int
    user_share: float  # of the CPU time
    lines: tuple[int, int]


@dataclass(frozen=True)
class ProcessRecord:
    """One process over the window: the fields of its stat file before and after."""

    pid: int
    peer: bool
    name: str
    before: list[str]
    after: list[str]
    raw: dict[str, Any]


@dataclass
class Stored:
    """Everything of one observation, typed."""

    facts: dict[str, Any]
    looks: dict[int, list[Look]] = field(default_factory=dict[int, list[Look]])
    threads: list[ThreadRecord] = field(default_factory=list[ThreadRecord])
    processes: dict[int, ProcessRecord] = field(default_factory=dict[int, ProcessRecord])
    descriptors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    holders: dict[str, list[dict[str, Any]]] = field(
        default_factory=dict[str, list[dict[str, Any]]]
    )
    sockets: list[tuple[int, InetSocket]] = field(default_factory=list[tuple[int, InetSocket]])
    unix: dict[int, UnixSocket] = field(default_factory=dict[int, UnixSocket])
    host: dict[str, Any] = field(default_factory=dict[str, Any])
    skipped: int = 0
    first_bad: str = ""

    def thread_name(self, tid: int) -> str:
        return next((thread.name for thread in self.threads if thread.tid == tid), "")

    def bad(self, line: str) -> None:
        self.skipped += 1
        self.first_bad = self.first_bad or line[:200]


def read(observation: Observation) -> Stored:
    """All that is usable."""
    stored = Stored(dict(observation.facts))
    looks: dict[int, list[Look]] = defaultdict(list)
    for line in observation.text(SAMPLES).splitlines()[1:]:
        try:
            look = _look(line)
        except (ValueError, IndexError):
            stored.bad(line)
        else:
            looks[look.tid].append(look)
    stored.looks = dict(looks)
    for raw in _objects(observation, THREADS, stored):
        stored.threads.append(_thread(raw))
    for raw in _objects(observation, PROCESSES, stored):
        stored.processes[raw["pid"]] = _process(raw)
    for raw in _objects(observation, DESCRIPTORS, stored):
        if "holder" in raw:
            stored.holders.setdefault(raw["link"], []).append(raw)
        else:
            stored.descriptors.append(raw)
    _read_sockets(observation, stored)
    stored.host = next(_objects(observation, HOST, stored), dict[str, Any]())
    return stored


def _objects(observation: Observation, name: str, stored: Stored) -> Iterator[dict[str, Any]]:
    for line in observation.text(name).splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            stored.bad(line)
            continue
        if isinstance(value, dict):
            yield value


def _read_sockets(observation: Observation, stored: Stored) -> None:
    for raw in _objects(observation, SOCKETS, stored):
        try:
            reply = base64.b64decode(raw["netlink"])
        except (KeyError, binascii.Error):
            stored.bad(str(raw))
            continue
        if raw["family"] == "unix":
            stored.unix |= {end.inode: end for end in parse_unix(reply)}
        else:
            stored.sockets += [(int(raw["at_ms"]), end) for end in parse_inet(reply)]


def _look(line: str) -> Look:
    fields = line.split("\t")
    _, tid, at_ms, until_ms, samples, state, runs, call, wchan, link, memory = fields
    number, arguments = parse_call(call)
    return Look(
        tid=int(tid),
        at_ms=int(at_ms),
        until_ms=int(until_ms),
        samples=int(samples),
        state=state,
        runs=int(runs),
        number=number,
        arguments=tuple(arguments),
        wchan="" if wchan in ("-", "0") else wchan,
        link="" if link == "-" else link,
        memory=b"" if memory == "-" else bytes.fromhex(memory),
        readable=call != "?",
    )


def _thread(raw: dict[str, Any]) -> ThreadRecord:
    first, last = raw["first"], raw["last"]
    before, after = (_numbers(end["schedstat"]) for end in (first, last))
    cpu_ns, delay_ns, switches = (max(0, b - a) for a, b in zip(before, after, strict=True))
    return ThreadRecord(
        pid=raw["pid"],
        tid=raw["tid"],
        peer=raw["peer"],
        name=procfs.command_of(first["stat"]) or procfs.command_of(last["stat"]) or "?",
        wall_ns=max(0, last["at_ns"] - first["at_ns"]),
        cpu_ns=cpu_ns,
        delay_ns=delay_ns,
        switches=switches,
        user_share=_user_share(first["stat"], last["stat"]),
        lines=(raw["lines"][0] + 1, raw["lines"][1] + 1),  # after the line of column names
    )


def _user_share(first: str, last: str) -> float:
    """Of the CPU time: in the window, else since the thread began; it is counted in ticks."""
    before, after = _ticks(first), _ticks(last)
    user, kernel = (max(0, b - a) for a, b in zip(before, after, strict=True))
    if user + kernel == 0:
        user, kernel = before
    return user / (user + kernel) if user + kernel else 1.0


def _ticks(stat: str) -> tuple[int, int]:
    fields = procfs.stat_fields(stat)
    return (int(fields[11]), int(fields[12])) if len(fields) > 12 else (0, 0)


def _numbers(schedstat: str) -> tuple[int, int, int]:
    fields = [int(word) for word in schedstat.split()]
    return (fields[0], fields[1], fields[2]) if len(fields) == 3 else (0, 0, 0)


# A process that ended between being listed and being read: dead, with nothing used.
_ENDED_UNREAD = f"0 (?) X{' 0' * 49}"


def _process(raw: dict[str, Any]) -> ProcessRecord:
    readable = [stat for stat in raw["stat"] if procfs.stat_fields(stat)] or [_ENDED_UNREAD]
    before, after = readable[0], readable[-1]
    return ProcessRecord(
        pid=raw["pid"],
        peer=raw["peer"],
        name=procfs.command_of(before) or "?",
        before=procfs.stat_fields(before),
        after=procfs.stat_fields(after),
        raw=raw,
    )
