"""The last traceback in a program's output."""

from dea.investigate.traceback import last_traceback

CHAINED = """\
starting
Traceback (most recent call last):
  File "/srv/app.py", line 4, in parse
    return int(text)
           ^^^^^^^^^
ValueError: invalid literal for int() with base 10: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/app.py", line 12, in <module>
    main()
  File "/srv/app.py", line 9, in main
    load("x", password="hunter2")
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
app.errors.BadConfig: cannot read token=hunter2
bye
"""


def test_the_last_of_a_chain_with_its_place_in_the_output() -> None:
    found = last_traceback(CHAINED.splitlines(), pid=7)
    assert found is not None
    assert [frame.place() for frame in found.stack.frames] == [
        "loads __init__.py:346",
        "main app.py:9",
        "<module> app.py:12",
    ]
    assert [frame.own for frame in found.stack.frames] == [False, True, True]
    assert found.lines == (10, 17)
    assert found.error.startswith("app.errors.BadConfig")
    assert "hunter2" not in found.error


def test_an_error_without_a_message() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyboardInterrupt'
    found = last_traceback(text.splitlines(), pid=7)
    assert found is not None
    assert found.error == "KeyboardInterrupt"


def test_a_traceback_that_was_cut_is_not_taken_for_a_whole_one() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    f()'
    assert last_traceback(text.splitlines(), pid=7) is None


def test_output_without_one() -> None:
    assert last_traceback(["all is well", 'File "a.py", line 1, in f'], pid=7) is None
