"""Pictures are well-formed SVG that shows what the evidence says."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest

from dea.contracts.artifact import Artifact
from dea.contracts.data import Data, Metric, Note, Part
from dea.contracts.evidence import Evidence
from dea.contracts.result import ToolResult
from dea.contracts.target import Target
from dea.report.budget_svg import budget_svg
from dea.report.pictures import pictures
from dea.report.series_svg import series_svg
from dea.report.svg import human
from tests.report.sessions import series

SVG = "{http://www.w3.org/2000/svg}"


def thread(name: str, shares: Sequence[Part]) -> Metric:
    return Metric(name="thread_time", value=1, unit="share", pid=1, thread=name, parts=[*shares])


def words(svg: str) -> str:
    return " ".join("".join(node.itertext()) for node in ElementTree.fromstring(svg).iter())


def test_series_rises_from_left_to_right() -> None:
    line = ElementTree.fromstring(series_svg(series())).find(f"{SVG}polyline")
    assert line is not None
    places = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
    assert len(places) == 10
    assert places == sorted(places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_series_says_its_slope_and_interval() -> None:
    assert "slope 976.6 KiB/s, 95 % interval 878.9 KiB/s to 1.049 MiB/s" in words(
        series_svg(series())
    )


def test_a_steady_series_is_a_flat_line() -> None:
    steady = series().model_copy(update={"points": [(0, 7.0), (1, 7.0)], "unit": ""})
    line = ElementTree.fromstring(series_svg(steady)).find(f"{SVG}polyline")
    assert line is not None
    assert len({pair.split(",")[1] for pair in line.attrib["points"].split()}) == 1


def test_bars_are_as_wide_as_the_shares_and_the_busiest_is_on_top() -> None:
    idle = thread("idle", [Part(cause="poll", share=1.0)])
    busy = thread("busy", [Part(cause="cpu_user", share=0.75), Part(cause="lock", share=0.25)])
    svg = budget_svg([idle, busy])
    bars = [
        float(node.attrib["width"])
        for node in ElementTree.fromstring(svg).iter(f"{SVG}rect")
        if node.attrib["height"] == "18.0"
    ]
    assert bars == pytest.approx([382.5, 127.5, 510.0])
    assert words(svg).index("busy") < words(svg).index("idle")


def test_many_threads_are_cut_and_it_says_so() -> None:
    svg = budget_svg([thread(f"t{n}", [Part(cause="lock", share=1)]) for n in range(20)])
    assert "4 more are not drawn" in svg


def test_names_from_the_target_are_text() -> None:
    svg = budget_svg([thread("</text><script>x</script>\x1b[31m", [Part(cause="gil", share=1)])])
    assert not list(ElementTree.fromstring(svg).iter(f"{SVG}script"))
    assert not re.search(r"[\x00-\x08\x1b]", svg)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (-3 * 2**20, "-3 MiB")],
)
def test_bytes_are_written_for_people(value: float, text: str) -> None:
    assert human(value, "bytes") == text


def _evidence(*data: Data) -> list[Evidence]:
    return [
        Evidence(id=f"t#1.e{n}", kind=item.kind, summary="x", data=item)
        for n, item in enumerate(data, 1)
    ]


def _drew(tool: str, *paths: str) -> ToolResult:
    return ToolResult(
        ok=True,
        tool=tool,
        session_id="s",
        target=Target(kind="pid", id="7", pid=7),
        duration_ms=1,
        findings=[],
        evidence=[],
        limitations=[],
        suggested_next=[],
        artifacts=[Artifact(path=path, kind="flamegraph_svg", bytes=1) for path in paths],
        run_id=f"{tool}#1",
    )


def test_a_flame_graph_says_what_it_shows() -> None:
    results = [
        _drew("investigate", "cpu.svg", "wall.svg"),
        _drew("profile_cpu", "cpu.svg"),
        _drew("time_budget", "wall.svg"),
    ]
    assert [(p.path, p.title) for p in pictures(results, [])] == [
        ("cpu.svg", "Flame graph of CPU time (profile_cpu#1)"),
        ("wall.svg", "Flame graph of wall clock time (time_budget#1)"),
    ]


def test_what_grows_comes_first_where_growth_is_told_and_what_is_constant_is_not_drawn() -> None:
    steady = series("fds").model_copy(update={"points": [(0.0, 5.0), (1.0, 5.0)]})
    flames = [_drew("profile_cpu", "cpu.svg")]
    told = pictures(flames, _evidence(series(), steady))
    assert ["report-" in p.path for p in told] == [True, False]
    notes = [Note(text=str(n)) for n in range(3)]
    aside = pictures(flames, _evidence(*notes, series()))
    assert ["report-" in p.path for p in aside] == [False, True]
