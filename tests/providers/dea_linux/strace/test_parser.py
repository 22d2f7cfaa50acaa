"""Evidence from recorded traces."""

from dataclasses import replace
from typing import TypeVar

import pytest

from dea.backend import Observation, Parsed
from dea.contracts.data import Data, Metric, Note, SyscallError, SyscallSlow, SyscallStat
from dea.errors import BackendError
from dea.rules.draft import judge
from dea.rules.syscalls import RULES
from dea_linux.strace import parser
from tests.providers.observing import evidence_of, recorded

D = TypeVar("D", bound=Data)


def of(parsed: Parsed, model: type[D]) -> list[D]:
    return [fact.data for fact in parsed.facts if isinstance(fact.data, model)]


def trace_of(text: str, window_s: float = 10.0, **facts: object) -> Observation:
    seen = {"began_at": 100.0, "window_s": window_s, **facts}
    return Observation(
        "strace.trace", "trace_syscalls", 7, {"trace.txt": text.encode("latin-1")}, seen
    )


@pytest.fixture
def troubles() -> Parsed:
    return parser.parse(recorded("strace.trace", "troubles"))


def errors(parsed: Parsed) -> dict[tuple[str, str], SyscallError]:
    return {(error.name, error.errno): error for error in of(parsed, SyscallError)}


def test_errors_name_the_address_or_path_that_failed(troubles: Parsed) -> None:
    found = errors(troubles)
    assert (found["bind", "EADDRINUSE"].object or "").startswith("127.0.0.1:")
    assert found["openat", "ENOENT"].object == r"/no/such/\"weird\nname"
    assert found["openat", "ENOENT"].example is not None


def test_a_refusal_that_comes_late_counts_as_failed_connect(troubles: Parsed) -> None:
    """Of a non-blocking connect only getsockopt(SO_ERROR) tells that it was refused."""
    refused = errors(troubles)["connect", "ECONNREFUSED"]
    assert (refused.count, refused.object) == (3, "127.0.0.1:1")
    assert ("connect", "EINPROGRESS") not in errors(troubles)


def test_the_bind_that_failed_is_the_first_finding(troubles: Parsed) -> None:
    drafts = judge(evidence_of(troubles.facts), RULES)
    assert drafts[0].severity == "high"
    assert "bind to 127.0.0.1:" in drafts[0].summary


def test_a_bind_that_got_the_next_port_recovered() -> None:
    line = "7 101.0 bind(3<socket:[9]>, {{sin_port=htons({}), sin_addr=inet_addr({})}}, 16) = {}\n"
    taken = line.format(80, '"0.0.0.0"', "-1 EADDRINUSE (Address already in use) <0.1>")
    free = line.format(81, '"0.0.0.0"', "0 <0.1>")
    for text, recovered in ((taken + free, True), (free + taken, False)):
        found = errors(parser.parse(trace_of(text)))["bind", "EADDRINUSE"]
        assert (found.object, found.recovered) == ("0.0.0.0:80", recovered)


def test_the_call_that_never_returned_is_the_slowest(troubles: Parsed) -> None:
    slowest = of(troubles, SyscallSlow)[0]
    assert (slowest.name, slowest.finished) == ("clock_nanosleep", False)
    assert 1.0 < slowest.duration_s < 2.5


def test_cited_lines_show_the_call(troubles: Parsed) -> None:
    lines = recorded("strace.trace", "troubles").text("trace.txt").splitlines()
    fact = next(fact for fact in troubles.facts if "bind on" in fact.summary)
    assert fact.lines is not None
    assert "EADDRINUSE" in lines[fact.lines[0] - 1]


def test_signals_are_noted_with_their_sender(troubles: Parsed) -> None:
    (note,) = of(troubles, Note)
    assert "SIGUSR1 from pid 15013" in note.text


def test_how_much_it_slowed_the_target_is_said(troubles: Parsed) -> None:
    (slowdown,) = of(troubles, Metric)
    assert (slowdown.name, slowdown.value) == ("tracer_slowdown", 30.0)
    assert "30.0 times slower" in " ".join(troubles.limitations)


def test_what_cannot_be_measured_is_estimated_and_said_to_be() -> None:
    text = "".join(f"7 {100 + n / 100:.6f} getpid() = 7 <0.000010>\n" for n in range(1000))
    idle = {"cpu_share": 0.01, "io_per_s": 0.5}
    said = " ".join(parser.parse(trace_of(text, before=idle, during=idle)).limitations)
    assert "could not be measured (it read and wrote too little before)" in said
    assert "100 calls per second at that cost stop it for 0.2% of the time" in said
    assert "CPU use" not in said


