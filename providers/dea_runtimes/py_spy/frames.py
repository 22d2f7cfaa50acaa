"""Python frames: which are the user's own, and how a library's module is called."""

import re
from collections.abc import Iterable, Iterator

from dea.contracts.data import Frame
from dea.profile.stacks import said

_SITE = re.compile(r"/(?:site|dist)-packages/(.+)$")
_STDLIB = re.compile(r"/lib(?:64)?/python\d(?:\.\d+)?t?/(.+)$|/python\d+\.zip/(.+)$")
_GENERATED = re.compile(
    r"<(?!string>|stdin>|ipython|unknown>)"
)  # <frozen os>, <attrs generated ...>
_SCRIPT_FOLDER = re.compile(r"/s?bin/[^/.]+$")
_COMPREHENSIONS = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})


def python_frame(function: str, file: str, line: int | None) -> Frame:
    """A frame as py-spy names it: `Thread.run`, the file as the code object has it, the line."""
    module = _library_module(file)
    # An installed command such as bin/gunicorn is a stub that only calls its library.
    stub = function == "<module>" and _SCRIPT_FOLDER.search(file) is not None
    return Frame(
        function=said(function),
        file=said(file, 300),
        line=line or None,
        module=None if module is None else said(module, 80),
        own=module is None and not stub,
    )


def without_comprehensions(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Frames, innermost first, with a comprehension told as a line of the function it stands in."""
    inner: Frame | None = None
    for frame in frames:
        if inner is not None and frame.file == inner.file:
            frame = frame.model_copy(update={"line": inner.line})
        elif inner is not None:
            yield inner
        inner = frame if frame.function.rsplit(".", 1)[-1] in _COMPREHENSIONS else None
        if inner is None:
            yield frame
    if inner is not None:
        yield inner


def _library_module(file: str) -> str | None:
    """`json.encoder` for a file of a library or of Python itself; None for the user's own."""
    if _GENERATED.match(file):
        return file.strip("<>").split(" ")[-1] if file.startswith("<frozen") else file.strip("<>")
    found = _SITE.search(file) or _STDLIB.search(file)
    if found is None:
        return None
    path = next(group for group in found.groups() if group)
    dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return re.sub(r"\.[\w-]*\.(?:so|pyd)$|\.egg$", "", dotted)
