"""Folded stacks: one line per stack, outermost frame first, as flame graph tools read them."""

from collections.abc import Sequence

from dea.contracts.data import Frame
from dea.profile.stacks import Sampled


def fold(stacks: Sequence[Sampled]) -> bytes:
    """`process 1;thread main (2);outer (a.c:1);inner (a.c:5) 42`, the most frequent first."""
    ranking = sorted(stacks, key=lambda stack: -stack.samples)
    return "".join(f"{_path(stack)} {stack.samples}\n" for stack in ranking).encode()


def _path(stack: Sampled) -> str:
    tid = "" if stack.tid is None else f" ({stack.tid})"
    roots = [f"process {stack.pid}", f"thread {stack.thread}{tid}"]
    labels = [*roots, *(_label(frame) for frame in reversed(stack.frames))]
    return ";".join(label.replace(";", ",") for label in labels)


def _label(frame: Frame) -> str:
    if frame.file is None:
        return frame.function
    return f"{frame.function} ({frame.file}{'' if frame.line is None else f':{frame.line}'})"
