"""A spinner on stderr while something runs, when somebody can see it."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

from dea.observe import Progress
from dea.tools.invoke import quiet


@contextmanager
def progress_on_stderr(what: str) -> Generator[Progress]:
    """What to tell progress to; it is shown only in a terminal."""
    if not sys.stderr.isatty():
        yield quiet
        return
    from rich.console import Console
    from rich.markup import escape

    from dea.contracts.scrub import one_line

    with Console(stderr=True).status(escape(what)) as status:

        async def report(fraction: float, message: str) -> None:
            doing = message if what in message else f"{what}: {message}"
            done = f" {fraction:.0%}" if fraction else ""
            status.update(escape(one_line(doing, 70) + done))

        yield report
