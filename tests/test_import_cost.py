"""Commands for people start fast: what only some of them need is imported by those alone."""

import subprocess
import sys

import pytest

HEAVY = {"mcp", "mcp_types", "scapy", "docker", "kubernetes", "jinja2"}
RUN_AND_TELL = """
import sys
sys.argv[0] = "dea"
try:
    from dea.cli import main
    main()
except SystemExit as end:
    code = end.code or 0
print("\\n<loaded>", code, *{name.partition(".")[0] for name in sys.modules})
"""


@pytest.mark.parametrize("arguments", [["--help"], ["ps"], ["ps", "--json"], ["sessions"]])
def test_a_command_loads_nothing_heavy(arguments: list[str]) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", RUN_AND_TELL, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    code, *loaded = answer.stdout.rpartition("<loaded>")[2].split()
    assert code == "0", answer.stdout + answer.stderr
    assert not HEAVY.intersection(loaded)


def test_the_server_loads_no_tool_before_one_is_asked_for() -> None:
    script = "import sys, dea.server.stdio; print(*[m for m in sys.modules if m.startswith('dea')])"
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert set(answer.stdout.split()) == {"dea", "dea.server", "dea.server.app", "dea.server.stdio"}
