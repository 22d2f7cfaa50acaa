"""Rules over system calls: what fails again and again, and calls too many or too small.

A program that starts looks in many places for its files, an event loop reads until EAGAIN, a
client tries IPv6 before IPv4: such failures are normal, so each rule asks for a rate that lasts.
"""

from collections.abc import Iterator

from dea.contracts.data import SyscallError, SyscallSlow, SyscallStat
from dea.rules.draft import Cited, Draft, Facts, Rule

_LOOKUPS = frozenset(
    {"open", "openat", "openat2", "stat", "lstat", "newfstatat", "statx", "access", "faccessat"}
    | {"faccessat2", "readlink", "readlinkat", "execve"}
)
_LOOKUPS_PER_S = 200
_READINESS = frozenset(
    {"read", "readv", "recvfrom", "recvmsg", "recvmmsg", "write", "writev", "sendto", "sendmsg"}
)
_POLLS_PER_S, _POLL_FAILS = 500, 0.8
_CONNECT_FAILS = {
    "ECONNREFUSED": "nobody listens there",
    "ETIMEDOUT": "no answer comes",
    "EHOSTUNREACH": "there is no way to that host",
}
_CONNECTS_MANY, _CONNECT_FAIL_SHARE = 5, 0.75
_TINY_BYTES, _TINY_PER_S = 16, 2000
_SYNCS = frozenset({"fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range"})
_SYNC_SHARE, _SYNCS_MANY = 0.3, 10
_STORM_PER_S = 200
_LASTS = 0.8  # share of the window's tenths in which it happened: not a burst at the start
# Failures that belong to the normal flow of many programs, at whatever rate.
_FLOW = frozenset(
    {"EAGAIN", "EINTR", "EINPROGRESS", "ENOENT", "ENOTTY", "ECHILD", "ESRCH", "ERESTARTSYS"}
    | {"ERESTARTNOHAND", "ERESTARTNOINTR", "ERESTART_RESTARTBLOCK", "ETIMEDOUT"}
)
_EXHAUSTED = {
    "EMFILE": "the process has no free descriptor left (RLIMIT_NOFILE)",
    "ENFILE": "the host has no free descriptor left (fs.file-max)",
    "ENOSPC": "the disk, or another limit of the file system, is full",
    "EDQUOT": "the quota of the user is used up",
}
_SLOW_CONNECT_S = 1.0


def bind_fails(facts: Facts) -> Iterator[Draft]:
    """An address that the target wants and does not get."""
    why = {"EADDRINUSE": "address already in use", "EACCES": "permission denied"}
    for cited in facts.of(SyscallError):
        error = cited.data
        if error.name == "bind" and error.errno in why:
            # One that tries the next port until one is free gets what it wants.
            yield Draft(
                "info" if error.recovered else "high",
                f"bind to {error.object or 'an address'} fails: {why[error.errno]} "
                f"({error.errno}), {_times(error)}",
                [cited.id],
                "observed",
                f"Example: {error.example}" if error.example else "",
                weight=0.9,
                next=("investigate",),
            )


def connect_fails(facts: Facts) -> Iterator[Draft]:
    """Connection attempts of which nearly all fail, over and over."""
    attempts = _whole(facts).get("connect")
    for cited in facts.of(SyscallError):
        error = cited.data
        if error.name != "connect" or error.errno not in _CONNECT_FAILS:
            continue
        made = max(attempts.data.count if attempts else 0, error.count)
        if error.count < _CONNECTS_MANY or error.count < _CONNECT_FAIL_SHARE * made:
            continue
        yield Draft(
            "warn",
            f"connect to {error.object or 'its peers'} fails with {error.errno} "
            f"{_per_s(error.count, error.window_s)} times per second: "
            f"{_CONNECT_FAILS[error.errno]}",
            [cited.id],
            "observed",
            f"{error.count} of {made} attempts in {error.window_s:.1f} s.",
            weight=0.8,
            next=("dump_stacks",),
        )


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


def exhausted(facts: Facts) -> Iterator[Draft]:
    """A limit of the process or of the host was reached."""
    for cited in facts.of(SyscallError):
        error = cited.data
        starts = error.name in ("clone", "clone3", "fork", "vfork") and error.errno == "EAGAIN"
        if error.errno in _EXHAUSTED or starts:
            why = _EXHAUSTED.get(error.errno, "no more threads or processes are allowed")
            yield Draft(
                "high",
                f"{error.name} fails with {error.errno}, {_times(error)}: {why}",
                [cited.id],
                "observed",
                f"Example: {error.example}" if error.example else "",
                weight=0.9,
                next=("inspect_files",),
            )


