"""The report holds what a reviewer needs, and its links lead somewhere."""

import json
import re
import stat
from pathlib import Path

import pytest

from dea.contracts.artifact import Artifact
from dea.contracts.data import Note, Process
from dea.contracts.target import Target
from dea.report import render_report, write_report
from dea.report.order import ranked_findings
from tests.report.sessions import RENDERER, Writer, series


@pytest.fixture
def leak() -> Writer:
    """An investigation that found a cause, with an artifact, a failed step and limits."""
    writer = Writer()
    artifacts = writer.session.artifacts
    (artifacts / "001-samples.txt").write_text("one\ntwo\nthree\n")
    (artifacts / "001-flame.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    observation = {
        "backend": "memory.series",
        "pids": [4711],
        "commands": [["prog", "--token=abcdef", "-o", f"{artifacts}/001-samples.txt"]],
        "files": {"samples": "001-samples.txt"},
        "facts": {"rate_hz": 4},
    }
    (artifacts / "001-memory.series.observation.json").write_text(json.dumps(observation))
    writer.session.record_hashes([artifacts / "001-samples.txt"])
    writer.run(
        "snapshot_memory",
        [series(), Note(text="an aside")],
        artifact="artifacts/001-samples.txt",
        limitations=["sampled"],
        arguments={"session_id": writer.session.id, "window_s": 9, "heap": False},
        artifacts=[Artifact(path="artifacts/001-flame.svg", kind="flamegraph_svg", bytes=1)],
        findings=[("warn", "memory grows")],
    )
    writer.run("profile_cpu", error="py-spy not found", limitations=["sampled"])
    writer.run(
        "investigate",
        [series()],
        artifact="artifacts/001-samples.txt",
        findings=[("high", "the list CACHE grows at app.py:12"), ("info", "it is idle")],
        detail="It holds <b>orders</b>.\nSecond thought.",
        arguments={"session_id": writer.session.id, "symptom": "leak", "duration_s": 9},
    )
    return writer


def test_outcome_stands_first_and_findings_are_ranked(leak: Writer) -> None:
    text = write_report(leak.session).read_text()
    head = text.splitlines()[:7]
    assert head[1] == "# DEA report: process 4711 (shop)"
    assert "- **Asked:** what leaks" in head
    assert "- **Found:** high: the list CACHE grows at app.py:12" in head
    assert "could not look: profile_cpu#1" in text
    titles = re.findall(r"^### \d\. (.*)$", text, re.MULTILINE)
    assert titles == [
        "high: the list CACHE grows at app.py:12",
        "info: it is idle",
        "warn: memory grows",
    ]
    assert "It holds &lt;b&gt;orders&lt;/b&gt;.\n\nSecond thought." in text


def links_of(text: str) -> list[str]:
    tokens = [child for token in RENDERER.parse(text) for child in token.children or []]
    found = [token.attrs.get("href") or token.attrs.get("src") for token in tokens]
    return [str(target) for target in found if target]


def test_each_link_leads_to_a_file_or_a_row(leak: Writer) -> None:
    text = write_report(leak.session).read_text()
    links = links_of(text)
    anchors = set(re.findall(r'<a id="([^"]+)">', text))
    assert {link[1:] for link in links if link.startswith("#")} <= anchors
    for link in links:
        if not link.startswith("#"):
            assert (leak.session.folder / link.partition("#")[0]).exists(), link
    assert "artifacts/001-samples.txt#L2-L3" in links


def test_pictures_are_the_flame_graph_and_the_series(leak: Writer) -> None:
    text = write_report(leak.session).read_text()
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert "artifacts/001-flame.svg" in pictures
    drawn = [leak.session.folder / path for path in pictures if "report-" in path]
    assert len(drawn) == 2  # each series once, however many runs cite it
    for path in drawn:
        assert path.read_text().startswith("<svg")
        assert str(path.relative_to(leak.session.folder)) in leak.session.hashes()


def test_each_observation_can_be_repeated(leak: Writer) -> None:
    text = write_report(leak.session).read_text()
    assert "`dea snapshot-memory 4711 --window-s 9 --no-heap`" in text
    assert "`dea why 4711 --symptom leak --duration 9`" in text
    # Not into the artifact, and without the secret.
    assert "ran `prog --token=<secret> -o 001-samples.txt`" in text
    assert "`memory.series` looked at pid 4711 (rate_hz=4)" in text


