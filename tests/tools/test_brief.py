"""Whatever a tool found, what an agent gets is small, valid and still holds what it cites."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dea.contracts.data import (
    DATA_MODELS,
    Data,
    Frame,
    FrameHot,
    MetricSeries,
    Note,
    Process,
    ProcessList,
    ProcessRow,
    Stack,
)
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.result import ToolResult
from dea.contracts.target import Target
from dea.tools.brief import brief, text_of
from dea.tools.thin import Caps, cut, thin

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "schemas" / "tool_result.schema.json").read_text(encoding="utf-8")
)
NEVER_ABOVE_BYTES = 24 * 1024


def evidence(number: int, data: Data, summary: str = "seen") -> Evidence:
    return Evidence(id=f"t#1.e{number}", kind=data.kind, summary=summary, data=data)


def finding(number: int, *cites: int, detail: str | None = None) -> Finding:
    return Finding(
        id=f"t#1.f{number}",
        severity="warn",
        summary=f"cause {number}",
        evidence_ids=[f"t#1.e{n}" for n in cites],
        confidence="inferred",
        detail=detail,
    )


def result(
    evidence: list[Evidence], findings: list[Finding] | None = None, **more: Any
) -> ToolResult:
    fields: dict[str, Any] = {
        "ok": True,
        "tool": "t",
        "session_id": "260101-000000-abc",
        "target": Target(kind="pid", id="7", pid=7),
        "duration_ms": 5,
        "findings": findings or [],
        "evidence": evidence,
        "limitations": [],
        "suggested_next": [],
        "artifacts": [],
        "run_id": "t#1",
    }
    return ToolResult.model_validate(fields | more)


def hot(share: float) -> FrameHot:
    frame = Frame(function="work", file="/app/work.py", line=9, own=True)
    return FrameHot(
        pid=7, scope="cpu", frame=frame, share=share, self_share=0, samples=9, total_samples=10
    )


def series(points: int) -> MetricSeries:
    return MetricSeries(
        name="anon_bytes",
        unit="bytes",
        pid=7,
        points=[(float(n), n * 1e6) for n in range(points)],
        samples=points,
        first=0,
        last=points * 1e6,
        slope_per_s=1e6,
        slope_low_per_s=1e6,
        slope_high_per_s=1e6,
        shape="growing",
    )


def test_a_small_result_is_handed_over_whole() -> None:
    small = result([evidence(1, hot(0.9)), evidence(2, Note(text="one thread"))], [finding(1, 1)])
    assert brief(small) == small


def test_cited_evidence_stays_and_the_note_says_where_the_rest_is() -> None:
    many = [evidence(n, hot(0.5), "x" * 200) for n in range(1, 101)]
    short = brief(result(many, [finding(1, 99), finding(2, 100, 1)]), full="runs/003-t.json")
    ids = [e.id for e in short.evidence]
    assert {"t#1.e1", "t#1.e99", "t#1.e100"} <= set(ids)
    assert ids == sorted(ids, key=lambda i: int(i.partition(".e")[2]))
    assert short.limitations == [
        f"shortened: {100 - len(ids)} more evidence items in runs/003-t.json"
    ]
    assert size(short) < 6000


def test_where_room_is_short_the_first_finding_keeps_more_than_the_last() -> None:
    frames = [Frame(function=f"f{n}", file="/app/work.py", line=n) for n in range(40)]
    stacks = [evidence(n, Stack(pid=1, tid=n, thread=f"t{n}", frames=frames)) for n in range(1, 13)]
    short = brief(result(stacks, [finding(n, n) for n in range(1, 13)]))
    shown = [len(e.data.frames) for e in short.evidence if isinstance(e.data, Stack)]
    assert len(shown) == 12
    assert shown[0] > shown[-1] > 0
    assert size(short) < 8 * 1024


def test_each_kind_is_shown_before_a_second_of_one() -> None:
    many = [evidence(n, hot(0.5), "x" * 250) for n in range(1, 60)]
    short = brief(
        result([*many, evidence(60, Note(text="a"), "only one"), evidence(61, series(9))])
    )
    assert {"note", "metric_series", "frame_hot"} == {e.kind for e in short.evidence}


def test_a_list_that_was_asked_for_gets_all_the_room() -> None:
    row = ProcessRow(
        pid=1, ppid=0, comm="python3", user="root", cpu_share=0.1, rss_bytes=10**7,
        runtime="python", cmdline="python3 " + "a" * 280,
    )  # fmt: skip
    listed = result([evidence(1, ProcessList(total=300, processes=[row] * 300))], session_id="")
    short = brief(listed)
    (shown,) = short.evidence
    assert isinstance(shown.data, ProcessList)
    assert len(shown.data.processes) >= 15
    assert size(short) < 6000
    assert short.limitations == [
        "shortened: longer lists and texts left out; a narrower call shows more"
    ]


def test_of_a_long_stack_the_users_own_frames_stay() -> None:
    frames = [Frame(function=f"f{n}", own=n in (50, 51)) for n in range(80)]
    stack = thin(Stack(pid=1, tid=1, thread="main", frames=frames), Caps(5, 100, 100))
    assert [f.function for f in stack.frames] == ["f0", "f1", "f2", "f50", "f51"]


def test_a_thinned_series_keeps_its_ends() -> None:
    thinned = thin(series(1000), Caps(10, 100, 100)).points
    assert len(thinned) == 10
    assert (thinned[0], thinned[-1]) == ((0.0, 0.0), (999.0, 999e6))


def test_of_a_mapping_the_largest_numbers_stay_in_their_order() -> None:
    full = hot(1).model_copy(update={"lines": {"1": 0.1, "2": 0.5, "3": 0.0, "4": 0.4}})
    assert thin(full, Caps(2, 100, 100)).lines == {"2": 0.5, "4": 0.4}


@pytest.mark.parametrize(
    "text", ["a" * 50, "é" * 50, "\x00" * 50, "\U0001f600" * 50, "a\ud800" * 25]
)
def test_a_cut_text_fits_its_bytes(text: str) -> None:
    assert len(cut(text, 30).encode("utf-8", "replace")) <= 30 + len("…".encode())
    assert cut(text, 500) == text


def test_no_session_can_be_too_odd_to_be_told() -> None:
    odd = result(
        [],
        ok=False,
        error="x" * 10**6,
        tool="t" * 10**5,
        target=Target(kind="command", id="\u4e00" * 10**5, cmdline="c" * 10**5, pids=[5] * 10**4),
        limitations=["\x01" * 10**4] * 100,
    )
    assert size(brief(odd)) < NEVER_ABOVE_BYTES
    assert len(text_of(odd).encode()) < 1500


def test_findings_go_only_when_nothing_else_helps_and_that_is_said() -> None:
    facts = [evidence(n, hot(0.5), "x" * 200) for n in range(1, 501)]
    short = brief(result(facts, [finding(n, n) for n in range(1, 501)]))
    assert size(short) < NEVER_ABOVE_BYTES
    assert short.findings[0].id == "t#1.f1"
    assert f"{500 - len(short.findings)} more findings" in short.limitations[-1]


def test_the_text_tells_findings_in_their_order_with_what_they_cite() -> None:
    text = text_of(
        result(
            [evidence(1, hot(0.9))],
            [finding(1, 1), finding(2, 1)],
            limitations=["sampled"],
            suggested_next=["dump_stacks"],
        )
    )
    assert text.splitlines() == [
        "t (t#1) in session 260101-000000-abc: 2 findings, 1 evidence item",
        "1. warn (inferred): cause 1 [t#1.e1]",
        "2. warn (inferred): cause 2 [t#1.e1]",
        "Not seen:",
        "- sampled",
        "Next: dump_stacks",
    ]


def test_the_text_of_a_failure_gives_the_reason() -> None:
    assert "failed: no process 7" in text_of(result([], ok=False, error="no process 7"))


def test_the_text_names_each_limitation_briefly_and_counts_the_rest() -> None:
    few = text_of(result([], limitations=[f"limit {n}: {'y' * 300}" for n in range(10)]))
    assert [line[:9] for line in few.splitlines()[2:]] == [f"- limit {n}" for n in range(10)]
    many = text_of(
        result(
            [evidence(1, hot(0.9))],
            [finding(n, 1) for n in range(1, 90)],
            limitations=[f"limit {n}: {'y' * 300}" for n in range(20)],
        )
    )
    assert "1. warn (inferred): cause 1" in many
    assert "more):\n- limit 0" in many
    assert "- limit 3" in many
    assert len(many.encode()) < 1500


def test_the_text_of_a_list_shows_its_first_rows() -> None:
    rows = [
        ProcessRow(
            pid=n,
            ppid=1,
            comm="app",
            user="u",
            cpu_share=0.5,
            rss_bytes=3 * 2**20,
            runtime="python",
            cmdline=f"python3 app.py {'x' * 200}",
        )
        for n in range(100, 160)
    ]
    lines = text_of(
        result([evidence(1, ProcessList(total=60, processes=rows), "60 processes")])
    ).splitlines()
    assert lines[1] == "- 60 processes [t#1.e1]"
    assert lines[2].startswith("  100 python 50% CPU 3 MiB: python3 app.py xxx")
    assert 10 <= len(lines) <= 20


def test_the_text_without_findings_tells_the_evidence() -> None:
    process = evidence(1, Process(pid=7, comm="x"), "python process 7 runs")
    assert "- python process 7 runs [t#1.e1]" in text_of(result([process]))


def size(result: ToolResult) -> int:
    return len(json.dumps(result.to_wire()))


# Texts of any characters, and now and then a very long one.
TEXTS = st.one_of(st.text(), st.integers(1, 40_000).map(lambda n: "x\u4e00" * n))
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
DATA = st.one_of([st.builds(model) for model in DATA_MODELS.values()])


@st.composite
def results(draw: st.DrawFn) -> ToolResult:
    copies = draw(st.integers(1, 40))
    facts = [e for e in draw(st.lists(DATA, max_size=6)) for _ in range(copies)]
    found = [evidence(n, data, draw(TEXTS) or "-") for n, data in enumerate(facts, 1)]
    cites = st.lists(st.integers(1, max(len(found), 1)), min_size=1, max_size=60, unique=True)
    findings = draw(st.lists(cites, max_size=30)) if found else []
    return result(
        found,
        [finding(n, *ids, detail=draw(TEXTS)) for n, ids in enumerate(findings, 1)],
        limitations=draw(st.lists(TEXTS, max_size=20)),
        suggested_next=draw(st.lists(TEXTS, max_size=9)),
        target=Target(kind="command", id=draw(TEXTS) or "-", cmdline=draw(TEXTS)),
    )


@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(results())
def test_any_result_stays_valid_small_and_whole_in_what_it_cites(full: ToolResult) -> None:
    short = brief(full)
    wire = short.to_wire()
    jsonschema.validate(wire, SCHEMA)
    assert size(short) < NEVER_ABOVE_BYTES
    assert len(text_of(short).encode()) < 1500
    shown = {e["id"] for e in wire["evidence"]}
    assert all(id_ in shown for f in wire["findings"] for id_ in f["evidence_ids"])
    assert brief(full) == short
    for item in short.evidence:  # still the data of its kind
        type(item.data).model_validate(item.data.model_dump())
