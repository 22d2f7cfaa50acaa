"""Slopes, intervals and shapes of synthetic series: each shape is told, and none is taken for growth."""

import math
import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dea.contracts.trend import Point, largest_fall, metric_series, thin, trend

MIB = 2**20
GRAIN = 64 * 1024
seeds = st.integers(0, 2**32)
windows_s = st.sampled_from([3.0, 5.0, 10.0, 30.0])
levels = st.floats(1 * MIB, 4096 * MIB)


def sampled(window_s: float, value: Callable[[float], float], every_s: float = 0.1) -> list[Point]:
    """Samples at uneven distances, so that they are never in step with what they watch."""
    chance, at_s, points = random.Random(int(window_s)), 0.0, list[Point]()
    while at_s < window_s:
        points.append((at_s, value(at_s)))
        at_s += every_s * chance.uniform(0.5, 1.5)
    return points


@given(windows_s, levels, st.floats(0.2, 500))
def test_a_straight_line_grows_at_its_rate(window_s: float, level: float, rate: float) -> None:
    found = trend(sampled(window_s, lambda t: level + rate * MIB * t), GRAIN)
    assert found.shape == "growing"
    assert found.slope_per_s == pytest.approx(rate * MIB, rel=0.05)
    assert found.low_per_s <= rate * MIB <= found.high_per_s
    assert found.high_per_s - found.low_per_s < 0.4 * rate * MIB


@given(windows_s, seeds, st.floats(0.02, 0.15))
def test_a_staircase_grows(window_s: float, seed: int, stair: float) -> None:
    """An arena or a chunk at a time, 7 to 50 times in the window."""
    width, phase = stair * window_s, random.Random(seed).random() * stair * window_s
    found = trend(sampled(window_s, lambda t: 50 * MIB + MIB * ((t + phase) // width)), GRAIN)
    assert found.shape == "growing"


@given(windows_s, seeds)
@settings(max_examples=150)
def test_up_to_three_steps_are_no_growth(window_s: float, seed: int) -> None:
    """A list that doubles, a file that is loaded."""
    chance = random.Random(seed)
    steps = [chance.uniform(0, window_s) for _ in range(chance.randint(1, 3))]
    found = trend(
        sampled(window_s, lambda t: 50 * MIB + 4 * MIB * sum(t >= s for s in steps)), GRAIN
    )
    assert found.shape != "growing"
    assert found.low_per_s <= 0 or found.shape == "leveling"


@given(windows_s, seeds, st.floats(0.05, 0.8))
@settings(max_examples=150)
def test_a_sawtooth_is_no_growth(window_s: float, seed: int, period: float) -> None:
    period *= window_s
    phase = random.Random(seed).random() * period
    found = trend(sampled(window_s, lambda t: 50 * MIB + 30 * MIB * ((t + phase) % period)), GRAIN)
    assert found.shape in ("sawtooth", "noisy")


@given(windows_s, st.floats(0.05, 0.45))
def test_saturation_levels_off(window_s: float, tau: float) -> None:
    tau *= window_s
    found = trend(sampled(window_s, lambda t: 20 * MIB * (1 - math.exp(-t / tau))), GRAIN)
    assert found.shape == "leveling"


@given(windows_s, st.floats(0.1, 0.65))
def test_a_warm_up_that_ends_levels_off(window_s: float, end: float) -> None:
    found = trend(sampled(window_s, lambda t: 10 * MIB * min(t, end * window_s)), GRAIN)
    assert found.shape == "leveling"


@given(windows_s, levels)
def test_less_than_a_grain_is_steady(window_s: float, level: float) -> None:
    found = trend(sampled(window_s, lambda t: level + GRAIN * t / window_s / 2), GRAIN)
    assert found.shape == "steady"


@given(windows_s, st.floats(0.2, 100))
def test_a_falling_line_shrinks(window_s: float, rate: float) -> None:
    found = trend(sampled(window_s, lambda t: 2**33 - rate * MIB * t), GRAIN)
    assert found.shape == "shrinking"
    assert found.high_per_s < 0


@pytest.mark.parametrize("kind", ["noise", "walk"])
@pytest.mark.parametrize("window_s", [3.0, 10.0])
def test_chance_is_rarely_taken_for_growth(kind: str, window_s: float) -> None:
    """Also a random walk, whose samples depend on each other: the interval is a real 95 %."""
    grown = 0
    for seed in range(400):
        chance, sum_ = random.Random(seed), [50.0 * MIB]

        def value(_: float, chance: random.Random = chance, sum_: list[float] = sum_) -> float:
            step = chance.gauss(0, MIB)
            sum_[0] += step if kind == "walk" else 0
            return sum_[0] if kind == "walk" else 50 * MIB + step

        grown += trend(sampled(window_s, value), GRAIN).shape == "growing"
    assert grown <= (0.05 if kind == "walk" else 0.01) * 400


def test_a_leak_shows_under_buffers_that_come_and_go() -> None:
    chance = random.Random(1)
    points = sampled(10, lambda t: 50 * MIB + MIB * t + chance.choice([0, 0, 5, 10]) * MIB)
    found = trend(points, GRAIN)
    assert found.shape == "growing"
    assert found.low_per_s <= MIB <= found.high_per_s


def test_counts_grow_by_single_ones() -> None:
    found = trend([(i * 0.3, float(i)) for i in range(11)], grain=1)
    assert found.shape == "growing"
    assert found.slope_per_s == pytest.approx(1 / 0.3)
    assert trend([(i * 0.3, float(i >= 5)) for i in range(11)], grain=1).shape == "steady"


@pytest.mark.parametrize(
    "points",
    [
        [(0.0, 1.0)],
        [(i * 0.1, float(i)) for i in range(3)],
        [(0.01 * i, 9.0 * i) for i in range(9)],
    ],
)
def test_too_little_says_nothing(points: Sequence[Point]) -> None:
    found = trend(points, grain=1)
    assert (found.shape, found.slope_per_s) == ("short", 0)


moments_ms, values = st.integers(0, 30_000), st.integers(0, 2**53)


@given(st.lists(st.tuples(moments_ms, values), min_size=1, max_size=80))
def test_whatever_comes_it_answers_with_finite_numbers(samples: list[tuple[int, int]]) -> None:
    """Also when the clock stood still between two samples."""
    found = trend([(ms / 1000, float(value)) for ms, value in sorted(samples)], grain=1)
    assert found.low_per_s <= found.slope_per_s <= found.high_per_s
    assert all(map(math.isfinite, (found.low_per_s, found.high_per_s)))


def test_evidence_is_thinned_but_keeps_both_ends() -> None:
    series = metric_series("fds", "count", 7, [(i / 10, float(i)) for i in range(301)])
    assert (len(series.points), series.samples) == (20, 301)
    assert (series.points[0], series.points[-1]) == ((0.0, 0.0), (30.0, 300.0))
    flat = metric_series("fds", "count", 7, [(i / 10, 5.0) for i in range(301)])
    assert len(flat.points) == 2
    assert thin([(0.0, 1.0)], 20) == [(0.0, 1.0)]


def test_largest_fall() -> None:
    assert largest_fall([3, 9, 4, 8, 2, 5]) == 7
    assert largest_fall([1, 2, 3]) == 0
