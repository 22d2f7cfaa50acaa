"""What goes to stdout and stderr. A reader that has seen enough (`| head`) is no error."""

import os
import sys
from typing import TextIO


def say(text: str) -> None:
    """Write to stdout, now."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _mute(sys.stdout)
    except OSError:
        _mute(sys.stdout)  # else the interpreter fails once more when it ends
        raise


def complain(text: str) -> None:
    """One line on stderr, under our name."""
    try:
        sys.stderr.write(f"dea: {text}\n")
        sys.stderr.flush()
    except BrokenPipeError:
        _mute(sys.stderr)


def accept_any_text() -> None:
    """Text from targets must not fail in a terminal that has another encoding."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _mute(stream: TextIO) -> None:
    """Send what is still buffered nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
