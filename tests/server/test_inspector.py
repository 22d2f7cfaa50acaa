"""The protocol's own inspector lists the tools and calls them, as a client that is none of ours."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dea.tools import catalog
from tests.conftest import required_programs
from tests.real.targets import Target
from tests.server.conftest import SCHEMAS

pytestmark = pytest.mark.needs("node", "npm")

PACKAGE = "@modelcontextprotocol/inspector"
VERSION = "0.22.0"  # the last that runs on node 20
PROGRAM = Path("node_modules") / ".bin" / "mcp-inspector"
INSTALL_WITHIN_S = 300
ANSWER_WITHIN_S = 120


@pytest.fixture(scope="session")
def inspector() -> Path:
    """The inspector's program, installed once per machine."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dea-tests"
    folder = cache / f"inspector-{VERSION}"
    if not (folder / PROGRAM).exists():
        cache.mkdir(parents=True, exist_ok=True)
        install(cache, folder)
    return folder / PROGRAM


def install(cache: Path, folder: Path) -> None:
    """Skips where there is no registry to get it from, unless DEA_REQUIRE asks for npm."""
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        quiet = ("--no-audit", "--no-fund", "--loglevel=error")
        try:
            subprocess.run(
                ["npm", "install", *quiet, "--prefix", scratch, f"{PACKAGE}@{VERSION}"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=True,
                timeout=INSTALL_WITHIN_S,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            reason = f"npm cannot install {PACKAGE}: {error.stderr!r} {error}"
            if "npm" in required_programs():
                pytest.fail(f"{reason}, and DEA_REQUIRE asks for it", pytrace=False)
            pytest.skip(reason)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(scratch, folder, symlinks=True)


def inspect(program: Path, method: str, *options: str) -> dict[str, Any]:
    """What the inspector prints, which must be the reply and nothing else."""
    dea = Path(sys.executable).with_name("dea")
    answer = subprocess.run(
        [program, "--cli", dea, "mcp", "--method", method, *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=ANSWER_WITHIN_S,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    reply: dict[str, Any] = json.loads(answer.stdout)
    return reply


def test_it_lists_every_tool(inspector: Path) -> None:
    tools = inspect(inspector, "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == list(catalog.tools())


def test_it_calls_tools_whether_they_work_or_not(inspector: Path, specimen: Target) -> None:
    schema = json.loads((SCHEMAS / "tool_result.schema.json").read_text(encoding="utf-8"))
    call = ("--tool-name", "attach", "--tool-arg")
    for target, ok in ((f'"{specimen.pid}"', True), ("no-such-process", False)):
        answer = inspect(inspector, "tools/call", *call, f"target={target}")
        assert not answer.get("isError")
        jsonschema.validate(answer["structuredContent"], schema)
        assert answer["structuredContent"]["ok"] is ok, answer


def test_it_reads_resources_and_prompts(inspector: Path) -> None:
    (content,) = inspect(inspector, "resources/read", "--uri", "dea://sessions")["contents"]
    assert json.loads(content["text"]) == {"sessions": []}
    prompt = ("--prompt-name", "dea_slow", "--prompt-args", "target=web")
    (message,) = inspect(inspector, "prompts/get", *prompt)["messages"]
    assert "Find out why web is slow" in message["content"]["text"]
