"""Shares of wall time: exact where the kernel counts, never more or less than all of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dea_linux.threads.accounts import Account, account
from dea_linux.threads.stored import Look, ThreadRecord
from dea_linux.threads.wait import Wait

SECOND_NS = 1_000_000_000
THREAD = ThreadRecord(
    pid=1,
    tid=1,
    peer=False,
    name="t",
    wall_ns=10 * SECOND_NS,
    cpu_ns=0,
    delay_ns=0,
    switches=1000,
    user_share=0.75,
    lines=(2, 3),
)
RAN = Look(1, 0, 0, 1, "R", 0, None, (), "", "", b"", True)


def waited(number: int, samples: int = 1, at_ms: int = 0, runs: int = 0) -> Look:
    until_ms = at_ms + 10 * (samples - 1)
    return Look(1, at_ms, until_ms, samples, "S", runs, number, (), "", "", b"", True)


def add_up(thread: ThreadRecord, looks: list[Look], throttled_ns: int = 0) -> Account:
    def wait_of(look: Look) -> Wait | None:
        causes = {1: Wait("sleep"), 2: Wait("disk"), 3: Wait("futex", object="a")}
        return (
            None
            if look.number is None
            else causes.get(look.number, Wait("other", object=str(look)))
        )

    made = account(thread, looks, wait_of, throttled_ns, interval_ms=10)
    assert made is not None
    return made


def test_samples_split_only_what_the_kernel_did_not_count() -> None:
    thread = replace(THREAD, cpu_ns=4 * SECOND_NS, delay_ns=SECOND_NS)
    made = add_up(thread, [waited(1, samples=3), waited(2, samples=1), RAN, RAN])
    assert made.of("cpu_user") == pytest.approx(0.3)
    assert made.of("cpu_kernel") == pytest.approx(0.1)
    assert made.of("runnable") == pytest.approx(0.1)
    assert made.of("sleep") == pytest.approx(0.375)
    assert made.of("disk") == pytest.approx(0.125)


def test_throttled_time_is_taken_out_of_the_delay_that_holds_it() -> None:
    thread = replace(THREAD, delay_ns=4 * SECOND_NS)
    made = add_up(thread, [waited(1)], throttled_ns=3 * SECOND_NS)
    assert (made.of("throttled"), made.of("runnable")) == (0.3, 0.1)
    made = add_up(thread, [waited(1)], throttled_ns=9 * SECOND_NS)
    assert (made.of("throttled"), made.of("runnable")) == (0.4, 0.0)


def test_a_sleep_that_the_kernel_counts_as_delay_stays_a_sleep() -> None:
    """Measured on Linux 6.18: a shell that sleeps for 2 s got 2 s of run delay."""
    idle = replace(THREAD, wall_ns=3 * SECOND_NS, delay_ns=2 * SECOND_NS)
    made = add_up(idle, [waited(1, samples=298), RAN, RAN])
    assert made.of("runnable", "throttled") < 0.03
    assert made.of("sleep") > 0.97
    assert made.doubted_ns > 1.9 * SECOND_NS


def test_a_delay_that_the_samples_saw_is_believed_but_for_chance() -> None:
    starved = replace(THREAD, cpu_ns=3 * SECOND_NS, delay_ns=5 * SECOND_NS)
    made = add_up(starved, [waited(1, samples=240), *[RAN] * 760])
    assert made.of("runnable") == pytest.approx(0.5)
    assert made.doubted_ns == 0


def test_what_no_sample_saw_is_unattributed() -> None:
    made = add_up(replace(THREAD, cpu_ns=9 * SECOND_NS), [RAN] * 9)
    assert made.of("unattributed") == pytest.approx(0.1)


def test_a_thread_that_has_yet_to_get_the_cpu_is_runnable_not_waiting() -> None:
    """The kernel adds up the delay only when the thread gets the CPU."""
    starved = replace(THREAD, switches=2, cpu_ns=SECOND_NS)
    made = add_up(starved, [waited(1), *[RAN] * 9])
    assert made.of("runnable") == pytest.approx(0.8)
    assert made.of("sleep") == pytest.approx(0.1)


def test_waits_are_counted_when_the_thread_ran_in_between() -> None:
    one_wait = [waited(1, samples=5), waited(1, samples=5, at_ms=60)]
    assert add_up(THREAD, one_wait).shares[0].episodes == 1
    assert add_up(THREAD, one_wait).shares[0].longest_ms == 110
    two_waits = [waited(1, samples=5), waited(1, samples=5, at_ms=60, runs=2)]
    assert add_up(THREAD, two_waits).shares[0].episodes == 2
    # Waits shorter than a sample: the run counter tells how many there were.
    assert add_up(THREAD, [waited(1), waited(1, at_ms=10, runs=9)]).shares[0].episodes == 10


def test_small_waits_are_summed_by_cause() -> None:
    looks = [waited(1, samples=900), *[waited(n, samples=1) for n in range(100, 200)]]
    made = add_up(THREAD, looks)
    assert len(made.shares) <= 8
    assert made.of("other") == pytest.approx(0.1, abs=0.01)


amounts = st.integers(0, 10 * SECOND_NS)
some_looks = st.lists(
    st.builds(waited, st.integers(1, 9), st.integers(1, 50)) | st.just(RAN), max_size=20
)


@given(amounts, amounts, amounts, st.floats(0, 1), some_looks, st.integers(0, 9))
def test_always_adds_up_to_one(
    cpu_ns: int, delay_ns: int, throttled_ns: int, user: float, looks: list[Look], switches: int
) -> None:
    thread = replace(THREAD, cpu_ns=cpu_ns, delay_ns=delay_ns, user_share=user, switches=switches)
    shares = [share.share for share in add_up(thread, looks, throttled_ns).shares]
    assert sum(shares) == pytest.approx(1.0, abs=1e-9)
    assert all(share > 0 for share in shares)
