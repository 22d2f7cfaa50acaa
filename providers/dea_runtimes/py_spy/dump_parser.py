"""From py-spy's dumps to stacks."""

import json
from collections.abc import Iterator
from typing import Any

from dea.backend import Observation, Parsed
from dea.contracts.data import Stack
from dea.contracts.evidence import Fact
from dea.contracts.secrets import target_text
from dea.errors import BackendError
from dea.profile.pictures import Picture, stack_facts
from dea.profile.stacks import said
from dea.profile.states import parse_states
from dea_runtimes.py_spy.frames import python_frame, without_comprehensions


def stacks_file(pid: int) -> str:
    return f"stacks.{pid}.json"


def states_file(pid: int) -> str:
    return f"threads.{pid}.txt"


def thread_names(dump: bytes) -> list[int]:
    """What py-spy names each thread by: up to Python 3.10 only by its pthread handle."""
    try:
        return [thread["os_thread_id"] or thread["thread_id"] for thread in json.loads(dump)]
    except (ValueError, KeyError, TypeError):
        return []  # the parser will say so


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when a dump is not what py-spy writes."""
    facts = [fact for pid in observation.facts["pids"] for fact in _process(observation, pid)]
    return Parsed(facts=facts, limitations=list(_limitations(observation)))


def _process(observation: Observation, pid: int) -> Iterator[Fact]:
    text = observation.text(stacks_file(pid))
    try:
        threads = json.loads(text)
        states = parse_states(observation.text(states_file(pid)))
        ids: dict[int, int] = dict(observation.facts["native_ids"].get(str(pid), ()))
        pictures = [_picture(thread, pid, states, ids) for thread in threads]
    except (ValueError, KeyError, TypeError) as error:
        first = target_text(text, 120)
        raise BackendError(f"py-spy's dump cannot be read ({error}), it begins: {first}") from error
    yield from stack_facts(pid, pictures, stacks_file(pid))


def _picture(
    thread: dict[str, Any], pid: int, states: dict[int, str], ids: dict[int, int]
) -> Picture:
    name: int = thread["os_thread_id"] or thread["thread_id"]
    tid = max(ids.get(name, name), 0)
    # Where py-spy does not know the kernel's id it cannot tell either whether the thread runs.
    running = None if tid not in states else states[tid] == "R"
    frames = [python_frame(f["name"], f["filename"], f["line"]) for f in thread["frames"]]
    stack = Stack(
        pid=pid,
        tid=tid,
        thread=said(thread["thread_name"] or "", 60) or ("main" if tid == pid else "thread"),
        frames=list(without_comprehensions(frames)),
        state=states.get(tid),
        on_cpu=running if name in ids else bool(thread["active"]),
        holds_gil=bool(thread["owns_gil"]),
    )
    return Picture(stack)


def _limitations(observation: Observation) -> Iterator[str]:
    noted = observation.facts
    yield "one moment only, read without pausing the target: a stack may be torn"
    yield from (f"not all processes could be read: {failure}" for failure in noted["failures"])
    if noted["left_out"]:
        yield f"{noted['left_out']} more processes were not looked at"
