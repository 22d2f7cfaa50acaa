"""resources/* and completion/complete: what a session holds can be read, and nothing beside it."""

import base64
import json
from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    BlobResourceContents,
    PromptReference,
    ResourceLink,
    ResourceTemplateReference,
    TextResourceContents,
)

from dea import resources
from dea.contracts.target import Target
from dea.store import home
from dea.store.session import StoredSession
from dea.tools.invoke import invoke
from tests.server.conftest import Connect

pytestmark = pytest.mark.anyio


@pytest.fixture
async def session() -> StoredSession:
    """A session with one run in it and an artifact of each sort."""
    stored = home.create(Target(kind="pid", id="7", pid=7))
    await invoke("detach", {"session_id": stored.id})
    (stored.artifacts / "001-x.log").write_text("one\ntoken=abcdef0123456789\n")
    (stored.artifacts / "flame.svg").write_text("<svg/>")
    (stored.artifacts / "heap.bin").write_bytes(b"\xff\x00\xfe")
    (stored.artifacts / "trace.pcap").write_bytes(b"\0\0text")
    return stored


async def text(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def test_sessions_are_listed_and_lead_to_their_runs(
    connect: Connect, session: StoredSession
) -> None:
    async with connect() as client:
        uris = [resource.uri for resource in (await client.list_resources()).resources]
        assert uris[:2] == ["dea://sessions", f"dea://session/{session.id}"]
        (entry,) = json.loads(await text(client, "dea://sessions"))["sessions"]
        assert entry["id"] == session.id
        index = json.loads(await text(client, entry["uri"]))
        assert index == session.read().to_wire()
        for run in ("detach%231", "detach#1"):
            found = json.loads(await text(client, f"dea://session/{session.id}/run/{run}"))
            assert found == session.result("detach#1").to_wire()


async def test_every_template_says_what_it_is_and_can_be_filled(
    connect: Connect, session: StoredSession
) -> None:
    (session.folder / "report.md").write_text("# Report")
    values = {"id": session.id, "run_id": "detach%231", "name": "flame.svg"}
    async with connect() as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert len(templates) == 4
        for template in templates:
            assert template.description
            assert await text(client, template.uri_template.format(**values))
        uris = [resource.uri for resource in (await client.list_resources()).resources]
        assert f"dea://session/{session.id}/report" in uris


async def test_text_is_text_without_its_secrets_and_bytes_are_base64(
    connect: Connect, session: StoredSession
) -> None:
    at = f"dea://session/{session.id}/artifact"
    async with connect() as client:
        log = await text(client, f"{at}/001-x.log")
        assert log.startswith("one\ntoken=<")
        assert "abcdef0123456789" not in log
        for name, data in (("heap.bin", b"\xff\x00\xfe"), ("trace.pcap", b"\0\0text")):
            (content,) = (await client.read_resource(f"{at}/{name}")).contents
            assert isinstance(content, BlobResourceContents)
            assert base64.b64decode(content.blob) == data


@pytest.mark.parametrize(
    "tail",
    [
        "artifact/../session.json",
        "artifact/..%2Fsession.json",
        "artifact/%2Fetc%2Fpasswd",
        "artifact//etc/passwd",
        "artifact/%2e%2e/session.json",
        "artifact/..",
        "artifact/",
        "artifact/link",
        "artifact/no%00pe",
        "artifact/\ud7ff",
        "run/..%2Fsession",
        "run/nope#1",
        "report",
        "launched.json",
        "",
    ],
)
async def test_what_is_not_there_or_not_ours_is_refused(
    connect: Connect, session: StoredSession, tail: str
) -> None:
    (session.artifacts / "link").symlink_to("/etc/passwd")
    (session.folder / "report.md").unlink(missing_ok=True)
    uri = f"dea://session/{session.id}/{tail}"
    async with connect() as client:
        with pytest.raises(MCPError) as error:
            await client.read_resource(uri)
    assert error.value.code == -32602
    assert error.value.data == {"uri": uri}


@pytest.mark.parametrize(
    "uri",
    ["file:///etc/passwd", "dea://session/..%2F..%2Fetc/report", "dea://session//report", "x"],
)
async def test_other_addresses_are_refused(connect: Connect, uri: str) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as error:
            await client.read_resource(uri)
    assert error.value.code == -32602


async def test_what_is_too_large_is_refused_with_the_path_on_disk(
    connect: Connect, session: StoredSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "LIMIT_BYTES", 4)
    async with connect() as client:
        with pytest.raises(MCPError) as error:
            await client.read_resource(f"dea://session/{session.id}/artifact/flame.svg")
    assert "flame.svg has 6 bytes, and a resource may have 4" in error.value.message
    assert str(session.artifacts / "flame.svg") in error.value.message


async def test_a_damaged_session_is_listed_beside_the_others(
    connect: Connect, session: StoredSession
) -> None:
    broken = home.create(Target(kind="pid", id="8", pid=8))
    (broken.folder / "session.json").write_text('{"id":')
    async with connect() as client:
        entries = json.loads(await text(client, "dea://sessions"))["sessions"]
    assert {e["id"]: e["state"] for e in entries} == {
        session.id: "detached",
        broken.id: "unreadable",
    }


async def test_ids_runs_and_names_are_completed(connect: Connect, session: StoredSession) -> None:
    home.create(Target(kind="pid", id="web", pid=8))
    run = ResourceTemplateReference(uri="dea://session/{id}/run/{run_id}")
    artifact = ResourceTemplateReference(uri="dea://session/{id}/artifact/{name}")
    prompt = PromptReference(name="dea_slow")
    inside = {"id": session.id}

    async with connect() as client:

        async def values(
            ref: ResourceTemplateReference | PromptReference,
            name: str,
            typed: str,
            given: dict[str, str] | None = None,
        ) -> list[str]:
            answer = await client.complete(ref, {"name": name, "value": typed}, given)
            return list(answer.completion.values)

        assert session.id in await values(run, "id", session.id[:6])
        assert await values(run, "id", "zz") == []
        assert await values(run, "run_id", "", inside) == ["detach#1"]
        assert await values(artifact, "name", "h", inside) == ["heap.bin"]
        assert await values(artifact, "name", "", {"id": "nope"}) == []
        assert await values(prompt, "target", "w") == ["web"]  # the other session is closed
        assert await values(prompt, "port", "") == []


async def test_what_a_result_links_to_can_be_read(connect: Connect, session: StoredSession) -> None:
    async with connect() as client:
        answer = await client.call_tool("report", {"session_id": session.id})
        links = [block for block in answer.content if isinstance(block, ResourceLink)]
        assert f"dea://session/{session.id}/report" in [link.uri for link in links]
        for link in links:
            assert len((await text(client, link.uri)).encode()) == link.size


def test_the_address_of_an_artifact_names_its_place(tmp_path: Path) -> None:
    assert resources.artifact_uri("s", "artifacts/a b.svg") == "dea://session/s/artifact/a%20b.svg"
    assert resources.artifact_uri("s", "report.md") == "dea://session/s/report"
