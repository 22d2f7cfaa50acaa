"""What samples over time say: how fast they change, how sure that is, and which shape it has.

Stands with the contracts because it defines `slope_per_s` and `shape` of MetricSeries for every
provider and every rule.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from dea.contracts.data.resources import MetricSeries, SeriesShape

Point = tuple[float, float]  # (seconds, value)

_SHORTEST_S = 0.5
_FEWEST = 4
_STRETCHES = 18
_BLOCKS = 6
# Student's t, two-sided 95 %, by degrees of freedom.
_T_95 = (0.0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31)
_FALL = 0.4  # of the range: what falls that far is no growth
_SLOWED = 1 / 3  # of its first third's slope
_STOPPED = 3.0  # quiet for so many times its longest pause before
_STEADY = 0.01  # of the level
_GRAIN_BYTES = 64 * 1024.0
_POINTS_KEPT = 20


@dataclass(frozen=True)
class Trend:
    """Change per second, robustly, with its 95 % interval, and the shape."""

    slope_per_s: float
    low_per_s: float
    high_per_s: float
    shape: SeriesShape


def metric_series(name: str, unit: str, pid: int, points: Sequence[Point]) -> MetricSeries:
    """The samples as evidence, thinned; what never changed keeps only its two ends."""
    found = trend(points, _GRAIN_BYTES if unit == "bytes" else 1.0)
    values = [value for _, value in points]
    kept = thin(points, _POINTS_KEPT if max(values) > min(values) else 2)
    return MetricSeries(
        name=name,
        unit=unit,
        pid=pid,
        points=[(round(at_s, 2), value) for at_s, value in kept],
        samples=len(points),
        first=values[0],
        last=values[-1],
        slope_per_s=round(found.slope_per_s, 3),
        slope_low_per_s=round(found.low_per_s, 3),
        slope_high_per_s=round(found.high_per_s, 3),
        shape=found.shape,
    )


def trend(points: Sequence[Point], grain: float) -> Trend:
    """How samples in the order of time change; a range of one `grain` is no change at all.

    Growth is judged on the floor, the lowest value of each stretch of the window: what is taken
    and given back within a stretch does not count. The slope is Theil-Sen's on the floor. Its
    interval comes from the differences between successive blocks of the window, since memory is
    the sum of all that happened before: a fit that takes its samples as independent is far too
    sure. It is wider than need be for plain noise, and a single step never excludes zero.
    """
    points = [points[0], *(after for before, after in pairwise(points) if after[0] > before[0])]
    if len(points) < _FEWEST or points[-1][0] - points[0][0] < _SHORTEST_S:
        return Trend(0.0, 0.0, 0.0, "short")
    floor = _by_stretch(points, _STRETCHES)
    slope = _theil_sen(floor)
    low, high = _interval(floor, slope, grain)
    return Trend(slope, low, high, _shape(points, floor, (low, high), grain))


def thin(points: Sequence[Point], limit: int) -> list[Point]:
    """At most `limit` of the points, evenly spread, with the first and the last."""
    if len(points) <= limit:
        return list(points)
    last = len(points) - 1
    return [points[round(i * last / (limit - 1))] for i in range(limit)]


def largest_fall(values: Sequence[float]) -> float:
    """How far the values fell below any earlier one."""
    peak, fall = values[0], 0.0
    for value in values:
        peak = max(peak, value)
        fall = max(fall, peak - value)
    return fall


def _by_stretch(points: Sequence[Point], count: int) -> list[Point]:
    """About `count` stretches of equally many points, each with its mean time and lowest value.

    Of points that do not fill a stretch the earliest are left out.
    """
    size = max(1, round(len(points) / count))
    stretches = [points[at : at + size] for at in range(len(points) % size, len(points), size)]
    return [
        (statistics.fmean(at_s for at_s, _ in some), min(value for _, value in some))
        for some in stretches
    ]


def _theil_sen(points: Sequence[Point]) -> float:
    """The median of the slopes between all pairs of points."""
    return statistics.median(
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for earlier, later in combinations(points, 2)
    )


def _interval(floor: Sequence[Point], slope: float, grain: float) -> tuple[float, float]:
    """95 % of the mean difference between blocks, widened to hold the slope and half a grain."""
    rates = _rates(_by_stretch(floor, _BLOCKS))
    mean = statistics.fmean(rates)
    half = _T_95[len(rates) - 1] * statistics.stdev(rates) / len(rates) ** 0.5
    half = max(half, grain / 2 / (floor[-1][0] - floor[0][0]))
    return min(mean - half, slope), max(mean + half, slope)


def _rates(points: Sequence[Point]) -> list[float]:
    return [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(points)]


def _shape(
    points: Sequence[Point], floor: Sequence[Point], interval: tuple[float, float], grain: float
) -> SeriesShape:
    values = [value for _, value in points]
    lows = [value for _, value in floor]
    if max(values) - min(values) <= grain:
        return "steady"
    some = _FALL * (max(lows) - min(lows))
    fell, rose = largest_fall(lows) > some, largest_fall([-low for low in lows]) > some
    if rose and not fell:
        if _slowed(floor) or _stopped(floor):
            return "leveling"
        if interval[0] > 0:
            return "growing"
    if fell and not rose and interval[1] < 0:
        return "shrinking"
    if max(values) - min(values) <= _STEADY * abs(statistics.median(values)):
        return "steady"
    return "sawtooth" if fell and rose and _follows_itself(values) else "noisy"


def _slowed(floor: Sequence[Point]) -> bool:
    """Whether the last third rose at less than a third of the first third's rate."""
    third = max(1, len(floor) // 3)
    first, last = _rates([floor[0], floor[third]]), _rates([floor[-1 - third], floor[-1]])
    return first[0] > 0 and last[0] < _SLOWED * first[0]


def _stopped(floor: Sequence[Point]) -> bool:
    """Whether it has not risen for much longer than it ever paused before."""
    noticeable = 0.02 * (floor[-1][1] - floor[0][1])
    peak, rises = floor[0][1], [floor[0][0]]
    for at_s, value in floor[1:]:
        if value > peak + noticeable:
            peak = value
            rises.append(at_s)
    pauses = [later - earlier for earlier, later in pairwise(rises)]
    return bool(pauses) and floor[-1][0] - rises[-1] > _STOPPED * max(pauses)


def _follows_itself(values: Sequence[float]) -> bool:
    """Whether each value is close to the one before, unlike noise."""
    mean = statistics.fmean(values)
    around = [value - mean for value in values]
    products = sum(before * after for before, after in pairwise(around))
    return products > 0.5 * sum(value * value for value in around)
