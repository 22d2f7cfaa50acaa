"""Growth that proves nothing yet is one quiet remark with its numbers; that nothing grew is said."""

from collections.abc import Callable

import pytest

from dea.contracts.data import Data
from dea.contracts.evidence import Evidence
from dea.contracts.trend import metric_series
from dea.rules.draft import Draft, judge
from dea.rules.growth import ALONE
from tests.rules.growth_evidence import MIB, PID, conclude, memory, series


def alone(*data: Data) -> list[Draft]:
    evidence = [
        Evidence(id=f"t.e{n}", kind=d.kind, summary="x", data=d) for n, d in enumerate(data)
    ]
    return judge(evidence, ALONE)


def heap(t: float) -> float:
    """As V8's grows: in steps of different height, some of which come back in part."""
    steps = (0, 2, 9, 7, 30, 29, 31, 52, 51, 63)
    return (32 + steps[min(9, int(t * 2))]) * MIB


def test_memory_that_rose_unevenly_is_told_with_what_would_tell_more() -> None:
    anon, pss = series("anon_bytes", heap), series("pss_bytes", lambda t: (40 + 6 * t) * MIB)
    assert anon.shape == "noisy"
    (draft,) = conclude(anon, pss)
    assert draft.severity == "info"
    assert "rose from 32 MiB to 95 MiB in 5.0 s, but unevenly (" in draft.summary
    assert "too early to call it a leak; duration_s=30" in draft.summary
    assert "Garbage that is not collected yet" in draft.detail
    assert list(draft.evidence_ids) == ["t.e0", "t.e1"]


SILENT: dict[str, Callable[[float], float]] = {
    "given back as often as taken": lambda t: (100 + 30 * (t % 0.7)) * MIB,
    "noise around a level": lambda t: (100 + (t * 10 % 3)) * MIB,
    "a cache that fills": lambda t: (100 + 10 * min(t, 2)) * MIB,
}


@pytest.mark.parametrize("shape", SILENT.values(), ids=SILENT)
def test_what_is_given_back_or_levels_off_is_no_remark(shape: Callable[[float], float]) -> None:
    assert not conclude(series("anon_bytes", shape))


def test_growth_that_is_too_little_is_one_remark() -> None:
    slow = [series(name, lambda t: (100 + 0.1 * t) * MIB) for name in ("rss_bytes", "anon_bytes")]
    (draft,) = conclude(slow)
    assert draft.severity == "info"
    assert "anonymous memory of process 4242 grew by 512 KiB in 5.0 s (102 KiB/s)" in draft.summary
    assert "too little to call it a leak; duration_s=30" in draft.summary


def test_after_a_long_window_a_longer_one_is_not_asked_for() -> None:
    points = [(float(t), (100 + 0.01 * t) * MIB) for t in range(31)]
    (draft,) = conclude(metric_series("anon_bytes", "bytes", PID, points))
    assert "duration_s" not in draft.summary
    assert "a second look some minutes later" in draft.summary


def test_a_verdict_needs_no_remark_beside_it() -> None:
    (draft,) = conclude(memory(4))
    assert draft.severity == "warn"


def test_that_nothing_grew_is_said_by_a_tool_alone_only() -> None:
    calm = [series("anon_bytes", lambda _: 10 * MIB), series("fds", lambda _: 7)]
    (draft,) = alone(*calm)
    assert (draft.severity, list(draft.evidence_ids)) == ("info", ["t.e0", "t.e1"])
    assert draft.summary == "nothing grew in 5.0 s: anonymous memory 10 MiB, descriptors 7"
    assert not conclude(calm)


def test_what_filled_up_did_not_keep_growing() -> None:
    (draft,) = alone(series("anon_bytes", SILENT["a cache that fills"]))
    assert "nothing kept growing in 5.0 s: anonymous memory from 100 MiB to 120 MiB (leveling)" in (
        draft.summary
    )


def test_a_single_look_says_nothing_about_growth() -> None:
    assert not alone(metric_series("anon_bytes", "bytes", PID, [(0.0, 1.0 * MIB)]))
    assert "nothing" not in alone(*memory(4))[0].summary
