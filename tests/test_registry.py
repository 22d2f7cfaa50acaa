"""Backends are found, chosen by cost, and passed over with a reason."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import pytest

from dea import registry
from dea.backend import Availability, Host, LinuxBackend
from dea.contracts.arguments import BY_TOOL
from dea.contracts.target import Runtime, Target
from dea.errors import BackendError

HOST = Host("linux", "6.1", "x86_64", True, frozenset(), 1, 2, {"here": Path("/bin/here")})
PYTHON = Target(kind="pid", id="7", pid=7, runtime="python")


class Fake(LinuxBackend):
    """A backend that can be chosen, though not used."""

    tool: ClassVar[str] = "profile_cpu"

    def __init__(
        self, name: str, rank: int, *runtimes: Runtime, programs: tuple[str, ...] = ()
    ) -> None:
        self.__dict__.update(
            name=name,
            rank=rank,
            runtimes=frozenset(runtimes),
            programs=programs,
            install_hint="apt install it",
        )


def offer(monkeypatch: pytest.MonkeyPatch, *backends: Fake) -> None:
    monkeypatch.setattr(registry, "backends", lambda: backends)


def names(choice: registry.Choice) -> list[str]:
    return [backend.name for backend in choice.usable]


def test_ours_can_all_be_imported_and_serve_a_tool() -> None:
    assert registry.broken() == ()
    assert registry.backends()
    for backend in registry.backends():
        assert backend.tool.partition(".")[0] in {*BY_TOOL, "port_busy"}, backend.name
        assert not backend.programs or backend.install_hint, backend.name


def test_those_that_can_run_are_offered_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, Fake("a", 1), Fake("b", 9, "python"), Fake("c", 5, "java"))
    choice = registry.choose("profile_cpu", PYTHON, HOST)
    assert names(choice) == ["a", "b"]
    assert choice.passed_over == []


def test_one_that_is_passed_over_says_why_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, Fake("a", 1, programs=("gone", "here")), Fake("b", 2, programs=("here",)))
    choice = registry.choose("profile_cpu", PYTHON, HOST)
    assert names(choice) == ["b"]
    assert choice.passed_over == ["a: gone not found (apt install it)"]


def test_none_that_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, Fake("a", 1, programs=("gone",)), Fake("b", 1, "java"))
    with pytest.raises(
        BackendError, match=r"cannot observe a python target here: a: gone not found.*dea doctor"
    ):
        registry.choose("profile_cpu", PYTHON, HOST)
    with pytest.raises(BackendError, match="no backend serves it yet"):
        registry.choose("diff_runs", PYTHON, HOST)
    assert Fake("a", 1).availability(HOST) == Availability("ready")


PROVIDER = """
from dea.backend import LinuxBackend
class Good(LinuxBackend):
    name, tool = "{name}", "profile_cpu"
BACKENDS = (Good(),)
"""


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A provider package of somebody else, found by its entry point."""
    package = tmp_path / "third_party"
    package.mkdir()
    (package / "__init__.py").touch()
    points = [
        EntryPoint(name="x", value=value, group="dea.providers")
        for value in ("third_party", "not_there")
    ]

    def entry_points(group: str) -> list[EntryPoint]:
        return [point for point in points if point.group == group]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    registry.installed.cache_clear()
    yield package
    registry.installed.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "third_party"]:
        del sys.modules[name]


def test_a_provider_that_is_broken_does_not_take_the_others_with_it(third_party: Path) -> None:
    for folder, code in (
        ("good", PROVIDER.format(name="good.one")),
        ("twin", PROVIDER.format(name="good.one")),
        ("bad", "import nonsense_that_is_missing"),
        ("worse", "1 / 0"),
        ("plain", ""),
    ):
        (third_party / folder).mkdir()
        (third_party / folder / "__init__.py").write_text(code)
    assert [backend.name for backend in registry.backends()] == ["good.one"]
    said = "\n".join(registry.broken())
    assert "third_party.bad cannot be imported: ModuleNotFoundError" in said
    assert "third_party.worse cannot be imported: ZeroDivisionError" in said
    assert "third_party.twin: there are two backends good.one" in said
    assert "not_there cannot be imported" in said
    assert len(registry.broken()) == 4
