"""From one thread dump to stacks and the locks between them."""

from collections.abc import Iterator

from dea.backend import Observation, Parsed
from dea.contracts.data import Stack
from dea.contracts.evidence import Fact
from dea.errors import BackendError
from dea.profile.evidence import skipped_fact
from dea.profile.pictures import Picture, stack_facts
from dea.profile.states import parse_states
from dea_runtimes.jvm.contention import moment_facts
from dea_runtimes.jvm.dump import JavaThread, Lock, ThreadDump, read_dump
from dea_runtimes.jvm.series import Moment

LEFT_BEHIND = (
    "the JVM keeps the thread Attach Listener and its socket /tmp/.java_pidN, which the first dump "
    "opened"
)


def dump_file(pid: int) -> str:
    return f"dump.{pid}.txt"


def states_file(pid: int) -> str:
    return f"threads.{pid}.txt"


def misses_owners(text: str) -> bool:
    """Whether somebody waits for a lock object whose owner this dump does not tell."""
    dump = read_dump(text.split("\n"))
    wanted = (thread.wants for thread in dump.threads if thread.wants)
    return any(dump.owner(lock) is None and lock.title.startswith("java lock") for lock in wanted)


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when a dump shows no thread."""
    facts = [fact for pid in observation.facts["pids"] for fact in _process(observation, pid)]
    return Parsed(facts=facts, limitations=list(_limitations(observation)))


def _process(observation: Observation, pid: int) -> Iterator[Fact]:
    file = dump_file(pid)
    lines = observation.text(file).split("\n")
    dump = read_dump(lines)
    if not dump.threads:
        raise BackendError(f"the thread dump cannot be read, first line: {lines[0][:120]}")
    tids: dict[int, int] = dict(observation.facts["notes"][str(pid)]["tids"])
    for thread in dump.threads:
        thread.tid = tids.get(thread.tid, thread.tid)
    moment = Moment(0.0, 0.0, dump, {}, parse_states(observation.text(states_file(pid))))
    pictures = [picture(pid, t, moment) for t in dump.threads if t.is_of_program]
    yield from stack_facts(pid, pictures, file)
    yield from moment_facts(pid, moment, file)
    yield from skipped_fact(dump.skipped, dump.first_bad_line, file)


def picture(pid: int, thread: JavaThread, moment: Moment) -> Picture:
    """One thread's stack, and what it waits for as far as the dump tells."""
    stack = Stack(
        pid=pid,
        tid=thread.tid,
        thread=thread.name,
        frames=thread.frames,
        state=moment.states.get(thread.tid),
        waits_on=_waits_on(thread, moment.dump),
        on_cpu=moment.is_running(thread),
    )
    return Picture(stack, thread.lines)


def _waits_on(thread: JavaThread, dump: ThreadDump) -> str | None:
    if thread.wants is not None:
        owner = dump.owner(thread.wants)
        return thread.wants.title + (f", held by {owner.name} ({owner.tid})" if owner else "")
    return _signal(thread.parked_on) if thread.parked_on else None


def _signal(lock: Lock) -> str:
    """Conditions and latches: somebody must call, nobody holds them."""
    return f"a signal at {lock.type}@{lock.address}"


def _limitations(observation: Observation) -> Iterator[str]:
    noted = observation.facts
    yield (
        "one moment only, for which the JVM stopped its Java threads some milliseconds at a "
        "safepoint; its own threads (collector, compiler, finalizer) are left out, and virtual "
        "threads that wait do not show"
    )
    yield LEFT_BEHIND
    if any(notes["owners_unknown"] for notes in noted["notes"].values()):
        yield (
            "who holds java.util.concurrent locks is not told, since the JVM would have to search "
            "its whole heap for it; owners of monitors are known"
        )
    yield from (f"not all processes could be read: {failure}" for failure in noted["failures"])
    if noted["left_out"]:
        yield f"{noted['left_out']} more processes were not looked at"
