"""Reads a thread dump of HotSpot, of Java 8 to 25."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dea.contracts.data import Frame
from dea.contracts.secrets import target_text
from dea.profile.stacks import said
from dea_runtimes.jvm.frames import MONITOR_ENTER, java_frame

_HEAD = re.compile(r'^"(?P<name>.*)" .*\bnid=(?P<nid>0x[0-9a-f]+|\d+)(?: |$)')
_STATE = re.compile(r"^   java\.lang\.Thread\.State: (?P<state>\w+)")
_FRAME = re.compile(r"^\tat (?P<method>[^()]+)\((?P<place>.*)\)$")
_LOCK = re.compile(
    r"^\t- (?P<how>waiting to lock|waiting to re-lock in wait\(\)|waiting on|locked"
    r"|parking to wait for)\s+<(?P<address>0x[0-9a-f]+)> \(an? (?P<type>.+)\)$"
)
_SYNCHRONIZER = re.compile(r"^\t- <(?P<address>0x[0-9a-f]+)> \(an? (?P<type>.+)\)$")
_NATIVE = re.compile(r"Native Method\)$")
# Locks that one thread owns. Other things to park on are queues, conditions, latches, permits.
_OWNED_TYPE = re.compile(r"\.locks\.(ReentrantLock|ReentrantReadWriteLock|StampedLock)\b")
_HOUSEKEEPING = frozenset({"Reference Handler", "Finalizer", "Common-Cleaner", "Signal Dispatcher"})
_CIRCLE = re.compile(r"^Found (?:one|\d+) Java-level deadlock")
_IN_CIRCLE = re.compile(r'^"(?P<name>.*)":$')
_WANTS = re.compile(
    r"^  waiting (?:to lock monitor 0x[0-9a-f]+ \(object |for ownable synchronizer )"
    r"(?P<address>0x[0-9a-f]+), \(?an? (?P<type>.+?)\),?$"
)
_HELD_BY = re.compile(r'^  which is held by "(?P<name>.*)"$')


@dataclass(frozen=True)
class Lock:
    """A monitor or lock object. Its address changes when the collector moves it."""

    address: str
    type: str

    @property
    def title(self) -> str:
        """`java monitor com.shop.Stock@0x1`, `java lock ReentrantLock@0x1`."""
        owned = _OWNED_TYPE.search(self.type)
        return (
            f"java lock {owned[1]}@{self.address}"
            if owned
            else f"java monitor {self.type}@{self.address}"
        )


@dataclass
class JavaThread:
    """One thread. `tid` is as the machine itself sees it; `lines` are those of the dump, from 1."""

    name: str
    tid: int
    state: str = ""
    frames: list[Frame] = field(default_factory=list[Frame])  # innermost first
    wants: Lock | None = None
    parked_on: Lock | None = None
    holds: list[Lock] = field(default_factory=list[Lock])
    in_native: bool = False
    lines: tuple[int, int] = (1, 1)

    @property
    def is_of_program(self) -> bool:
        """Not one of the JVM's own, with Java code (which collects references) or without."""
        return bool(self.frames) and self.name not in _HOUSEKEEPING

    @property
    def own(self) -> Frame | None:
        return next((frame for frame in self.frames if frame.own), None)


@dataclass
class ThreadDump:
    """`circles`: (waiter, lock, owner) of deadlocks that the JVM itself found, threads by name."""

    threads: list[JavaThread] = field(default_factory=list[JavaThread])
    circles: list[tuple[str, Lock, str]] = field(default_factory=list[tuple[str, Lock, str]])
    skipped: int = 0
    first_bad_line: str = ""

    def named(self, name: str) -> JavaThread | None:
        """The thread of that name, when there is only one."""
        found = [thread for thread in self.threads if thread.name == name]
        return found[0] if len(found) == 1 else None

    def owner(self, lock: Lock) -> JavaThread | None:
        holders = (thread for thread in self.threads if lock in thread.holds)
        by_name = next((owner for _, wanted, owner in self.circles if wanted == lock), "")
        return next(holders, None) or self.named(by_name)


def read_dump(lines: Sequence[str], first_line: int = 1) -> ThreadDump:
    """`first_line`: the number of the dump's first line in the file that it stands in."""
    end = next((n for n, line in enumerate(lines) if _CIRCLE.match(line)), len(lines))
    dump = ThreadDump(circles=list(_circles(lines[end:])))
    thread: JavaThread | None = None
    released: set[str] = set()  # monitors that the thread gave back while it waits in wait()
    for number, line in enumerate(lines[:end], first_line):
        if line.startswith('"'):
            thread, released = _begun(line, number, dump), set()
        elif not line or thread is None:
            continue
        elif _read_line(line, thread, released):
            thread.lines = (thread.lines[0], number)
        elif line.startswith("\tat "):
            _skip(line, dump)
    return dump


def _begun(line: str, number: int, dump: ThreadDump) -> JavaThread | None:
    head = _HEAD.match(line)
    if head is None:
        _skip(line, dump)
        return None
    thread = JavaThread(said(head["name"], 60), int(head["nid"], 0), lines=(number, number))
    dump.threads.append(thread)
    return thread


def _read_line(line: str, thread: JavaThread, released: set[str]) -> bool:
    if found := _FRAME.match(line):
        if not thread.frames:
            thread.in_native = _NATIVE.search(line) is not None
        frame = java_frame(found["method"], found["place"])
        thread.frames += [] if frame is None else [frame]
    elif found := _LOCK.match(line):
        lock = Lock(found["address"], said(found["type"], 100))
        _note_lock(found["how"], lock, thread, released)
    elif found := _SYNCHRONIZER.match(line):
        thread.holds.append(Lock(found["address"], said(found["type"], 100)))
    elif found := _STATE.match(line):
        thread.state = found["state"]
    else:
        return False
    return True


def _note_lock(how: str, lock: Lock, thread: JavaThread, released: set[str]) -> None:
    match how:
        case "locked":
            if lock.address not in released:
                thread.holds.append(lock)
        case "parking to wait for":
            if _OWNED_TYPE.search(lock.type) and "ConditionObject" not in lock.type:
                thread.wants = lock
            else:
                thread.parked_on = lock
        case "waiting on":
            released.add(lock.address)
            thread.parked_on = lock
        case _:  # to enter, or to enter again after wait()
            released.add(lock.address)
            thread.parked_on = None
            if thread.state == "BLOCKED":
                thread.wants = lock
                thread.frames.insert(0, MONITOR_ENTER)


def _circles(lines: Sequence[str]) -> Iterator[tuple[str, Lock, str]]:
    name, lock = "", None
    for line in lines:
        if found := _IN_CIRCLE.match(line):
            name, lock = said(found["name"], 60), None
        elif found := _WANTS.match(line):
            lock = Lock(found["address"], said(found["type"], 100))
        elif (found := _HELD_BY.match(line)) and lock is not None:
            yield name, lock, said(found["name"], 60)


def _skip(line: str, dump: ThreadDump) -> None:
    dump.first_bad_line = dump.first_bad_line or target_text(line, 120)
    dump.skipped += 1
