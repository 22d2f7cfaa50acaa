"""Draws where the wall time of each thread went, one bar per thread."""

from collections.abc import Sequence

from dea.contracts.data import Metric, Part
from dea.report import svg

_LEFT, _RIGHT, _BAR, _GAP, _TOP = 190.0, 20.0, 18.0, 8.0, 36.0
_LEGEND_LINE, _PER_LINE = 18.0, 4
_MOST = 16
_COLOURS = {
    "cpu_user": "#d1242f",
    "cpu_kernel": "#ff8182",
    "runnable": "#fb8f44",
    "throttled": "#bf3989",
    "stopped": "#24292f",
    "lock": "#1f6feb",
    "futex": "#54aeff",
    "gil": "#0a3069",
    "file_lock": "#80ccff",
    "receive": "#2da44e",
    "send": "#116329",
    "connect": "#6fdd8b",
    "disk": "#8250df",
    "page_fault": "#c297ff",
    "pipe_read": "#0e7490",
    "pipe_write": "#67c7d8",
}
_IDLE = frozenset({"sleep", "poll", "accept", "child", "signal_wait", "tty"})
_GREY, _OTHER = "#d0d7de", "#9a6700"


def budget_svg(threads: Sequence[Metric]) -> str:
    """Stacked bars of the shares in `parts`; the busiest threads when there are many."""
    shown = sorted(threads, key=_idleness)[:_MOST]
    causes = list(dict.fromkeys(part.cause for metric in shown for part in metric.parts))
    rows = [piece for n, metric in enumerate(shown) for piece in _bar(n, metric)]
    legend_top = _TOP + len(shown) * (_BAR + _GAP) + 8
    lines = -(-len(causes) // _PER_LINE)
    height = legend_top + lines * _LEGEND_LINE + 8
    hidden = f" ({len(threads) - len(shown)} more are not drawn)" if len(threads) > _MOST else ""
    title = f"Where the time of each thread went{hidden}"
    return svg.canvas(height, title, [*rows, *_legend(legend_top, causes)])


def _bar(number: int, metric: Metric) -> list[str]:
    y = _TOP + number * (_BAR + _GAP)
    name = f"{metric.thread or metric.name} {metric.tid or metric.pid or ''}".strip()
    parts = [svg.text(_LEFT - 8, y + 13, name[:28], "text-anchor='end'")]
    x, full = _LEFT, svg.WIDTH - _LEFT - _RIGHT
    for part in metric.parts:
        width = max(0.0, min(part.share, 1.0)) * full
        parts.append(svg.box(x, y, width, _BAR, _colour(part.cause), _hint(part)))
        x += width
    return parts


def _hint(part: Part) -> str:
    on = f" on {part.object}" if part.object else ""
    return f"{part.cause}{on}: {part.share:.1%}"


def _legend(top: float, causes: Sequence[str]) -> list[str]:
    parts: list[str] = []
    step = (svg.WIDTH - 24) / _PER_LINE
    for number, cause in enumerate(causes):
        x, y = 12 + number % _PER_LINE * step, top + number // _PER_LINE * _LEGEND_LINE
        parts.append(svg.box(x, y, 11, 11, _colour(cause)))
        parts.append(svg.text(x + 16, y + 10, cause.replace("_", " ")[:24], "font-size='11'"))
    return parts


def _colour(cause: str) -> str:
    """The same for a cause in every report; grey for waiting that is nobody's fault."""
    return _GREY if cause in _IDLE else _COLOURS.get(cause, _OTHER)


def _idleness(metric: Metric) -> float:
    return sum(part.share for part in metric.parts if part.cause in _IDLE)
