"""How the rules over system calls read and word their evidence."""

from dea.contracts.data import SyscallError, SyscallStat
from dea.rules.draft import Cited, Facts

_LASTS = 0.8  # share of the window's tenths in which it happened: not a burst at the start


def whole(facts: Facts) -> dict[str, Cited[SyscallStat]]:
    """By name, the statistic of all its calls: those of one object or thread count less."""
    found: dict[str, Cited[SyscallStat]] = {}
    for cited in facts.of(SyscallStat):
        known = found.get(cited.data.name)
        if known is None or cited.data.count > known.data.count:
            found[cited.data.name] = cited
    return found


def lasts(error: SyscallError) -> bool:
    return error.spread is None or error.spread >= _LASTS


def times(error: SyscallError) -> str:
    count = "once" if error.count == 1 else f"{error.count} times"
    return f"{count} in {error.window_s:.1f} s"


def per_s(count: int, window_s: float) -> str:
    rate = count / window_s if window_s else 0.0
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"


def on(what: str | None) -> str:
    return f" on {what}" if what else ""
