"""Rules over waits for others: answers, connections, pipes, file locks, and who is to blame for them."""

from collections.abc import Iterator

from dea.contracts.data import Part
from dea.contracts.finding import Confidence
from dea.rules.draft import Draft, Facts
from dea.rules.thread_view import Doing, View, doing_of, is_exchange, mean_s, read_threads
from dea.rules.waiting_groups import Waiting, waits

_WHOLE = 0.9  # of a thread's wall time
_SHORT_S = 0.02  # answers that come within that are quick
_OUTSTANDING_S = 0.05


def answers(facts: Facts) -> Iterator[Draft]:
    """Threads that ask another process or host and wait for what it says."""
    view = read_threads(facts)
    for waiting in waits(view, _asks):
        part, window_s = waiting.part, waiting.thread.window_s
        if _is_whole(part, window_s) and not (part.sent_bytes and part.received_bytes):
            yield _silent(waiting, view)
        elif not is_exchange(part) or waiting.place is not None and waiting.place.waits_for_work:
            yield _waits_for_work(waiting)
        elif _takes_long(part, window_s):
            yield _slow_answers(waiting, view)


def _asks(part: Part) -> bool:
    return part.cause in ("receive", "poll") and part.role == "outbound"


def _serves_and_asks(part: Part) -> bool:
    serves = part.cause == "poll" and part.role in ("listen", "inbound")
    return serves and part.unanswered is not None


def _is_whole(part: Part, window_s: float) -> bool:
    return part.share >= _WHOLE and (part.longest_s or 0.0) >= _WHOLE * window_s


def _takes_long(part: Part, window_s: float) -> bool:
    """By what is owed, when that is known: an event loop wakes up for many other reasons."""
    if part.cause == "poll":
        return (part.unanswered_s or 0.0) >= _OUTSTANDING_S / 2 and (part.unanswered or 0.0) >= 0.4
    owed = part.unanswered is None or part.unanswered >= 0.4 * part.share
    return owed and mean_s(part, window_s) >= _SHORT_S


def _slow_answers(waiting: Waiting, view: View) -> Draft:
    part = waiting.part
    each_s = mean_s(part, waiting.thread.window_s)
    if part.cause == "poll":
        each_s = 2 * (part.unanswered_s or 0.0)  # seen at a random moment, half of it has passed
    blame, ids = _blame(waiting, view)
    cause, cause_ids = _cause(waiting, view)
    ids = list(dict.fromkeys([*ids, *cause_ids]))
    others = [pid for pid in waiting.peers if pid != waiting.thread.pid]
    passes_on = any(_asks_others(pid, view) for pid in others)
    severity = waiting.severity(view)
    return Draft(
        severity="warn" if severity == "high" and passes_on else severity,
        summary=f"{waiting.who} {part.share:.0%} of the time for answers from "
        f"{_peer(waiting, view)}, about {_seconds(each_s)} each{waiting.at}{cause}",
        evidence_ids=[*waiting.ids, *ids],
        confidence="inferred",
        detail=f"{_traffic(part)}{'' if cause else blame}",
        weight=part.share * (0.5 if passes_on else 1.0),
        next=(*waiting.next, "inspect_sockets"),
    )


def _asks_others(pid: int, view: View) -> bool:
    """Whether the peer is itself waiting for an answer: then the cause is further on."""
    return any(
        (_asks(part) or _serves_and_asks(part))
        and part.share >= 0.5
        and (part.unanswered or 0.0) >= 0.5
        and is_exchange(part)
        for thread in view.of(pid)
        for part in thread.parts
    )


def _silent(waiting: Waiting, view: View) -> Draft:
    """Nothing came the whole time: a subscriber, a long poll, or a peer that is stuck."""
    part, place = waiting.part, waiting.place
    owed = (part.unanswered or 0.0) >= _WHOLE
    suspicious = owed and place is not None and not place.waits_for_work
    blame, ids = _blame(waiting, view)
    why = (
        "It sent a request and nothing came back; no name in the stack says that it waits for events."
        if suspicious
        else "It may wait for events on purpose (a subscription, a queue), or the peer may be stuck."
    )
    return Draft(
        severity="warn" if suspicious else "info",
        summary=f"{waiting.who} the whole time for {_peer(waiting, view)}, which sent nothing"
        f"{waiting.at}",
        evidence_ids=[*waiting.ids, *ids],
        confidence="inferred",
        detail=f"{why}{blame}",
        weight=part.share if suspicious else 0.2 * part.share,
        next=(*waiting.next, "inspect_sockets"),
    )


def _waits_for_work(waiting: Waiting) -> Draft:
    named = waiting.place is not None and waiting.place.waits_for_work
    why = (
        "A name in its stack says that it waits for work or events."
        if named
        else "Nothing is owed to it: the other side sends when it has something."
    )
    return Draft(
        severity="info",
        summary=f"{waiting.who} {waiting.part.share:.0%} of the time for data or work from "
        f"{waiting.part.object}{waiting.at}",
        evidence_ids=waiting.ids,
        confidence="inferred",
        detail=why,
        weight=0.1 * waiting.part.share,
    )


