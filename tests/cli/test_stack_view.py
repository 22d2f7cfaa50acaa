"""The stacks of all threads, as `dea dump-stacks` shows them."""

import pytest

from dea.cli.finish import finish
from dea.contracts.data import Frame, Stack
from dea.contracts.evidence import Evidence
from dea.contracts.result import ToolResult
from dea.contracts.target import Target

LOCK = Frame(function="acquire", file="/usr/lib/threading.py", line=9)


def stack(tid: int, *frames: Frame, on_cpu: bool = False) -> Stack:
    return Stack(pid=7, tid=tid, thread=f"t{tid}", frames=list(frames), on_cpu=on_cpu)


def shown(capsys: pytest.CaptureFixture[str], *stacks: Stack) -> str:
    result = ToolResult(
        ok=True,
        tool="dump_stacks",
        session_id="s",
        target=Target(kind="pid", id="7", pid=7),
        duration_ms=5,
        findings=[],
        evidence=[
            Evidence(id=f"dump_stacks#1.e{n}", kind="stack", summary="x", data=data)
            for n, data in enumerate(stacks, 1)
        ],
        limitations=[],
        suggested_next=[],
        artifacts=[],
        run_id="dump_stacks#1",
    )
    finish(result, as_json=False)
    return capsys.readouterr().out


def own(line: int) -> Frame:
    return Frame(function="work", file="/app/shop.py", line=line, own=True)


def test_each_frame_is_shown_innermost_first_with_own_ones_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [line.strip() for line in shown(capsys, stack(8, LOCK, own(3))).splitlines()]
    at = lines.index("thread 8 (t8) of process 7")
    assert lines[at + 1] == "acquire  /usr/lib/threading.py:9"
    assert lines[at + 2] == "* work  /app/shop.py:3"


def test_equal_stacks_are_told_once_and_what_runs_comes_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    waiting = [stack(tid, LOCK) for tid in range(10, 15)]
    text = shown(capsys, *waiting, stack(8, own(3), on_cpu=True))
    assert text.count("acquire  /usr") == 1
    assert "5 threads of process 7: 10 (t10), 11 (t11), 12 (t12) and 2 more" in text
    assert text.index("on the CPU") < text.index("5 threads")


def test_what_is_left_out_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    many = shown(capsys, *(stack(tid, own(tid)) for tid in range(20)))
    assert "and 8 more threads: dea show s dump_stacks#1 --json" in many
    assert "and 10 more frames" in shown(capsys, stack(1, *(own(line) for line in range(40))))
