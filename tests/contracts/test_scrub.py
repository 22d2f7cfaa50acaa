"""Whatever goes in, what comes out is JSON that every client can read."""

import json
import math
import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dea.contracts.scrub import MAX_DEPTH, SAFE_INTEGER, clean_text, one_line, scrub

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT | st.integers(), inner),
    max_leaves=20,
)


@given(ANYTHING)
def test_any_value_becomes_json_that_reads_back_the_same(value: Any) -> None:
    safe = scrub(value)
    assert json.loads(json.dumps(safe, allow_nan=False).encode("utf-8")) == safe


@given(ANY_TEXT)
def test_clean_text_is_utf8_without_control_characters(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    assert not [c for c in cleaned if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n"]
    assert len(cleaned) == len(text)


@given(ANY_TEXT, st.integers(1, 50))
def test_one_line_is_one_short_line(text: str, cap: int) -> None:
    line = one_line(text, cap)
    assert len(line) <= cap
    assert len(line.splitlines()) <= 1


def test_one_line_says_that_it_was_cut() -> None:
    assert one_line("abcdef", 4) == "abc…"
    assert one_line(" a\t\r\n b ", 4) == "a b"


def test_numbers_that_json_cannot_hold() -> None:
    assert scrub([2**70, -(2**70), True]) == [SAFE_INTEGER, -SAFE_INTEGER, True]
    assert scrub({"x": math.nan, "y": math.inf, "z": 0.5}) == {"x": None, "y": None, "z": 0.5}


def test_text_that_hides_or_turns_what_is_seen_is_made_visible() -> None:
    assert clean_text("a\u202eb\u2066c\U000e0041d\u200be") == "a�b�c�d�e"
    assert clean_text("naïve\tcafé\n👩‍👧") == "naïve\tcafé\n👩‍👧"


def test_nesting_is_bounded() -> None:
    deep: Any = "leaf"
    for _ in range(MAX_DEPTH * 10):
        deep = [deep]
    assert json.dumps(scrub(deep)).count("[") == MAX_DEPTH + 1


def test_bytes_are_text() -> None:
    assert scrub(b"caf\xc3\xa9 \xff") == "café �"
