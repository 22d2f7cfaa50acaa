"""What grows without stopping is named with its rate and place; what only looks like it is not."""

from collections.abc import Callable

import pytest

from dea.contracts.data import (
    Cgroup,
    Frame,
    FrameHot,
    HeapRetainer,
    Metric,
    Process,
)
from tests.rules.growth_evidence import CLIENTS, MIB, PID, conclude, loud, memory, series

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
def test_healthy_shapes_are_no_fault(shape: Callable[[float], float]) -> None:
    assert not loud(conclude(series("anon_bytes", shape), series("rss_bytes", shape)))


def test_little_beside_much_is_no_fault() -> None:
    assert not loud(conclude(memory(2, start_mib=20_000)))
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
    assert "not collected yet looks the same: duration_s=30" in draft.detail
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
