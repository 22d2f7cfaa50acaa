"""Reads functions of the target's files, carefully."""

import os
from pathlib import Path

from dea.contracts.data import Frame
from dea.profile.hot import hot_frames
from dea.profile.stacks import Sampled
from dea_runtimes.py_spy.source import Function, from_json, read_functions, to_json

TEXT = """
import os

class Shop:
    def total(self, items):
        api_key = "s3cr3t-value"
        return sum(items)

    def other(self):
        pass
"""


def read(path: Path | str, line: int) -> list[Function]:
    """The function around that line, of a file of this very process."""
    frame = Frame(function="total", file=str(path), line=line, own=True)
    return read_functions(hot_frames([Sampled(os.getpid(), None, "m", (frame,), 1)], "cpu"))


def test_only_the_function_around_the_line_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_text(TEXT)
    (function,) = read(path, 7)
    assert function.first_line == 5
    assert function.text.split("\n")[2].strip() == "return sum(items)"
    assert "other" not in function.text


def test_secrets_are_replaced_and_lines_stay_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_text(TEXT)
    (function,) = read(path, 7)
    assert "s3cr3t" not in function.text
    assert function.holds(str(path), 7)
    assert not function.holds(str(path), 8)
    assert from_json(to_json([function])) == [function]


def test_what_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.py"
    os.mkfifo(fifo)
    large = tmp_path / "large.py"
    large.write_bytes(b"x = 1\n" * 200_000)
    for path in (fifo, large, tmp_path, tmp_path / "missing.py", "<string>", "/dev/zero"):
        assert read(path, 1) == []


def test_private_keys_are_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "keys.py"
    path.write_text('def f():\n    return """-----BEGIN PRIVATE KEY-----\nabc\n"""\n')
    assert read(path, 2) == []


def test_a_file_that_cannot_be_parsed_gives_the_lines_around(tmp_path: Path) -> None:
    path = tmp_path / "old.py"
    path.write_text("".join(f"print {n}\n" for n in range(1, 20)))
    (function,) = read(path, 10)
    assert (function.first_line, function.text.count("\n")) == (7, 6)
