"""The console that tables are drawn on: colour and width as the terminal has them, else plain."""

import os
import sys
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.text import Text

from dea.cli.streams import say
from dea.contracts.scrub import clean_text

_WIDTH_IN_A_PIPE = 120
_COLOURS = {"high": "bold red", "warn": "yellow", "info": "cyan"}


def show(parts: Iterable[RenderableType]) -> None:
    """Print in one write, so that a reader who leaves early ends it quietly."""
    console = _console()
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    lines = (line.rstrip() for line in captured.get().splitlines())
    say("\n".join(lines) + "\n")


def plain(text: str, style: str = "") -> Text:
    """Text that may come from a target: no markup, no escape sequences."""
    return Text(clean_text(text), style=style)


def severity(name: str) -> Text:
    return Text(name.upper() if name == "high" else name, style=_COLOURS.get(name, ""))


def heading(text: str) -> Text:
    return Text(text, style="bold")


def _console() -> Console:
    is_piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(
        file=sys.stdout,
        width=_WIDTH_IN_A_PIPE if is_piped else None,
        color_system=None if os.environ.get("NO_COLOR") else "auto",  # no bold either
        highlight=False,
        emoji=False,
    )
