"""The port that a command was refused, as far as what it printed tells."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_IN_USE = re.compile(r"address already in use|EADDRINUSE|errno 98|bind\(\).* failed", re.IGNORECASE)
_PORT = re.compile(r"(?:[:\s\[(]|port[ =:]*)(\d{2,5})\b(?!\s*\])")
_BIND_CALL = re.compile(r"\b(?:bind|listen|create_server)\(.*?(?<![\d.])(\d{2,5})\b(?![\d.])")
_NO_PORTS = (48, 98)  # EADDRINUSE itself, on macOS and on Linux
_LINES_BEFORE = 40  # how far above the complaint its traceback may begin


@dataclass(frozen=True)
class Refusal:
    """Line `number` complains that an address is in use; `port` is None when it does not say."""

    number: int
    line: str
    port: int | None


def refusal_in(lines: Sequence[str]) -> Refusal | None:
    """The first complaint that names its port, else the first one."""
    found = [
        Refusal(number, line, _port_in(line) or _port_of_call(lines[: number - 1]))
        for number, line in enumerate(lines, 1)
        if _IN_USE.search(line)
    ]
    return next((refusal for refusal in found if refusal.port), found[0] if found else None)


def _port_in(line: str) -> int | None:
    return _plausible(_PORT.findall(line))


def _port_of_call(lines: Sequence[str]) -> int | None:
    """From the source line that a traceback shows: `server.bind(("", 8080))`."""
    calls = [found for line in lines[-_LINES_BEFORE:] for found in _BIND_CALL.findall(line)]
    return _plausible(calls[::-1])


def _plausible(numbers: Sequence[str]) -> int | None:
    ports = (int(number) for number in numbers)
    return next((port for port in ports if port < 65536 and port not in _NO_PORTS), None)
