"""From perf's samples to stacks of frames: inlined functions told apart, own code marked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from dea.contracts.data import Frame
from dea.profile.stacks import NO_SYMBOLS, Sampled, merged, said
from dea_linux.native_code import (
    GENERATED,
    KERNEL,
    is_own_function,
    is_own_module,
    short_name,
)
from dea_linux.perf.lines import Place, Places, lookup_offset
from dea_linux.perf.script import Call, Sample

_MANGLED = ("_R", "_Z")  # names that perf could not turn back into what the source says


@dataclass(frozen=True)
class Program:
    """What must be known of the processes to tell their own code: the executable of each."""

    executables: Mapping[int, str]
    runtime: str | None
    places: Places


def stacks_of(samples: Sequence[Sample], program: Program) -> list[Sampled]:
    return merged(
        Sampled(
            pid=sample.pid,
            tid=sample.tid,
            thread=said(sample.comm, 40),
            frames=tuple(_frames(sample, program)),
            samples=1,
            lines=sample.lines,
        )
        for sample in samples
    )


def _frames(sample: Sample, program: Program) -> Iterator[Frame]:
    executable = program.executables.get(sample.pid, "")
    for depth, call in enumerate(sample.calls):
        if _is_kernel(call.module):
            yield Frame(function=said(call.symbol or "kernel"), module=KERNEL)
        elif _is_generated(call.module):
            yield Frame(function="code generated at run time", module=GENERATED)
        else:
            yield from _compiled(call, depth, is_own_module(call.module, executable), program)


def _compiled(call: Call, depth: int, own_module: bool, program: Program) -> Iterator[Frame]:
    places = program.places.get((call.module, lookup_offset(call.offset, depth)), ())
    if call.symbol is None and not _known(places):
        # The offset stands in for the line until the stacks are counted.
        yield Frame(function=NO_SYMBOLS, line=call.offset, module=said(call.module), own=own_module)
        return
    symbol = call.symbol or places[-1].function
    if _known(places) and (symbol.startswith(_MANGLED) or "$u7b$" in symbol):
        symbol = places[-1].function
    chain = [*places[:-1], Place(symbol, *_last(places))]
    for place in chain:
        name = said(short_name(place.function.split("@", 1)[0] or place.function))
        yield Frame(
            function=name,
            file=said(place.file, 300) if place.file else None,
            line=place.line,
            module=said(call.module),
            own=own_module and is_own_function(name, place.file, program.runtime),
        )


def without_symbols(frame: Frame) -> Frame:
    """A function that has no name: the file and the place in it, which its debug symbols would name."""
    name = PurePosixPath(frame.module or "?").name
    return frame.model_copy(update={"function": f"{name}+0x{frame.line or 0:x}", "line": None})


def _known(places: Sequence[Place]) -> bool:
    """Without debug information only the nearest symbol before is told, which may be another's."""
    return bool(places) and places[-1].file is not None


def _last(places: Sequence[Place]) -> tuple[str | None, int | None]:
    return (places[-1].file, places[-1].line) if places else (None, None)


def _is_kernel(module: str) -> bool:
    """`[kernel.kallsyms]`, `[guest.kernel]` or a module of the kernel such as `[ext4]`."""
    return module.startswith("[") and module not in ("[vdso]", "[unknown]", "[heap]", "[stack]")


def _is_generated(module: str) -> bool:
    return module in ("[unknown]", "[heap]", "[stack]", "") or module.startswith(
        ("//anon", "/memfd:", "/dev/zero", "/tmp/perf-", "anon_inode:", "/SYSV")
    )
