"""What a hang's investigation says it cannot see: only what the target could have."""

from dea.contracts.data import Metric, Part
from dea.investigate.hang import unseen
from tests.providers.observing import as_evidence


def thread(runtime: str, *peer_pids: int) -> Metric:
    waits = Part(cause="receive", share=1.0, peer_pids=list(peer_pids))
    return Metric(
        name="thread_time", value=4, unit="s", pid=7, tid=7, runtime=runtime, parts=[waits]
    )


def test_a_program_without_event_loop_and_peers_hides_nothing() -> None:
    assert list(unseen(as_evidence(thread("native", 7)))) == []


def test_coroutines_and_other_processes_are_named_where_there_are_any() -> None:
    (coroutines,) = unseen(as_evidence(thread("python")))
    assert "coroutines" in coroutines
    (peers,) = unseen(as_evidence(thread("native", 99)))
    assert "not followed into other processes" in peers
