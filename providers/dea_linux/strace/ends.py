"""Signals that were delivered and processes that ended while they were traced."""

import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence

from dea.contracts.data import Metric, Note
from dea.contracts.evidence import Fact
from dea.contracts.secrets import target_text
from dea_linux.strace.lines import Event

_KILLED = re.compile(r"killed by (\w+)")
_EXITED = re.compile(r"exited with (\d+)")
_SENDER = re.compile(r"si_pid=(\d+)")


def ends(events: Sequence[Event], pid: int, file: str) -> Iterator[Fact]:
    """How the target ended, if it did, and which signals came."""
    for event in events:
        code = None if event.is_signal or event.tid != pid else exit_code(event.what)
        if code is not None:
            data = Metric(name="exit_code", value=code, unit="code", pid=pid)
            said = f"process {pid} {target_text(event.what)} while it was traced"
            yield Fact(data, said, file, (event.line, event.line))
    signals = [event for event in events if event.is_signal]
    if signals:
        text = "signals delivered: " + _counted(signals)
        yield Fact(Note(text=text), text, file, (signals[0].line, signals[-1].line))


def exit_code(what: str) -> int | None:
    """As subprocess counts it: negative for a signal."""
    if exited := _EXITED.match(what):
        return int(exited[1])
    if killed := _KILLED.match(what):
        try:
            return -signal.Signals[killed[1]].value
        except KeyError:
            return None
    return None


def _counted(signals: Sequence[Event]) -> str:
    counts: Counter[str] = Counter()
    for event in signals:
        name = event.what.partition(" ")[0]
        sender = _SENDER.search(event.what)
        by = f" from pid {sender[1]}" if sender and "SI_USER" in event.what else ""
        counts[f"{name}{by}"] += 1
    return ", ".join(f"{what} {n} times" for what, n in counts.most_common(5))
