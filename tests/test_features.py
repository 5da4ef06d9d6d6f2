"""The pyramid of oriented gradients, compared with plain loops and with what must hold."""

from __future__ import annotations

import math
import pickle
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from splinear.features import GradientPyramid
from splinear.features.gradients import votes

Image = npt.NDArray[np.float64]


def images(*shape: int, seed: int = 0) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, size=shape, dtype=np.uint8)


# --- the oracle: one pixel at a time, in float64 ---------------------------------------------


def slow_smooth(image: Image, sigma: float) -> Image:
    if sigma == 0:
        return image
    radius = int(4 * sigma + 0.5)
    offsets = range(-radius, radius + 1)
    weights = [math.exp(-0.5 * (k / sigma) ** 2) for k in offsets]
    h, w = image.shape
    result = np.zeros_like(image)
    for y in range(h):
        for x in range(w):
            for wy, ky in zip(weights, offsets, strict=True):
                for wx, kx in zip(weights, offsets, strict=True):
                    yy, xx = min(max(y + ky, 0), h - 1), min(max(x + kx, 0), w - 1)
                    result[y, x] += wy * wx * image[yy, xx]
    return result / sum(weights) ** 2


def slow_votes(image: Image, n_orientations: int, signed: bool) -> Image:
    h, w = image.shape
    votes = np.zeros((h, w, n_orientations))
    period = 2 * math.pi if signed else math.pi
    for y in range(h):
        for x in range(w):
            gx = (image[y, min(x + 1, w - 1)] - image[y, max(x - 1, 0)]) / 2
            gy = (image[min(y + 1, h - 1), x] - image[max(y - 1, 0), x]) / 2
            position = (math.atan2(gy, gx) % period) / period * n_orientations
            lower = math.floor(position)
            magnitude = math.hypot(gx, gy)
            votes[y, x, lower % n_orientations] += magnitude * (1 - (position - lower))
            votes[y, x, (lower + 1) % n_orientations] += magnitude * (position - lower)
    return votes


def slow_level(votes: Image, size: tuple[int, int], stride: tuple[int, int]) -> Image:
    h, w, _ = votes.shape
    histograms = [
        votes[y : y + size[0], x : x + size[1]].sum(axis=(0, 1))
        for y in range(0, h - size[0] + 1, stride[0])
        for x in range(0, w - size[1] + 1, stride[1])
    ]
    return np.concatenate(histograms)


def slow_pyramid(
    image: npt.NDArray[Any],
    levels: list[tuple[tuple[int, int], tuple[int, int]]],
    n_orientations: int,
    signed: bool,
    smoothing: float,
    norm: str | None,
) -> Image:
    votes = slow_votes(slow_smooth(image.astype(float), smoothing), n_orientations, signed)
    parts = [slow_level(votes, size, stride) for size, stride in levels]
    if norm is not None:
        parts = [part / (np.linalg.norm(part, ord=int(norm[1])) or 1) for part in parts]
    return np.concatenate(parts)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_agrees_with_plain_loops(data: st.DataObject) -> None:
    h, w = data.draw(st.integers(2, 9), "h"), data.draw(st.integers(2, 9), "w")
    extents = st.tuples(st.integers(1, h), st.integers(1, w))
    levels = data.draw(st.lists(st.tuples(extents, extents), min_size=1, max_size=3), "levels")
    parameters: dict[str, Any] = {
        "n_orientations": data.draw(st.integers(1, 13), "n_orientations"),
        "signed": data.draw(st.booleans(), "signed"),
        "smoothing": data.draw(st.sampled_from([0, 0.5, 1.0]), "smoothing"),
        "norm": data.draw(st.sampled_from(["l1", "l2", None]), "norm"),
    }
    X = images(2, h, w, seed=data.draw(st.integers(0, 1000), "seed"))
    found = GradientPyramid(cells=levels, **parameters).fit_transform(X)
    expected = np.stack([slow_pyramid(image, levels, **parameters) for image in X])
    # float32 carries 7 digits; the votes of one cell add up at most 81 pixels of up to 180.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * expected.max())


