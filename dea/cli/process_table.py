"""The table of `dea ps`: one line per process, without rich, since this must be quick."""

import shutil
import sys
from collections.abc import Iterable, Sequence

from dea.cli.streams import say
from dea.contracts.data import ProcessRow
from dea.contracts.scrub import clean_text

_LINE = "{:>8}  {:<10}  {:>5}  {:>9}  {:<8}  {}"


def show_processes(rows: Iterable[ProcessRow], limits: Sequence[str]) -> None:
    """Lines are cut to the terminal's width, and whole in a pipe."""
    lines = [_LINE.format("PID", "USER", "CPU%", "MEMORY", "RUNTIME", "COMMAND")]
    lines += map(_line, rows)
    lines += [f"({text})" for text in limits]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    say("".join(clean_text(line)[:width] + "\n" for line in lines))


def _line(row: ProcessRow) -> str:
    return _LINE.format(
        row.pid,
        row.user[:10],
        f"{row.cpu_share * 100:.0f}",
        f"{row.rss_bytes / 2**20:.1f}M",
        row.runtime,
        row.cmdline or f"({row.comm})",
    )
