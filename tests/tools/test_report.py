"""The report tool writes where it may, and nowhere else."""

import stat
from pathlib import Path
from typing import Any

import pytest

from dea.contracts.result import ToolResult
from dea.store import home
from dea.tools.invoke import invoke
from tests.report.sessions import Writer

pytestmark = pytest.mark.anyio


async def report(writer: Writer, **arguments: Any) -> ToolResult:
    return await invoke("report", {"session_id": writer.session.id, **arguments})


async def test_report_is_written_into_the_session() -> None:
    writer = Writer()
    result = await report(writer)
    assert result.ok, result.error
    [artifact] = result.artifacts
    path = writer.session.folder / artifact.path
    assert (artifact.path, artifact.kind) == ("report.md", "markdown")
    assert path.stat().st_size == artifact.bytes
    assert str(path) in result.evidence[0].summary


async def test_a_copy_goes_where_the_user_says(tmp_path: Path) -> None:
    out = tmp_path / "leak report.md"
    for _ in range(2):  # a report of ours is replaced
        result = await report(Writer(), out=str(out))
        assert result.ok, result.error
    assert out.read_text().startswith("<!-- dea report -->\n# DEA report")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


async def test_what_is_not_a_report_is_never_replaced(tmp_path: Path) -> None:
    precious = tmp_path / "notes.md"
    precious.write_text("# mine\n")
    (tmp_path / "link.md").symlink_to(precious)
    for out in (precious, tmp_path / "link.md"):
        result = await report(Writer(), out=str(out))
        assert not result.ok
        assert "is not a DEA report" in (result.error or "")
    assert precious.read_text() == "# mine\n"


@pytest.mark.parametrize(
    ("out", "says"), [("no/such/folder/r.md", "there is no folder"), (".", "is a folder")]
)
async def test_a_place_that_cannot_be_is_refused(out: str, says: str, tmp_path: Path) -> None:
    result = await report(Writer(), out=str(tmp_path / out))
    assert not result.ok
    assert says in (result.error or "")


async def test_unknown_session_is_refused() -> None:
    result = await invoke("report", {"session_id": "260101-x"})
    assert not result.ok
    assert home.names() == []