def upstreams(facts: Facts) -> Iterator[Draft]:
    """Servers whose own requests to others stay unanswered for long while their loop has nothing to do."""
    view = read_threads(facts)
    for waiting in waits(view, _serves_and_asks):
        part = waiting.part
        if (
            (part.unanswered or 0) < 0.5
            or (part.unanswered_s or 0) < _OUTSTANDING_S
            or not is_exchange(part)
        ):
            continue
        blame, ids = _blame(waiting, view)
        yield Draft(
            severity="warn",
            summary=f"{waiting.who} {part.share:.0%} of the time, and {part.unanswered or 0:.0%} of it "
            f"has requests to others unanswered, about {_seconds(2 * (part.unanswered_s or 0))} each: "
            f"{part.object}",
            evidence_ids=[*waiting.ids, *ids],
            confidence="inferred",
            detail=f"{_traffic(part)}{blame}",
            weight=part.share * (part.unanswered or 0),
            next=("inspect_sockets",),
        )


def connections(facts: Facts) -> Iterator[Draft]:
    """Connections that take long to come about, and data that a peer does not take."""
    view = read_threads(facts)
    for waiting in waits(view, lambda part: part.cause == "connect"):
        yield _stuck(
            waiting, view, f"for a connection to {_peer(waiting, view)} that is not accepted"
        )
    for waiting in waits(view, lambda part: part.cause == "send"):
        text = f"for {_peer(waiting, view)} to take its data"
        yield _stuck(waiting, view, text, quiet=waiting.part.role != "outbound")


def pipes(facts: Facts) -> Iterator[Draft]:
    """Pipes whose other end is held by a process that is busy or kept waiting itself."""
    view = read_threads(facts)
    for waiting in waits(view, lambda part: part.cause in ("pipe_read", "pipe_write")):
        what = "data from" if waiting.part.cause == "pipe_read" else "room in"
        doing = next((d for pid in waiting.peers if (d := view.doing(pid))), None)
        inside = bool(view.pids.intersection(waiting.peers))
        if doing is not None and (doing.is_blocked or (doing.is_busy and not inside)):
            yield _stuck(waiting, view, f"for {what} {waiting.part.object}")


def file_locks(facts: Facts) -> Iterator[Draft]:
    """Files that somebody else has locked."""
    view = read_threads(facts)
    for waiting in waits(view, lambda part: part.cause == "file_lock"):
        yield _stuck(waiting, view, f"for the lock on {waiting.part.object}", "observed")


def _stuck(
    waiting: Waiting,
    view: View,
    what: str,
    confidence: Confidence = "inferred",
    *,
    quiet: bool = False,
) -> Draft:
    blame, ids = _blame(waiting, view)
    part = waiting.part
    return Draft(
        severity="info" if quiet else waiting.severity(view),
        summary=f"{waiting.who} {part.share:.0%} of the time {what}{waiting.at}",
        evidence_ids=[*waiting.ids, *ids],
        confidence=confidence,
        detail=blame.strip(),
        weight=part.share * (0.3 if quiet else 1.0),
        next=waiting.next,
    )


def _peer(waiting: Waiting, view: View) -> str:
    """`127.0.0.1:5001 (pid 77, python)`."""
    name = (waiting.part.object or "a peer").replace(" (outbound)", "").removeprefix("tcp ")
    who = " or ".join(view.name(pid) for pid in waiting.peers[:2])
    return f"{name}, held by {who}" if who else name


def _blame(waiting: Waiting, view: View) -> tuple[str, list[str]]:
    """What the process at the other end did meanwhile."""
    said: list[str] = []
    ids: list[str] = []
    for pid in waiting.peers[:2]:
        doing: Doing | None = view.doing(pid)
        if doing is not None and pid != waiting.thread.pid:
            said.append(f" Meanwhile {view.name(pid)} {doing.text}.")
            ids += doing.ids
    return "".join(said), ids


def _cause(waiting: Waiting, view: View) -> tuple[str, list[str]]:
    """Why the only peer answers late, when what it did was seen; the peer may be another thread."""
    peer, own_pid = next(iter(waiting.peers), 0), waiting.thread.pid
    if len(waiting.peers) != 1:
        return "", []
    if peer != own_pid:
        doing = view.doing(peer)
        if doing is None or not doing.explains:
            return "", []
        return f", because pid {peer} {doing.text}", list(doing.ids)
    waiters = {thread.tid for thread in waiting.threads}
    others = [thread for thread in view.of(own_pid) if thread.tid not in waiters]
    reasons = [(thread, doing) for thread in others if (doing := doing_of(thread)).explains]
    if len(reasons) != 1:
        return "", []
    thread, doing = reasons[0]
    return f", probably because {thread.title} {doing.text}", list(doing.ids)


def _traffic(part: Part) -> str:
    if part.sent_bytes is None or part.received_bytes is None:
        return f"{part.episodes or 0} separate waits were seen; how many bytes moved is not known."
    return (
        f"{part.episodes or 0} separate waits were seen; {part.sent_bytes} bytes went out and "
        f"{part.received_bytes} came back in the window."
    )


def _seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 0.1 else f"{value:.1f} s"