def test_limits_say_which_runs_they_hold_for(leak: Writer) -> None:
    text = write_report(leak.session).read_text()
    assert "- sampled (snapshot_memory#1, profile_cpu#1)" in text
    assert "- could not look: py-spy not found (profile_cpu#1)" in text


def test_raw_files_are_hashed(leak: Writer) -> None:
    text = write_report(leak.session).read_text()
    assert re.search(r"001-samples\.txt\) \| `[0-9a-f]{64}` \|", text)


def test_files_are_private(leak: Writer) -> None:
    path = write_report(leak.session)
    for file in (path, *leak.session.artifacts.glob("report-*.svg")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_copy_has_links_that_work_from_where_it_is(leak: Writer, tmp_path: Path) -> None:
    write_report(leak.session)
    links = links_of(render_report(leak.session, tmp_path))
    files = [link.partition("#")[0] for link in links if not link.startswith("#")]
    assert files
    assert all((tmp_path / file).exists() for file in files)


def test_nothing_found_differs_from_could_not_look() -> None:
    healthy, blind = Writer(), Writer()
    healthy.run("investigate", [Note(text="looked")], findings=[("info", "it sleeps")])
    blind.run("investigate", error="no permission")
    assert "no fault in what was looked at; worth knowing: it sleeps" in _report(healthy)
    assert "could not look: no permission" in _report(blind)
    assert "nothing was looked at" in _report(Writer())


def test_a_damaged_result_is_told_and_hides_no_other(leak: Writer) -> None:
    (leak.session.folder / "runs" / "002-profile_cpu.json").write_text("{")
    text = _report(leak)
    assert "its stored result cannot be read" in text
    assert "the list CACHE grows" in text


def test_a_target_cannot_write_into_the_report() -> None:
    hostile = "<img src=x> [a](http://evil.example) | ![b](http://evil.example) http://evil.example"
    writer = Writer(Target(kind="pid", id="1", pid=1, comm=hostile, cmdline=hostile))
    writer.run("dump_stacks", [Note(text=hostile)], findings=[("warn", hostile)], detail=hostile)
    text = _report(writer)
    assert not [link for link in links_of(text) if "evil" in link]
    html = RENDERER.parse(text)
    inside = [child for token in html for child in token.children or []]
    assert {t.content for t in inside if t.type == "html_inline"} <= {
        '<a id="dump-stacks-1-e1">',
        "</a>",
    }


def test_the_newest_investigation_leads() -> None:
    writer = Writer()
    first = writer.run("investigate", [Note(text="a")], findings=[("high", "old")])
    step = writer.run("profile_cpu", [Note(text="b")], findings=[("high", "more"), ("high", "new")])
    last = writer.run("investigate", [Note(text="b")], findings=[("info", "new")])
    found = ranked_findings([first, step, last])
    assert [(finding.severity, finding.summary) for finding in found] == [
        ("info", "new"),
        ("high", "more"),
        ("high", "old"),
    ]


def _report(writer: Writer) -> str:
    return write_report(writer.session).read_text()


def test_where_and_on_what_it_was_observed_is_told() -> None:
    writer = Writer()
    writer.session.save_private("host", {"dea": "9.9", "kernel": "6.1-test", "cpus": 2})
    started = "2026-11-30T17:40:12+00:00"
    writer.run("attach", [Process(pid=4711, comm="shop", started_at=started, cwd="/srv/shop")])
    text = write_report(writer.session).read_text()
    for row in ("DEA | 9.9", "Kernel | 6.1-test", "CPUs | 2", "2026-11-30T17:40:12", "/srv/shop"):
        assert row in text, row


def test_files_that_no_evidence_stands_in_are_counted_only(leak: Writer) -> None:
    empty = leak.session.artifacts / "002-nothing.txt"
    empty.touch()
    leak.session.record_hashes([empty])
    text = write_report(leak.session).read_text()
    assert "002-nothing.txt" not in text
    assert re.search(r"those of \d+ more files are in \[SHA256SUMS", text)
