"""Rules over system calls: failures, and calls that are too many, too small or too slow."""

from collections.abc import Iterator

from dea.contracts.data import SyscallSlow, SyscallStat
from dea.rules.draft import Draft, Facts, Rule
from dea.rules.syscall_errors import ERROR_RULES
from dea.rules.syscall_view import on, whole

_TINY_BYTES, _TINY_PER_S = 16, 2000
# One that names its offset, as pread, may have to look at just that place.
_STREAMING = frozenset({"read", "readv", "write", "writev"})
_SYNCS = frozenset({"fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range"})
_SYNC_SHARE, _SYNCS_MANY = 0.3, 10
_SLOW_CONNECT_S = 1.0


def connect_slow(facts: Facts) -> Iterator[Draft]:
    """A blocking connect that takes long."""
    for cited in facts.of(SyscallSlow):
        call = cited.data
        if call.name == "connect" and call.duration_s >= _SLOW_CONNECT_S:
            verb = "took" if call.finished else "has not returned for"
            yield Draft(
                "warn",
                f"connect by thread {call.tid} {verb} {call.duration_s:.1f} s",
                [cited.id],
                "observed",
                f"Arguments: {call.args}",
                weight=0.6,
                next=("inspect_sockets",),
            )


def tiny_transfers(facts: Facts) -> Iterator[Draft]:
    """Very many reads or writes of a few bytes each on one file, or down one pipe.

    Not on sockets, nor on pipes that are read as often as written: there a short message may be
    all there is to say before the other side answers.
    """
    for cited in facts.of(SyscallStat):
        stat = cited.data
        moved, calls = stat.transferred_bytes or 0, stat.transfers or 0
        often = stat.window_s and calls >= _TINY_PER_S * stat.window_s
        if stat.name not in _STREAMING or not often or moved > _TINY_BYTES * calls:
            continue
        if not _joinable(stat, facts):
            continue
        yield Draft(
            "warn",
            f"{stat.name}{on(stat.object)} moves {moved / calls:.1f} bytes per call, "
            f"{calls / stat.window_s:.0f} times per second: it is not buffered",
            [cited.id],
            "observed",
            "Each call costs more than the bytes it moves; a buffer joins them.",
            weight=0.6,
            next=("profile_cpu",),
        )


def _joinable(stat: SyscallStat, facts: Facts) -> bool:
    """Whether a buffer could join these transfers: nothing waits for each of them."""
    where = stat.object or ""
    if where.startswith("/"):
        return True
    answers = (
        other.data.transfers or 0
        for other in facts.of(SyscallStat)
        if other.data.name != stat.name and not (other.data.object or "").startswith("/")
    )
    return where.startswith("pipe:") and max(answers, default=0) < (stat.transfers or 0) / 2


def syncs(facts: Facts) -> Iterator[Draft]:
    """A large share of the time goes into waiting for the disk to confirm."""
    for cited in whole(facts).values():
        stat = cited.data
        heavy = stat.window_s and stat.total_s >= _SYNC_SHARE * stat.window_s
        if stat.name in _SYNCS and stat.count >= _SYNCS_MANY and heavy:
            yield Draft(
                "warn",
                f"{stat.name}{on(stat.object)} takes {stat.total_s:.1f} s of {stat.window_s:.1f} s: "
                f"{stat.count} calls of {1000 * stat.total_s / stat.count:.1f} ms",
                [cited.id],
                "observed",
                "Each waits until the disk confirms. Confirming several writes together would "
                "cost one wait; whether that is safe is for the program to know.",
                weight=min(1.0, stat.total_s / stat.window_s),
                next=("time_budget",),
            )


RULES: tuple[Rule, ...] = (*ERROR_RULES, connect_slow, tiny_transfers, syncs)
