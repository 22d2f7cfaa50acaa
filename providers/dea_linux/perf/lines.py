"""Source lines of the hottest addresses only: asking perf for all of them can take minutes."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dea.backend import Instruments
from dea.errors import BackendError
from dea_linux.elf import address_of, executable_loads
from dea_linux.native_code import is_own_module
from dea_linux.perf.script import Sample

LINES = "lines.txt"
# binutils knows the inlined functions of Rust and the compressed tables of Go; elfutils is fast.
_THOROUGH, _FAST = "addr2line", "eu-addr2line"
_LARGE_BYTES = 64 * 2**20  # a file of which binutils would read for too long
_MODULES, _ADDRESSES = 4, 600
_TIMEOUT_S = 6.0
_ENTRY = re.compile(
    r"(?:0x(?P<address>[0-9a-f]+): | \(inlined by\) )(?P<function>.*) at (?P<place>.*)$"
)
_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?::\d+)?(?: \(.*\))?$")


@dataclass(frozen=True)
class Place:
    """A function and the line in it; the file is None when it is not known."""

    function: str
    file: str | None
    line: int | None


# By module and offset in it: the innermost inlined function first, the real one last.
Places = Mapping[tuple[str, int], Sequence[Place]]


def lookup_offset(offset: int, depth: int) -> int:
    """Of a caller the address is where it goes on afterwards, so the call stands just before."""
    return offset if depth == 0 else offset - 1


async def find_lines(
    samples: Sequence[Sample], executables: Mapping[int, str], instruments: Instruments
) -> list[dict[str, Any]]:
    """Save what the debug information says; returns which modules were asked about, as JSON."""
    asked: list[dict[str, Any]] = []
    text: list[str] = []
    for (pid, module), offsets in _wanted(samples, executables):
        path = _file(pid, module)
        loads = executable_loads(path)
        found = {address_of(offset, loads) for offset in offsets}
        addresses = sorted(address for address in found if address is not None)
        if addresses and (answer := await _ask(path, addresses, instruments)):
            asked.append({"module": module, "loads": loads})
            text.append(f"# {module}\n{answer}")
    instruments.save(LINES, "".join(text))
    return asked


def read_lines(text: str, asked: Iterable[Mapping[str, Any]]) -> Places:
    """Which places each offset of each module stands for."""
    loads = {entry["module"]: [tuple(load) for load in entry["loads"]] for entry in asked}
    places: dict[tuple[str, int], list[Place]] = {}
    module, current = "", list[Place]()
    for line in text.split("\n"):
        if line.startswith("# "):
            module = line[2:]
        elif entry := _ENTRY.match(line):
            if entry["address"]:
                current = places.setdefault(
                    (module, _offset(int(entry["address"], 16), loads.get(module, []))), []
                )
            current.append(_place(entry["function"], entry["place"]))
    return places


def _wanted(
    samples: Sequence[Sample], executables: Mapping[int, str]
) -> list[tuple[tuple[int, str], list[int]]]:
    """The most frequent offsets in the modules that are the user's own, the hottest module first."""
    seen: Counter[tuple[str, int]] = Counter()
    owner: dict[str, int] = {}
    for sample in samples:
        executable = executables.get(sample.pid, "")
        for depth, call in enumerate(sample.calls):
            if is_own_module(call.module, executable):
                owner.setdefault(call.module, sample.pid)
                seen[call.module, lookup_offset(call.offset, depth)] += 1
    modules = Counter[str]()
    for (module, _), count in seen.items():
        modules[module] += count
    return [
        (
            (owner[module], module),
            [o for (m, o), _ in seen.most_common() if m == module][:_ADDRESSES],
        )
        for module, _ in modules.most_common(_MODULES)
    ]


def _file(pid: int, module: str) -> Path:
    """The module's file as the process sees it, also when it lives in a container or was deleted."""
    inside = Path(f"/proc/{pid}/root{module}")
    try:
        if str(Path(f"/proc/{pid}/exe").readlink()).removesuffix(" (deleted)") == module:
            return Path(f"/proc/{pid}/exe")
    except OSError:
        pass
    return inside if inside.exists() else Path(module)


async def _ask(path: Path, addresses: Sequence[int], instruments: Instruments) -> str:
    """What the first program says that is there and does not take too long; else empty."""
    flags = ["-a", "-f", "-i", "-C", "--pretty-print", "-e", str(path)]
    large = path.stat().st_size > _LARGE_BYTES
    for program in (_FAST,) if large else (_THOROUGH, _FAST):
        argv = [program, *flags, *(f"0x{address:x}" for address in addresses)]
        try:
            result = await instruments.run(argv, timeout_s=_TIMEOUT_S)
        except BackendError:
            continue  # it is not installed
        if not result.timed_out:
            return result.stdout.decode("utf-8", "replace")
    return ""


def _offset(address: int, loads: Sequence[Sequence[int]]) -> int:
    for start, loaded, size in loads:
        if loaded <= address < loaded + size:
            return address - loaded + start
    return address


def _place(function: str, place: str) -> Place:
    match = _PLACE.match(place)
    if match is None or match["file"] in ("??", "?") or match["line"] == "0":
        return Place(function, None, None)
    return Place(function, match["file"], int(match["line"]))
