"""The specimens keep their promises: they get ready, have a fault or none, and leave nothing behind."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.catalogue import EVERY, LEAKING, PORT_BUSY, SLOW, Cause, Specimen, healthy
from tests.real.results import line_of
from tests.real.targets import SPECIMENS, family, start, wait_gone

SUPPORT = {"lifeline.py", "lifeline.h", "shop.py"}
SOURCES = sorted(p.name for p in SPECIMENS.iterdir() if p.is_file() and p.name not in SUPPORT)


def test_each_source_is_in_the_catalogue() -> None:
    peers = {which.peer.source for which in EVERY if which.peer}
    assert set(SOURCES) == {which.source for which in EVERY} | peers


@pytest.mark.parametrize("source", SOURCES)
def test_first_line_says_what_is_wrong(source: str) -> None:
    line = (SPECIMENS / source).read_text().splitlines()[0]
    assert re.match(r"(#|//) (FAULT|HEALTHY)\b.*: .+\.$", line)


@pytest.mark.parametrize("cause", [cause for cause in SLOW + LEAKING + PORT_BUSY if cause.function])
def test_marked_line_is_inside_the_function(cause: Cause) -> None:
    source = SPECIMENS / (cause.hot or cause.specimen.source)
    number = int(line_of(source, "HOT").split(":")[1])
    before = source.read_text().splitlines()[:number]
    opened = [line for line in before if re.match(r"(def|static) .*\(", line)]
    assert re.search(rf"\b{cause.function}\(", opened[-1])


@pytest.mark.parametrize("which", healthy(EVERY))
def test_gets_ready_and_ends_on_sigterm(
    which: Specimen, build: Callable[[Path], Path], tmp_path: Path
) -> None:
    target = start(which, build, tmp_path)
    damage = list(target.damage())
    target.end()
    assert not damage
    assert target.process.returncode in (0, -signal.SIGTERM)
    assert not list(tmp_path.glob("dea-specimen-*"))


def test_ends_by_itself(
    monkeypatch: pytest.MonkeyPatch, build: Callable[[Path], Path], tmp_path: Path
) -> None:
    monkeypatch.setenv("DEA_SPECIMEN_LIFE_S", "1")
    target = start(Specimen("cpu_hot.py"), build, tmp_path)
    assert target.process.wait(10) == -signal.SIGALRM


@pytest.mark.parametrize("source", ["child_works.py", "busy_child.sh", "growing_fds.py"])
def test_dies_with_the_program_that_started_it(
    source: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # killed, it can't remove its scratch folder
    script = "bash" if source.endswith(".sh") else sys.executable
    starter = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()",
            script,
            str(SPECIMENS / source),
        ],
        stdout=subprocess.PIPE,
    )
    assert starter.stdout
    with starter.stdout as ready:
        assert ready.readline().startswith(b"ready ")
        pids = family(starter.pid)
        starter.kill()
        starter.wait(10)
        for pid in set(pids) - {starter.pid}:
            wait_gone(pid)
    assert len(pids) > 1
