"""Descriptors, threads and children that grow without stopping, and those that only seem to."""

import pytest

from dea.contracts.data import (
    Fd,
    FdSummary,
    Frame,
    StackGroup,
    StackSummary,
)
from tests.rules.growth_evidence import (
    CLIENTS,
    PID,
    RISING,
    conclude,
    descriptors,
    loud,
    memory,
    series,
)

# --- descriptors --------------------------------------------------------------------------------


def test_files_that_stay_open() -> None:
    (draft,) = conclude(descriptors(*RISING))
    assert draft.severity == "warn"
    assert "open files of process 4242 grow 18" in draft.summary
    assert "all /tmp/x-*.log (100 open, +90 in 5.0 s)" in draft.summary
    assert "limit of 100000 is reached in 92 min" in draft.summary
    assert set(draft.evidence_ids) == {"t.e0", "t.e1"}


def test_a_near_limit_makes_it_high() -> None:
    assert conclude(descriptors(*RISING, soft_limit=1024))[0].severity == "high"


@pytest.mark.parametrize(
    "looks",
    [
        (50,) * 10,
        (10, 10, 11, 11, 12, 12, 13, 13, 13, 13),  # three more
        (10, 40, 20, 44, 15, 38, 22, 41, 12, 37),  # opened and closed
        (10, 20, 30, 40, 50, 50, 50, 50, 50, 50),  # a pool that is full now
        (10, 10, 10, 10, 60, 60, 60, 60, 60, 60),  # one step
        (90, 80, 70, 60, 50, 40, 30, 20, 10, 5),
    ],
)
def test_healthy_descriptors_are_silent(looks: tuple[int, ...]) -> None:
    assert not conclude(descriptors(*looks))


def test_connections_out_are_ours() -> None:
    found = descriptors(*RISING, path="tcp to 10.0.0.7:5432", type_="socket",
                        state="ESTABLISHED", role="outbound")  # fmt: skip
    (draft,) = conclude(found)
    assert draft.severity == "warn"
    assert "sockets of process 4242" in draft.summary
    assert "tcp to 10.0.0.7:5432 in ESTABLISHED" in draft.summary


def test_clients_that_connect_are_load() -> None:
    (draft,) = conclude(CLIENTS)
    assert draft.severity == "info"


def test_clients_that_left_and_were_not_closed_are_ours() -> None:
    found = descriptors(*RISING, path="tcp from clients of 0.0.0.0:80", type_="socket",
                        state="CLOSE_WAIT", role="inbound")  # fmt: skip
    (draft,) = conclude(found)
    assert draft.severity == "warn"
    assert "CLOSE_WAIT" in draft.summary
    assert "never closes its own end" in draft.detail


def test_what_each_client_brings_along_is_load() -> None:
    """A proxy opens a connection for each client; a server may open a file."""
    upstream = Fd(pid=PID, type="socket", path="tcp to 10.0.0.7:80", count=100, added=90,
                  state="ESTABLISHED", role="outbound", looks=list(RISING))  # fmt: skip
    assert not loud(conclude(CLIENTS, upstream))
    leaking = upstream.model_copy(update={"added": 270, "looks": [3 * n for n in RISING]})
    assert loud(conclude(CLIENTS, leaking))


def test_many_different_names() -> None:
    summary = FdSummary(pid=PID, total=60, by_type={"file": 60}, window_s=5.0, added={"file": 50})
    (draft,) = conclude(summary, series("fds", lambda t: 10 + 10 * t))
    assert draft.severity == "warn"
    assert "to many different names (+50 file)" in draft.summary


def test_nearly_all_descriptors_used() -> None:
    drafts = conclude(descriptors(950, 950, 950, soft_limit=1000))
    assert ["EMFILE" in draft.summary for draft in drafts] == [True]
    assert not conclude(descriptors(500, 500, 500, soft_limit=1000))


# --- threads and children -----------------------------------------------------------------------


def test_threads_that_do_not_end_and_where_they_wait() -> None:
    waiting = Frame(function="poll_upstream", file="/srv/app.py", line=11, own=True)
    library = Frame(function="wait", file="/usr/lib/python3/threading.py", line=1)
    group = StackGroup(threads=20, tids=[1], frames=[library, waiting])
    threads = series("threads", lambda t: 5 + int(5 * t))
    (draft,) = conclude(threads, StackSummary(pid=PID, threads=25, groups=[group]))
    assert draft.severity == "warn"
    assert "threads of process 4242 grow" in draft.summary
    assert "20 of them are in poll_upstream app.py:11" in draft.summary


def test_a_pool_that_fills_or_breathes_is_silent() -> None:
    assert not conclude(series("threads", lambda t: 5 + min(8, int(8 * t))))
    assert not conclude(series("threads", lambda t: 5 + int(4 * t) % 3))
    assert not conclude(series("threads", lambda t: 5 + (t > 1) + (t > 3)))


def test_a_thread_for_each_client_is_load() -> None:
    assert not loud(conclude(CLIENTS, series("threads", lambda t: 5 + int(18 * t))))


def test_zombies_are_told_once() -> None:
    zombies, children = (series(name, lambda t: int(5 * t)) for name in ("zombies", "children"))
    (draft,) = conclude(zombies, children)
    assert draft.severity == "warn"
    assert "does not wait for its children" in draft.summary


def test_children_that_become_more() -> None:
    (draft,) = conclude(series("children", lambda t: int(5 * t)))
    assert "children of process 4242 grow" in draft.summary


# --- together -----------------------------------------------------------------------------------


def test_the_more_specific_leak_comes_first() -> None:
    """Memory alone would be high here, for it doubles; but it comes with the files."""
    first, second = conclude(memory(10, start_mib=30), descriptors(*RISING))
    assert "open files" in first.summary
    assert "anonymous memory" in second.summary
    assert "may only follow from this: open files" in second.detail


def test_processes_do_not_excuse_each_other() -> None:
    other = series("threads", lambda t: 5 + int(5 * t), pid=PID + 1)
    drafts = conclude(memory(10, start_mib=30), other)
    assert [draft.severity for draft in drafts] == ["high", "warn"]
