"""What dumps of native stacks have in common, whichever program took them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from dea.contracts.data import Frame, Stack
from dea.profile.pictures import Picture
from dea.profile.stacks import said
from dea.profile.states import parse_names, parse_states
from dea_linux.native_code import interpreters, is_own_function, is_own_module, short_name


@dataclass
class NativeFrame:
    """One call as a program told it; `function` is empty when it has no name."""

    function: str
    module: str = ""
    address: int = 0
    file: str | None = None
    line: int | None = None


@dataclass
class NativeThread:
    """One thread's calls, innermost first, and which lines of the output tell them."""

    tid: int
    first_line: int
    last_line: int
    frames: list[NativeFrame] = field(default_factory=list[NativeFrame])


def pictures(
    pid: int, threads: Sequence[NativeThread], states: str, noted: Mapping[str, Any]
) -> list[Picture]:
    """The stacks of a process, with what the kernel said of its threads just before."""
    executable = next((one["executable"] for one in noted["family"] if one["pid"] == pid), "")
    letters, names = parse_states(states), parse_names(states)

    def picture(thread: NativeThread) -> Picture:
        state = letters.get(thread.tid)
        stack = Stack(
            pid=pid,
            tid=thread.tid,
            thread=said(names.get(thread.tid, "thread"), 40),
            frames=[_frame(frame, executable, noted["runtime"]) for frame in thread.frames],
            state=state,
            on_cpu=None if state is None else state == "R",
        )
        return Picture(stack, (thread.first_line, thread.last_line))

    return [picture(thread) for thread in threads]


def limitations(noted: Mapping[str, Any], pause: str) -> list[str]:
    """`pause`: for how long the target stood still."""
    return list(_limitations(noted, pause))


def _limitations(noted: Mapping[str, Any], pause: str) -> Iterator[str]:
    yield f"one moment only; {pause}"
    if names := interpreters(one["executable"] for one in noted["family"]):
        yield f"these are functions of the interpreter ({names}), not of the program that it runs"
    yield from (f"not all processes could be read: {failure}" for failure in noted["failures"])
    if noted["left_out"]:
        yield f"{noted['left_out']} more processes were not looked at"


def _frame(frame: NativeFrame, executable: str, runtime: str | None) -> Frame:
    where = PurePosixPath(frame.module).name or "unknown code"
    function = short_name(frame.function.split("@", 1)[0]) or f"{where} at 0x{frame.address:x}"
    own = is_own_module(frame.module, executable)
    return Frame(
        function=said(function),
        file=said(frame.file, 300) if frame.file else None,
        line=frame.line,
        module=said(frame.module) or None,
        own=own and is_own_function(function, frame.file, runtime),
    )
