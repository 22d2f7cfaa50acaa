"""Processes are found, ranked and described, and nothing is given away."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from dea.contracts.data import ProcessList, ProcessRow
from dea.targets import listing
from dea.tools.invoke import invoke

SECRET = "hunter2hunter2"
# Says when it runs, then works (or waits) until it is killed.
SCRIPT = "import sys; print('up', flush=True)\n{work}"


@pytest.fixture
def two() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """A busy and an idle process with a name of our own among their arguments."""
    work = {"busy": "while True: pass", "idle": "sys.stdin.read()"}
    started: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, code in work.items():
            started[name] = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    SCRIPT.format(work=code),
                    "dea-listed",
                    f"--password={SECRET}",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        for process in started.values():
            assert process.stdout
            process.stdout.readline()
        yield started
    finally:
        for process in started.values():
            process.kill()
            process.communicate()


async def listed(**arguments: Any) -> ProcessList:
    result = await invoke("list_processes", arguments)
    assert result.ok, result.error
    data = result.evidence[0].data
    assert isinstance(data, ProcessList)
    return data


def row_of(rows: list[ProcessRow], process: subprocess.Popen[bytes]) -> ProcessRow:
    return next(row for row in rows if row.pid == process.pid)


@pytest.mark.anyio
async def test_busiest_first_with_what_a_reader_needs(two: dict[str, Any]) -> None:
    rows = (await listed(filter="dea-listed")).processes
    assert [row.pid for row in rows] == [two["busy"].pid, two["idle"].pid]
    busy, idle = rows
    assert busy.cpu_share > 0.1
    assert idle.cpu_share == 0
    assert busy.ppid == os.getpid()
    assert busy.user == pwd.getpwuid(os.geteuid()).pw_name
    assert busy.runtime == "python"
    assert busy.rss_bytes > 2**20


@pytest.mark.anyio
async def test_secrets_are_hidden(two: dict[str, Any]) -> None:
    row = row_of((await listed(filter="dea-listed")).processes, two["idle"])
    assert SECRET not in row.cmdline
    long = [*sys.argv, "x" * 500]
    assert len(row.cmdline) <= 120 < len(" ".join(long))


@pytest.mark.anyio
async def test_filter_is_a_part_in_any_case_also_of_the_user(two: dict[str, Any]) -> None:
    assert (await listed(filter="DEA-LISTED")).total == 2
    user = pwd.getpwuid(os.geteuid()).pw_name
    pids = {row.pid for row in (await listed(filter=user, limit=500)).processes}
    assert pids >= {two["busy"].pid, two["idle"].pid}
    assert await listed(filter="no such process at all") == ProcessList(total=0, processes=[])


@pytest.mark.anyio
async def test_limit_cuts_and_says_so(two: dict[str, Any]) -> None:
    result = await invoke("list_processes", {"filter": "dea-listed", "limit": 1})
    data = result.evidence[0].data
    assert isinstance(data, ProcessList)
    assert (data.total, len(data.processes)) == (2, 1)
    assert result.limitations == ["1 more match; use filter, or a larger limit"]


def test_neither_kernel_threads_nor_zombies_nor_we_are_listed() -> None:
    zombie = subprocess.Popen(["true"], stdout=subprocess.PIPE)
    assert zombie.stdout
    zombie.stdout.read()  # it has closed its stdout
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)  # it has ended, unreaped
    try:
        pids = {seen.pid for seen in listing.processes()}
    finally:
        zombie.communicate()
    assert not pids & {2, os.getpid(), zombie.pid}
    assert os.getppid() in pids


def test_a_name_with_brackets_and_bytes_is_read_whole() -> None:
    name = b"a) b(\xff) 1"
    code = f"import sys; open('/proc/self/comm', 'wb').write({name!r}); print('up', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        seen = listing.look_at(process.pid)
        process.communicate(b"\n")
    assert seen is not None
    assert seen.comm == "a) b(�) 1"
    assert seen.ppid == os.getpid()


@pytest.mark.parametrize("arguments", [{"limit": 0}, {"limit": "5"}, {"filter": 3}, {"sort": "x"}])
@pytest.mark.anyio
async def test_bad_arguments_are_refused(arguments: dict[str, Any]) -> None:
    result = await invoke("list_processes", arguments)
    assert not result.ok
    assert "It takes: filter, limit" in (result.error or "")
