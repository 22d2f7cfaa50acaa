"""Samples of memory: recorded ones as evidence, and live ones of a process that the test moves."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from dea.backend import Observation, Parsed
from dea.contracts.data import Cgroup, Metric, MetricSeries, Note
from dea.errors import BackendError
from dea_linux.memory import BACKENDS
from tests.providers.observing import observe, recorded

(SERIES,) = BACKENDS
MIB = 2**20


def series(parsed: Parsed) -> dict[tuple[int, str], MetricSeries]:
    found = [fact.data for fact in parsed.facts if isinstance(fact.data, MetricSeries)]
    return {(data.pid, data.name): data for data in found}


def test_a_leak_is_told_by_rate_and_by_mapping() -> None:
    observation = recorded(SERIES.name, "growing_list")
    parsed = SERIES.parse(observation)
    anon = series(parsed)[observation.pid, "anon_bytes"]
    assert anon.shape == "growing"
    assert anon.slope_low_per_s < 3.3 * MIB < anon.slope_high_per_s
    assert (anon.unit, anon.samples, len(anon.points)) == ("bytes", 31, 20)
    (grown,) = [fact.data for fact in parsed.facts if isinstance(fact.data, Metric)]
    assert grown.shares["[heap]"] > 0.95
    assert grown.value == pytest.approx(anon.last - anon.first, rel=0.05)
    assert series(parsed)[observation.pid, "threads"].points == [(0.01, 1.0), (3.0, 1.0)]


@pytest.mark.parametrize(("case", "shape"), [("sawtooth", "sawtooth"), ("warm_up", "leveling")])
def test_healthy_shapes(case: str, shape: str) -> None:
    observation = recorded(SERIES.name, case)
    assert series(SERIES.parse(observation))[observation.pid, "anon_bytes"].shape == shape


def test_a_descendant_is_shown_when_it_grows() -> None:
    observation = recorded(SERIES.name, "growing_children")
    found = series(SERIES.parse(observation))
    growing = {(pid, name) for (pid, name), data in found.items() if data.shape == "growing"}
    leaking, opening = sorted({pid for pid, _ in growing} - {observation.pid})
    assert {
        (leaking, "anon_bytes"),
        (opening, "fds"),
        (observation.pid, "family_rss_bytes"),
    } < growing
    family = found[observation.pid, "family_rss_bytes"]
    assert family.first > found[leaking, "rss_bytes"].first + found[opening, "rss_bytes"].first
    assert len({pid for pid, _ in found}) == 3  # the one that sleeps is left out


def test_a_descendant_born_in_the_window_only_starts() -> None:
    observation = recorded(SERIES.name, "growing_children")
    lines = observation.text("samples").splitlines()
    late = [
        line
        for line in lines
        if line.split()[1] == str(observation.pid) or float(line.split()[0]) > 1
    ]
    files = {**observation.files, "samples": "\n".join(late).encode()}
    assert {pid for pid, _ in series(SERIES.parse(replace(observation, files=files)))} == {
        observation.pid
    }


def test_children_that_nobody_waits_for() -> None:
    observation = recorded(SERIES.name, "zombies")
    zombies = series(SERIES.parse(observation))[observation.pid, "zombies"]
    assert (zombies.shape, zombies.unit) == ("growing", "count")


def test_each_series_cites_the_lines_of_its_process() -> None:
    observation = recorded(SERIES.name, "growing_children")
    lines = observation.text("samples").splitlines()
    for fact in SERIES.parse(observation).facts:
        if isinstance(fact.data, MetricSeries):
            assert fact.lines is not None
            assert {lines[number - 1].split()[1] for number in fact.lines} == {str(fact.data.pid)}


def test_torn_lines_are_counted_and_the_rest_is_kept() -> None:
    good = recorded(SERIES.name, "growing_list")
    torn = good.files["samples"] + b"3.1 11980 status rss_by\n\xff\xfe\n"
    parsed = SERIES.parse(replace(good, files={**good.files, "samples": torn}))
    (note,) = [fact.data for fact in parsed.facts if isinstance(fact.data, Note)]
    assert (note.skipped_lines, note.first_bad_line) == (2, "3.1 11980 status rss_by")
    assert series(parsed) == series(SERIES.parse(good))


def test_nothing_readable_is_an_error() -> None:
    with pytest.raises(BackendError, match="what is this"):
        SERIES.parse(Observation("", "", 1, {"samples": b"what is this\n"}, {}))


def test_a_cgroup_limit_is_evidence() -> None:
    good = recorded(SERIES.name, "growing_list")
    line = b"version=2 limit_bytes=1073741824 used_bytes=536870912 oom_kills=3 path=/a b.slice\n"
    parsed = SERIES.parse(replace(good, files={**good.files, "cgroup": line}))
    (group,) = [fact.data for fact in parsed.facts if isinstance(fact.data, Cgroup)]
    assert (group.path, group.version, group.memory_limit_bytes) == ("/a b.slice", 2, 1024 * MIB)
    assert (group.memory_bytes, group.oom_kills) == (512 * MIB, 3)


GROWS_WHEN_TOLD = """
import sys, threading, time
held = []
print('ready', flush=True)
for _ in sys.stdin:
    held.append(bytearray(b'x' * (32 << 20)))
    print('held', flush=True)
"""


@pytest.mark.anyio
async def test_live_memory_of_another_process(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", GROWS_WHEN_TOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()  # an interpreter that still starts grows by itself
        before = SERIES.parse(await observe(SERIES, [process.pid], tmp_path / "before"))
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        after = SERIES.parse(await observe(SERIES, [process.pid], tmp_path / "after"))
        process.stdin.close()
    first, last = (series(parsed)[process.pid, "anon_bytes"].last for parsed in (before, after))
    assert last - first == pytest.approx(32 * MIB, rel=0.1)
    assert series(after)[process.pid, "anon_bytes"].shape == "short"


@pytest.mark.anyio
async def test_live_window_of_this_process(tmp_path: Path) -> None:
    observation = await observe(SERIES, [os.getpid()], tmp_path, 1.0)
    found = series(SERIES.parse(observation))
    assert found[os.getpid(), "rss_bytes"].samples >= 5
    assert found[os.getpid(), "threads"].last >= 1
    assert found[os.getpid(), "fds"].last == pytest.approx(len(os.listdir("/proc/self/fd")), abs=5)
    assert observation.facts["refused"] == []
    assert "of a CPU" in SERIES.parse(observation).limitations[-1]


@pytest.mark.anyio
async def test_a_process_that_ends_meanwhile_keeps_what_was_seen(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.5)"]) as process:
        observation = await observe(SERIES, [process.pid], tmp_path, 5.0)
    assert observation.facts["ended"]
    assert observation.facts["window_s"] < 4
    assert any(isinstance(fact.data, Note) for fact in SERIES.parse(observation).facts)


@pytest.mark.anyio
async def test_no_memory_at_all_is_an_error(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as process:
        with open(os.pidfd_open(process.pid)) as ended:
            await anyio.wait_readable(ended)  # and it is a zombie, since nobody waits for it
        with pytest.raises(BackendError, match="no memory of its own"):
            await observe(SERIES, [process.pid], tmp_path, 1.0)
