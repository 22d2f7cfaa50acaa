"""Rules over failing system calls.

A program that starts looks in many places for its files, an event loop reads until EAGAIN, a
client tries IPv6 before IPv4: such failures are normal, so each rule asks for a rate that lasts.
"""

from collections.abc import Iterator

from dea.contracts.data import SyscallError
from dea.rules.draft import Cited, Draft, Facts, Rule
from dea.rules.syscall_view import lasts, on, per_s, times, whole

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
_STORM_PER_S = 200
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
                f"({error.errno}), {times(error)}",
                [cited.id],
                "observed",
                f"Example: {error.example}" if error.example else "",
                weight=0.9,
                next=("investigate",),
            )


def connect_fails(facts: Facts) -> Iterator[Draft]:
    """Connection attempts of which nearly all fail, over and over."""
    attempts = whole(facts).get("connect")
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
            f"{per_s(error.count, error.window_s)} times per second: "
            f"{_CONNECT_FAILS[error.errno]}",
            [cited.id],
            "observed",
            f"{error.count} of {made} attempts in {error.window_s:.1f} s.",
            weight=0.8,
            next=("dump_stacks",),
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
                f"{error.name} fails with {error.errno}, {times(error)}: {why}",
                [cited.id],
                "observed",
                f"Example: {error.example}" if error.example else "",
                weight=0.9,
                next=("inspect_files",),
            )


def polling(facts: Facts) -> Iterator[Draft]:
    """Reading or writing again and again although nothing is ready."""
    calls = whole(facts)
    for cited in facts.of(SyscallError):
        error = cited.data
        stat = calls.get(error.name)
        if error.errno != "EAGAIN" or error.name not in _READINESS or stat is None:
            continue
        rate = error.count / error.window_s if error.window_s else 0.0
        if rate >= _POLLS_PER_S and error.count >= _POLL_FAILS * stat.data.count:
            yield Draft(
                "warn",
                f"{error.name}{on(error.object)} finds nothing ready {rate:.0f} times per second "
                f"({error.count / stat.data.count:.0%} of its calls): it polls without waiting",
                [cited.id, stat.id],
                "observed",
                "Wait with poll or epoll until the descriptor is ready.",
                weight=0.7,
                next=("profile_cpu",),
            )


def lookups(facts: Facts) -> Iterator[Draft]:
    """Files that do not exist, looked for all the time."""
    missing = [cited for cited in _missing(facts) if not _is_journal(cited.data)]
    rate = _rate(missing)
    if rate < _LOOKUPS_PER_S:
        return
    most = max(missing, key=lambda cited: cited.data.count).data
    yield Draft(
        "warn",
        f"looks for files that do not exist {rate:.0f} times per second, most with "
        f"{most.name}{on(most.object)}",
        [cited.id for cited in missing],
        "observed",
        f"Example: {most.example}. A result that is kept would save these calls.",
        weight=0.5,
        next=("profile_cpu",),
    )


def sqlite_lookups(facts: Facts) -> Iterator[Draft]:
    """SQLite asks for a journal at each transaction, so this counts transactions."""
    missing = [cited for cited in _missing(facts) if _is_journal(cited.data)]
    rate = _rate(missing)
    if rate >= _LOOKUPS_PER_S:
        yield Draft(
            "info",
            f"SQLite looks for {missing[0].data.object} {rate:.0f} times per second, which it does "
            "once or twice per transaction: there are many small ones",
            [cited.id for cited in missing],
            "inferred",
            "Perhaps one query per row, where one query, or one transaction around them, would do.",
            weight=0.4,
            next=("profile_cpu",),
        )


def _missing(facts: Facts) -> list[Cited[SyscallError]]:
    """Lookups that fail all through the window."""
    return [
        cited
        for cited in facts.of(SyscallError)
        if cited.data.errno == "ENOENT" and cited.data.name in _LOOKUPS and lasts(cited.data)
    ]


def _is_journal(error: SyscallError) -> bool:
    return (error.object or "").endswith(("-journal", "-wal"))


def _rate(errors: list[Cited[SyscallError]]) -> float:
    """Per second, all together."""
    window_s = max((cited.data.window_s for cited in errors), default=0.0)
    return sum(cited.data.count for cited in errors) / window_s if window_s else 0.0


def other_storms(facts: Facts) -> Iterator[Draft]:
    """Any other failure at a high rate, all through the window."""
    for cited in facts.of(SyscallError):
        error = cited.data
        known = (
            error.errno in _FLOW or error.errno in _EXHAUSTED or error.name in ("bind", "connect")
        )
        if known or not lasts(error) or error.name == "futex":
            continue
        if error.window_s and error.count / error.window_s >= _STORM_PER_S:
            yield Draft(
                "warn",
                f"{error.name}{on(error.object)} fails with {error.errno} "
                f"{per_s(error.count, error.window_s)} times per second",
                [cited.id],
                "observed",
                f"Example: {error.example}" if error.example else "",
                weight=0.5,
                next=("profile_cpu",),
            )


ERROR_RULES: tuple[Rule, ...] = (
    bind_fails,
    connect_fails,
    exhausted,
    polling,
    lookups,
    sqlite_lookups,
    other_storms,
)
