"""What grows without stopping is named with its rate and place; what only looks like it is not."""

from collections.abc import Callable, Iterable

import pytest

from dea.contracts.data import (
    Cgroup,
    Data,
    Fd,
    FdSummary,
    Frame,
    FrameHot,
    HeapRetainer,
    Metric,
    MetricSeries,
    Process,
    StackGroup,
    StackSummary,
)
from dea.contracts.data.resources import FdType
from dea.contracts.data.sockets import SocketRole
from dea.contracts.evidence import Evidence
from dea.contracts.trend import metric_series
from dea.rules.draft import Draft, judge
from dea.rules.growth import RULES

PID = 4242
MIB = 2**20
WINDOW_S = 5.0


def conclude(*data: Data | Iterable[Data]) -> list[Draft]:
    flat = [x for item in data for x in ([item] if isinstance(item, Data) else item)]
    evidence = [
        Evidence(id=f"t.e{number}", kind=item.kind, summary="x", data=item)
        for number, item in enumerate(flat)
    ]
    drafts = judge(evidence, RULES)
    known = {item.id for item in evidence}
    assert all(set(draft.evidence_ids) <= known for draft in drafts)
    return drafts


def loud(drafts: list[Draft]) -> list[Draft]:
    return [draft for draft in drafts if draft.severity != "info"]


def series(name: str, value: Callable[[float], float], pid: int = PID) -> MetricSeries:
    points = [(i / 10, float(value(i / 10))) for i in range(int(WINDOW_S * 10) + 1)]
    return metric_series(name, "bytes" if name.endswith("_bytes") else "count", pid, points)


def memory(rate_mib: float, start_mib: float = 100) -> list[Data]:
    """Anonymous and resident memory that grow in a straight line."""
    anon = series("anon_bytes", lambda t: (start_mib + rate_mib * t) * MIB)
    return [anon, series("rss_bytes", lambda t: (start_mib + 8 + rate_mib * t) * MIB)]


def descriptors(
    *looks: int,
    path: str = "/tmp/x-*.log",
    type_: FdType = "file",
    state: str | None = None,
    role: SocketRole | None = None,
    soft_limit: int | None = 100_000,
) -> list[Data]:
    """One group with its count at each look, and the summary of a process that holds only it."""
    added = looks[-1] - looks[0]
    summary = FdSummary(
        pid=PID,
        total=looks[-1],
        by_type={type_: looks[-1]},
        soft_limit=soft_limit,
        window_s=WINDOW_S,
        added={type_: added} if added else {},
    )
    group = Fd(
        pid=PID,
        type=type_,
        path=path,
        count=looks[-1],
        added=added,
        state=state,
        role=role,
        looks=list(looks),
    )
    return [summary, group]


RISING = tuple(range(10, 110, 10))
CLIENTS = descriptors(*RISING, path="tcp from clients of 0.0.0.0:80", type_="socket",
                      state="ESTABLISHED", role="inbound")  # fmt: skip


# --- memory -------------------------------------------------------------------------------------


def test_a_leak_is_told_with_its_rate_and_interval() -> None:
    (draft,) = conclude(memory(4))
    assert draft.severity == "warn"
    assert "anonymous memory of process 4242 grows 4 MiB/s (" in draft.summary
    assert (draft.confidence, list(draft.evidence_ids)) == ("observed", ["t.e0"])


HEALTHY: dict[str, Callable[[float], float]] = {
    "constant": lambda t: 100 * MIB,
    "less than a MiB in the window": lambda t: (100 + 0.1 * t) * MIB,
    "a cache that fills": lambda t: (100 + 10 * min(t, 2)) * MIB,
    "batches": lambda t: (100 + 30 * (t % 1)) * MIB,
    "one step": lambda t: (100 + 64 * (t > 2.5)) * MIB,
    "given back": lambda t: (400 - 20 * t) * MIB,
}


@pytest.mark.parametrize("shape", HEALTHY.values(), ids=HEALTHY)
def test_healthy_shapes_are_silent(shape: Callable[[float], float]) -> None:
    assert not conclude(series("anon_bytes", shape), series("rss_bytes", shape))


def test_little_beside_much_is_silent() -> None:
    assert not conclude(memory(2, start_mib=20_000))
    assert loud(conclude(memory(2, start_mib=200)))


def test_a_limit_that_is_near_makes_it_high() -> None:
    def limit(mib: int) -> Cgroup:
        return Cgroup(path="/a", version=2, memory_limit_bytes=mib * MIB, memory_bytes=200 * MIB)

    (near,) = conclude(memory(4), limit(1000))
    assert near.severity == "high"
    assert "limit is reached in 3 min" in near.summary
    (far,) = conclude(memory(4), limit(100_000))
    assert far.severity == "warn"


def test_doubling_within_the_window_is_high() -> None:
    (draft,) = conclude(memory(10, start_mib=30))
    assert draft.severity == "high"


