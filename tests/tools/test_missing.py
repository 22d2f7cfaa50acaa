"""Tools that are announced but cannot work yet say so, and what to do meanwhile."""

from typing import Any

import pytest

from dea.tools import catalog
from dea.tools.invoke import invoke
from tests.report.sessions import Writer

pytestmark = pytest.mark.anyio
NEEDS: dict[str, dict[str, Any]] = {
    "diff_runs": {"a": "x#1", "b": "x#2"},
    "container_info": {},
    "capture_traffic": {"consent": True},
}
INSTEAD = {
    "diff_runs": "dea show",
    "container_info": "pid as the host sees it",
    "capture_traffic": "inspect_sockets",
}


@pytest.mark.parametrize("name", [name for name, tool in catalog.tools().items() if tool.missing])
async def test_says_what_is_missing_and_what_to_use(name: str) -> None:
    arguments: dict[str, Any] = {"session_id": Writer().session.id, **NEEDS[name]}
    result = await invoke(name, arguments)
    assert not result.ok
    assert catalog.find(name).missing in (result.error or "")
    assert INSTEAD[name] in (result.error or "")
    assert result.evidence == []


@pytest.mark.parametrize("consent", [{}, {"consent": False}])
async def test_capturing_packets_needs_consent(consent: dict[str, bool]) -> None:
    result = await invoke("capture_traffic", {"session_id": Writer().session.id, **consent})
    assert not result.ok
    assert "needs the user's consent" in (result.error or "")
