"""Reads the text of `perf script -F comm,pid,tid,ip,sym,symoff,dso`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dea.contracts.secrets import target_text

_HEAD = re.compile(r"(?P<comm>\S.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s*$")
_FRAME = re.compile(
    r"\s+(?P<ip>[0-9a-f]+) (?:(?P<symbol>.+)\+0x[0-9a-f]+|\[unknown\]) \((?P<module>.*)\)$"
)


@dataclass(frozen=True)
class Call:
    """One frame. `offset` is where the code stands in the file `module`."""

    offset: int
    symbol: str | None
    module: str


@dataclass(frozen=True)
class Sample:
    """One sample, innermost call first. `lines`: where it stands in the text."""

    pid: int
    tid: int
    comm: str
    calls: tuple[Call, ...]
    lines: tuple[int, int]


@dataclass(frozen=True)
class Script:
    """What was read, and what could not be."""

    samples: list[Sample]
    skipped: int
    first_bad_line: str


def read_script(text: str) -> Script:
    samples: list[Sample] = []
    bad: list[str] = []
    for number, block in _blocks(text):
        head = _HEAD.match(block[0])
        calls = [_FRAME.match(line) for line in block[1:]]
        bad += [] if head else [block[0]]
        bad += [line for line, call in zip(block[1:], calls, strict=True) if call is None]
        if head:
            found = tuple(_call(call) for call in calls if call)
            where = (number, number + len(block) - 1)
            pid, tid = int(head["pid"]), int(head["tid"])
            samples.append(Sample(pid, tid, head["comm"], found, where))
    return Script(samples, len(bad), target_text(bad[0], 200) if bad else "")


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Each sample's lines, with the number of the first; blank lines stand between samples."""
    block: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _call(match: re.Match[str]) -> Call:
    return Call(int(match["ip"], 16), match["symbol"], match["module"])
