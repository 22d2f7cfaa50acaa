"""Adds up the calls of a trace: by name, by name and object, by error; and keeps the slowest."""

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from dea_linux.strace.lines import Call, Event
from dea_linux.strace.objects import address_in, raw_object, socket_inode, takes_address

_OBJECTS = 20_000  # distinct ones that are told apart; the rest counts by name only
_SLOW = 40
SLOW_FROM_S = 0.001  # shorter ones are never called slow
_TENTHS = 10
_TRANSFERS = frozenset(
    {"read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev"}
    | {"preadv2", "pwritev2", "recvfrom", "sendto", "recvmsg", "sendmsg"}
)
# Counters, not streams: reading eight bytes from one is what it is for.
_COUNTERS = (b"anon_inode:[eventfd]", b"anon_inode:[timerfd]", b"anon_inode:[signalfd]")


@dataclass
class Sum:
    """What calls of one kind add up to."""

    count: int = 0
    errors: int = 0
    total_s: float = 0.0
    max_s: float = 0.0
    transfers: int = 0
    transferred_bytes: int = 0

    def add(self, other: "Sum") -> None:
        self.count += other.count
        self.errors += other.errors
        self.total_s += other.total_s
        self.max_s = max(self.max_s, other.max_s)
        self.transfers += other.transfers
        self.transferred_bytes += other.transferred_bytes


@dataclass
class Failure:
    """Calls of one name that failed with one errno."""

    count: int = 0
    example: str = ""
    line: int = 0
    last_line: int = 0
    objects: Counter[bytes] = field(default_factory=Counter[bytes])
    tenths: set[int] = field(default_factory=set[int])
    threads: set[bytes] = field(default_factory=set[bytes])  # that failed and did not succeed since


@dataclass
class Tally:
    """`began_at` and `window_s` tell in which tenth of the window a call lies."""

    began_at: float
    window_s: float
    sums: dict[tuple[str, bytes], Sum] = field(default_factory=dict[tuple[str, bytes], Sum])
    failures: dict[tuple[str, str], Failure] = field(default_factory=dict[tuple[str, str], Failure])
    slow: list[tuple[float, int, Call]] = field(default_factory=list[tuple[float, int, Call]])
    slow_from_s: float = SLOW_FROM_S
    addresses: dict[int, str] = field(default_factory=dict[int, str])  # by socket inode
    events: list[Event] = field(default_factory=list[Event])

    def add_all(self, records: Iterable[Call | Event]) -> None:
        for record in records:
            if isinstance(record, Call):
                self.add(record)
            else:
                self.events.append(record)

    def add(self, call: Call) -> None:
        name, took_s = call.name, call.duration_s or 0.0
        obj = raw_object(name, call.args)
        total = self.sums.get((name, obj)) or self._new_sum(name, obj)
        total.count += 1
        total.total_s += took_s
        total.max_s = max(total.max_s, took_s)
        if call.result[:3] == b"-1 ":
            total.errors += 1
            self._fail(call, name, call.result[3:].partition(b" ")[0].decode(), obj)
        elif name in _TRANSFERS and obj not in _COUNTERS and call.result.isdigit():
            total.transfers += 1
            total.transferred_bytes += int(call.result)
        elif name == "getsockopt" and b"SO_ERROR, [E" in call.args:
            self._fail(call, "connect", _pending_error(call.args), obj)
        elif name == "bind":
            self._bound(call.thread, address_in(call.args) or "")
        if takes_address(name) and (inode := socket_inode(obj)) is not None:
            self._learn_address(name, inode, call.args)
        if took_s > self.slow_from_s:
            self._keep_slow(took_s, call)

    def _bound(self, thread: bytes, address: str) -> None:
        """A thread that failed before got a port after all, and not just any (0)."""
        if not address or address.endswith(":0"):
            return
        for (name, _), failure in self.failures.items():
            if name == "bind":
                failure.threads.discard(thread)

    def by_name(self) -> dict[str, Sum]:
        """What all calls of each name add up to."""
        whole: dict[str, Sum] = {}
        for (name, _), part in self.sums.items():
            whole.setdefault(name, Sum()).add(part)
        return whole

    def _new_sum(self, name: str, obj: bytes) -> Sum:
        """Past the limit of objects, calls count for their name only."""
        key = (name, obj if len(self.sums) < _OBJECTS else b"")
        return self.sums.setdefault(key, Sum())

    def _keep_slow(self, took_s: float, call: Call) -> None:
        heapq.heappush(self.slow, (took_s, call.line, call))
        if len(self.slow) > _SLOW:
            heapq.heappop(self.slow)
            self.slow_from_s = self.slow[0][0]

    def _fail(self, call: Call, name: str, errno: str, obj: bytes) -> None:
        failure = self.failures.get((name, errno))
        if failure is None:
            failure = self.failures[name, errno] = Failure(line=call.line)
            failure.example = f"{call.name}({call.args.decode('utf-8', 'replace')}) = -1 {errno}"
        failure.count += 1
        failure.last_line = call.line
        failure.threads.add(call.thread)
        if len(failure.objects) < _OBJECTS or obj in failure.objects:
            failure.objects[self._subject(name, obj, call.args)] += 1
        failure.tenths.add(int((call.at - self.began_at) / max(self.window_s, 1e-9) * _TENTHS))

    def _subject(self, name: str, obj: bytes, args: bytes) -> bytes:
        """For connect and bind the address, which says more than the descriptor."""
        if name in ("connect", "bind"):
            inode = socket_inode(obj)
            known = self.addresses.get(inode, "") if inode is not None else ""
            return (address_in(args) or known.partition(" ")[2]).encode()
        return obj

    def _learn_address(self, name: str, inode: int, args: bytes) -> None:
        if address := address_in(args):
            kind = "to" if name == "connect" else "bound to"
            self.addresses[inode] = f"{kind} {address}"


def _pending_error(args: bytes) -> str:
    """The errno in `..., SO_ERROR, [ECONNREFUSED], [4]`."""
    return args.partition(b"SO_ERROR, [")[2].partition(b"]")[0].decode()
