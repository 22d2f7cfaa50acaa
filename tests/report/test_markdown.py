"""Text from a target shows as that text, whatever it tries."""

import pytest

from dea.report import markdown
from tests.report.sessions import RENDERER

HOSTILE = [
    "<script>alert(1)</script>",
    "[click](javascript:alert(1))",
    "![x](http://evil.example/x.png)",
    "see http://evil.example/?a=1 or www.evil.example or a@evil.example",
    "`code` ``more`` $math$ *bold* _it_ ~~gone~~ a_b_c",
    "a | b | c",
    "# heading",
    "- item",
    "1. item",
    "---",
    "> quote",
    "&lt;b&gt; &amp;",
    "back\\slash \\* \\",
    "![`](http://evil.example)`",
]


def rendered(source: str) -> tuple[str, set[str]]:
    """The text a reader sees, and the kinds of everything that is not plain text."""
    text, kinds = "", set[str]()
    for token in RENDERER.parse(source):
        kinds.add(token.type)
        for child in token.children or []:
            kinds.add(child.type)
            text += child.content
    return text, kinds


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("shown_as", [markdown.inline, markdown.code])
def test_shows_the_text_and_nothing_else(hostile: str, shown_as: type[markdown.Markdown]) -> None:
    text, kinds = rendered(f"{shown_as(hostile)}")
    assert text.replace("\\|", "|") == hostile
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"} | {
        "code_inline"
    }


@pytest.mark.parametrize("hostile", HOSTILE)
def test_stays_in_its_table_cell(hostile: str) -> None:
    source = f"| a | b |\n|---|---|\n| {markdown.inline(hostile)} | {markdown.code(hostile)} |\n"
    cells = [token for token in RENDERER.parse(source) if token.type == "td_open"]
    assert len(cells) == 2


def test_links_that_renderers_make_by_themselves_are_code() -> None:
    assert markdown.inline("at http://evil.example/x") == "at `http://evil.example/x`"


def test_a_link_of_ours_cannot_be_closed_by_its_label() -> None:
    link = markdown.link("a](http://evil.example)", "artifacts/002 (1).txt#L1-L2")
    tokens = RENDERER.parseInline(link)[0].children or []
    assert [token.attrs for token in tokens if token.type == "link_open"] == [
        {"href": "artifacts/002%20%281%29.txt#L1-L2"}
    ]