# --- presets ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pyramid", "shape", "grids", "n_features"),
    [
        (GradientPyramid.mnist(), (28, 28), ((12, 12), (6, 6), (1, 1)), 2172),
        (GradientPyramid.daimler(), (36, 18), ((12, 6), (4, 2), (2, 1)), 656),
    ],
    ids=["mnist", "daimler"],
)
def test_presets(
    pyramid: GradientPyramid,
    shape: tuple[int, int],
    grids: tuple[tuple[int, int], ...],
    n_features: int,
) -> None:
    X = images(7, *shape)
    found = pyramid.fit_transform(X)
    assert found.shape == (7, n_features)
    assert found.dtype == np.float32
    assert found.min() >= 0
    assert pyramid.grid_shapes_ == grids
    assert pyramid.n_features_in_ == shape[0] * shape[1]
    np.testing.assert_array_equal(found, pyramid.transform(X.reshape(7, -1)))


def test_presets_can_be_changed() -> None:
    assert GradientPyramid.mnist(norm="l1").norm == "l1"
    assert GradientPyramid.daimler(smoothing=2.0).get_params()["smoothing"] == 2.0


# --- what must hold --------------------------------------------------------------------------


@pytest.mark.parametrize(("norm", "order"), [("l1", 1), ("l2", 2)])
def test_every_level_has_unit_norm(norm: Literal["l1", "l2"], order: int) -> None:
    pyramid = GradientPyramid(cells=[(4, 2), (5, 5), "image"], norm=norm)
    found = pyramid.fit_transform(images(3, 11, 13))
    sizes = [rows * columns * 12 for rows, columns in pyramid.grid_shapes_]
    for level in np.split(found, np.cumsum(sizes)[:-1], axis=1):
        np.testing.assert_allclose(np.linalg.norm(level, ord=order, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("angle", "signed", "expected"),
    [
        (0, True, 0),
        (45, True, 1),
        (90, True, 2),
        (180, True, 4),
        (270, True, 6),
        (0, False, 0),
        (45, False, 2),
        (90, False, 4),
        (180, False, 0),
        (270, False, 4),
    ],
)
def test_a_ramp_falls_into_the_bin_of_its_direction(
    angle: float, signed: bool, expected: int
) -> None:
    y, x = np.mgrid[:8, :8]
    ramp = x * math.cos(math.radians(angle)) + y * math.sin(math.radians(angle))
    pyramid = GradientPyramid(
        n_orientations=8, signed=signed, cells=[(8, 8)], smoothing=0, norm="l1"
    )
    found = pyramid.fit_transform(ramp[None])[0]
    assert found.argmax() == expected
    # At the border a diagonal ramp keeps only part of its gradient, and so turns.
    if angle % 90 == 0:
        assert found[expected] == pytest.approx(1, abs=1e-5)


def test_votes_are_shared_linearly_across_the_end_of_the_circle() -> None:
    angle = math.radians(360 - 9)  # a tenth of the way from bin 0 back to bin 3
    gx, gy = (np.full((1, 1, 1), f(angle), dtype=np.float32) for f in (math.cos, math.sin))
    found = votes(gx, gy, n_orientations=4, signed=True)
    np.testing.assert_allclose(found.ravel(), [0.9, 0, 0, 0.1], atol=1e-6)


@pytest.mark.parametrize(("signed", "quarter_turn"), [(True, 3), (False, 6)])
def test_rotation_by_a_quarter_turn_permutes_cells_and_bins(
    signed: bool, quarter_turn: int
) -> None:
    X = images(2, 14, 14)
    pyramid = GradientPyramid(n_orientations=12, signed=signed, cells=[(6, 2)])
    shape = (2, 5, 5, 12)
    found = pyramid.fit_transform(np.rot90(X, axes=(1, 2))).reshape(shape)
    upright = pyramid.fit_transform(X).reshape(shape)
    expected = np.roll(np.rot90(upright, axes=(1, 2)), -quarter_turn, axis=-1)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_unsigned_ignores_inverted_contrast_and_signed_does_not() -> None:
    X = images(2, 10, 10)
    unsigned = GradientPyramid(signed=False, cells=["image"])
    np.testing.assert_allclose(
        unsigned.fit_transform(X), unsigned.fit_transform(255 - X), atol=1e-5
    )
    signed = GradientPyramid(signed=True, cells=["image"])
    opposite = np.roll(signed.fit_transform(255 - X), 6, axis=1)
    np.testing.assert_allclose(signed.fit_transform(X), opposite, atol=1e-5)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize(("factor", "shift"), [(1e-25, 0), (1e25, 0), (2.0, 1e6)])
def test_normalized_features_ignore_brightness_and_contrast(
    norm: Literal["l1", "l2"], factor: float, shift: float
) -> None:
    X = images(3, 12, 12).astype(np.float64)
    pyramid = GradientPyramid(cells=[(4, 4), "image"], norm=norm)
    np.testing.assert_allclose(
        pyramid.fit_transform(factor * X + shift), pyramid.fit_transform(X), atol=1e-5
    )


@pytest.mark.parametrize("value", [0, 255, 0.1, -1e6])
@pytest.mark.parametrize("norm", ["l1", "l2", None])
def test_constant_images_give_zeros(value: float, norm: Literal["l1", "l2"] | None) -> None:
    X = np.full((2, 9, 9), value)
    assert not GradientPyramid(norm=norm).fit_transform(X).any()


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16, np.float32, np.float64])
def test_dtype_and_layout_of_the_input_do_not_matter(dtype: npt.DTypeLike) -> None:
    X = images(4, 10, 12)
    expected = GradientPyramid().fit_transform(X)
    given = np.asfortranarray(X.astype(dtype))
    given.setflags(write=False)
    found = GradientPyramid().fit_transform(given)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(GradientPyramid().fit_transform(X.tolist()), expected, atol=1e-6)


