"""Turns one look at a thread into what it waited for. Pure."""

from dea.contracts.data.causes import Cause
from dea_linux.threads import cgroup_facts, futexes
from dea_linux.threads.calls import KIND_BY_NAME, Kind
from dea_linux.threads.polls import Polls
from dea_linux.threads.sockets import socket_address
from dea_linux.threads.stored import Look, Stored
from dea_linux.threads.syscall_numbers import syscall_names
from dea_linux.threads.things import Thing, Things, safe
from dea_linux.threads.wait import Wait, wait_on

_F_SETLKW, _F_OFD_SETLKW = 7, 38  # fcntl(2)

# What a kernel function that waits says, where the call itself is not known.
_BY_FUNCTION: tuple[tuple[str, Cause], ...] = (
    ("nanosleep", "sleep"),
    ("futex", "futex"),
    ("ep_poll", "poll"),
    ("poll_schedule", "poll"),
    ("do_wait", "child"),
    ("vfork", "child"),
    ("pipe_read", "pipe_read"),
    ("pipe_write", "pipe_write"),
    ("fifo_open", "pipe_read"),
    ("wait_for_partner", "pipe_read"),
    ("accept", "accept"),
    ("wait_data", "receive"),
    ("recv", "receive"),
    ("wait_memory", "send"),
    ("n_tty_read", "tty"),
    ("folio", "disk"),
    ("io_schedule", "disk"),
    ("jbd2", "disk"),
    ("sigsuspend", "signal_wait"),
    ("sigtimedwait", "signal_wait"),
)


