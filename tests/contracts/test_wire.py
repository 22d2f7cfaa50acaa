"""What crosses the wire: exact, absent instead of null, the same after a round trip."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from dea.contracts.artifact import Artifact
from dea.contracts.data import DATA_MODELS, Data, Metric, Note, ReadinessData
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.readiness import Permissions, Readiness, RequiredProgram
from dea.contracts.result import ToolResult
from dea.contracts.schemas import schema_of
from dea.contracts.session import RunEntry, Session, Spawned
from dea.contracts.target import Target
from tests.contracts.models import evidence_of, instances

WHOLE = (Artifact, Evidence, Finding, Readiness, RunEntry, Session, Spawned, Target)
FEW = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
RESULT: dict[str, Any] = {
    "ok": True,
    "tool": "t",
    "session_id": "",
    "target": {"kind": "pid", "id": "1", "host": "local"},
    "duration_ms": 0,
    "findings": [],
    "evidence": [],
    "limitations": [],
    "suggested_next": [],
    "artifacts": [],
}


def sent(model: BaseModel) -> str:
    """As it leaves DEA."""
    return json.dumps(model.to_wire(), allow_nan=False)  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", WHOLE, ids=lambda model: model.__name__)
@FEW
@given(data=st.data())
def test_every_model_is_the_same_after_a_round_trip_and_fits_its_schema(
    model: type[BaseModel], data: st.DataObject
) -> None:
    instance = data.draw(instances(model))
    text = sent(instance)
    assert model.model_validate_json(text) == instance
    jsonschema.validate(json.loads(text), schema_of(model, sent=True))


@pytest.mark.parametrize("model", DATA_MODELS.values(), ids=lambda model: model.kind)
@FEW
@given(data=st.data())
def test_evidence_of_every_kind_keeps_its_typed_data(
    model: type[Data], data: st.DataObject
) -> None:
    evidence = data.draw(evidence_of(model))
    read_back = Evidence.model_validate_json(sent(evidence))
    assert type(read_back.data) is model
    assert read_back == evidence


def test_every_evidence_kind_of_the_contract_has_a_model() -> None:
    kinds = schema_of(Evidence, sent=True)["properties"]["kind"]["enum"]
    assert sorted(DATA_MODELS) == sorted(kinds)


def test_unset_is_absent_but_what_does_not_apply_is_null() -> None:
    assert Artifact(path="a", kind="log", bytes=0).to_wire() == {
        "path": "a",
        "kind": "log",
        "bytes": 0,
    }
    assert Spawned(pid=1, stdout="o", stderr="e").to_wire()["exit_code"] is None
    assert RequiredProgram(binary="gdb", path=None).to_wire() == {"binary": "gdb", "path": None}
    permissions = Permissions(
        ptrace_scope=None, sip_enabled=None, developer_mode=None, perf_event_paranoid=None
    )
    assert permissions.to_wire() == {
        "ptrace_scope": None,
        "capabilities": [],
        "sip_enabled": None,
        "developer_mode": None,
        "perf_event_paranoid": None,
    }


def test_nulls_of_readiness_stay_when_it_is_evidence() -> None:
    data = ReadinessData(
        os="linux",
        arch="x86_64",
        node="",
        dea_version="1",
        is_root=False,
        has_sudo_noninteractive=False,
        permissions=Permissions(
            ptrace_scope=None, sip_enabled=None, developer_mode=None, perf_event_paranoid=2
        ),
        providers=[],
        tools_available=[],
        tools_unavailable=[],
        sessions_dir="/",
    )
    wire = Evidence(id="e", kind="readiness", summary="s", data=data).to_wire()["data"]
    assert wire["permissions"]["sip_enabled"] is None
    assert "kernel" not in wire


def test_a_finding_without_evidence_cannot_be_constructed() -> None:
    with pytest.raises(ValidationError, match="evidence_ids"):
        Finding(id="f", severity="high", summary="s", evidence_ids=[], confidence="observed")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"findings": [{"id": "f1", "evidence_ids": ["e2"]}]}, "cites unknown evidence"),
        ({"evidence": [{"id": "e1"}, {"id": "e1"}]}, "evidence ids are not unique"),
        (
            {"evidence": [{"id": "e1"}], "findings": [{"id": "f"}, {"id": "f"}]},
            "finding ids are not unique",
        ),
        ({"ok": False}, "error must be set"),
        ({"error": "x"}, "error must be set"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_result_that_is_not_sound_cannot_be_constructed(change: dict[str, Any], why: str) -> None:
    evidence = {"kind": "note", "summary": "s", "data": {"text": "t"}}
    finding = {
        "severity": "info",
        "summary": "s",
        "confidence": "observed",
        "evidence_ids": ["e1"],
    }
    filled = {
        **change,
        **{k: [{**evidence, **e} for e in v] for k, v in change.items() if k == "evidence"},
        **{k: [{**finding, **f} for f in v] for k, v in change.items() if k == "findings"},
    }
    with pytest.raises(ValidationError, match=why):
        ToolResult.model_validate({**RESULT, **filled})


def test_evidence_refuses_data_of_another_kind_and_lines_that_end_before_they_begin() -> None:
    with pytest.raises(ValidationError, match="data of kind note in evidence of kind metric"):
        Evidence(id="e", kind="metric", summary="s", data=Note(text="t"))
    with pytest.raises(ValidationError, match="end before they begin"):
        Evidence(id="e", kind="note", summary="s", data=Note(text="t"), lines=(2, 1))
    with pytest.raises(ValidationError, match="text"):
        Evidence.model_validate({"id": "e", "kind": "note", "summary": "s", "data": {}})


def test_a_number_that_is_none_is_refused_where_it_arises() -> None:
    with pytest.raises(ValidationError, match="finite"):
        Metric(name="x", value=float("nan"), unit="s")


def test_hostile_values_become_safe_json() -> None:
    note = Note(text="a\ud800b\x00\u202ec", skipped_lines=2**70)
    text = json.dumps(
        Evidence(id="e", kind="note", summary="s", data=note).to_wire(), allow_nan=False
    )
    text.encode()
    assert json.loads(text)["data"] == {"text": "a�b��c", "skipped_lines": 2**53 - 1}
