"""inspect_sockets over a whole call: a child's sockets too, raw bytes kept, a readable listing."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dea.contracts.data import Socket
from dea.tools.invoke import invoke

pytestmark = pytest.mark.anyio

# A parent that does nothing, and its child, which holds the connection.
CODE = """
import os, socket, sys
if os.fork():
    print("ready", flush=True); sys.stdin.read(); sys.exit()
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
sys.stdin.read()
"""


async def test_sockets_of_a_child_with_listing_and_raw_bytes(dea_home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        argv = [sys.executable, "-c", CODE, str(port)]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None
            assert parent.stdout.readline() == b"ready\n"
            with server.accept()[0]:
                attached = await invoke("attach", {"target": str(parent.pid)})
                result = await invoke("inspect_sockets", {"session_id": attached.session_id})
            parent.communicate()
    assert result.ok, result.error
    (found,) = (
        item
        for item in result.evidence
        if isinstance(item.data, Socket) and item.data.remote == f"127.0.0.1:{port}"
    )
    assert isinstance(found.data, Socket)
    assert found.data.role == "outbound"
    assert found.data.pid != parent.pid
    assert found.artifact is not None
    assert found.lines is not None
    folder = dea_home / "sessions" / attached.session_id
    lines = (folder / found.artifact).read_text().splitlines()
    assert lines[found.lines[0] - 1] == found.summary
    assert any(artifact.path.endswith("look-1.netlink") for artifact in result.artifacts)
    assert result.findings == []
