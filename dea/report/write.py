"""Draws the pictures, fills the template and writes report.md."""

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dea.contracts.target import Target
from dea.errors import StoreError
from dea.report import markdown
from dea.report.content import Content, gather
from dea.report.looks import looks
from dea.store.atomic import write_bytes
from dea.store.session import StoredSession

if TYPE_CHECKING:
    from jinja2 import Template

FIRST_LINE = "<!-- dea report -->"  # how we know our own reports again


def write_report(session: StoredSession) -> Path:
    """Write report.md and its pictures into the session's folder. Raises StoreError."""
    _draw(session, _content(session))
    content = _content(session)  # with the hashes of what was drawn
    path = session.folder / "report.md"
    write_bytes(path, _fill(content, "").encode())
    return path


def render_report(session: StoredSession, folder: Path) -> str:
    """The report with links that work from a file in `folder`."""
    base = os.path.relpath(session.folder, folder.absolute())
    return _fill(_content(session), f"{base}/")


def _content(session: StoredSession) -> Content:
    index = session.read()
    return gather(
        index,
        session.results(),
        looks(session, index),
        arguments=session.load_private("arguments"),
        interrupted=session.interrupted(),
        hashes=session.hashes(),
        host=session.load_private("host"),
    )


def _draw(session: StoredSession, content: Content) -> None:
    drawn = [picture for picture in content.pictures if picture.svg is not None]
    for picture in drawn:
        write_bytes(session.folder / picture.path, (picture.svg or "").encode())
    session.record_hashes([session.folder / picture.path for picture in drawn])


def _fill(content: Content, base: str) -> str:
    return _template().render(
        first_line=markdown.Markdown(FIRST_LINE),
        content=content,
        target_line=target_line(content.session.target),
        base=base,
        link=markdown.link,
        image=markdown.image,
        cite=markdown.cite,
        place=markdown.place,
    )


def target_line(target: Target) -> str:
    """`python process 4711 (gunicorn)`."""
    name = f" ({target.comm})" if target.comm else ""
    what = f"{target.runtime} process" if target.runtime not in (None, "unknown") else "process"
    return f"{what} {target.pid or target.id}{name}"


@functools.cache
def _template() -> "Template":
    """Every value that the template prints is escaped, unless it is markdown of ours already."""
    import jinja2

    def finalize(value: Any) -> str:
        return value if isinstance(value, markdown.Markdown) else markdown.inline(str(value))

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        finalize=finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["code"] = markdown.code
    environment.filters["anchor"] = markdown.anchor_name
    try:
        return environment.get_template("report.md.j2")
    except jinja2.TemplateNotFound as error:
        raise StoreError(f"the report's template is missing: {error}", "Reinstall dea") from error
