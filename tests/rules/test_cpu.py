"""Which function burns the CPU, of which process, and doing what."""

from typing import Any

import pytest

from dea.contracts.data import Data, Frame, FrameHot, Metric, Part, Process
from dea.rules.cpu import RULES
from dea.rules.draft import Draft, judge
from tests.providers.observing import as_evidence


def conclude(*data: Data) -> list[Draft]:
    return judge(as_evidence(*data), RULES)


def hot(share: float, line: int = 4, /, **changes: Any) -> FrameHot:
    samples = changes.pop("total_samples", 200)
    frame = changes.pop("frame", Frame(function=f"f{line}", file="/srv/a.py", line=line, own=True))
    known: dict[str, Any] = {
        "pid": 7,
        "scope": "cpu",
        "self_share": share,
        "samples": int(samples * share),
        "callers": ["handle a.py:88"],
    }
    return FrameHot(share=share, frame=frame, total_samples=samples, **{**known, **changes})


def cpu(value: float, name: str = "cpu_share", pid: int = 7, tid: int | None = None) -> Metric:
    return Metric(name=name, value=value, unit="", pid=pid, tid=tid, runtime="python")


@pytest.mark.parametrize(
    ("used", "share", "severity"),
    [
        (0.98, 0.93, "high"),
        (0.98, 0.6, "warn"),
        (0.85, 0.93, "warn"),
        (0.5, 0.93, "info"),
        (0.98, 0.4, "info"),
        (0.1, 0.93, "info"),
    ],
)
def test_how_loud(used: float, share: float, severity: str) -> None:
    assert conclude(hot(share), cpu(used))[0].severity == severity


def test_a_hot_function_is_named_with_its_line_caller_and_share() -> None:
    (draft,) = conclude(hot(0.93), cpu(0.98))
    assert draft.summary == (
        "python process 7 is CPU-bound (98% of a core): 93% of it in f4 a.py:4 "
        "(called from handle a.py:88)"
    )
    assert draft.confidence == "observed"
    assert list(draft.evidence_ids) == ["t.e0", "t.e1"]


def test_a_process_that_is_kept_from_the_cpu_is_bound_by_it_too() -> None:
    (draft,) = conclude(hot(0.93), cpu(0.35), cpu(0.63, "cpu_wait_share"))
    assert draft.severity == "high"
    assert "35% of a core, kept waiting for another 63%" in draft.summary


def test_a_core_is_all_that_a_thread_can_want() -> None:
    """Two samplers with windows of their own may say 40% used and 64% waited."""
    (draft,) = conclude(hot(0.93), cpu(0.4), cpu(0.64, "cpu_wait_share"))
    assert "40% of a core, kept waiting for another 60%" in draft.summary


def test_the_samples_of_its_threads_overrule_what_the_kernel_counts_as_waiting() -> None:
    parts = [Part(cause="cpu_user", share=0.4), Part(cause="sleep", share=0.6)]
    seen = Metric(name="thread_time", value=8, unit="s", pid=7, tid=7, parts=parts)
    draft, *_ = conclude(hot(0.93), cpu(0.4), cpu(0.6, "cpu_wait_share"), seen)
    assert draft.severity == "info"
    assert "waiting" not in draft.summary


def test_few_samples_claim_nothing() -> None:
    (draft,) = conclude(hot(1.0, total_samples=29), cpu(0.05))
    assert draft.severity == "info"
    assert "mostly off CPU" in draft.summary
    assert list(draft.next) == ["time_budget"]
    (starved,) = conclude(hot(1.0, total_samples=29), cpu(0.1), cpu(0.9, "cpu_wait_share"))
    assert starved.severity == "info"
    assert "29 samples are too few" in starved.summary


def test_an_idle_process_without_any_sample() -> None:
    (draft,) = conclude(cpu(0.0))
    assert (draft.severity, "used 0% of a core" in draft.summary) == ("info", True)