def test_a_call_that_began_as_the_window_ended_is_not_blocked() -> None:
    begun = "7 109.9996 read(3<pipe:[1]>,  <unfinished ...>\n"
    assert not of(parser.parse(trace_of(begun)), SyscallSlow)
    (blocked,) = of(parser.parse(trace_of(begun.replace("109.9996", "107.5"))), SyscallSlow)
    assert (blocked.duration_s, blocked.finished) == (2.5, False)


def test_sums_by_name_and_by_the_object_that_dominates() -> None:
    text = "".join(
        f'7 {100 + n / 100:.6f} pread64(3</var/shop.db>, "abcd"..., 4096, 0) = 4096 <0.001000>\n'
        for n in range(90)
    ) + "".join(f'7 105.{n:06} pread64({n}</x{n}>, "", 10, 0) = 0 <0.0001>\n' for n in range(10))
    whole, part = of(parser.parse(trace_of(text)), SyscallStat)
    assert (whole.count, whole.object, whole.transferred_bytes) == (100, None, 90 * 4096)
    assert (part.count, part.object) == (90, "/var/shop.db")
    assert part.total_s == pytest.approx(0.09)


def test_sockets_are_named_by_the_address_that_the_trace_shows() -> None:
    text = (
        "7 101.0 connect(5<socket:[9]>, {sa_family=AF_INET, sin_port=htons(5432), "
        'sin_addr=inet_addr("10.0.0.5")}, 16) = 0 <0.010000>\n'
        '7 102.0 recvfrom(5<socket:[9]>, ""..., 8, 0, NULL, NULL) = 8 <1.500000>\n'
    )
    stats = {stat.name: stat for stat in of(parser.parse(trace_of(text)), SyscallStat)}
    assert stats["recvfrom"].object == "to 10.0.0.5:5432"


def test_event_counters_are_no_transfers() -> None:
    text = '7 101.0 write(4<anon_inode:[eventfd]>, "\\1", 8) = 8 <0.010000>\n' * 20
    (stat,) = of(parser.parse(trace_of(text)), SyscallStat)
    assert (stat.count, stat.transfers) == (20, None)


def test_failures_tell_whether_they_lasted() -> None:
    line = '7 {at:.3f} openat(AT_FDCWD</>, "/no/{at}", O_RDONLY) = -1 ENOENT (No) <0.0001>\n'
    burst = "".join(line.format(at=100 + n / 1000) for n in range(100))
    lasting = "".join(line.format(at=100 + n / 10) for n in range(100))
    assert errors(parser.parse(trace_of(burst)))["openat", "ENOENT"].spread == 0.1
    assert errors(parser.parse(trace_of(lasting)))["openat", "ENOENT"].spread == 1.0


def test_the_end_of_the_target_is_evidence() -> None:
    for ending, code in {"exited with 3": 3, "killed by SIGSEGV (core dumped)": -11}.items():
        (metric,) = of(parser.parse(trace_of(f"7 101.0 +++ {ending} +++\n")), Metric)
        assert (metric.name, metric.value, metric.pid) == ("exit_code", code, 7)


def test_the_good_part_of_a_damaged_trace_is_kept() -> None:
    text = "garbage\xff\n7 101.0 getpid() = 7 <0.9>\n7 102.0 getp"
    parsed = parser.parse(trace_of(text))
    assert [stat.count for stat in of(parsed, SyscallStat)] == [1]
    (note,) = of(parsed, Note)
    assert (note.skipped_lines, note.first_bad_line) == (2, "garbage\N{REPLACEMENT CHARACTER}")


def test_a_file_that_is_no_trace_is_an_error() -> None:
    with pytest.raises(BackendError, match="not a trace: hello"):
        parser.parse(trace_of("hello\nworld\n"))


def test_a_process_that_made_no_call_is_no_error() -> None:
    (note,) = of(parser.parse(trace_of("")), Note)
    assert note.text == "no system call was made"


def test_secrets_in_arguments_stay_out_of_the_evidence() -> None:
    text = '7 101.0 openat(AT_FDCWD</>, "/x?token=abcdef0123", O_RDONLY) = -1 ENOENT (No) <2.0>\n'
    parsed = parser.parse(trace_of(text))
    assert "abcdef0123" not in str([(fact.summary, fact.data) for fact in parsed.facts])


def test_a_trace_cut_short_says_so() -> None:
    parsed = parser.parse(trace_of("7 101.0 getpid() = 7 <0.9>\n", 2.0, truncated=True))
    assert any("size limit and was ended after 2.0 s" in said for said in parsed.limitations)
    whole = recorded("strace.trace", "troubles")
    assert parser.parse(replace(whole)) == parser.parse(whole)
