"""Reads the text of `perf script -F tid,addr,ip,sym,dso[,srcline]`."""

import re
from dataclasses import dataclass, field

# TID ADDRESS SYMBOL (MAPPING), then a stack, innermost first: IP SYMBOL (OBJECT), and below it, if
# it is known, FILE:LINE. An inlined function has no object.
_HEAD = re.compile(r"^\s*\d+ +(?P<address>[0-9a-f]+) .* \((?P<mapping>.*)\)$")
_CALL = re.compile(r"^\t\s*[0-9a-f]+ (?P<function>.+?)(?: \((?P<object>[^()]*)\))?$")
_LINE = re.compile(r"^  (?P<file>[^\s].*):(?P<line>\d+)(?: \(.*\))?$")


@dataclass
class Call:
    """One function on a stack."""

    function: str
    object: str = ""
    file: str | None = None
    line: int | None = None


@dataclass
class Fault:
    """One page fault; `lines` are the first and last line that tell of it, `calls` innermost first."""

    address: int
    mapping: str
    lines: tuple[int, int]
    calls: list[Call] = field(default_factory=list[Call])


@dataclass
class Script:
    """`bad` are lines that could not be read."""

    faults: list[Fault] = field(default_factory=list[Fault])
    bad: list[str] = field(default_factory=list[str])


def read(text: str) -> Script:
    script = Script()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if head := _HEAD.match(line):
            fault = Fault(int(head["address"], 16), head["mapping"], (number, number))
            script.faults.append(fault)
        elif script.faults and _add(script.faults[-1].calls, line):
            script.faults[-1].lines = (script.faults[-1].lines[0], number)
        else:
            script.bad.append(line)
    return script


def _add(calls: list[Call], line: str) -> bool:
    """Take a line of a stack; False when it is none."""
    if found := _CALL.match(line):
        object_ = found["object"] or ""
        calls.append(Call(found["function"], "" if object_ == "inlined" else object_))
        return True
    place = _LINE.match(line)
    if place is None or not calls:
        return False
    if place["file"] != "??":
        calls[-1].file, calls[-1].line = place["file"], int(place["line"])
    return True
