"""Recordings of perf as evidence, and perf itself on a small program."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dea.backend import Host, Observation, Parsed
from dea.contracts.data import FrameHot, Metric, Note
from dea.errors import BackendError
from dea_linux.perf import BACKENDS
from tests.providers.observing import observe, recorded

(RECORD,) = BACKENDS
SPECIMENS = Path(__file__).parents[3] / "specimens"


def hot(parsed: Parsed) -> list[FrameHot]:
    return [fact.data for fact in parsed.facts if isinstance(fact.data, FrameHot)]


def test_an_inlined_function_is_named_with_its_line_and_callers() -> None:
    """The program was built with -O2: all of it is inlined into main."""
    (first,) = hot(RECORD.parse(recorded(RECORD.name, "hot_function")))
    assert first.frame.place() == "checksum hot_function.c:17"
    assert first.frame.own
    assert first.share > 0.9
    assert first.callers == [
        "handle hot_function.c:30",
        "serve hot_function.c:36",
        "main hot_function.c:44",
    ]
    assert (first.source or "").startswith("a = (a + text[i]) % 65521")


def test_the_fact_cites_a_sample_that_shows_it() -> None:
    observation = recorded(RECORD.name, "hot_function")
    fact = RECORD.parse(observation).facts[0]
    assert fact.lines is not None
    first, last = fact.lines
    sample = observation.text(fact.file or "").split("\n")[first - 1 : last]
    assert sample[0].startswith("hotO2 ")
    assert "main+" in sample[1]


def test_a_stripped_file_is_told_by_where_the_code_stands_without_a_line() -> None:
    parsed = RECORD.parse(recorded(RECORD.name, "stripped"))
    first = hot(parsed)[0]
    assert first.frame.function.startswith("xz+0x")
    assert (first.frame.file, first.frame.line, first.lines) == (None, None, {})
    assert "lzma_code (liblzma.so.5.4.1)" in first.below
    assert any("without symbols" in limitation for limitation in parsed.limitations)


def test_code_generated_at_run_time_is_nobodys_function() -> None:
    parsed = RECORD.parse(recorded(RECORD.name, "generated"))
    first = hot(parsed)[0]
    assert first.frame.module == "[generated]"
    assert not first.frame.own
    assert any("generated at run time" in limitation for limitation in parsed.limitations)
    assert any("(node)" in limitation for limitation in parsed.limitations)


def test_what_is_made_of_it() -> None:
    parsed = RECORD.parse(recorded(RECORD.name, "hot_function"))
    products = {product.name: product for product in parsed.products}
    assert b"main (/srv/app/hot_function.c:44);serve" in products["stacks.folded"].data
    assert b"checksum" in products["flamegraph.svg"].data
    shares = {f.data.name: f.data.value for f in parsed.facts if isinstance(f.data, Metric)}
    assert shares["cpu_share"] + shares["cpu_wait_share"] > 0.9  # it was starved of CPU


def changed(script: bytes, **facts: object) -> Observation:
    base = recorded(RECORD.name, "hot_function")
    files = {**base.files, "script.txt": script}
    return replace(base, files=files, facts={**base.facts, **facts})


def test_a_damaged_recording_keeps_its_good_part() -> None:
    good = recorded(RECORD.name, "hot_function").files["script.txt"]
    parsed = RECORD.parse(changed(good + b"hotO2 1/1\n\tno frame at all \xff\n"))
    (note,) = [fact.data for fact in parsed.facts if isinstance(fact.data, Note)]
    assert note.skipped_lines == 1
    assert "no frame at all" in (note.first_bad_line or "")
    assert hot(parsed)[0].frame.function == "checksum"


def test_nothing_readable_is_an_error_and_nothing_sampled_is_none() -> None:
    with pytest.raises(BackendError, match="what is this"):
        RECORD.parse(changed(b"what is this\n"))
    assert hot(RECORD.parse(changed(b""))) == []


KERNEL = """\
copier  7/8  
\tffffffff81e7e3c9 sock_write+0xe9 ([kernel.kallsyms])
\t           f838f __libc_write+0x4f (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t           84f09 kv::Map<int, int (*)(char)>::send(int)+0x59 (/srv/x (1) (deleted))

copier  7/7  
\tffffffff81e7e3c9 sock_write+0xe9 ([kernel.kallsyms])
"""


def test_kernel_time_counts_for_the_own_function_that_called() -> None:
    family = [{"pid": 7, "ppid": 1, "comm": "c", "command": "x", "executable": "/srv/x (1)"}]
    parsed = RECORD.parse(changed(KERNEL.encode(), family=family, asked=[], source={}))
    own, kernel = hot(parsed)
    assert (own.frame.function, own.frame.own) == ("kv::Map::send", True)
    assert own.below == ["__libc_write (libc.so.6)", "sock_write (kernel)"]
    assert (kernel.frame.module, kernel.frame.own) == ("[kernel]", False)


def host(**changes: Any) -> Host:
    facts: Mapping[str, Any] = {
        "os": "linux",
        "kernel": "6.1",
        "arch": "x86_64",
        "is_root": False,
        "capabilities": frozenset[str](),
        "ptrace_scope": None,
        "perf_event_paranoid": 3,
        "programs": {"perf": Path("/usr/bin/perf")},
    }
    return Host(**{**facts, **changes})


def test_a_host_that_does_not_let_users_sample_says_what_to_do() -> None:
    refused = RECORD.availability(host())
    assert (refused.status, "perf_event_paranoid=2" in refused.remedy) == ("no_permission", True)
    assert RECORD.availability(host(perf_event_paranoid=2)).status == "ready"
    assert RECORD.availability(host(is_root=True)).status == "ready"
    assert RECORD.availability(host(capabilities=frozenset({"CAP_PERFMON"}))).status == "ready"
    assert RECORD.availability(host(programs={})).status == "missing"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Builds and starts a C specimen."""
    started: list[subprocess.Popen[bytes]] = []

    def start(source: str, *flags: str) -> "subprocess.Popen[bytes]":
        program = tmp_path / "program"
        subprocess.run(
            ["gcc", "-pthread", *flags, "-o", program, SPECIMENS / source], check=True, timeout=60
        )
        started.append(subprocess.Popen([program], stdout=subprocess.PIPE))
        out = started[-1].stdout
        assert out
        assert out.readline().startswith(b"ready")
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.anyio
@pytest.mark.needs("perf", "gcc", "addr2line")
@pytest.mark.parametrize("flags", [("-g", "-O2"), ("-g", "-O0", "-no-pie")])
async def test_a_running_program(
    run: Callable[..., "subprocess.Popen[bytes]"], flags: tuple[str, ...], tmp_path: Path
) -> None:
    process = run("hot_function.c", *flags)
    first = hot(RECORD.parse(await observe(RECORD, [process.pid], tmp_path / "x", 1.0)))[0]
    assert first.frame.function == "checksum"
    assert (first.frame.file or "").endswith("hot_function.c")
    assert process.poll() is None


@pytest.mark.anyio
@pytest.mark.needs("perf", "gcc")
async def test_a_program_without_debug_information_has_functions_but_no_lines(
    run: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    process = run("hot_function.c", "-O0")
    first = hot(RECORD.parse(await observe(RECORD, [process.pid], tmp_path / "x", 1.0)))[0]
    assert (first.frame.function, first.frame.line) == ("checksum", None)


@pytest.mark.anyio
@pytest.mark.needs("perf")
async def test_a_process_that_has_ended(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(BackendError, match="perf could not sample"):
        await observe(RECORD, [process.pid], tmp_path / "x", 1.0)


@pytest.mark.anyio
@pytest.mark.needs("perf")
async def test_what_was_seen_of_a_target_that_ended_first_is_kept(tmp_path: Path) -> None:
    spin = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass"
    with subprocess.Popen([sys.executable, "-c", spin]) as process:
        observation = await observe(RECORD, [process.pid], tmp_path / "look", duration_s=20)
    assert hot(RECORD.parse(observation))