def test_a_shell_that_runs_commands_all_the_time_is_not_called_idle() -> None:
    assert conclude(cpu(0.06), cpu(0.62, "ended_children_cpu")) == []


def test_a_shell_is_no_native_process() -> None:
    (draft,) = conclude(cpu(0.06).model_copy(update={"runtime": "native"}))
    assert draft.summary.startswith("process 7 was mostly off CPU")


def test_cpu_spread_over_many_functions_lists_the_largest() -> None:
    (draft,) = conclude(*(hot(0.2, line) for line in (4, 5, 6, 9)), cpu(1.0))
    assert draft.severity == "info"
    assert "f4 a.py:4 20%, f5 a.py:5 20%, f6 a.py:6 20%" in draft.summary
    assert "f9" not in draft.summary


def test_time_in_a_library_says_through_what() -> None:
    found = conclude(hot(0.9, self_share=0.1, below=["numpy.dot", "numpy.core"]), cpu(1.0))
    assert "mostly through numpy.dot" in found[0].summary


def test_an_interpreters_function_is_never_called_the_programs() -> None:
    frame = Frame(function="Perl_pp_add", module="/usr/bin/perl")
    (draft,) = conclude(hot(0.99, frame=frame), cpu(1.0))
    assert draft.severity == "info"
    assert "Perl_pp_add of perl, which is not the program's own code" in draft.summary


def test_code_without_names_is_not_blamed() -> None:
    stripped = Frame(function="xz+0x55eb", module="/usr/bin/xz", own=True)
    generated = Frame(function="code generated at run time", module="[generated]")
    for frame, said in ((stripped, "xz, which has no symbols"), (generated, "no names here")):
        (draft,) = conclude(hot(0.99, frame=frame, callers=[]), cpu(1.0))
        assert draft.severity == "info"
        assert said in draft.summary


def test_workers_with_the_same_hot_place_are_one_finding() -> None:
    (draft,) = conclude(hot(0.9), cpu(1.0), hot(0.8, pid=8), cpu(0.9, pid=8))
    assert draft.summary.endswith("likewise in 1 more (pid 8)")
    assert set(draft.evidence_ids) == {"t.e0", "t.e1", "t.e2", "t.e3"}


def test_a_saturated_thread_beside_busy_others() -> None:
    thread = hot(1.0, 5, tid=9, thread="loop", total_samples=90)
    found = conclude(hot(0.6), thread, cpu(3.0), cpu(0.95, tid=9))
    assert [draft.severity for draft in found] == ["warn", "high"][::-1]
    assert "thread loop (9) of python process 7" in found[0].summary


def test_a_descendant_that_works_is_named_with_its_command() -> None:
    family = [
        Process(pid=7, comm="sh", target=7, cpu_share=0.0),
        Process(pid=8, comm="python", cmdline="python worker.py", target=7, cpu_share=1.0),
    ]
    found = conclude(*family, hot(0.9, pid=8), cpu(1.0, pid=8))
    assert found[0].severity == "high"
    assert "process 8 (python worker.py, a descendant of 7)" in found[0].summary
    assert "the work is done by process 8" in found[1].summary


def test_a_target_that_works_as_much_as_its_children_is_not_excused() -> None:
    family = [Process(pid=p, comm="x", target=7, cpu_share=0.5) for p in (7, 8)]
    assert not any("the work is done" in draft.summary for draft in conclude(*family))


def test_kernel_time_is_named_when_it_matters() -> None:
    found = conclude(hot(0.9), cpu(1.0), cpu(0.7, "kernel_share"))
    assert any("70% of the CPU time" in draft.summary for draft in found)
    quiet = conclude(cpu(0.1), cpu(0.7, "kernel_share"))
    assert not any("kernel" in draft.summary for draft in quiet)


