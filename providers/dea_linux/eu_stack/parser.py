"""Reads what eu-stack -s -i -m prints."""

import re
from collections.abc import Iterator

from dea.backend import Observation, Parsed
from dea.contracts.evidence import Fact
from dea.contracts.secrets import target_text
from dea.errors import BackendError
from dea.profile.evidence import skipped_fact
from dea.profile.pictures import stack_facts
from dea_linux.native_stacks import NativeFrame, NativeThread, limitations, pictures

_PAUSE = "the threads were paused one by one, each for some milliseconds"
_THREAD = re.compile(r"TID (?P<tid>\d+):$")
_FRAME = re.compile(r"#(?P<number>\d+)\s+0x(?P<address>[0-9a-f]+)\s*(?P<rest>.*)$")
_SOURCE = re.compile(r"\s+(?P<file>\S.*?):(?P<line>\d+)(?::\d+)?$")


def stacks_file(pid: int) -> str:
    return f"stacks.{pid}.txt"


def states_file(pid: int) -> str:
    return f"threads.{pid}.txt"


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when a process's text holds no thread."""
    facts = [fact for pid in observation.facts["pids"] for fact in _process(observation, pid)]
    return Parsed(facts=facts, limitations=limitations(observation.facts, _PAUSE))


def _process(observation: Observation, pid: int) -> Iterator[Fact]:
    text = observation.text(stacks_file(pid))
    threads, bad = _read(text)
    if not threads:
        raise BackendError(f"eu-stack's output holds no thread: {target_text(text, 120)}")
    states = observation.text(states_file(pid))
    found = pictures(pid, threads, states, observation.facts)
    yield from stack_facts(pid, found, stacks_file(pid))
    yield from skipped_fact(len(bad), bad[0] if bad else "", stacks_file(pid))


def _read(text: str) -> tuple[list[NativeThread], list[str]]:
    threads: list[NativeThread] = []
    bad: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if head := _THREAD.match(line):
            threads.append(NativeThread(int(head["tid"]), number, number))
        elif threads and _add(threads[-1].frames, line):
            threads[-1].last_line = number
        elif line.strip() and not line.startswith("PID "):
            bad.append(target_text(line, 200))
    return threads, bad


def _add(frames: list[NativeFrame], line: str) -> bool:
    """Take a line of a stack; False when it is none."""
    if call := _FRAME.match(line):
        name, _, module = f" {call['rest']}".rpartition(" - ")
        if not module.startswith(("/", "[")):  # a function of no module
            name, module = call["rest"], ""
        frames.append(NativeFrame(name.strip(), module, int(call["address"], 16)))
        return True
    source = _SOURCE.match(line)
    if source is None or not frames:
        return False
    frames[-1].file, frames[-1].line = source["file"], int(source["line"])
    return True