class Waits:
    """Knows everything that was stored besides the look itself."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._things = Things(stored)
        self._polls = Polls(stored, self._things)
        self._names = syscall_names(str(stored.facts.get("arch", "")))
        self._tids = {
            pid: {thread.tid for thread in stored.threads if thread.pid == pid}
            for pid in stored.processes
        }
        self._frozen = {
            pid: group
            for pid, process in stored.processes.items()
            if (group := cgroup_facts.frozen(stored, process))
        }
        self._brief = _brief_processes(stored)
        self._static = {
            pid: futexes.static_ranges(process.raw.get("maps", []))
            for pid, process in stored.processes.items()
        }

    def wait(self, pid: int, look: Look) -> Wait | None:
        """None when the thread ran."""
        if look.state != "R" and (group := self._frozen.get(pid)):
            return Wait("stopped", object=f"the freezer of cgroup {group}")
        if look.state in ("T", "t"):
            return Wait("stopped", object="a tracer" if look.state == "t" else "a stop signal")
        if look.state in ("Z", "X"):
            return Wait("other", object="has ended, but was not waited for")
        if not look.readable:
            return _by_function(look)
        if look.number is None:
            return None
        if look.number < 0:
            return _outside_of_calls(look)
        name = self._name(look)
        kind = KIND_BY_NAME.get(name)
        return _by_name(name, look) if kind is None else self._by_kind(pid, look, kind, name)

    def futex(self, pid: int, look: Look) -> futexes.Futex:
        return futexes.read_futex(
            look.arguments, look.memory, self._tids.get(pid, ()), self._static.get(pid, ())
        )

    def _name(self, look: Look) -> str:
        """restart_syscall hides the call that goes on; the kernel function tells which."""
        name = self._names.get(look.number or 0, f"call {look.number}")
        if name != "restart_syscall":
            return name
        restarted = {"nanosleep": "clock_nanosleep", "futex": "futex", "poll": "poll"}
        return next((call for word, call in restarted.items() if word in look.wchan), name)

    def _by_kind(self, pid: int, look: Look, kind: Kind, name: str) -> Wait:
        match kind:
            case "futex":
                return self._futex(pid, look, name)
            case "sleep":
                return Wait("sleep", name)
            case "poll" | "select" | "epoll":
                return self._polls.wait(pid, look, kind, name)
            case "child":
                return self._child(pid, look, name)
            case "signal":
                return Wait("signal_wait", name)
            case "fcntl" | "file_lock":
                return self._file_lock(pid, look, kind, name)
            case "path":
                return _on_path(look, name)
            case "connect":
                return self._connect(pid, look, name)
            case "sync" | "file":
                return Wait("disk", name, safe(look.link) or None)
            case "accept" | "receive" | "read":
                return wait_on(self._thing(pid, look, writes=False), name, writes=False)
            case "send" | "write":
                return wait_on(self._thing(pid, look, writes=True), name, writes=True)

    def _thing(self, pid: int, look: Look, *, writes: bool) -> Thing:
        return self._things.of(pid, look.link, writes=writes, fifo="pipe" in look.wchan)

    def _futex(self, pid: int, look: Look, name: str) -> Wait:
        futex = self.futex(pid, look)
        if futex.is_gil:
            return Wait("gil", name, "the interpreter's lock (GIL)")
        if futex.joins:
            thread = safe(self._stored.thread_name(futex.joins))
            return Wait("futex", name, f"the end of thread {futex.joins} ({thread})")
        if futex.owner:
            mutex = f"pthread mutex {futex.address:#x}"
            return Wait("lock", name, mutex, address=futex.address)
        return Wait("futex", name, f"futex {futex.address:#x}", address=futex.address)

    def _child(self, pid: int, look: Look, name: str) -> Wait:
        argument = look.arguments[0 if name == "wait4" else 1] & 0xFFFFFFFF
        processes = self._stored.processes
        if 0 < argument < 0x80000000 and name != "vfork":
            children = [argument]
        else:
            children = [p.pid for p in processes.values() if p.before[1:2] == [str(pid)]]
        if children and all(child in self._brief for child in children):
            names = sorted({safe(processes[child].name) for child in children})
            return Wait("child", name, f"short-lived commands: {', '.join(names[:3])}")
        known = [f"pid {c} ({safe(processes[c].name)})" for c in children if c in processes]
        return Wait("child", name, ", ".join(known[:3]) or None, peer_pids=tuple(children[:4]))

    def _file_lock(self, pid: int, look: Look, kind: Kind, name: str) -> Wait:
        if kind == "fcntl" and look.arguments[1] not in (_F_SETLKW, _F_OFD_SETLKW):
            return Wait("disk" if look.state == "D" else "other", name, safe(look.link) or None)
        owner = self._file_lock_owner(pid)
        held = f" held by pid {owner}" if owner else ""
        return Wait("file_lock", name, safe(look.link) + held, peer_pids=(owner,) if owner else ())

    def _file_lock_owner(self, pid: int) -> int:
        """From /proc/locks: a line with "->" waits for the line before it with the same number."""
        owners: dict[str, int] = {}
        for line in str(self._stored.host.get("locks", "")).splitlines():
            fields = line.split()
            if "->" in fields and int(fields[5]) == pid:
                return max(0, owners.get(fields[0], 0))
            if "->" not in fields:
                owners[fields[0]] = int(fields[4])
        return 0

    def _connect(self, pid: int, look: Look, name: str) -> Wait:
        thing = self._thing(pid, look, writes=True)
        address = safe(socket_address(look.memory))
        return Wait(
            "connect",
            name,
            f"{address} (outbound)" if address else thing.name,
            role="outbound",
            peer_pids=thing.peer_pids,
        )


def _brief_processes(stored: Stored) -> set[int]:
    """Those that ended in the window and were there for less than half of it."""
    lived: dict[int, int] = {}
    for thread in stored.threads:
        lived[thread.pid] = max(lived.get(thread.pid, 0), thread.wall_ns)
    half_ns = 0.5e9 * float(stored.facts.get("window_s", 0.0))
    ended = [pid for pid, process in stored.processes.items() if not process.raw["stat"][-1]]
    return {pid for pid in ended if lived.get(pid, 0) < half_ns}


def _by_function(look: Look) -> Wait | None:
    """When the call may not be read, the kernel function still tells, if that may be read."""
    if look.state == "R":
        return None
    for word, cause in _BY_FUNCTION:
        if word in look.wchan:
            return Wait(cause, object=f"in the kernel at {look.wchan}")
    if look.state == "D":
        return Wait("disk")
    return Wait("other", object=look.wchan) if look.wchan else Wait("unattributed")


def _outside_of_calls(look: Look) -> Wait | None:
    if look.state == "D" or any(word in look.wchan for word in ("fault", "folio")):
        return Wait("page_fault")
    return None if look.state == "R" else Wait("other", object=look.wchan or None)


def _by_name(name: str, look: Look) -> Wait:
    """Calls that seldom wait."""
    if "vfork" in look.wchan:
        return Wait("child", name)
    if name in ("semop", "semtimedop"):
        return Wait("futex", name, "a System V semaphore")
    if name == "io_uring_enter":
        return Wait("poll", name, "io_uring")
    return Wait("other", name, look.wchan or None)


def _on_path(look: Look, name: str) -> Wait:
    if any(word in look.wchan for word in ("fifo_open", "wait_for_partner")):
        writes = name == "openat" and look.arguments[2] & 3 == 1
        return Wait("pipe_write" if writes else "pipe_read", name, "a FIFO nobody else has open")
    return Wait("disk", name)
