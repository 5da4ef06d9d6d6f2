"""Axes, lines and elements of pictures."""

from __future__ import annotations

import re

import numpy as np
import pytest

from splinear.inspection.ticks import even_ticks, factor_ticks
from splinear.report.pictures.axes import Axis, bottom_axis, choose_axis, tick_text
from splinear.report.pictures.svg import closed_path, element, path_of, text, thinned
from splinear.report.spreads import Spread


@pytest.mark.parametrize("seed", range(20))
def test_ticks_are_few_and_round(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lo = rng.normal() * 10.0 ** rng.integers(-6, 7)
    hi = lo + rng.uniform() * 10.0 ** rng.integers(-6, 7)
    ticks = even_ticks(lo, hi, 6)
    assert 2 <= len(ticks) <= 6
    room = 1e-9 * (hi - lo)
    assert lo - room <= min(ticks)
    assert max(ticks) <= hi + room
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-4)
    digit = steps[0] / 10.0 ** np.floor(np.log10(steps[0]) + 1e-9)
    assert np.isclose(digit, [1, 2, 5, 10], rtol=1e-4).any()


@pytest.mark.parametrize(
    ("ticks", "words"),
    [
        ([0.0, 0.5, 1.0], ["0", "0.5", "1.0"]),
        ([-2.0, 0.0, 2.0], ["\u22122", "0", "2"]),
        ([1990.0, 2000.0, 2010.0], ["1990", "2000", "2010"]),
        ([0.0, 10_000.0, 20_000.0], ["0", "10,000", "20,000"]),
        ([-2e6, 0.0, 2e6], ["\u22122M", "0", "2M"]),
        ([0.0, 1.0, 10.0, 100.0], ["0", "1", "10", "100"]),
    ],
)
def test_ticks_are_written_as_people_do(ticks: list[float], words: list[str]) -> None:
    assert [tick_text(tick, ticks) for tick in ticks] == words


@pytest.mark.parametrize("lo", [-1e6, 0.0, 1.0, 2e4, 123_456.0, 1e6, 20_240_101.0, 1.7e9])
@pytest.mark.parametrize("width", [1e-3, 0.7, 9.0, 31.0, 1e4, 1e8])
def test_ticks_differ_and_say_where_they_are(lo: float, width: float) -> None:
    ticks = even_ticks(lo, lo + width, 6)
    words = [tick_text(tick, ticks) for tick in ticks]
    assert len(set(words)) == len(ticks)
    steps = np.diff(ticks)
    for word, tick in zip(words, ticks, strict=True):
        assert read(word) == pytest.approx(tick, abs=0.01 * steps.min())


@pytest.mark.parametrize("lo", [1.1e-5, 3e-12, 1.1e15, 4.3e18])
def test_ticks_of_very_small_and_large_numbers_differ(lo: float) -> None:
    ticks = even_ticks(lo, 1.3 * lo, 6)
    assert len({tick_text(tick, ticks) for tick in ticks}) == len(ticks)


@pytest.mark.parametrize("lo", [0.0, 1990.0, 20_240_101.0, 1.7e9])
@pytest.mark.parametrize("places", [None, 2, 4, 10])
def test_long_labels_do_not_overlap(lo: float, places: int | None) -> None:
    at = None if places is None else tuple(lo + np.linspace(0.0, 9.0, places).round())
    axis = Axis(lo, lo + 9.0, 40.0, 340.0, places=at)
    found = re.findall(r'<text x="([\d.]+)"[^>]*>([^<]+)<', bottom_axis(axis, 200.0))
    right = -np.inf
    assert len(found) >= 2
    for pixel, word in found:
        assert float(pixel) - 5.5 * len(word) / 2 > right
        right = float(pixel) + 5.5 * len(word) / 2


@pytest.mark.parametrize("hi", [9.0, 700_000.0, 999_999.0, 20_240_101.0])
def test_ticks_keep_away_from_a_label_beside_the_axis(hi: float) -> None:
    """As that of missing values is: "500,000missing"."""
    axis = Axis(0.0, hi, 40.0, 300.0)
    ticks = bottom_axis(axis, 200.0, beside=("missing", 323.0))
    found = re.findall(r'<text x="([\d.]+)"[^>]*>([^<]+)<', ticks)
    assert len(found) >= 2
    for pixel, word in found:
        assert float(pixel) + 5.5 * len(word) / 2 < 323.0 - 5.5 * len("missing") / 2


def read(word: str) -> float:
    """Return the number that a label says."""
    unit = {"G": 1e9, "M": 1e6, "k": 1e3}.get(word[-1], 1.0)
    return unit * float(word.rstrip("GMk").replace("\u2212", "-").replace(",", ""))


def spread(values: np.ndarray) -> Spread:
    return Spread(np.sort(values), np.full(len(values), 1 / len(values)), 0.0)


