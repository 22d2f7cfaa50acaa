"""Sampled stacks as the places in the user's own code on which the time falls."""

from dea.contracts.data import Frame, FrameHot
from dea.profile.clocks import CpuUse, ThreadUse
from dea.profile.hot import hot_frames, hot_frames_by_thread, hot_frames_of_saturated
from dea.profile.stacks import NO_SYMBOLS, Sampled, merged


def own(function: str, line: int) -> Frame:
    return Frame(function=function, file="/srv/app.py", line=line, own=True)


def library(function: str, module: str) -> Frame:
    return Frame(function=function, file=f"/usr/lib/{module}.py", line=1, module=module)


def stack(*frames: Frame, samples: int = 1, tid: int = 7, pid: int = 7) -> Sampled:
    return Sampled(pid, tid, f"t{tid}", frames, samples, (samples, samples))


MAIN = own("main", 90)


def only(*stacks: Sampled) -> FrameHot:
    return hot_frames(stacks, "cpu")[0].data


def test_time_in_a_library_counts_for_the_own_function_that_called_it() -> None:
    encode, dumps = library("encode", "json.encoder"), library("dumps", "json")
    found = only(
        stack(encode, dumps, own("save", 12), MAIN, samples=60),
        stack(own("save", 13), MAIN, samples=30),
        stack(MAIN, samples=10),
    )
    assert found.frame.place() == "save app.py:12"
    assert (found.share, found.self_share) == (0.9, 0.3)
    assert found.lines == {"12": 0.6, "13": 0.3}
    assert set(found.below) == {"json.dumps", "json.encoder.encode"}
    assert found.callers == ["main app.py:90"]


def test_without_own_code_the_innermost_frame_is_told_as_not_own() -> None:
    found = only(stack(library("poll", "selectors"), library("run", "asyncio")))
    assert found.frame.function == "poll"
    assert not found.frame.own


def test_the_heaviest_stack_is_cited() -> None:
    light, heavy = stack(own("f", 1), samples=2), stack(own("f", 2), MAIN, samples=5)
    assert hot_frames([light, heavy], "cpu")[0].lines == (5, 5)


def test_rare_work_below_is_noise() -> None:
    interrupt = Frame(function="irq", module="[kernel]")
    found = only(stack(own("f", 1), samples=99), stack(interrupt, own("f", 1)))
    assert found.below == []


def test_cold_functions_are_left_out_but_never_the_hottest() -> None:
    stacks = [stack(own(f"f{n}", n), samples=1) for n in range(1, 100)]
    assert len(hot_frames(stacks, "cpu")) == 1
    assert [hot.data.frame.function for hot in hot_frames(stacks[:10], "cpu", top=2)] == [
        "f1",
        "f2",
    ]


def test_each_process_by_itself() -> None:
    hots = hot_frames([stack(own("a", 1), pid=1), stack(own("b", 1), pid=2, samples=9)], "cpu")
    assert [(hot.data.pid, hot.data.share) for hot in hots] == [(1, 1.0), (2, 1.0)]


def test_a_function_without_name_is_told_by_its_caller_when_that_is_close() -> None:
    nameless = Frame(function=NO_SYMBOLS, line=5, module="/srv/kv", own=True)
    write = Frame(function="write_reply", module="/srv/kv", own=True)
    assert only(stack(nameless, write)).frame.function == "write_reply"
    assert only(stack(*[nameless] * 3, write)).frame.function == NO_SYMBOLS


def test_threads_by_themselves() -> None:
    hots = hot_frames_by_thread(
        [stack(own("a", 1), tid=1, samples=3), stack(own("b", 1), tid=2)], "wall", top=1
    )
    assert [(h.data.thread, h.data.share, h.data.scope) for h in hots] == [
        ("t1", 1.0, "wall"),
        ("t2", 1.0, "wall"),
    ]


def test_a_thread_that_never_rests_among_others_has_a_word_of_its_own() -> None:
    stacks = [stack(own("loop", 1), tid=1, samples=40)]
    stacks += [stack(own("job", 2), tid=tid, samples=20) for tid in (2, 3, 4)]
    threads = [ThreadUse(1, "t1", 0.5, 0.45), *(ThreadUse(n, "w", 0.4, 0.0) for n in (2, 3, 4))]
    use = CpuUse(7, "x", 1.0, 1.7, None, threads)
    (hot,) = hot_frames_of_saturated(stacks, [use])
    assert (hot.data.tid, hot.data.frame.function) == (1, "loop")
    assert hot_frames_of_saturated(stacks[:1], [use]) == []  # it is the whole process


def test_equal_stacks_are_added_up() -> None:
    (one,) = merged([stack(MAIN, samples=2), stack(MAIN, samples=3)])
    assert (one.samples, one.lines) == (5, (2, 2))
