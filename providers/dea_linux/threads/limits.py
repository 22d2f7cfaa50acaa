"""What an observation of threads cannot tell, and what of it could not be read."""

from collections.abc import Iterable, Iterator

from dea.contracts.data import Note
from dea.contracts.evidence import Fact
from dea_linux.threads.accounts import Account
from dea_linux.threads.stored import Stored

_DOUBTED = 0.1  # of a thread's wall time


def notes(stored: Stored) -> list[Fact]:
    if not stored.skipped:
        return []
    text = f"{stored.skipped} stored lines could not be read"
    return [
        Fact(Note(text=text, skipped_lines=stored.skipped, first_bad_line=stored.first_bad), text)
    ]


def limitations(stored: Stored) -> list[str]:
    facts = stored.facts
    window_s = max(float(facts["window_s"]), 0.001)
    rate = int(facts["samples"]) / window_s
    said: list[str] = []
    if facts["samples"] > 2:
        said.append(
            f"threads were sampled {rate:.0f} times a second (CPU time is exact, each wait's share "
            f"about 1 point); that took {facts['own_cpu_s'] / window_s:.1%} of a CPU"
        )
    if facts["threads_left_out"] > 0:
        said.append(f"{facts['threads_left_out']} more threads were not looked at")
    if facts["processes_left_out"] > 0:
        said.append(f"{facts['processes_left_out']} more child processes were not looked at")
    if facts["sockets_error"]:
        said.append(str(facts["sockets_error"]))
    if _unreadable(stored):
        said.append(
            "what threads wait in could not be read for lack of rights, so waits have no object; "
            "run as the target's user or as root"
        )
    return said


def doubts(accounts: Iterable[Account]) -> Iterator[str]:
    """Where the kernel and the samples disagree about the time without a CPU."""
    doubted = [one for one in accounts if one.doubted_ns > _DOUBTED * one.thread.wall_ns]
    if doubted:
        worst = max(doubted, key=lambda one: one.doubted_ns)
        yield (
            f"the kernel counts {worst.doubted_ns / 1e9:.1f} s without a CPU for thread "
            f"{worst.thread.tid}, but the samples saw it wait in calls meanwhile: they are believed"
        )


def _unreadable(stored: Stored) -> bool:
    looks = [look for looks in stored.looks.values() for look in looks]
    return any(not look.readable and look.state not in ("Z", "X", "R") for look in looks)
