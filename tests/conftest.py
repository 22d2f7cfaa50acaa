"""What every test stands on: programs that may be missing, a DEA_HOME of its own, nothing left running."""

import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

# Every process that a test starts inherits this name, so that orphans can be told too.
RUN_VARIABLE = "DEA_TEST_RUN"
GRACE_S = 3.0


def program_path(name: str) -> str | None:
    """Where a program is: on PATH, or beside the interpreter as py-spy is."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


def required_programs() -> set[str]:
    """The programs that DEA_REQUIRE says must be here."""
    return {name.strip() for name in os.environ.get("DEA_REQUIRE", "").split(",")} - {""}


def pytest_runtest_setup(item: pytest.Item) -> None:
    needed = [str(name) for marker in item.iter_markers("needs") for name in marker.args]
    missing = [name for name in needed if program_path(name) is None]
    if not missing:
        return
    reason = f"needs {', '.join(missing)}, not found on this machine"
    if required_programs().intersection(missing):
        pytest.fail(f"{reason}, and DEA_REQUIRE asks for it", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def dea_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for ~/.dea in this test."""
    home = tmp_path_factory.mktemp("dea-home")
    monkeypatch.setenv("DEA_HOME", str(home))
    return home


@pytest.fixture(scope="session", autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Fails the run when a process that a test started outlives the tests."""
    run = uuid.uuid4().hex
    os.environ[RUN_VARIABLE] = run
    before = set(psutil.Process().children(recursive=True))
    yield
    del os.environ[RUN_VARIABLE]
    _, left = psutil.wait_procs(_started_by_tests(run) - before, timeout=GRACE_S)
    running = [process for process in left if _is_running(process)]
    described = [_describe(process) for process in running]
    for process in running:
        process.kill()
    if described:
        pytest.fail("left running by the tests:\n" + "\n".join(described), pytrace=False)


def _started_by_tests(run: str) -> set[psutil.Process]:
    found = set(psutil.Process().children(recursive=True))
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(RUN_VARIABLE) == run:
                found.add(process)
        except psutil.Error:
            continue
    return found


def _is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _describe(process: psutil.Process) -> str:
    try:
        return f"  {process.pid} {' '.join(process.cmdline()) or process.name()}"
    except psutil.Error:
        return f"  {process.pid}"
