"""The flame graph as an SVG that any viewer reads."""

import re
from xml.etree import ElementTree

from dea.contracts.data import Frame
from dea.profile.flamegraph import flamegraph
from dea.profile.folded import fold
from dea.profile.stacks import Sampled

SVG = "{http://www.w3.org/2000/svg}"


def stack(*functions: str, samples: int = 1, pid: int = 7) -> Sampled:
    """Outermost function first."""
    frames = tuple(
        Frame(function=name, file="/srv/a.py", line=n, own=True)
        for n, name in reversed(list(enumerate(functions, 1)))
    )
    return Sampled(pid, pid, "main", frames, samples)


def boxes(svg: bytes) -> dict[str, ElementTree.Element]:
    groups = ElementTree.fromstring(svg).find(f"{SVG}g[@id='boxes']")
    assert groups is not None
    return {group.attrib["data-n"]: group for group in groups}


def test_width_is_the_share_of_samples() -> None:
    found = boxes(flamegraph([stack("main", "hot", samples=3), stack("main", "cold")], "t"))
    whole = float(found["all"].attrib["data-w"])
    assert float(found["hot"].attrib["data-w"]) == whole * 0.75
    assert float(found["cold"].attrib["data-x"]) == 10  # names go from left to right
    assert "75.0%, 3 samples" in (found["hot"].findtext(f"{SVG}title") or "")


def test_text_from_the_target_cannot_become_markup() -> None:
    evil = "<script>alert(1)</script>]]>\x1b\"'&"
    svg = flamegraph([stack(evil)], f"CPU of {evil}")
    root = ElementTree.fromstring(svg)
    assert len(list(root.iter(f"{SVG}script"))) == 1  # our own
    assert svg.count(b"<script") == 1


def test_boxes_too_thin_to_see_are_left_out_and_nothing_else() -> None:
    found = boxes(flamegraph([stack("hot", samples=5000), stack("rare")], "t"))
    assert "hot" in found
    assert "rare" not in found


def test_processes_have_a_row_only_when_there_are_several() -> None:
    one, two = stack("f"), stack("g", pid=8)
    assert "process 7" not in boxes(flamegraph([one], "t"))
    assert {"process 7", "process 8"} <= set(boxes(flamegraph([one, two], "t")))


def test_it_needs_nothing_from_elsewhere() -> None:
    svg = flamegraph([stack("f")], "t").decode()
    addresses = set(re.findall(r"https?://[^\"'\s]+", svg))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_folded_stacks_begin_with_the_outermost_frame() -> None:
    text = fold([stack("main", "odd;name"), stack("main", samples=4)]).decode()
    assert text.splitlines() == [
        "process 7;thread main (7);main (/srv/a.py:1) 4",
        "process 7;thread main (7);main (/srv/a.py:1);odd,name (/srv/a.py:2) 1",
    ]