def test_axes_bend_for_long_tails_only() -> None:
    rng = np.random.default_rng(0)
    even, long = rng.normal(size=2000), rng.lognormal(0, 2, 2000)
    straight = choose_axis(even.min(), even.max(), 0.0, 300.0, spread(even))
    bent = choose_axis(long.min(), long.max(), 0.0, 300.0, spread(long))
    assert straight.bend is None
    assert bent.bend is not None
    for axis, values in ((straight, even), (bent, long)):
        pixels = axis(np.sort(values))
        assert pixels[0] == pytest.approx(0.0, abs=1e-9)
        assert pixels[-1] == pytest.approx(300.0)
        assert (np.diff(pixels) >= 0).all()
        np.testing.assert_allclose(axis(axis.steps(11)), np.linspace(0, 300, 11), atol=1e-6)
    low, high = np.quantile(bent(long), [0.1, 0.9])
    assert high - low > 60
    assert len(bent.ticks(6)) >= 3


def test_thinned_lines_stay_where_they_were() -> None:
    x = np.linspace(0, 300, 400)
    y = 50 + 40 * np.sin(x / 30)
    few = thinned(np.column_stack([x, y]))
    assert len(few) < 100
    assert np.abs(np.interp(x, few[:, 0], few[:, 1]) - y).max() < 0.5


def drawn(d: str) -> np.ndarray:
    """The corners of a path of one start and steps."""
    numbers = [float(n) for n in re.findall(r"-?\d*\.?\d+", d)]
    return np.cumsum(np.reshape(numbers, (-1, 2)), axis=0)


def test_paths_by_steps_do_not_drift() -> None:
    rng = np.random.default_rng(0)
    x, y = np.arange(500.0) / 3, rng.uniform(0, 99, 500)
    corners = drawn(path_of(x, y))
    np.testing.assert_allclose(corners, thinned(np.column_stack([x, y])), atol=0.051)
    area = drawn(closed_path(x, y, y + 5).rstrip("z"))
    np.testing.assert_allclose(area[[0, -1]], [[x[0], y[0] + 5], [x[0], y[0]]], atol=0.051)


def test_elements_are_escaped() -> None:
    assert element("g", class_='a"<b') == '<g class="a&quot;&lt;b"/>'
    assert text("<&", 1, 2, full="<all>") == (
        '<text x="1" y="2"><title>&lt;all&gt;</title>&lt;&amp;</text>'
    )


def test_an_axis_of_one_number() -> None:
    axis = choose_axis(3.0, 3.0, 0.0, 100.0, spread(np.array([3.0])))
    assert isinstance(axis, Axis)
    assert axis.at(3.0) == pytest.approx(50.0)
    assert axis.ticks(5) == [3.0]


@pytest.mark.parametrize(
    ("lo", "hi", "words"),
    [
        (-0.75, 0.75, ["0.5", "1", "2"]),
        (-2.5, 2.5, ["0.1", "0.2", "0.5", "1", "2", "5", "10"]),
        (-0.021, 0.03, ["0.98", "0.99", "1.00", "1.01", "1.02", "1.03"]),
        (-12.0, 12.0, None),
    ],
)
def test_ticks_of_factors(lo: float, hi: float, words: list[str] | None) -> None:
    axis = Axis(lo, hi, 0.0, 300.0, is_factor=True)
    ticks = axis.ticks(7)
    labels = [axis.label(tick, ticks) for tick in ticks]
    assert 0.0 in ticks  # a factor of 1
    if words is not None:
        assert labels == [f"\N{MULTIPLICATION SIGN}{word}" for word in words]
    for tick, label in zip(ticks, labels, strict=True):
        assert read(label[1:]) == pytest.approx(np.exp(tick), rel=0.01)
    assert 3 <= len(ticks) <= 7


@pytest.mark.parametrize("most", [2, 4, 7])
def test_ticks_of_factors_are_round_and_within_the_axis(most):
    random = np.random.default_rng(0)
    for _ in range(300):
        lo = float(random.uniform(-20, 20))
        hi = lo + float(np.exp(random.uniform(-3, 4)))
        ticks = factor_ticks(lo, hi, most)
        assert 1 <= len(ticks) <= most
        assert ticks == sorted(set(ticks))
        assert ticks == [0.0] or min(ticks) >= lo - 1e-6
        assert ticks == [0.0] or max(ticks) <= hi + 1e-6
    np.testing.assert_allclose(
        np.exp(factor_ticks(np.log(0.4), np.log(12.0), 7)), [0.5, 1, 2, 5, 10]
    )
    np.testing.assert_allclose(np.exp(factor_ticks(-9.3, 9.3, 7)), 10.0 ** np.arange(-4, 5, 2))
    np.testing.assert_allclose(
        np.exp(factor_ticks(np.log(0.9), np.log(1.13), 6)), [0.9, 0.95, 1, 1.05, 1.1]
    )