def test_a_process_that_just_started_may_still_load() -> None:
    anon, rss = memory(10, start_mib=30)
    (draft,) = conclude(anon.model_copy(update={"age_s": 4.0}), rss)
    assert draft.severity == "warn"
    assert "It is 4 s old" in draft.detail
    (old,) = conclude(anon.model_copy(update={"age_s": 4000.0}), rss)
    assert old.severity == "high"


@pytest.mark.parametrize("runtime", ["node", "java", "go"])
def test_garbage_is_not_called_a_leak(runtime: str) -> None:
    process = Process(pid=PID, comm="x", runtime=runtime)
    (draft,) = conclude(memory(8), process)
    assert draft.severity == "info"
    assert "not collected yet looks the same" in draft.detail
    assert loud(conclude(memory(40), process))  # 200 MiB, twice what it had, and no fall


def test_memory_of_new_clients_is_load() -> None:
    (first, second) = conclude(memory(8), CLIENTS)
    assert {first.severity, second.severity} == {"info"}


def test_the_container_that_grows_is_named_with_the_lines_that_fill_it() -> None:
    frame = Frame(function="remember", file="/srv/app.py", line=17, own=True)
    ours = HeapRetainer(type="list", path="app.PAGES", count=400, bytes=40 * MIB, added=200,
                        window_s=5.0, own=True, sites=[frame])  # fmt: skip
    theirs = ours.model_copy(update={"path": "lib.POOL", "own": False, "bytes": 60 * MIB})
    tiny = ours.model_copy(update={"path": "app.NAMES", "bytes": 400})
    (draft,) = conclude(memory(4), tiny, theirs, ours)
    assert "list app.PAGES: +200 to 400, filled in remember app.py:17" in draft.summary
    assert "100% of the growth is explained" in draft.detail
    assert (draft.confidence, draft.weight) == ("inferred", 1.0)
    assert "t.e4" in draft.evidence_ids


def test_a_container_that_explains_next_to_nothing_is_not_blamed() -> None:
    tiny = HeapRetainer(type="list", path="app.NAMES", count=400, bytes=4000, added=200)
    (draft,) = conclude(memory(4), tiny)
    assert "NAMES" not in draft.summary


def hot(scope: str, function: str, share: float, own: bool = True, pid: int = PID) -> FrameHot:
    frame = Frame(function=function, file=f"/srv/{function}.c", line=18, own=own)
    counts = {"samples": 9, "total_samples": 10}
    return FrameHot.model_validate(
        {"pid": pid, "scope": scope, "frame": frame, "share": share, "self_share": share, **counts}
    )


def test_where_new_memory_is_touched_beats_what_ran() -> None:
    found = [hot("cpu", "spin", 0.9), hot("alloc", "keep", 0.8), hot("alloc", "else_", 0.2)]
    (draft,) = conclude(memory(4), found)
    assert "80% of the new memory is touched first in keep keep.c:18" in draft.summary
    assert "20% of the growth came from elsewhere" in draft.detail
    assert draft.weight == pytest.approx(0.8)


def test_what_ran_meanwhile_is_a_hint() -> None:
    found = [hot("cpu", "library", 0.95, own=False), hot("cpu", "pack", 0.9),
             hot("wait", "sleep", 1), hot("cpu", "other", 0.99, pid=1)]  # fmt: skip
    (draft,) = conclude(memory(4), found)
    assert "pack pack.c:18 ran meanwhile" in draft.summary
    assert draft.confidence == "inferred"
    assert "hint" in draft.detail


def test_where_it_came_is_told() -> None:
    grown = Metric(name="anon_growth", value=1, unit="bytes", pid=PID, shares={"[heap]": 0.93})
    (draft,) = conclude(memory(4), grown)
    assert "93% of it came in [heap]" in draft.detail


@pytest.mark.parametrize("name", ["shmem_bytes", "file_bytes"])
def test_pages_of_files_and_shared_memory_are_no_leak(name: str) -> None:
    (draft,) = conclude(series(name, lambda t: (50 + 9 * t) * MIB))
    assert draft.severity == "info"


# --- descriptors --------------------------------------------------------------------------------


def test_files_that_stay_open() -> None:
    (draft,) = conclude(descriptors(*RISING))
    assert draft.severity == "warn"
    assert "open files of process 4242 grow 18" in draft.summary
    assert "all /tmp/x-*.log (100 open, +90 in 5.0 s)" in draft.summary
    assert "limit of 100000 is reached in 92 min" in draft.summary
    assert set(draft.evidence_ids) == {"t.e0", "t.e1"}


def test_a_near_limit_makes_it_high() -> None:
    assert conclude(descriptors(*RISING, soft_limit=1024))[0].severity == "high"


