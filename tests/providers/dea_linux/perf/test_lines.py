"""Source lines from addr2line's answers."""

from typing import Any

from dea_linux.perf.lines import Place, read_lines

TEXT = """\
# /srv/app
0x0000000000401011: checksum at /srv/a.c:17 (discriminator 3)
 (inlined by) handle at /srv/a.c:30:12
0x0000000000401020: main at ??:?
# /srv/lib.so
0x0000000000000011: run at here at /srv/b.c:5
"""
LOADS: list[dict[str, Any]] = [
    {"module": "/srv/app", "loads": [[0x1000, 0x401000, 0x500]]},
    {"module": "/srv/lib.so", "loads": []},
]


def test_places_are_found_by_module_and_offset_in_the_file() -> None:
    places = read_lines(TEXT, LOADS)
    assert places["/srv/app", 0x1011] == [
        Place("checksum", "/srv/a.c", 17),
        Place("handle", "/srv/a.c", 30),
    ]
    assert places["/srv/lib.so", 0x11] == [Place("run at here", "/srv/b.c", 5)]


def test_without_debug_information_there_is_no_line() -> None:
    assert read_lines(TEXT, LOADS)["/srv/app", 0x1020] == [Place("main", None, None)]
