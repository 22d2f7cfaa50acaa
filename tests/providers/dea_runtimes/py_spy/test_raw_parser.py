"""py-spy's folded stacks, with everything that names and paths may hold."""

import pytest

from dea.contracts.data import Frame
from dea_runtimes.py_spy.frames import python_frame, without_comprehensions
from dea_runtimes.py_spy.raw_parser import read_raw

SPIN = "spin (/srv/app.py:6)"


def test_thread_frames_and_count() -> None:
    (stack,) = read_raw(f"thread (2547): worker;<module> (/srv/app.py:9);{SPIN} 186\n", 2500).stacks
    assert (stack.pid, stack.tid, stack.thread, stack.samples) == (2500, 2547, "worker", 186)
    assert [frame.place() for frame in stack.frames] == ["spin app.py:6", "<module> app.py:9"]
    assert stack.lines == (1, 1)


@pytest.mark.parametrize(
    ("head", "pid", "tid", "thread"),
    [
        ("thread (7)", 7, 7, "main"),
        ("thread (8)", 7, 8, "thread"),
        ("thread (0x7F0D3EB8EB80)", 7, 0x7F0D3EB8EB80, "thread"),  # up to Python 3.10
        ("thread (8): Thread-1 (work)", 7, 8, "Thread-1 (work)"),
        ("thread (8): na;me 5", 7, 8, "na;me 5"),
        ('process 7:"sh x";process 9:"python x";thread (9): MainThread', 9, 9, "MainThread"),
        ('process 7:"python -c a;b;thread (1)";thread (7): m', 7, 7, "m"),
    ],
)
def test_heads(head: str, pid: int, tid: int | None, thread: str) -> None:
    (stack,) = read_raw(f"{head};{SPIN} 3", 7).stacks
    assert (stack.pid, stack.tid, stack.thread) == (pid, tid, thread)
    assert [frame.function for frame in stack.frames] == ["spin"]


def test_arguments_may_hold_newlines_and_what_looks_like_stacks() -> None:
    parent = 'process 7:"python p.py a\nforged (x.py:1) 7\nthread (1): x;f (z.py:1) 9";'
    forged = 'process 9:"python -c z\n";thread (1): q;f (y.py:1) 5\n";'
    raw = read_raw(f"{parent}{forged}thread (9): m;{SPIN} 3\n{parent}thread (7): m;{SPIN} 4\n", 7)
    assert [(s.pid, s.tid, s.samples, s.lines) for s in raw.stacks] == [
        (9, 9, 3, (1, 5)),
        (7, 7, 4, (6, 8)),
    ]
    assert all([f.place() for f in s.frames] == ["spin app.py:6"] for s in raw.stacks)
    assert raw.skipped == 0


def test_a_path_may_hold_anything() -> None:
    (stack,) = read_raw(f"thread (7): m;<module> (/srv/a;b (1)/x y.py:2);{SPIN} 3", 7).stacks
    assert [frame.file for frame in stack.frames] == ["/srv/app.py", "/srv/a;b (1)/x y.py"]


def test_a_stack_without_frames_is_counted() -> None:
    (stack,) = read_raw("thread (7): MainThread 99", 7).stacks
    assert (stack.frames, stack.samples) == ((), 99)


def test_lines_that_cannot_be_read_are_counted_and_shown() -> None:
    raw = read_raw(f"thread (7): m;{SPIN} 3\nnonsense\n\nthread (7): cut off", 7)
    assert len(raw.stacks) == 1
    assert (raw.skipped, raw.first_bad_line) == (2, "nonsense")


def test_nothing_seen_is_not_an_error() -> None:
    assert read_raw("", 7).stacks == []


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("/srv/app.py", None),
        ("app.py", None),  # before Python 3.9
        ("<string>", None),
        ("/usr/lib/python3.11/json/encoder.py", "json.encoder"),
        ("/usr/lib/python3.11/json/__init__.py", "json"),
        ("/opt/x/lib/python3.13t/threading.py", "threading"),
        ("/usr/lib/python3/dist-packages/yaml/loader.py", "yaml.loader"),
        ("/srv/venv/lib/python3.11/site-packages/flask/app.py", "flask.app"),
        ("/usr/lib/python311.zip/re/_parser.py", "re._parser"),
        ("<frozen importlib._bootstrap>", "importlib._bootstrap"),
        ("<attrs generated init x>", "attrs generated init x"),
        ("/home/me/lib/python/tool.py", None),
    ],
)
def test_whose_code_it_is(file: str, module: str | None) -> None:
    frame = python_frame("f", file, 1)
    assert (frame.module, frame.own) == (module, module is None)


def test_an_installed_command_is_a_stub_of_its_library() -> None:
    assert not python_frame("<module>", "/srv/venv/bin/gunicorn", 8).own
    assert python_frame("work", "/usr/local/bin/job", 8).own


def names(*frames: Frame) -> list[str]:
    return [frame.place() for frame in without_comprehensions(frames)]


def test_a_comprehension_is_a_line_of_its_function() -> None:
    one, two, listed = Frame(function="f", file="/a.py", line=3), "/b.py", "g.<locals>.<listcomp>"
    comprehension = Frame(function=listed, file="/b.py", line=7)
    outer = Frame(function="g", file=two, line=6)
    assert names(one, comprehension, outer) == ["f a.py:3", "g b.py:7"]
    nested = comprehension.model_copy(update={"line": 8})
    assert names(nested, comprehension, outer) == ["g b.py:8"]
    assert names(comprehension, one) == [f"{listed} b.py:7", "f a.py:3"]
