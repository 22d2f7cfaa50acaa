"""The reader's records, one JSON object on each line, as stacks."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from dea.backend import Observation
from dea.contracts.data import Frame
from dea.contracts.secrets import target_text
from dea.errors import BackendError
from dea.profile.stacks import Sampled, said
from dea_runtimes.v8.frames import frame_of

STACKS = "stacks.jsonl"
BEFORE, AFTER = "cpu_before.txt", "cpu_after.txt"


def states_file(pid: int) -> str:
    return f"threads.{pid}.txt"


@dataclass(frozen=True)
class Looked:
    """`state` is the thread's when it was seen: R, S, D."""

    stack: Sampled
    state: str


@dataclass
class Looks:
    """What was read. `processes` tell how the looks at each went, `refused` could not be looked at.

    `inlined` names the functions that V8 compiled into a function, which have no frames of their own.
    """

    stacks: list[Looked] = field(default_factory=list[Looked])
    processes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refused: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    inlined: dict[Frame, list[str]] = field(default_factory=dict[Frame, list[str]])
    bad: list[str] = field(default_factory=list[str])
    is_whole: bool = False


def read_looks(observation: Observation) -> Looks:
    """Raises BackendError when the records do not end, or the reader says why it could not look."""
    looks = Looks()
    frames: dict[int, Frame] = {}
    for number, line in enumerate(observation.text(STACKS).splitlines(), 1):
        try:
            _take(json.loads(line), number, frames, looks)
        except (ValueError, KeyError, TypeError, AttributeError):
            looks.bad.append(line)
    if not looks.is_whole:
        first = target_text(looks.bad[0], 120) if looks.bad else "they end early"
        raise BackendError(f"the records of JavaScript stacks cannot be read: {first}")
    _name_threads(looks)
    return looks


def _take(record: dict[str, Any], number: int, frames: dict[int, Frame], looks: Looks) -> None:
    match record["record"]:
        case "frame":
            frame = frames[record["id"]] = frame_of(record)
            known = looks.inlined.setdefault(frame, [])
            known += [said(name) for name in record["inlined"] if name not in known]
        case "stack":
            stack = Sampled(
                pid=int(record["pid"]),
                tid=int(record["tid"]),
                thread="",
                frames=tuple(frames[n] for n in record["frames"]),
                samples=int(record["samples"]),
                lines=(number, number),
            )
            looks.stacks.append(Looked(stack, str(record["state"])))
        case "process":
            looks.processes.append(record)
        case "refused":
            looks.refused.append(record)
        case "failure":
            raise BackendError(f"could not look: {said(str(record['reason']), 300)}")
        case "end":
            looks.is_whole = True
        case _:
            raise ValueError("no such record")


def _name_threads(looks: Looks) -> None:
    """The main thread is called so; Node gives workers names of their own, or none."""
    names = dict(_thread_names(looks))
    looks.stacks = [
        Looked(_named(looked.stack, names.get(looked.stack.tid or 0, "")), looked.state)
        for looked in looks.stacks
    ]


def _thread_names(looks: Looks) -> Iterator[tuple[int, str]]:
    for process in looks.processes:
        for tid, name in cast(dict[str, str], process["threads"]).items():
            is_main = int(tid) == process["pid"]
            yield int(tid), "main" if is_main else said(str(name), 60)


def _named(stack: Sampled, name: str) -> Sampled:
    thread = name or ("main" if stack.tid == stack.pid else "worker")
    return Sampled(stack.pid, stack.tid, thread, stack.frames, stack.samples, stack.lines)
