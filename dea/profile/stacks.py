"""The one shape into which the output of every sampler is read."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dea.contracts.data import Frame
from dea.contracts.scrub import one_line
from dea.contracts.secrets import hide_secrets

NO_SYMBOLS = "[no symbols]"  # a function of a stripped file; its `line` is the offset in the file


@dataclass(frozen=True)
class Sampled:
    """One stack of one thread and how often it was seen.

    `frames`: innermost first. `lines`: where it stands in the raw output. `tid` is None where the
    sampler does not tell it.
    """

    pid: int
    tid: int | None
    thread: str
    frames: tuple[Frame, ...]
    samples: int
    lines: tuple[int, int] | None = None


def merged(stacks: Iterable[Sampled]) -> list[Sampled]:
    """Equal stacks of a thread added up; each keeps the lines where it was seen first."""
    found: dict[tuple[int, int | None, str, tuple[Frame, ...]], Sampled] = {}
    for stack in stacks:
        key = (stack.pid, stack.tid, stack.thread, stack.frames)
        known = found.get(key)
        samples = stack.samples + (known.samples if known else 0)
        found[key] = replace(known or stack, samples=samples)
    return list(found.values())


def said(text: str, cap: int = 160) -> str:
    """Text that came from a target, fit for evidence."""
    return one_line(hide_secrets(text), cap)


def in_words(frame: Frame) -> str:
    """A library's function with where it belongs: `json.encoder.encode`, `deflate (libz.so.1)`."""
    if frame.module is None:
        return frame.function
    if frame.module.startswith(("/", "[")):
        return f"{frame.function} ({frame.module.rsplit('/', 1)[-1].strip('[]')})"
    return f"{frame.module}.{frame.function}"
