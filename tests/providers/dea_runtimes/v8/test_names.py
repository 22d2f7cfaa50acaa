"""Names of code that is not JavaScript, and of frames by their script."""

import pytest

from dea_runtimes.v8.frames import frame_of
from dea_runtimes.v8.reader.native import builtin_name, is_collector, plain_name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN2v88internal4Heap14CollectGarbageEii", "internal::Heap::CollectGarbage"),
        ("_ZNK2v88internal6String6lengthEv", "internal::String::length"),
        ("_ZN4node2fsL4ReadERKN2v8EE", "node::fs::Read"),
        ("_ZNSt10_HashtableImSt4pairE7emplaceEv", "_Hashtable"),
        ("uv__io_poll", "uv__io_poll"),
        ("_Z3fooi", "foo"),
        ("_ZZ", ""),
    ],
)
def test_names_of_cpp_functions(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("Builtins_StringPrototypeSplit", "StringPrototypeSplit"),
        ("Builtins_LdaNamedPropertyHandler", ""),
        ("Builtins_InterpreterEntryTrampoline", ""),
        ("uv_run", ""),
    ],
)
def test_builtins_that_say_something(symbol: str, name: str) -> None:
    assert builtin_name(symbol) == name


def test_the_collector_is_known_by_its_parts() -> None:
    assert is_collector(
        "_ZN2v88internal16ScavengerVisitor5VisitEv".replace("Scavenger", "Scavenge")
    )
    assert not is_collector("_ZN2v88internal6String6lengthEv")


@pytest.mark.parametrize(
    ("file", "own", "module", "shown"),
    [
        ("/srv/app/a.js", True, None, "/srv/app/a.js"),
        ("file:///srv/my%20app/a.mjs", True, None, "/srv/my app/a.mjs"),
        ("/srv/node_modules/@x/y/lib/a.js", False, "@x/y", "/srv/node_modules/@x/y/lib/a.js"),
        ("node:internal/timers", False, "node:internal/timers", "node:internal/timers"),
        ("", True, None, "[eval]"),
    ],
)
def test_whose_script_it_is(file: str, own: bool, module: str | None, shown: str) -> None:
    frame = frame_of({"what": "js", "function": "f", "file": file, "line": 3})
    assert (frame.own, frame.module, frame.file, frame.line) == (own, module, shown, 3)
