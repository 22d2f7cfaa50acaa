"""Evidence from what the sampler stored. Pure."""

from collections import defaultdict

from dea.backend import Observation, Parsed
from dea.contracts.evidence import Fact
from dea.errors import BackendError
from dea_linux.threads import cgroup_facts, host_facts, limits
from dea_linux.threads.accounts import Account, Share, account
from dea_linux.threads.contention import find_locks, lock_facts
from dea_linux.threads.stored import Look, ProcessRecord, Stored, ThreadRecord, read
from dea_linux.threads.thread_facts import ThreadFacts
from dea_linux.threads.wait import Wait
from dea_linux.threads.waits import Waits

_MOST_THREADS, _MOST_THREADS_OF_A_LOOK, _MOST_PEERS = 12, 24, 4
_LEAST_WAIT_FOR_PEER, _STARVED = 0.1, 0.1


def parse(observation: Observation) -> Parsed:
    """Where the time of each thread went. Raises BackendError when no thread could be read."""
    stored = _usable(observation)
    waits = Waits(stored)
    accounts = _accounts(stored, waits)
    runtimes = {pid: _runtime(stored, process) for pid, process in stored.processes.items()}
    family = [a for a in accounts if not a.thread.peer]
    locks = find_locks(stored, family, waits)
    threads = ThreadFacts(stored, locks, runtimes)
    peers = _peers_waited_for(stored, family)
    cpu_ns: dict[int, int] = defaultdict(int)
    for item in accounts:
        cpu_ns[item.thread.pid] += item.thread.cpu_ns
    facts = [
        *threads.family(family, "thread_time", _MOST_THREADS),
        *lock_facts(stored, locks, {pid for pid, name in runtimes.items() if name == "python"}),
        *_peer_facts(threads, accounts, peers),
        *host_facts.process_facts(stored, cpu_ns, runtimes, set(peers)),
        *host_facts.ended_children_facts(stored),
        *cgroup_facts.cgroup_facts(stored),
        *host_facts.host_facts(
            stored,
            sum(item.thread.cpu_ns for item in family),
            name_neighbours=_is_starved(family),
        ),
        *limits.notes(stored),
    ]
    return Parsed(facts, [*limits.limitations(stored), *limits.doubts(family)])


def parse_look(observation: Observation) -> Parsed:
    """What each thread waits for at one moment."""
    stored = _usable(observation)
    waits = Waits(stored)
    accounts = [_single(stored, waits, t) for t in stored.threads if not t.peer]
    runtimes = {pid: _runtime(stored, process) for pid, process in stored.processes.items()}
    locks = find_locks(stored, accounts, waits)
    threads = ThreadFacts(stored, locks, runtimes)
    return Parsed(
        [
            *threads.family(accounts, "thread_wait", _MOST_THREADS_OF_A_LOOK),
            *lock_facts(stored, locks, set()),
            *limits.notes(stored),
        ],
        limits.limitations(stored),
    )


def _usable(observation: Observation) -> Stored:
    stored = read(observation)
    if not stored.threads:
        raise BackendError(
            "no thread could be read" + (f": {stored.first_bad}" if stored.first_bad else ""),
            "The target may have ended at once, or its /proc files may not be read: try as root",
        )
    return stored


def _accounts(stored: Stored, waits: Waits) -> list[Account]:
    interval_ms = 1000 * float(stored.facts["window_s"]) / max(1, int(stored.facts["samples"]))
    throttled = {
        pid: cgroup_facts.throttled_ns(stored, process) for pid, process in stored.processes.items()
    }
    found: list[Account | None] = []
    for thread in stored.threads:

        def wait_of(look: Look, pid: int = thread.pid) -> Wait | None:
            return waits.wait(pid, look)

        looks = stored.looks.get(thread.tid, [])
        found.append(account(thread, looks, wait_of, throttled.get(thread.pid, 0), interval_ms))
    return [item for item in found if item is not None]


def _single(stored: Stored, waits: Waits, thread: ThreadRecord) -> Account:
    """The last look at a thread as an account of that moment."""
    looks = stored.looks.get(thread.tid, [])
    wait = waits.wait(thread.pid, looks[-1]) if looks else Wait("unattributed")
    return Account(thread, [Share(wait or Wait("cpu_user"), 1.0)])


def _peers_waited_for(stored: Stored, family: list[Account]) -> list[int]:
    """Processes outside the family that it waits for, the longest wait first."""
    waited: dict[int, float] = defaultdict(float)
    for item in family:
        for share in item.shares:
            for pid in share.wait.peer_pids:
                waited[pid] = max(waited[pid], share.share)
    peers = [pid for pid, process in stored.processes.items() if process.peer]
    wanted = [pid for pid in peers if waited[pid] >= _LEAST_WAIT_FOR_PEER]
    return sorted(wanted, key=lambda pid: -waited[pid])[:_MOST_PEERS]


def _peer_facts(threads: ThreadFacts, accounts: list[Account], peers: list[int]) -> list[Fact]:
    """Of each peer the thread that works most."""
    facts: list[Fact] = []
    for pid in peers:
        own = [item for item in accounts if item.thread.pid == pid]
        if own:
            busiest = max(
                own, key=lambda a: (a.thread.cpu_ns + a.thread.delay_ns, a.thread.switches)
            )
            facts.append(threads.of_thread(busiest, "peer_time"))
    return facts


def _is_starved(family: list[Account]) -> bool:
    return any(item.of("runnable") >= _STARVED for item in family)


def _runtime(stored: Stored, process: ProcessRecord) -> str:
    """As the target's is known; of others what their maps and executable say."""
    if process.pid == stored.facts.get("target") and stored.facts.get("runtime"):
        return str(stored.facts["runtime"])
    names = [
        line.split()[5].rpartition("/")[2]
        for line in process.raw.get("maps", [])
        if len(line.split()) > 5
    ]
    names.append(str(process.raw.get("exe", "")).rpartition("/")[2])
    runtimes = {
        "libjvm": "java",
        "libnode": "node",
        "node": "node",
        "libpython": "python",
        "python": "python",
    }
    for word, runtime in runtimes.items():
        if any(name.startswith(word) for name in names):
            return runtime
    return "native"
