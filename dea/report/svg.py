"""What the pictures share: a canvas with a white ground, text that is safe, numbers people read."""

from collections.abc import Iterable
from html import escape

from dea.contracts.scrub import clean_text

WIDTH = 720
_FONT = "font-family='Helvetica,Arial,sans-serif' font-size='12' fill='#333'"


def canvas(height: float, title: str, parts: Iterable[str]) -> str:
    """A whole SVG document. `title` stands on top and is what a screen reader says."""
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height:.0f}' "
        f"viewBox='0 0 {WIDTH} {height:.0f}' role='img' {_FONT}>"
    )
    ground = f"<title>{_safe(title)}</title><rect width='100%' height='100%' fill='#fff'/>"
    return "\n".join([head, ground, text(12, 20, title, "font-weight='bold'"), *parts, "</svg>\n"])


def text(x: float, y: float, content: str, style: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{_safe(content)}</text>"


def box(x: float, y: float, width: float, height: float, colour: str, hint: str = "") -> str:
    """A filled box; `hint` shows when the pointer rests on it."""
    inside = f"<title>{_safe(hint)}</title>" if hint else ""
    return (
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' "
        f"fill='{colour}'>{inside}</rect>"
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str = "#ddd") -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}'/>"


def human(value: float, unit: str = "") -> str:
    """`12.5 MiB` for bytes, else a number of few digits with its unit."""
    if unit == "bytes":
        return human_bytes(value)
    number = f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"
    return f"{number} {unit}".rstrip()


def human_bytes(value: float) -> str:
    """In the largest unit of which it is at least one."""
    names = ("bytes", "KiB", "MiB", "GiB", "TiB")
    size = abs(value)
    power = min(len(names) - 1, (int(size).bit_length() - 1) // 10) if size >= 1024 else 0
    number = value / 1024**power
    return f"{number:.4g} {names[power]}" if power else f"{number:.0f} bytes"


def _safe(text_from_target: str) -> str:
    """XML holds no control characters, and no markup of others."""
    return escape(clean_text(text_from_target))
