"""How a process ended: normal exit, exit code, signal, exception."""

from dea.contracts.data import Data, Frame, LogExcerpt, Metric, Process, Stack
from dea.contracts.evidence import Evidence
from dea.rules.draft import Draft, judge
from dea.rules.exits import RULES


def conclude(*data: Data) -> list[Draft]:
    evidence = [
        Evidence(id=f"t.e{number}", kind=item.kind, summary="x", data=item)
        for number, item in enumerate(data)
    ]
    return judge(evidence, RULES)


def exit_code(value: int) -> Metric:
    return Metric(name="exit_code", value=value, unit="code", pid=7)


def test_a_normal_end_is_no_accusation() -> None:
    (draft,) = conclude(exit_code(0))
    assert draft.severity == "info"


def test_a_planned_stop_is_no_accusation() -> None:
    (draft,) = conclude(exit_code(-15))
    assert draft.severity == "info"
    assert "SIGTERM" in draft.summary


def test_a_fatal_signal_with_the_last_words() -> None:
    (draft,) = conclude(exit_code(-11), LogExcerpt(source="stderr", text="a\nabout to write\n"))
    assert draft.severity == "high"
    assert "SIGSEGV" in draft.summary
    assert "about to write" in draft.summary
    assert list(draft.evidence_ids) == ["t.e0", "t.e1"]


def test_an_exception_names_own_code_first_and_where_it_was_raised() -> None:
    frames = [
        Frame(function="loads", file="/usr/lib/python3.11/json/__init__.py", line=346),
        Frame(function="main", file="/srv/app.py", line=9, own=True),
    ]
    (draft,) = conclude(
        exit_code(1),
        Stack(pid=7, tid=7, thread="", frames=frames),
        LogExcerpt(source="stderr error", text="ValueError: no"),
    )
    assert draft.severity == "high"
    assert "ValueError: no in main app.py:9 (raised in loads __init__.py:346)" in draft.summary


def test_an_exit_code_without_a_traceback_is_not_explained_away() -> None:
    (draft,) = conclude(exit_code(3))
    assert draft.severity == "warn"
    assert "exited with 3" in draft.summary


def test_no_exit_no_finding() -> None:
    assert conclude(LogExcerpt(source="stderr", text="hello")) == []


def test_a_fatal_signal_says_how_to_see_the_place_the_next_time() -> None:
    launched = Process(pid=7, comm="app", cmdline="./app --fast")
    (draft,) = conclude(exit_code(-11), launched)
    assert "gdb -batch -ex run -ex bt --args ./app --fast" in draft.detail


def test_an_address_in_use_leads_to_the_port() -> None:
    (draft,) = conclude(exit_code(1), LogExcerpt(source="stderr", text="Address already in use"))
    assert "--symptom port_busy" in draft.detail
    (draft,) = conclude(exit_code(1), LogExcerpt(source="stderr", text="no such file"))
    assert draft.detail == ""
