"""Reads `py-spy record --format raw`: folded stacks with their counts, outermost frame first."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dea.contracts.data import Frame
from dea.contracts.secrets import target_text
from dea.profile.stacks import Sampled, merged, said
from dea_runtimes.py_spy.frames import python_frame, without_comprehensions

# process 1:"bash run.sh";process 2:"python3 app.py";thread (2): MainThread;outer (a.py:1);... 42
_RECORD = re.compile(
    # The last `thread` that follows a process: its arguments may hold what looks like a thread.
    r'(?P<processes>process \d+:".*";)?thread \((?P<tid>0x[0-9A-Fa-f]+|\d+)\)(?P<rest>.*)'
    r" (?P<samples>\d+)$",
    re.DOTALL,
)
_ROOT = re.compile(r'process \d+:"')
_PROCESS = re.compile(r'(?:^|";)process (\d+):"')
_FRAME_WITH_LINE = re.compile(r".* \(.*:\d+\)$")
_BEGUN = re.compile(r" \([/<][^)]*$")  # a frame whose path goes on after a semicolon
_FRAME = re.compile(r"(?P<function>.*?) \((?P<file>.*?)(?::(?P<line>\d+))?\)$")


@dataclass(frozen=True)
class RawStacks:
    """What was read, and what could not be."""

    stacks: list[Sampled]
    skipped: int = 0
    first_bad_line: str = ""


def read_raw(text: str, pid: int) -> RawStacks:
    """`pid` is the process that records without a process prefix belong to."""
    stacks: list[Sampled] = []
    bad: list[str] = []
    for record, first in _records(text):
        stack = _read_record(record, first, pid)
        if stack is None:
            bad.append(record)
        else:
            stacks.append(stack)
    return RawStacks(merged(stacks), len(bad), target_text(bad[0], 200) if bad else "")


def _records(text: str) -> Iterator[tuple[str, int]]:
    """Each record with the number of its first line: a line, unless processes are told.

    Then all begin with the same process, and there may be newlines among arguments.
    """
    root = _ROOT.match(text)
    begins = f"\n{root[0]}" if root else "\n"
    number = 1
    for n, part in enumerate(text.split(begins)):
        record = part if n == 0 or root is None else root[0] + part
        if record.strip():
            yield record.rstrip("\n"), number
        number += record.count("\n") + 1


def _read_record(record: str, first: int, pid: int) -> Sampled | None:
    match = _RECORD.match(record)
    if match is None:
        return None
    if match["processes"]:
        pid = int(_PROCESS.findall(match["processes"])[-1])
    thread, *labels = _split(match["rest"])
    tid = int(match["tid"], 0)  # or a pthread handle, see native_ids
    return Sampled(
        pid=pid,
        tid=tid,
        thread=said(thread.removeprefix(": "), 60) or ("main" if tid == pid else "thread"),
        frames=tuple(without_comprehensions(_frame(label) for label in reversed(labels))),
        samples=int(match["samples"]),
        lines=(first, first + record.count("\n")),
    )


def _split(rest: str) -> Iterator[str]:
    """The thread's name, then each frame. Names and paths may hold semicolons themselves."""
    pieces = rest.split(";")
    # The first is the name, or empty; `Thread-1 (work)` looks like a frame, but has no line.
    frames = (n for n, piece in enumerate(pieces) if n > 0 and _FRAME_WITH_LINE.match(piece))
    first = next(frames, 1)
    while first > 1 and _BEGUN.search(pieces[first - 1]):
        first -= 1
    yield ";".join(pieces[:first])
    label = ""
    for piece in pieces[first:]:
        label = f"{label};{piece}" if label else piece
        if _FRAME.match(label):
            yield label
            label = ""


def _frame(label: str) -> Frame:
    match = _FRAME.match(label)
    if match is None:
        return Frame(function=said(label))
    line = match["line"]
    return python_frame(match["function"], match["file"], int(line) if line else None)
