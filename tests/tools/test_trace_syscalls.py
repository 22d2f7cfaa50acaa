"""trace_syscalls over a whole call: guarded before, let go after, judged."""

import subprocess
import sys

import anyio
import pytest

from dea.process import identity
from dea.tools.invoke import invoke

pytestmark = [pytest.mark.anyio, pytest.mark.needs("strace")]

CODE = """
import os, sys
print("ready", flush=True)
while True:
    try:
        os.stat("/no/such/file")
    except OSError:
        pass
"""


async def test_a_cancelled_trace_lets_go_and_the_next_one_finds_the_storm() -> None:
    argv = [sys.executable, "-c", CODE]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as target:
        try:
            assert target.stdout is not None
            assert target.stdout.readline() == b"ready\n"
            session = (await invoke("attach", {"target": str(target.pid)})).session_id
            arguments = {"session_id": session, "categories": ["file"]}
            async with anyio.create_task_group() as group:
                group.start_soon(invoke, "trace_syscalls", {**arguments, "duration_s": 30})
                with anyio.fail_after(10):
                    while not identity.tracer_of(target.pid):
                        await anyio.sleep(0.01)
                group.cancel_scope.cancel()
            result = await invoke("trace_syscalls", {**arguments, "duration_s": 1})
            assert not identity.tracer_of(target.pid)
        finally:
            target.kill()
    assert result.ok, result.error
    assert result.findings[0].severity == "warn"
    assert "/no/such/file" in result.findings[0].summary
    assert any("strace stops the target" in said for said in result.limitations)