def polling(facts: Facts) -> Iterator[Draft]:
    """Reading or writing again and again although nothing is ready."""
    whole = _whole(facts)
    for cited in facts.of(SyscallError):
        error = cited.data
        stat = whole.get(error.name)
        if error.errno != "EAGAIN" or error.name not in _READINESS or stat is None:
            continue
        rate = error.count / error.window_s if error.window_s else 0.0
        if rate >= _POLLS_PER_S and error.count >= _POLL_FAILS * stat.data.count:
            yield Draft(
                "warn",
                f"{error.name}{_on(error.object)} finds nothing ready {rate:.0f} times per second "
                f"({error.count / stat.data.count:.0%} of its calls): it polls without waiting",
                [cited.id, stat.id],
                "observed",
                "Wait with poll or epoll until the descriptor is ready.",
                weight=0.7,
                next=("profile_cpu",),
            )


def lookups(facts: Facts) -> Iterator[Draft]:
    """Files that do not exist, looked for all the time."""
    missing = [
        cited
        for cited in facts.of(SyscallError)
        if cited.data.errno == "ENOENT" and cited.data.name in _LOOKUPS and _lasts(cited.data)
    ]
    count = sum(cited.data.count for cited in missing)
    window_s = max((cited.data.window_s for cited in missing), default=0.0)
    if not missing or not window_s or count / window_s < _LOOKUPS_PER_S:
        return
    most = max(missing, key=lambda cited: cited.data.count).data
    yield Draft(
        "warn",
        f"looks for files that do not exist {count / window_s:.0f} times per second, most with "
        f"{most.name}{_on(most.object)}",
        [cited.id for cited in missing],
        "observed",
        f"Example: {most.example}. A result that is kept would save these calls.",
        weight=0.5,
        next=("profile_cpu",),
    )


def other_storms(facts: Facts) -> Iterator[Draft]:
    """Any other failure at a high rate, all through the window."""
    for cited in facts.of(SyscallError):
        error = cited.data
        known = (
            error.errno in _FLOW or error.errno in _EXHAUSTED or error.name in ("bind", "connect")
        )
        if known or not _lasts(error) or error.name == "futex":
            continue
        if error.window_s and error.count / error.window_s >= _STORM_PER_S:
            yield Draft(
                "warn",
                f"{error.name}{_on(error.object)} fails with {error.errno} "
                f"{_per_s(error.count, error.window_s)} times per second",
                [cited.id],
                "observed",
                f"Example: {error.example}" if error.example else "",
                weight=0.5,
                next=("profile_cpu",),
            )


def tiny_transfers(facts: Facts) -> Iterator[Draft]:
    """Very many reads or writes of a few bytes each."""
    for cited in _whole(facts).values():
        stat = cited.data
        moved, calls = stat.transferred_bytes or 0, stat.transfers or 0
        if not calls or not stat.window_s or calls / stat.window_s < _TINY_PER_S:
            continue
        if moved / calls <= _TINY_BYTES:
            yield Draft(
                "warn",
                f"{stat.name}{_on(stat.object)} moves {moved / calls:.1f} bytes per call, "
                f"{calls / stat.window_s:.0f} times per second: it is not buffered",
                [cited.id],
                "observed",
                "Each call costs more than the bytes it moves; a buffer joins them.",
                weight=0.6,
                next=("profile_cpu",),
            )


def syncs(facts: Facts) -> Iterator[Draft]:
    """A large share of the time goes into waiting for the disk to confirm."""
    for cited in _whole(facts).values():
        stat = cited.data
        heavy = stat.window_s and stat.total_s >= _SYNC_SHARE * stat.window_s
        if stat.name in _SYNCS and stat.count >= _SYNCS_MANY and heavy:
            yield Draft(
                "warn",
                f"{stat.name}{_on(stat.object)} takes {stat.total_s:.1f} s of {stat.window_s:.1f} s: "
                f"{stat.count} calls of {1000 * stat.total_s / stat.count:.1f} ms",
                [cited.id],
                "observed",
                "Each waits until the disk confirms. Confirming several writes together would "
                "cost one wait; whether that is safe is for the program to know.",
                weight=min(1.0, stat.total_s / stat.window_s),
                next=("time_budget",),
            )


def _whole(facts: Facts) -> dict[str, Cited[SyscallStat]]:
    """By name, the statistic of all its calls: those of one object or thread count less."""
    found: dict[str, Cited[SyscallStat]] = {}
    for cited in facts.of(SyscallStat):
        known = found.get(cited.data.name)
        if known is None or cited.data.count > known.data.count:
            found[cited.data.name] = cited
    return found


def _lasts(error: SyscallError) -> bool:
    return error.spread is None or error.spread >= _LASTS


def _times(error: SyscallError) -> str:
    count = "once" if error.count == 1 else f"{error.count} times"
    return f"{count} in {error.window_s:.1f} s"


def _per_s(count: int, window_s: float) -> str:
    rate = count / window_s if window_s else 0.0
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"


def _on(what: str | None) -> str:
    return f" on {what}" if what else ""


RULES: tuple[Rule, ...] = (
    bind_fails,
    connect_fails,
    connect_slow,
    exhausted,
    polling,
    lookups,
    other_storms,
    tiny_transfers,
    syncs,
)