@pytest.mark.parametrize(
    "looks",
    [
        (50,) * 10,
        (10, 10, 11, 11, 12, 12, 13, 13, 13, 13),  # three more
        (10, 40, 20, 44, 15, 38, 22, 41, 12, 37),  # opened and closed
        (10, 20, 30, 40, 50, 50, 50, 50, 50, 50),  # a pool that is full now
        (10, 10, 10, 10, 60, 60, 60, 60, 60, 60),  # one step
        (90, 80, 70, 60, 50, 40, 30, 20, 10, 5),
    ],
)
def test_healthy_descriptors_are_silent(looks: tuple[int, ...]) -> None:
    assert not conclude(descriptors(*looks))


def test_connections_out_are_ours() -> None:
    found = descriptors(*RISING, path="tcp to 10.0.0.7:5432", type_="socket",
                        state="ESTABLISHED", role="outbound")  # fmt: skip
    (draft,) = conclude(found)
    assert draft.severity == "warn"
    assert "sockets of process 4242" in draft.summary
    assert "tcp to 10.0.0.7:5432 in ESTABLISHED" in draft.summary


def test_clients_that_connect_are_load() -> None:
    (draft,) = conclude(CLIENTS)
    assert draft.severity == "info"


def test_clients_that_left_and_were_not_closed_are_ours() -> None:
    found = descriptors(*RISING, path="tcp from clients of 0.0.0.0:80", type_="socket",
                        state="CLOSE_WAIT", role="inbound")  # fmt: skip
    (draft,) = conclude(found)
    assert draft.severity == "warn"
    assert "CLOSE_WAIT" in draft.summary
    assert "never closes its own end" in draft.detail


def test_what_each_client_brings_along_is_load() -> None:
    """A proxy opens a connection for each client; a server may open a file."""
    upstream = Fd(pid=PID, type="socket", path="tcp to 10.0.0.7:80", count=100, added=90,
                  state="ESTABLISHED", role="outbound", looks=list(RISING))  # fmt: skip
    assert not loud(conclude(CLIENTS, upstream))
    leaking = upstream.model_copy(update={"added": 270, "looks": [3 * n for n in RISING]})
    assert loud(conclude(CLIENTS, leaking))


def test_many_different_names() -> None:
    summary = FdSummary(pid=PID, total=60, by_type={"file": 60}, window_s=5.0, added={"file": 50})
    (draft,) = conclude(summary, series("fds", lambda t: 10 + 10 * t))
    assert draft.severity == "warn"
    assert "to many different names (+50 file)" in draft.summary


def test_nearly_all_descriptors_used() -> None:
    drafts = conclude(descriptors(950, 950, 950, soft_limit=1000))
    assert ["EMFILE" in draft.summary for draft in drafts] == [True]
    assert not conclude(descriptors(500, 500, 500, soft_limit=1000))


# --- threads and children -----------------------------------------------------------------------


def test_threads_that_do_not_end_and_where_they_wait() -> None:
    waiting = Frame(function="poll_upstream", file="/srv/app.py", line=11, own=True)
    library = Frame(function="wait", file="/usr/lib/python3/threading.py", line=1)
    group = StackGroup(threads=20, tids=[1], frames=[library, waiting])
    threads = series("threads", lambda t: 5 + int(5 * t))
    (draft,) = conclude(threads, StackSummary(pid=PID, threads=25, groups=[group]))
    assert draft.severity == "warn"
    assert "threads of process 4242 grow" in draft.summary
    assert "20 of them are in poll_upstream app.py:11" in draft.summary


def test_a_pool_that_fills_or_breathes_is_silent() -> None:
    assert not conclude(series("threads", lambda t: 5 + min(8, int(8 * t))))
    assert not conclude(series("threads", lambda t: 5 + int(4 * t) % 3))
    assert not conclude(series("threads", lambda t: 5 + (t > 1) + (t > 3)))


def test_a_thread_for_each_client_is_load() -> None:
    assert not loud(conclude(CLIENTS, series("threads", lambda t: 5 + int(18 * t))))


def test_zombies_are_told_once() -> None:
    zombies, children = (series(name, lambda t: int(5 * t)) for name in ("zombies", "children"))
    (draft,) = conclude(zombies, children)
    assert draft.severity == "warn"
    assert "does not wait for its children" in draft.summary


def test_children_that_become_more() -> None:
    (draft,) = conclude(series("children", lambda t: int(5 * t)))
    assert "children of process 4242 grow" in draft.summary


# --- together -----------------------------------------------------------------------------------


def test_the_more_specific_leak_comes_first() -> None:
    """Memory alone would be high here, for it doubles; but it comes with the files."""
    first, second = conclude(memory(10, start_mib=30), descriptors(*RISING))
    assert "open files" in first.summary
    assert "anonymous memory" in second.summary
    assert "may only follow from this: open files" in second.detail


def test_processes_do_not_excuse_each_other() -> None:
    other = series("threads", lambda t: 5 + int(5 * t), pid=PID + 1)
    drafts = conclude(memory(10, start_mib=30), other)
    assert [draft.severity for draft in drafts] == ["high", "warn"]
