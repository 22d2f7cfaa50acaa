"""What the kernel says each thread is doing at one moment, from /proc/PID/task/TID/stat."""

import os
from pathlib import Path

_TASKS = 8192


def read_states(pid: int) -> str:
    """One line per thread: tid, then its stat as in proc(5)."""
    lines: list[str] = []
    try:
        tasks = sorted(os.listdir(f"/proc/{pid}/task"), key=int)[:_TASKS]
    except OSError:
        return ""
    for tid in tasks:
        try:
            stat = Path(f"/proc/{pid}/task/{tid}/stat").read_text(errors="replace")
        except OSError:
            continue  # it has just ended
        lines.append(f"{tid} {' '.join(stat.split(chr(10)))}\n")
    return "".join(lines)


def parse_states(text: str) -> dict[int, str]:
    """The one-letter state of each thread: R, S, D, T, t, Z."""
    lines = [line for line in text.split("\n") if line]
    return {int(line.split()[0]): line[line.rindex(")") + 2] for line in lines}


def parse_names(text: str) -> dict[int, str]:
    """What the kernel calls each thread."""
    lines = [line for line in text.split("\n") if line]
    return {int(line.split()[0]): line[line.index("(") + 1 : line.rindex(")")] for line in lines}
