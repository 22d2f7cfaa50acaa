"""Specimens, `dea why` on them, and the promise that each is left as it was found."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import jsonschema
import pytest

from tests.real.catalogue import Specimen
from tests.real.results import Result, Why
from tests.real.targets import Start, Target, start

ROOT = Path(__file__).parents[2]
ANSWER_WITHIN_S = 60


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Compiles a C specimen, once per test session."""
    folder = tmp_path_factory.mktemp("specimens")

    def compile_once(source: Path) -> Path:
        program = folder / source.stem
        if program.exists():
            return program
        flags = ["-g", "-O1", "-fno-inline", "-pthread", "-Wall", "-Werror"]
        subprocess.run(["gcc", *flags, "-o", program, source], check=True, timeout=60)
        return program

    return compile_once


@pytest.fixture
def specimen(build: Callable[[Path], Path], tmp_path: Path) -> Iterator[Start]:
    """Starts specimens. After the test each must still run, untraced and not stopped."""
    started: list[Target] = []

    def start_one(which: Specimen) -> Target:
        folder = tmp_path / f"specimen-{len(started)}"
        folder.mkdir()
        started.append(start(which, build, folder))
        return started[-1]

    yield start_one
    damage = [text for target in started for text in target.damage()]
    with ExitStack() as endings:
        for target in started:
            endings.callback(target.end)
        assert not damage


@pytest.fixture(scope="session")
def result_schema() -> Result:
    schema: Result = json.loads((ROOT / "schemas" / "tool_result.schema.json").read_text())
    return schema


@pytest.fixture
def why(tmp_path: Path, result_schema: Result) -> Why:
    """`dea why PID --symptom SYMPTOM --json`, with `duration=4` as `--duration 4`."""

    def ask(target: Target, symptom: str, **options: object) -> Result:
        flags = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        answer = subprocess.run(
            [sys.executable, "-m", "dea", "why", str(target.pid), "--symptom", symptom, "--json"]
            + flags,
            cwd=ROOT,
            env=os.environ | {"DEA_HOME": str(tmp_path / "dea")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=ANSWER_WITHIN_S,
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr
        result: Result = json.loads(answer.stdout)
        jsonschema.validate(result, result_schema)
        assert result["ok"], result.get("error")
        return result

    return ask