def test_batches_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    X = images(11, 10, 12)
    pyramid = GradientPyramid().fit(X)
    whole = pyramid.transform(X)
    monkeypatch.setattr("splinear.features.gradients._BATCH_BYTES", 3 * pyramid._plan.vote_bytes)
    np.testing.assert_array_equal(pyramid.transform(X), whole)
    monkeypatch.setattr("splinear.features.gradients._BATCH_BYTES", 1)
    np.testing.assert_array_equal(pyramid.transform(X), whole)


# --- the scikit-learn interface --------------------------------------------------------------


def test_feature_names() -> None:
    pyramid = GradientPyramid(n_orientations=2, cells=[(2, 2), "image"]).fit(images(1, 2, 4))
    assert pyramid.get_feature_names_out().tolist() == [
        "level0_row0_col0_bin0",
        "level0_row0_col0_bin1",
        "level0_row0_col1_bin0",
        "level0_row0_col1_bin1",
        "level1_row0_col0_bin0",
        "level1_row0_col0_bin1",
    ]


def test_pandas_in_and_out() -> None:
    pd = pytest.importorskip("pandas")
    X = images(3, 8, 9)
    table = pd.DataFrame(X.reshape(3, -1), columns=[f"pixel{i}" for i in range(72)])
    pyramid = GradientPyramid(image_shape=(8, 9)).set_output(transform="pandas")
    found = pyramid.fit_transform(table)
    assert found.columns.tolist() == pyramid.get_feature_names_out().tolist()
    assert pyramid.feature_names_in_[5] == "pixel5"
    np.testing.assert_array_equal(found.to_numpy(), GradientPyramid().fit_transform(X))


def test_clone_and_pickle() -> None:
    X = images(3, 8, 9)
    pyramid = GradientPyramid.mnist(image_shape=None, cells=[((2, 3), (1, 2))]).fit(X)
    assert clone(pyramid).get_params() == pyramid.get_params()
    restored = pickle.loads(pickle.dumps(pyramid))
    np.testing.assert_array_equal(restored.transform(X), pyramid.transform(X))


