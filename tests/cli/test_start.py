"""The command starts without what it does not use."""

import subprocess
import sys

import pytest

HEAVY = ("mcp", "scapy", "docker", "kubernetes", "jinja2")
SCRIPT = """
import sys
from dea.cli.entry import run
code = run(sys.argv[2:])
found = sorted(set(sys.argv[1].split(",")) & set(sys.modules))
sys.exit(f"code {code}, imported {found}" if code or found else 0)
"""


def imported(names: tuple[str, ...], words: list[str]) -> tuple[int, str]:
    """How a command line ended, and which of the modules it had imported then."""
    command = [sys.executable, "-c", SCRIPT, ",".join(names), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", [["--help"], ["ps"], ["ps", "--json"], ["sessions"]])
def test_heavy_packages_are_not_imported(words: list[str]) -> None:
    assert imported(HEAVY, words) == (0, "")


def test_ps_does_without_rich() -> None:
    assert imported(("rich.table", "rich.console"), ["ps"]) == (0, "")
