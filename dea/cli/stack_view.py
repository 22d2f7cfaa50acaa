"""Stacks as people read them: innermost frame first, own frames marked, equal stacks told once."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table

from dea.cli.screen import heading, plain
from dea.contracts.data import Frame, Stack
from dea.contracts.result import ToolResult

_GROUPS, _FRAMES, _NAMES = 12, 30, 3
_Key = tuple[int, str, tuple[tuple[str, str | None, int | None], ...]]


def stacks(result: ToolResult) -> Iterator[RenderableType]:
    """Every thread's stack, those of the threads that run first."""
    found = [item.data for item in result.evidence if isinstance(item.data, Stack)]
    if not found:
        return
    groups = sorted(_grouped(found), key=lambda group: not group[0].on_cpu)
    yield heading("Stacks, innermost frame first, * is the program's own code")
    for group in groups[:_GROUPS]:
        yield Padding(plain(_title(group)), (0, 0, 0, 2))
        yield Padding(_frames(group[0].frames), (0, 0, 0, 4))
    left = sum(len(group) for group in groups[_GROUPS:])
    if left:
        where = f"dea show {result.session_id} {result.run_id} --json"
        threads = "1 more thread" if left == 1 else f"{left} more threads"
        yield Padding(plain(f"and {threads}: {where}"), (0, 0, 0, 2))
    yield ""


def _grouped(found: Sequence[Stack]) -> list[list[Stack]]:
    groups: dict[_Key, list[Stack]] = {}
    for stack in found:
        frames = tuple((f.function, f.file, f.line) for f in stack.frames)
        groups.setdefault((stack.pid, _doing(stack), frames), []).append(stack)
    return list(groups.values())


def _title(group: Sequence[Stack]) -> str:
    first = group[0]
    doing = f", {_doing(first)}" if _doing(first) else ""
    if len(group) == 1:
        return f"thread {first.tid} ({first.thread}) of process {first.pid}{doing}"
    names = ", ".join(f"{stack.tid} ({stack.thread})" for stack in group[:_NAMES])
    more = f" and {len(group) - _NAMES} more" if len(group) > _NAMES else ""
    return f"{len(group)} threads of process {first.pid}{doing}: {names}{more}"


def _doing(stack: Stack) -> str:
    if stack.on_cpu:
        return "on the CPU"
    return f"in {stack.syscall}" if stack.syscall else ""


def _frames(frames: Sequence[Frame]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=1)
    table.add_column(overflow="fold")
    for frame in frames[:_FRAMES]:
        table.add_row("*" if frame.own else "", plain(_told(frame), "" if frame.own else "dim"))
    if len(frames) > _FRAMES:
        table.add_row("", plain(f"and {len(frames) - _FRAMES} more frames", "dim"))
    if not frames:
        table.add_row("", plain("no frame could be read", "dim"))
    return table


def _told(frame: Frame) -> str:
    if frame.file is None:
        return f"{frame.function}  {frame.module or ''}".rstrip()
    return f"{frame.function}  {frame.file}{'' if frame.line is None else f':{frame.line}'}"