@pytest.mark.parametrize(("gc", "severity"), [(0.1, None), (0.3, "info"), (0.6, "warn")])
def test_garbage_collection_by_its_threads(gc: float, severity: str | None) -> None:
    found = conclude(cpu(1.0), cpu(gc, "gc_share"))
    said = [draft.severity for draft in found if "garbage collection" in draft.summary]
    assert said == ([severity] if severity else [])


QUERY: dict[str, Any] = {
    "calls": ["db.execute", "fetchall"],
    "loop": "list_orders a.py:20",
    "loop_calls": ["items_of"],
    "loop_fed_by": ["db.execute", "fetchall"],
}


def test_one_query_per_item_is_the_cause() -> None:
    (draft,) = conclude(hot(0.8, **QUERY), cpu(1.0))
    assert (draft.severity, draft.confidence) == ("high", "inferred")
    assert "f4 a.py:4" in draft.summary
    assert "list_orders a.py:20" in draft.summary
    assert "N+1" in draft.summary


def test_waiting_for_one_query_per_item_is_the_cause_without_cpu() -> None:
    wall = hot(0.8, scope="wall", thread="MainThread", tid=7, **QUERY)
    found = conclude(wall, cpu(0.02))
    assert found[0].severity == "high"
    assert "thread MainThread of process 7 spends 80% of its time" in found[0].summary


def test_the_same_queries_are_told_once() -> None:
    wall = [hot(0.8, scope="wall", thread=f"t{n}", tid=n, **QUERY) for n in (7, 8)]
    (waiting, idle) = conclude(*wall, cpu(0.02))
    assert "thread t7 and 1 more of process 7" in waiting.summary
    assert idle.severity == "info"
    (bound,) = conclude(*wall, hot(0.8, **QUERY), cpu(0.98))
    assert "is CPU-bound" in bound.summary


@pytest.mark.parametrize(
    "changes",
    [
        {"loop": None},  # a query that is not in a loop over data
        {"calls": ["rows.append"]},  # a loop without a query
        {"calls": ["cursor.fetchone"]},  # one query, read row by row
        {"calls": ["cursor.executemany"]},
    ],
)
def test_healthy_queries_are_silent(changes: dict[str, Any]) -> None:
    wall = hot(0.9, scope="wall", thread="MainThread", tid=7, **{**QUERY, **changes})
    assert [draft for draft in conclude(wall, cpu(0.05)) if draft.severity != "info"] == []


def test_a_query_in_a_loop_that_takes_little_time_is_silent() -> None:
    wall = hot(0.2, scope="wall", thread="MainThread", tid=7, **QUERY)
    assert all(draft.severity == "info" for draft in conclude(wall, cpu(0.05)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"calls": ["PATTERN.match"]}, "regular expression"),
        ({"below": ["re.match"], "self_share": 0.0}, "regular expression"),
        ({"calls": ["copy.deepcopy"]}, "in copying"),
        ({"below": ["json.encoder.encode"], "self_share": 0.1}, "in serialization"),
        ({"calls": ["hashlib.pbkdf2_hmac"]}, "in hashing"),
        ({"calls": ["gc.collect"]}, "gc.collect()"),
    ],
)
def test_work_that_has_a_name(changes: dict[str, Any], said: str) -> None:
    (draft,) = conclude(hot(0.9, **changes), cpu(1.0))
    assert said in draft.summary
    assert draft.confidence == "inferred"


def test_an_orm_that_queries_for_each_item() -> None:
    lazy = {**QUERY, "calls": ["print"], "below": ["sqlalchemy.orm.attributes.get"]}
    (draft,) = conclude(hot(0.8, **lazy), cpu(1.0))
    assert "N+1" in draft.summary


def test_the_line_is_set_apart_from_what_is_said_after_it() -> None:
    callers = ["handle a.py:88", "main a.py:99"]
    (draft,) = conclude(hot(0.93, source="if o not in seen:", callers=callers), cpu(0.98))
    assert "The line is `if o not in seen:`. Called by handle" in draft.detail
