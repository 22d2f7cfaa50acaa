"""The parser on a recorded server in the middle: clients on one side, a slow server on the other."""

from dataclasses import replace

import pytest

from dea.backend import Observation
from dea.contracts.data import Metric, Note
from dea.contracts.evidence import Fact
from dea.errors import BackendError
from dea_linux.threads.backend import ThreadsSample
from tests.providers.observing import recorded

BACKEND = ThreadsSample()


@pytest.fixture
def gateway() -> Observation:
    return recorded("threads.sample", "gateway")


def facts_of(observation: Observation) -> list[Fact]:
    return list(BACKEND.parse(observation).facts)


def with_file(observation: Observation, name: str, raw: bytes) -> Observation:
    return replace(observation, files={**observation.files, name: raw})


def test_event_loop_says_whom_it_serves_and_whom_it_asks(gateway: Observation) -> None:
    metric = facts_of(gateway)[0].data
    assert isinstance(metric, Metric)
    assert (metric.name, metric.tid, metric.runtime) == ("thread_time", gateway.pid, "python")
    part = metric.parts[0]
    assert (part.cause, part.role) == ("poll", "listen")
    assert part.object == "clients on 127.0.0.1:7802; tcp 127.0.0.1:7801 (outbound)"
    assert (part.unanswered or 0) > 0.7
    assert 0.1 < (part.unanswered_s or 0) < 0.4
    assert (part.sent_bytes or 0) > 0
    assert (part.received_bytes or 0) > 0


def test_a_single_look_that_took_long_still_lists_the_threads(gateway: Observation) -> None:
    """On a crowded host; over a window, threads that were there for little of it are summed up."""
    slow = {**gateway.facts, "window_s": 99.0}
    assert main_tids(replace(gateway, facts={**slow, "samples": 1})) == [gateway.pid]
    assert main_tids(replace(gateway, facts=slow)) == []


def main_tids(observation: Observation) -> list[int | None]:
    metrics = [fact.data for fact in facts_of(observation) if isinstance(fact.data, Metric)]
    return [m.tid for m in metrics if m.name == "thread_time" and m.tid == observation.pid]


def test_cited_lines_are_about_the_thread(gateway: Observation) -> None:
    for fact in facts_of(gateway):
        if not isinstance(fact.data, Metric) or fact.data.tid is None:
            continue
        assert fact.file == "samples.txt"
        assert fact.lines
        lines = gateway.text(fact.file).splitlines()[fact.lines[0] - 1 : fact.lines[1]]
        assert {line.split("\t")[1] for line in lines} == {str(fact.data.tid)}


def test_bad_lines_cost_only_themselves(gateway: Observation) -> None:
    raw = gateway.files["samples.txt"] + b"not\xff\ta line\n"
    facts = facts_of(with_file(gateway, "samples.txt", raw))
    note = next(fact.data for fact in facts if isinstance(fact.data, Note))
    assert note.skipped_lines == 1
    assert note.first_bad_line == "not\N{REPLACEMENT CHARACTER}\ta line"
    assert facts[0] == facts_of(gateway)[0]


@pytest.mark.parametrize("name", ["sockets.jsonl", "descriptors.jsonl", "host.json", "samples.txt"])
def test_a_missing_file_takes_only_detail(gateway: Observation, name: str) -> None:
    metric = facts_of(with_file(gateway, name, b""))[0].data
    assert isinstance(metric, Metric)
    assert sum(part.share for part in metric.parts) == pytest.approx(1.0)


def test_nothing_usable_is_an_error_that_shows_the_first_bad_line(gateway: Observation) -> None:
    with pytest.raises(BackendError, match="rubbish"):
        facts_of(with_file(gateway, "threads.jsonl", b"rubbish\n"))


def test_a_child_that_ended_before_it_was_read_spoils_nothing(gateway: Observation) -> None:
    gone = b'{"pid": 424242, "peer": false, "stat": [""], "command_line": ""}\n'
    processes = gateway.files["processes.jsonl"]
    more = facts_of(with_file(gateway, "processes.jsonl", processes + gone))
    assert [fact.summary for fact in more] == [fact.summary for fact in facts_of(gateway)]
