"""A session to work on, and results to put into it."""

from collections.abc import Callable
from typing import Any

import pytest

from dea.contracts.result import ToolResult
from dea.contracts.target import Target
from dea.store import home
from dea.store.session import RunSlot, StoredSession

Finished = Callable[..., ToolResult]
TARGET = Target(kind="pid", id="7", pid=7, comm="app")


@pytest.fixture
def session() -> StoredSession:
    return home.create(TARGET)


@pytest.fixture
def finished() -> Finished:
    """The result of a run that found nothing."""

    def make(slot: RunSlot, **changes: Any) -> ToolResult:
        fields: dict[str, Any] = {
            "ok": True,
            "tool": slot.tool,
            "session_id": "",
            "target": TARGET,
            "duration_ms": 5,
            "findings": [],
            "evidence": [],
            "limitations": [],
            "suggested_next": [],
            "artifacts": [],
            "started_at": home.now(),
            "run_id": slot.run_id,
        }
        return ToolResult(**(fields | changes))

    return make
