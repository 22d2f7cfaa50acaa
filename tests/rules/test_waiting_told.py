"""How waits are told: once, with their place, and with the cause rather than who suffers from it."""

from dea.contracts.data import (
    Frame,
    Stack,
)
from tests.rules.waiting_evidence import (
    CLIENTS,
    MUTEX,
    PID,
    WAITS_FOR_MUTEX,
    WORKER,
    conclude,
    line,
    loud,
    outbound,
    part,
    process,
    thread,
)


def test_idle_target_gets_one_remark_that_says_what_it_waits_for() -> None:
    drafts = conclude(
        thread(part("signal_wait", 1.0)),
        thread(part("poll", 1.0, **CLIENTS), pid=200, tid=200),
        thread(part("futex", 1.0), pid=200, tid=201),
    )
    assert len(drafts) == 1
    assert "pid 100 waits for a signal" in drafts[0].summary
    assert "pid 200 waits for clients on 0.0.0.0:80" in drafts[0].summary


def test_sleep_is_told_with_its_place() -> None:
    remark = conclude(thread(part("sleep", 1.0)), line("time.sleep(5)", calls=["time.sleep"]))[0]
    assert "sleeps 100% of the time at fetch shop.py:21" in remark.summary


def test_parent_points_to_the_child_that_works() -> None:
    drafts = conclude(
        thread(part("child", 1.0, peer_pids=[200])),
        thread(part("cpu_user", 0.95), pid=200, tid=200),
        process(200, 0.95, "cruncher"),
    )
    assert any("only waits for pid 200 (cruncher)" in draft.summary for draft in drafts)
    assert all(draft.severity == "info" for draft in drafts)


def test_threads_that_wait_alike_are_told_once() -> None:
    drafts = loud(*(thread(outbound(0.8, episodes=16), tid=tid) for tid in range(101, 107)))
    assert len(drafts) == 1
    assert "6 threads" in drafts[0].summary


def test_side_thread_of_a_busy_program_is_not_high() -> None:
    drafts = loud(thread(part("cpu_user", 0.9)), thread(outbound(0.9), tid=WORKER))
    assert [draft.severity for draft in drafts] == ["warn"]


def test_cause_lies_with_the_last_one_that_waits() -> None:
    drafts = loud(
        thread(outbound(1.0, episodes=16, peer_pids=[200])),
        thread(
            outbound(
                0.9, cause="poll", role="listen", object="clients on 0.0.0.0:80; b", unanswered=0.9
            ),
            pid=200,
            tid=200,
        ),
    )
    assert "has requests to others unanswered" in drafts[0].summary
    assert [draft.severity for draft in drafts] == ["warn", "warn"]


def test_what_computes_is_told_also_when_it_gets_half_of_a_cpu() -> None:
    (remark,) = conclude(thread(part("cpu_user", 0.44), part("runnable", 0.45)))
    assert "is on the CPU 44% of the time, and ready for it another 45%" in remark.summary


SLEEPS = [thread(part("sleep", 1.0), pid=200, tid=200), line("time.sleep(1)", tid=200, pid=200)]


def test_why_the_peer_answers_late_is_told_with_the_wait() -> None:
    first = conclude(thread(outbound(1.0, episodes=8, peer_pids=[200])), *SLEEPS)[0]
    assert "because pid 200 sleeps at fetch shop.py:21 100% of the time" in first.summary
    assert {"t.e1", "t.e2"} <= set(first.evidence_ids)


def test_the_peer_may_be_another_thread_of_the_program() -> None:
    asks = thread(outbound(1.0, episodes=8, peer_pids=[PID]))
    sleeper = thread(part("sleep", 1.0), tid=WORKER)
    first = conclude(asks, sleeper, line("time.sleep(1)", tid=WORKER))[0]
    assert "probably because thread worker (101) sleeps at fetch shop.py:21" in first.summary


def test_an_idle_peer_is_no_reason() -> None:
    waits = thread(part("poll", 1.0), pid=200, tid=200)
    first = conclude(thread(outbound(1.0, episodes=8, peer_pids=[200])), waits)[0]
    assert "because" not in first.summary


def test_unknown_traffic_is_not_told_as_none() -> None:
    unknown = outbound(1.0, episodes=8, sent_bytes=None, received_bytes=None)
    first = conclude(thread(unknown))[0]
    assert "how many bytes moved is not known" in first.detail
    assert first.severity == "high"


def test_no_line_without_evidence_about_that_thread() -> None:
    drafts = conclude(thread(outbound(0.8)), line("return connection.recv(4096)", tid=WORKER))
    assert "shop.py" not in drafts[0].summary


def test_line_must_fit_the_wait_when_the_thread_waits_in_two_ways() -> None:
    waits = thread(outbound(0.5), part("disk", 0.5, syscall="fsync"))
    sampled = line("os.fsync(f)", share=0.5, calls=["os.fsync"], lines={"21": 0.5})
    disk = next(draft for draft in conclude(waits, sampled) if "disk" in draft.summary)
    answers = next(draft for draft in conclude(waits, sampled) if "answers" in draft.summary)
    assert "shop.py:21" in disk.summary
    assert "shop.py" not in answers.summary


def test_stack_names_the_innermost_own_frame() -> None:
    frames = [
        Frame(function="__lll_lock_wait", module="libc.so.6"),
        Frame(function="pthread_mutex_lock", module="libc.so.6"),
        Frame(function="post_entry", file="/srv/src/ledger.c", line=19, own=True),
        Frame(function="main", file="/srv/src/ledger.c", line=40, own=True),
    ]
    stacks = [Stack(pid=PID, tid=tid, thread="t", frames=frames) for tid in (101, 102)]
    assert "at post_entry ledger.c:19" in conclude(*WAITS_FOR_MUTEX, MUTEX, *stacks)[0].summary


def test_gil_is_a_fault_only_when_threads_fill_one_cpu() -> None:
    fighting = [thread(part("gil", 0.7), part("cpu_user", 0.3), tid=tid) for tid in range(101, 105)]
    assert [draft.severity for draft in loud(*fighting)] == ["warn"]
    assert loud(thread(part("gil", 0.3), part("cpu_user", 0.1), tid=101)) == []


def test_threads_that_are_only_summed_up_count_too() -> None:
    stopped = [thread(part("stopped", 1.0), tid=tid) for tid in (PID, 101, 102, 103)]
    (alone,) = loud(*stopped)
    assert alone.summary.startswith("4 threads of pid 100 wait 100%")
    rest = thread(part("stopped", 1.0)).model_copy(update={"tid": None})
    (draft,) = loud(*stopped, rest)
    assert draft.summary.startswith("at least 4 threads of pid 100 wait 100%")
