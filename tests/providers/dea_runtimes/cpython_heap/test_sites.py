"""Which lines of a source may let a container grow."""

import os
from pathlib import Path

import pytest

from dea_runtimes.cpython_heap.reader.places import is_own
from dea_runtimes.cpython_heap.reader.sites import SiteFinder
from dea_runtimes.cpython_heap.reader.source import Sources
from dea_runtimes.cpython_heap.reader.steps import Step

SOURCE = """
import heapq
CACHE = {}
class Store:
    def add(self, item):
        self.items.append(item)
    def read(self):
        return self.items[0], CACHE.get(1)
def fill(key):
    CACHE[key] = 1
    CACHE.setdefault(key, []).append(2)
    CACHE[key].extend([3])
    heapq.heappush(HEAP, key)
    HEAP.sort()
    make_session(key)
    return Session(key)
def outer():
    seen = []
    @decorated
    def inner(x, given=[]):
        seen.append(x)
        given.append(x)
    return inner
def other(seen):
    seen.append(1)
"""


@pytest.fixture
def finder(tmp_path: Path) -> SiteFinder:
    file = tmp_path / "app.py"
    file.write_text(SOURCE)
    return SiteFinder(Sources(os.getpid()), [str(file)])


def step(role: str, name: str, file: Path, line: int = 0) -> Step:
    return Step(role=role, name=name, of="", file=str(file / "app.py"), line=line)


@pytest.mark.parametrize(
    ("role", "name", "line", "sites"),
    [
        ("global", "CACHE", 0, [("fill", 10), ("fill", 11), ("fill", 12)]),
        ("global", "HEAP", 0, [("fill", 13)]),
        ("attribute", "items", 0, [("Store.add", 6)]),
        ("closure", "seen", 19, [("outer.inner", 21)]),
        ("default", "", 19, [("outer.inner", 22)]),
        ("cache", "", 9, [("<module>", 9)]),
        ("global", "MISSING", 0, []),
    ],
)
def test_lines_that_add(
    role: str,
    name: str,
    line: int,
    sites: list[tuple[str, int]],
    finder: SiteFinder,
    tmp_path: Path,
) -> None:
    found = finder.additions([step(role, name, tmp_path, line)])
    assert [(site["function"], site["line"]) for site in found] == sites


def test_a_foreign_holder_gives_way_to_the_name_before_it(
    finder: SiteFinder, tmp_path: Path
) -> None:
    foreign = Step(
        role="attribute",
        name="queue",
        of="queue.Queue",
        file="/usr/lib/python3.11/queue.py",
        line=0,
    )
    found = finder.additions([step("global", "HEAP", tmp_path), foreign])
    assert [site["line"] for site in found] == [13]


def test_lines_that_make_an_instance(finder: SiteFinder) -> None:
    assert [site["line"] for site in finder.constructions("app.Session")] == [16]


def test_sources_are_read_inside_the_targets_root_only(tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to("/proc/self/root/etc/passwd")
    (tmp_path / "pipe.py").touch()
    (tmp_path / "pipe.py").unlink()
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "bad.py").write_text("def (")
    sources = Sources(os.getpid())
    for name in ("link.py", "pipe.py", "bad.py", "gone.py"):
        assert sources.tree(str(tmp_path / name)) is None, name


def test_own_code_is_told_from_libraries() -> None:
    assert is_own("/srv/app/main.py")
    for foreign in (
        *("", "<frozen os>", "<string>", "/usr/lib/python3.11/queue.py"),
        *("/srv/venv/lib/python3.12/site-packages/x.py", "/usr/lib/python3/dist-packages/x.py"),
    ):
        assert not is_own(foreign), foreign
