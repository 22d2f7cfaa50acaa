"""Stacks of page faults as the places where memory that stays is touched first."""

import subprocess
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from dea.backend import Observation, Parsed
from dea.contracts.data import FrameHot, Metric, Note
from dea.errors import BackendError
from dea_linux.perf_faults import BACKENDS
from tests.providers.observing import observe, recorded

(SITES,) = BACKENDS


def hot(found: Parsed) -> list[FrameHot]:
    return [fact.data for fact in found.facts if isinstance(fact.data, FrameHot)]


def test_the_own_function_and_the_line_that_touches_most() -> None:
    first = hot(SITES.parse(recorded(SITES.name, "heap_growth")))[0]
    assert first.scope == "alloc"
    assert first.frame.place() == "remember heap_growth.c:18"
    assert first.frame.own
    assert first.share > 0.95
    assert first.callers == ["main heap_growth.c:26"]


def test_memory_that_is_given_back_all_the_time_is_left_out() -> None:
    """render() faults hundreds of times as often as remember(), but keeps nothing."""
    observation = recorded(SITES.name, "leak_and_churn")
    assert observation.text("faults").count("render") > 50 * observation.text("faults").count(
        "remember"
    )
    (only,) = hot(SITES.parse(observation))
    assert only.frame.function == "remember"  # not xmalloc, which only allocates for it
    assert only.below == ["xmalloc"]


def test_new_memory_is_told_in_bytes_with_the_sampling_undone() -> None:
    observation = recorded(SITES.name, "heap_growth")
    (metric,) = [f.data for f in SITES.parse(observation).facts if isinstance(f.data, Metric)]
    present = len(observation.text("present").split())
    assert metric.value == pytest.approx(present * 4096, rel=0.1)


def test_a_fact_cites_a_fault_of_its_own() -> None:
    observation = recorded(SITES.name, "leak_and_churn")
    lines = observation.text("faults").splitlines()
    for fact in SITES.parse(observation).facts:
        if isinstance(fact.data, FrameHot):
            assert fact.lines is not None
            cited = "\n".join(lines[fact.lines[0] - 1 : fact.lines[1]])
            assert fact.data.frame.function in cited


def text(*stack: str, address: int = 0x5000, mapping: str = "[heap]") -> str:
    calls = "\n".join(f"\t            12e8 {call}" for call in stack)
    return f"  77     {address:x} [unknown] ({mapping})\n{calls}\n\n"


def parse_text(raw: str, **facts: object) -> Parsed:
    known = {"every": 1, "window_s": 1.0, "present_known": False, "lines": True, **facts}
    return SITES.parse(Observation(SITES.name, SITES.tool, 7, {"faults": raw.encode()}, known))


@pytest.mark.parametrize(
    ("stack", "runtime", "named"),
    [
        (("malloc (/usr/lib/libc.so.6)", "zmalloc (/srv/kv)", "set (/srv/kv)"), "native", "set"),
        (
            ("memset (/usr/lib/libc.so.6)", "std::vector<int>::grow()", "fill(int) (/srv/x)"),
            "native",
            "fill(int)",
        ),
        (("runtime.mallocgc (/srv/go)", "main.(*T).keep (/srv/go)"), "go", "main.(*T).keep"),
        (("my_alloc (/srv/x)",), "native", "my_alloc"),
        (("clear_page ([kernel.kallsyms])", "_start (/srv/x)"), "native", "clear_page"),
    ],
)
def test_who_wanted_the_memory(stack: tuple[str, ...], runtime: str, named: str) -> None:
    (found,) = hot(parse_text(text(*stack), runtime=runtime))
    assert found.frame.function == named


def test_pages_of_files_are_not_memory() -> None:
    assert not hot(parse_text(text("read_it (/srv/x)", mapping="/srv/data.bin")))
    assert hot(parse_text(text("fill (/srv/x)", mapping="//anon")))


def test_source_lines_of_inlined_functions() -> None:
    raw = (
        "77 5000 [unknown] ([heap])\n\t 12e8 put\n  /srv/map.h:7 (inlined)\n"
        "\t 12e8 store (/srv/x)\n  /srv/store.c:30\n\t 1 main (/srv/x)\n  ??:0\n\n"
    )
    (found,) = hot(parse_text(raw))
    assert (found.frame.place(), found.callers) == ("put map.h:7", ["store store.c:30", "main"])


def test_torn_text_is_counted_and_text_without_faults_is_an_error() -> None:
    good = recorded(SITES.name, "heap_growth")
    torn = good.files["faults"] + b"Warning: lost events\n"
    found = SITES.parse(replace(good, files={**good.files, "faults": torn}))
    (note,) = [fact.data for fact in found.facts if isinstance(fact.data, Note)]
    assert (note.skipped_lines, note.first_bad_line) == (1, "Warning: lost events")
    with pytest.raises(BackendError, match="lost events"):
        parse_text("Warning: lost events\n")


def test_no_fault_at_all_is_no_error() -> None:
    found = parse_text("")
    assert not hot(found)
    assert [fact.data.value for fact in found.facts if isinstance(fact.data, Metric)] == [0]


TOUCHES = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *kept[100000];
static void keep(int n) { kept[n] = malloc(20000); memset(kept[n], 1, 20000); }
int main(void) { for (int n = 0; n < 100000; n++) { keep(n); usleep(2000); } return 0; }
"""


@pytest.mark.needs("perf", "gcc")
@pytest.mark.anyio
async def test_live_growth_of_a_native_program(tmp_path: Path) -> None:
    source, program = tmp_path / "touches.c", tmp_path / "touches"
    source.write_text(TOUCHES)
    await anyio.run_process(["gcc", "-g", "-O1", "-o", str(program), str(source)])
    with subprocess.Popen([program]) as process:
        try:
            observation = await observe(SITES, [process.pid], tmp_path / "seen", 1.0)
        finally:
            process.kill()
    first = hot(SITES.parse(observation))[0]
    assert first.frame.place() == "keep touches.c:6"
    assert first.share > 0.8
    assert observation.facts["present_known"]
