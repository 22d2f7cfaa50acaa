"""Draws sampled stacks as one self-contained SVG: outermost frames on top, as wide as they took."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr
from zlib import crc32

from dea.contracts.data import Frame
from dea.contracts.scrub import one_line
from dea.profile.stacks import Sampled

_SVG = "http://www.w3.org/2000/svg"
_ABOUT = "Width is share of samples. Click a box to zoom in, the top one to zoom out."
_WIDTH, _MARGIN, _HEAD, _FOOT, _ROW = 1200, 10, 62, 26, 19
_LETTER = 6.7  # width of a letter at the font size of the boxes
_THINNEST = 0.6  # narrower boxes can't be seen and are left out
_DEEPEST = 120
_FOLDER = Path(__file__).parent


@dataclass
class _Node:
    label: str
    kind: str
    title: str
    samples: int = 0
    line_samples: Counter[int] = field(default_factory=Counter[int])
    children: "dict[tuple[str, str], _Node]" = field(default_factory=dict[tuple[str, str], "_Node"])

    def child(self, label: str, kind: str, title: str) -> "_Node":
        return self.children.setdefault((title, kind), _Node(label, kind, title))


@dataclass(frozen=True)
class _Box:
    node: _Node
    x: float
    width: float
    depth: int


def flamegraph(stacks: Sequence[Sampled], title: str) -> bytes:
    """An SVG 1200 wide. Hover for the exact share, click to zoom, search to mark."""
    root = _tree(stacks)
    boxes = list(_boxes(root, _MARGIN, _WIDTH - 2 * _MARGIN, 0, max(root.samples, 1)))
    rows = 1 + max((box.depth for box in boxes), default=0)
    height = _HEAD + rows * _ROW + _FOOT
    style = (_FOLDER / "flamegraph.css").read_text()
    script = (_FOLDER / "flamegraph.js").read_text()
    return "\n".join(
        [
            f'<svg xmlns="{_SVG}" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">',
            f"<title>{_text(title)}</title>",
            f"<style>{style}</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{height}"/>',
            f'<text class="title" x="{_MARGIN}" y="26">{_text(title)}</text>',
            *_legend(),
            f'<g id="boxes">{"".join(_drawn(box, root.samples) for box in boxes)}</g>',
            f'<text class="note" x="{_MARGIN}" y="{height - 9}">{_ABOUT}</text>',
            f"<script><![CDATA[\n{script}]]></script>",
            "</svg>\n",
        ]
    ).encode("utf-8", "replace")


def _tree(stacks: Sequence[Sampled]) -> _Node:
    root = _Node("all", "root", "all samples")
    several = len({stack.pid for stack in stacks}) > 1
    for stack in stacks:
        root.samples += stack.samples
        node = root
        for label, kind in _roots(stack, several):
            node = node.child(label, kind, label)
            node.samples += stack.samples
        for frame in list(reversed(stack.frames))[:_DEEPEST]:
            node = node.child(frame.function, _kind(frame), _place(frame))
            node.samples += stack.samples
            if frame.line is not None:
                node.line_samples[frame.line] += stack.samples
    return root


def _roots(stack: Sampled, several: bool) -> Iterator[tuple[str, str]]:
    if several:
        yield f"process {stack.pid}", "root"
    yield stack.thread if stack.tid is None else f"{stack.thread} ({stack.tid})", "root"


def _kind(frame: Frame) -> str:
    if frame.own:
        return "own"
    return "kernel" if frame.module == "[kernel]" else "lib"


def _place(frame: Frame) -> str:
    where = frame.file or frame.module
    return f"{frame.function} {where}" if where else frame.function


def _boxes(node: _Node, x: float, width: float, depth: int, total: int) -> Iterator[_Box]:
    yield _Box(node, x, width, depth)
    scale = width / max(node.samples, 1)
    for child in sorted(node.children.values(), key=lambda child: child.title):
        wide = child.samples * scale
        if wide >= _THINNEST:
            yield from _boxes(child, x, wide, depth + 1, total)
        x += wide


def _drawn(box: _Box, total: int) -> str:
    node = box.node
    lines = ", ".join(f"{n}: {c / total:.1%}" for n, c in node.line_samples.most_common(4))
    title = f"{node.title}\n{node.samples / max(total, 1):.1%}, {node.samples} samples"
    if lines:
        title += f"\nlines {lines}"
    letters = int((box.width - 6) / _LETTER)
    label = node.label if len(node.label) <= letters else f"{node.label[: letters - 1]}…"
    y = _HEAD + box.depth * _ROW
    return (
        f'<g class="{node.kind} s{crc32(node.title.encode("utf-8", "replace")) % 4}" '
        f'data-x="{box.x:.2f}" data-w="{box.width:.2f}" data-d="{box.depth}" '
        f"data-n={quoteattr(one_line(node.label, 160))}>"
        f"<title>{_text(title, lines=True)}</title>"
        f'<rect x="{box.x:.2f}" y="{y}" width="{max(box.width - 0.5, 0.4):.2f}" '
        f'height="{_ROW - 1}" rx="2"/>'
        f'<text x="{box.x + 4:.2f}" y="{y + 13}">{_text(label) if letters > 2 else ""}</text></g>'
    )


def _legend() -> Iterator[str]:
    kinds = (("own", "your code"), ("lib", "libraries and runtime"), ("kernel", "kernel"))
    x = _MARGIN
    for kind, meaning in kinds:
        yield f'<g class="{kind} s0"><rect x="{x}" y="38" width="11" height="11" rx="2"/></g>'
        yield f'<text class="note" x="{x + 16}" y="48">{meaning}</text>'
        x += 34 + int(len(meaning) * _LETTER)
    right = _WIDTH - _MARGIN
    yield f'<text id="search" class="button" x="{right}" y="26" text-anchor="end">Search</text>'
    yield f'<text id="found" class="note" x="{right}" y="48" text-anchor="end"></text>'


def _text(text: str, *, lines: bool = False) -> str:
    parts = text.split("\n") if lines else [text]
    return escape("\n".join(one_line(part, 240) for part in parts))
