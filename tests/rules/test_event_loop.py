"""Calls that wait inside an event loop, and those that wait elsewhere."""

from dea.contracts.data import Data, Frame, FrameHot, Metric, Part
from dea.rules.draft import Draft, judge
from dea.rules.event_loop import blocked_loops, synchronous_calls
from tests.providers.observing import as_evidence

PID = 100


def conclude(*data: Data) -> list[Draft]:
    return judge(as_evidence(*data), [blocked_loops, synchronous_calls])


def thread(cause: str, share: float) -> Metric:
    part = Part.model_validate({"cause": cause, "share": share, "episodes": 9, "longest_s": 0.3})
    rest = Part(cause="poll", share=round(1 - share, 3))
    return Metric(
        name="thread_time", value=5.0, unit="s", pid=PID, tid=PID, thread="t", parts=[part, rest]
    )


def hot(share: float, loop: str | None, source: str = "time.sleep(0.3)") -> FrameHot:
    return FrameHot(
        pid=PID,
        scope="wall",
        tid=PID,
        frame=Frame(function="resize", file="/srv/app.py", line=3, own=True),
        share=share,
        self_share=share,
        samples=90,
        total_samples=100,
        source=source,
        calls=["sleep"],
        event_loop=loop,
    )


def test_a_sleep_in_a_coroutine_is_named_with_its_line() -> None:
    (draft,) = conclude(thread("sleep", 0.95), hot(0.95, "asyncio"))
    assert draft.severity == "high"
    assert "resize app.py:3 blocks the asyncio event loop" in draft.summary


def test_the_same_sleep_without_a_loop_is_on_purpose() -> None:
    assert conclude(thread("sleep", 0.95), hot(0.95, None)) == []


def test_a_loop_that_waits_for_events_is_idle() -> None:
    assert conclude(thread("poll", 0.99), hot(0.99, "asyncio", "await asyncio.sleep(1)")) == []


def test_a_short_wait_in_a_loop_is_no_accusation() -> None:
    assert all(d.severity == "info" for d in conclude(thread("disk", 0.21), hot(0.21, "asyncio")))


def test_a_callback_that_polls_by_itself_made_a_synchronous_call() -> None:
    (draft,) = conclude(thread("cpu_user", 0.05), hot(0.9, "Node.js", "execSync('make')"))
    assert draft.severity == "high"
    assert "resize app.py:3 blocks the Node.js event loop" in draft.summary
    assert "85% of the time" in draft.summary


def test_a_busy_callback_is_not_taken_for_a_waiting_one() -> None:
    assert conclude(thread("cpu_user", 0.6), hot(0.6, "Node.js")) == []
