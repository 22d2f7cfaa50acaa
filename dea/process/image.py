"""Which program a process runs: another one after it calls execve(2), under the same pid."""

import os
from dataclasses import dataclass

from dea.process.identity import code_and_stack


@dataclass(frozen=True)
class Image:
    """`placed`: where code and stack begin, which each execve sets anew."""

    program: str
    placed: tuple[str, ...]


def image_of(pid: int) -> Image | None:
    """None when the process has ended, or may not be read."""
    placed = code_and_stack(pid)
    if placed is None:
        return None
    try:
        program = os.readlink(f"/proc/{pid}/exe").rpartition("/")[2]
    except OSError:
        return None
    return Image(program.removesuffix(" (deleted)"), placed)


def executed(pid: int, before: Image | None) -> str:
    """What to say when the process executes another program than `before`; else nothing.

    Its path and its name may change without that, and both may stay.
    """
    after = image_of(pid)
    if before is None or after is None or before.placed == after.placed:
        return ""
    return (
        f"process {pid} executed another program ({before.program} -> {after.program}) while it "
        "was looked at: what was seen may belong to either"
    )
