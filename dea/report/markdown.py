"""Text as markdown that shows exactly that text: no target can put links, pictures or HTML in a report."""

import re
from collections.abc import Iterable
from urllib.parse import quote

from dea.contracts.evidence import Evidence
from dea.contracts.scrub import clean_text

# What renderers turn into a link by itself is shown as code.
_LINK_LIKE = re.compile(r"(\S*(?:://|www\.|mailto:|\w@\w)\S*)", re.IGNORECASE)
_SPECIAL = re.compile(r"([\\`*{}\[\]<>|~$&]|(?<![^\W_])_|_(?![^\W_]))")
_BLOCK_START = re.compile(r"^(#+(?=\s|$)|[-+](?=\s|$)|(?:-{3,}|=+)$|\d+(?=[.)](?:\s|$)))")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Markdown(str):
    """Markdown that we made: it goes into the report as it is."""

    __slots__ = ()


def inline(text: str) -> Markdown:
    """Any text on one line, escaped."""
    parts = _LINK_LIKE.split(" ".join(clean_text(text).split()))
    written = "".join(code(part) if n % 2 else _escape(part) for n, part in enumerate(parts))
    return Markdown(_BLOCK_START.sub(_defuse, written))


def code(text: str) -> Markdown:
    """Any text on one line as a code span; the pipe is escaped so that it may stand in a table."""
    line = " ".join(clean_text(text).split()).replace("|", "\\|")
    if not line:
        return Markdown("")
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return Markdown(f"{fence}{pad}{line}{pad}{fence}")


def link(label: str, url: str) -> Markdown:
    """A link to a place that we chose; `url` is a relative path or `#anchor`."""
    return Markdown(f"[{inline(label)}]({quote(url, safe='/#.-_~')})")


def image(label: str, url: str) -> Markdown:
    """A picture of ours."""
    return Markdown(f"![{inline(label)}]({quote(url, safe='/#.-_~')})")


def anchor_name(evidence_id: str) -> Markdown:
    """The anchor of a piece of evidence: letters, digits and hyphens only."""
    return Markdown(re.sub(r"[^a-z0-9]+", "-", evidence_id.lower()).strip("-"))


def cite(evidence_ids: Iterable[str]) -> Markdown:
    """Links to the rows of the evidence table."""
    return Markdown(", ".join(link(id_, f"#{anchor_name(id_)}") for id_ in evidence_ids))


def place(evidence: Evidence, base: str) -> Markdown:
    """A link to the artifact and the lines that show this piece of evidence."""
    if evidence.artifact is None:
        return Markdown("")
    name = evidence.artifact.rpartition("/")[2]
    if evidence.lines is None:
        return link(name, base + evidence.artifact)
    first, last = evidence.lines
    return link(f"{name}:{first}-{last}", f"{base}{evidence.artifact}#L{first}-L{last}")


def _defuse(match: re.Match[str]) -> str:
    """What would start a heading, a list or a rule: a digit cannot be escaped, the dot after it can."""
    return f"{match[1]}\\" if match[1].isdigit() else f"\\{match[1]}"


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda match: _ENTITIES.get(match[1], f"\\{match[1]}"), text)
