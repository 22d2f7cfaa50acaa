"""Reads what gdb's `thread apply all backtrace` prints."""

import re
from collections.abc import Iterator

from dea.backend import Observation, Parsed
from dea.contracts.evidence import Fact
from dea.contracts.secrets import target_text
from dea.errors import BackendError
from dea.profile.pictures import stack_facts
from dea_linux.native_stacks import NativeFrame, NativeThread, limitations, pictures

_THREAD = re.compile(r"Thread \d+ \(.*?\b(?:LWP|process) (?P<tid>\d+)\b.*\):$")
_FRAME = re.compile(
    r"#\d+\s+(?:0x(?P<address>[0-9a-f]+) in )?(?P<function>.+?) \((?:\.\.\.)?\)"
    r"(?: at (?P<file>.+):(?P<line>\d+)| from (?P<module>\S.*))?$"
)
# Of a library with debug information gdb names the source, not the file; these are the C library's.
_LIBC_SOURCE = re.compile(
    r"(?:\./|\.\./)+(?:sysdeps|nptl|csu|elf|io|libio|malloc|misc|posix|signal|socket|stdlib|string|time)/"
)


def stacks_file(pid: int) -> str:
    return f"stacks.{pid}.txt"


def states_file(pid: int) -> str:
    return f"threads.{pid}.txt"


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when a process's text holds no thread."""
    facts = [fact for pid in observation.facts["pids"] for fact in _process(observation, pid)]
    pause = f"the target was paused for up to {observation.facts['took_s'] * 1000:.0f} ms"
    return Parsed(facts=facts, limitations=limitations(observation.facts, pause))


def _process(observation: Observation, pid: int) -> Iterator[Fact]:
    text = observation.text(stacks_file(pid))
    executable = next(
        (one["executable"] for one in observation.facts["family"] if one["pid"] == pid), ""
    )
    threads = list(_read(text, executable))
    if not threads:
        raise BackendError(f"gdb's output holds no thread: {target_text(text, 120)}")
    states = observation.text(states_file(pid))
    found = pictures(pid, threads, states, observation.facts)
    yield from stack_facts(pid, found, stacks_file(pid))


def _read(text: str, executable: str) -> Iterator[NativeThread]:
    thread: NativeThread | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if head := _THREAD.match(line):
            if thread is not None:
                yield thread
            thread = NativeThread(int(head["tid"]), number, number)
        elif thread is not None and (call := _FRAME.match(line)):
            thread.frames.append(_frame(call, executable))
            thread.last_line = number
    if thread is not None:
        yield thread


def _frame(call: re.Match[str], executable: str) -> NativeFrame:
    module = call["module"]
    if module is None:  # the program itself, or a library that has debug information
        from_libc = call["file"] is not None and _LIBC_SOURCE.match(call["file"])
        module = "[libc]" if from_libc else executable
    function = "" if call["function"] == "??" else call["function"]
    address = int(call["address"] or "0", 16)
    line = int(call["line"]) if call["line"] else None
    return NativeFrame(function, module, address, call["file"], line)