def test_parameters_changed_after_fit_wait_for_the_next_fit() -> None:
    X = images(3, 8, 9)
    pyramid = GradientPyramid().fit(X)
    before = pyramid.transform(X)
    pyramid.set_params(n_orientations=5, norm=None)
    np.testing.assert_array_equal(pyramid.transform(X), before)
    assert len(pyramid.get_feature_names_out()) == before.shape[1]


def test_works_in_a_pipeline() -> None:
    y, x = np.mgrid[:10, :10]
    noise = np.random.default_rng(0).normal(size=(40, 10, 10))
    target = np.arange(40) % 2
    X = np.where(target[:, None, None], x, y) * 5 + noise
    model = make_pipeline(GradientPyramid(), RidgeClassifier()).fit(X[:20], target[:20])
    assert model.score(X[20:], target[20:]) == 1


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_orientations": 0}, "n_orientations must be an integer of at least 1; got 0"),
        ({"n_orientations": 2.5}, "n_orientations must be an integer .* got 2.5"),
        ({"n_orientations": True}, "n_orientations must be an integer"),
        ({"signed": "yes"}, "signed must be True or False; got 'yes'"),
        ({"smoothing": -1}, "smoothing must be a finite number of at least 0; got -1"),
        ({"smoothing": np.nan}, "smoothing must be a finite number"),
        ({"smoothing": None}, "smoothing must be a finite number"),
        ({"norm": "max"}, "norm must be 'l1', 'l2' or None; got 'max'"),
        ({"cells": []}, "cells must be a sequence of at least one level"),
        ({"cells": "image"}, "cells must be a sequence"),
        ({"cells": 3}, "cells must be a sequence"),
        ({"cells": [(4, 4), 3]}, r"cells\[1\] must be 'image' or a pair .* got 3"),
        ({"cells": ["picture"]}, r"cells\[0\] must be 'image' or a pair"),
        ({"cells": [(4, 0)]}, r"cells\[0\] must be .* got \(4, 0\)"),
        ({"cells": [(4, (2, 2, 2))]}, r"cells\[0\] must be"),
        ({"cells": [(8, 8), ((9, 2), 1)]}, r"cells\[1\] has cells of 9 x 2 .* 8 x 10"),
        ({"image_shape": (10, 8)}, r"shape \(8, 10\), but image_shape is \(10, 8\)"),
        ({"image_shape": 28}, r"image_shape must be a pair \(h, w\) .* got 28"),
        ({"image_shape": (0, 8)}, "image_shape must be a pair"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GradientPyramid(**parameters).fit(images(2, 8, 10))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((3, 64)), r"table of shape \(3, 64\): set image_shape="),
        (np.zeros(64), r"got 1 dimension"),
        (np.zeros((3, 8, 8, 3)), r"got 4 dimension"),
        (np.zeros((0, 8, 8)), "minimum of 1 is required"),
        (np.zeros((3, 0, 8)), r"X.shape\[1:\] must be a pair"),
        (np.full((3, 8, 8), np.nan), "NaN"),
        (np.full((3, 8, 8), np.inf), "infinity"),
        (np.full((3, 8, 8), 1e300), r"between -1e\+30 and 1e\+30; found one of magnitude 1e\+300"),
    ],
)
def test_bad_images(X: npt.NDArray[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GradientPyramid().fit_transform(X)


def test_sparse_tables_are_refused() -> None:
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        GradientPyramid(image_shape=(8, 8)).fit(csr_matrix(np.eye(64)))  # type: ignore[arg-type]


def test_other_images_at_transform_are_refused() -> None:
    pyramid = GradientPyramid().fit(images(2, 8, 10))
    with pytest.raises(ValueError, match=r"shape \(10, 8\), but image_shape is \(8, 10\)"):
        pyramid.transform(images(2, 10, 8))
    with pytest.raises(ValueError, match=r"79 features, but image_shape \(8, 10\) makes 80"):
        pyramid.transform(np.zeros((2, 79)))


def test_transform_before_fit_is_refused() -> None:
    with pytest.raises(NotFittedError):
        GradientPyramid().transform(images(2, 8, 10))
    with pytest.raises(NotFittedError):
        GradientPyramid().get_feature_names_out()
