"""Draws one number over time."""

from dea.contracts.data import MetricSeries
from dea.report import svg

_TOP, _BOTTOM, _LEFT, _RIGHT, _HEIGHT = 34.0, 190.0, 92.0, 20.0, 222.0
_STEPS = 4
_INK = "#1f6feb"


def series_svg(series: MetricSeries) -> str:
    """A line chart of the points; the text below says how it grows and with what certainty."""
    title = f"{series.name} of process {series.pid}: {series.shape}"
    return svg.canvas(_HEIGHT, title, [*_grid(series), _curve(series), _caption(series)])


def _grid(series: MetricSeries) -> list[str]:
    low, high = _range(series)
    parts: list[str] = []
    for step in range(_STEPS + 1):
        value = low + (high - low) * step / _STEPS
        y = _y(value, low, high)
        parts.append(svg.line(_LEFT, y, svg.WIDTH - _RIGHT, y))
        label = svg.human(round(value, 2), series.unit)
        parts.append(svg.text(_LEFT - 8, y + 4, label, "text-anchor='end' font-size='11'"))
    return parts


def _curve(series: MetricSeries) -> str:
    low, high = _range(series)
    begin, end = _window(series)
    width = svg.WIDTH - _LEFT - _RIGHT
    places = [
        (_LEFT + (at - begin) / (end - begin) * width, _y(value, low, high))
        for at, value in series.points
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2' fill='{_INK}'/>" for x, y in places)
    return f"<polyline points='{path}' fill='none' stroke='{_INK}' stroke-width='2'/>{dots}"


def _caption(series: MetricSeries) -> str:
    begin, end = _window(series)
    slope, low, high = (
        svg.human(value, series.unit)
        for value in (series.slope_per_s, series.slope_low_per_s, series.slope_high_per_s)
    )
    words = (
        f"{series.samples} samples over {end - begin:.1f} s; slope {slope}/s, "
        f"95 % interval {low}/s to {high}/s"
    )
    return svg.text(_LEFT, _HEIGHT - 10, words, "font-size='11'")


def _range(series: MetricSeries) -> tuple[float, float]:
    """The values drawn. A steady number must not look like one that jumps: at least 2 % of it."""
    values = [value for _, value in series.points] or [0.0]
    low, high = min(values), max(values)
    margin = max(abs(high) * 0.02, 1.0) if high - low < abs(high) * 0.02 else 0.0
    return max(0.0, low - margin) if low >= 0 else low - margin, high + margin or 1.0


def _window(series: MetricSeries) -> tuple[float, float]:
    times = [at for at, _ in series.points] or [0.0]
    return min(times), max(max(times), min(times) + 0.001)


def _y(value: float, low: float, high: float) -> float:
    return _BOTTOM - (value - low) / ((high - low) or 1.0) * (_BOTTOM - _TOP)
