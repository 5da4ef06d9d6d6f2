"""Whatever sizes the compiled core is given, it refuses those that do not fit, and says which."""

import re
from pathlib import Path

import numpy as np
import pytest

from splinear import _core

N_ROWS, N_FEATURES, N_BINS, DEGREE = 12, 3, 5, 1
SIZE = N_BINS + DEGREE  # of the basis
LENGTH = N_FEATURES * SIZE  # of all coefficients
ALL = np.arange(N_FEATURES, dtype=np.int64)
ORDER = np.arange(N_ROWS, dtype=np.int64)
X = np.random.default_rng(0).random((N_ROWS, N_FEATURES))
NONE, NO_MEAN = np.empty(0), np.empty((0, 0))
NO_PARTS = np.empty((0, 0, 2)), NONE, NO_MEAN, NONE
THREADS = (1, 2, 3, 16)


def refused(found, *arguments, match, **named):
    with pytest.raises(ValueError, match=match):
        found(*arguments, **named)


def numbers(*shape):
    return np.full(shape, 0.5)


def axes(n=N_FEATURES, last=float(N_BINS), knots=NO_MEAN):
    return _core.Axes(np.zeros(n), np.ones(n), np.zeros(n), np.full(n, last), knots)


def codes(n_rows=N_ROWS, n_features=N_FEATURES):
    return _core.Codes(n_rows, n_features, _core.CodeGrid.bins(N_BINS, DEGREE, False))


def arrow_group(bands, used, mean, ties, of_intercept, n_threads, lines=(NO_MEAN, NO_MEAN, NONE)):
    return _core.arrow_group(bands, used, mean, ties, of_intercept, *lines, n_threads)


def filled():
    out = codes()
    out.fill(X, ALL, ORDER, axes(), 1)
    return out


def basis():
    return _core.bspline(DEGREE, N_BINS)


def penalty(size=SIZE, support=DEGREE + 1):
    return _core.difference_penalty(1, size, support, 0)


def values(n_rows=N_ROWS):
    return _core.value_rows(X, ALL, axes(), ORDER[:n_rows])


def csr():
    """Starts, features and values of X, of which every fourth is left out."""
    kept = np.arange(X.size).reshape(X.shape) % 4 > 0
    starts = np.append(0, np.cumsum(kept.sum(axis=1)))
    features = np.nonzero(kept)[1].astype(np.int32)
    return starts, features, X[kept]


def places(n=N_FEATURES, size=9):
    return _core.TablePlaces(np.full(n, size))


def sparse():
    return _core.sparse_rows(*csr(), axes(), ORDER, places(), False)


def group(rows=None):
    return _core.Group(rows or values(), basis(), penalty(), numbers(N_FEATURES), NO_MEAN, NONE)


def groups():
    coded = _core.coded_rows(filled(), axes())
    return {"values": group(), "codes": group(coded), "sparse": group(sparse())}


@pytest.fixture(params=["values", "codes", "sparse"])
def one(request):
    return [groups()[request.param]]


# -- bases and penalties -------------------------------------------------------------------------


def test_bases():
    for wrong in (0, -1, 2**30):
        refused(_core.bspline, 1, wrong, match="bins")
        refused(_core.fourier, wrong, match="degree")
        refused(_core.hermite, wrong, match="degree")
    refused(_core.bspline, 4, 5, match="degree 0, 1, 2 or 3")


@pytest.mark.parametrize("kind", ["difference", "diagonal"])
@pytest.mark.parametrize("name", ["embed", "integrate", "smooth", "difference"])
def test_maps_of_penalties(kind, name):
    found = penalty() if kind == "difference" else _core.diagonal_penalty(numbers(SIZE))
    apply = getattr(found, name)
    assert apply(numbers(2, SIZE)).shape == (2, SIZE)
    for wrong in (0, SIZE - 1, SIZE + 1):
        refused(apply, numbers(2, wrong), match=f"must be {SIZE}, not {wrong}")


def test_quadratic_of_penalties():
    for first, n in ((-1, 1), (0, 3), (SIZE - 1, 2), (SIZE, 1), (2**31 - 1, 1)):
        refused(penalty().quadratic, first, numbers(n), match="beyond the penalty|too many weights")
    diagonal = _core.diagonal_penalty(numbers(SIZE))
    refused(diagonal.quadratic, 0, numbers(SIZE - 1), match=f"must be {SIZE}, not {SIZE - 1}")


def test_penalties():
    refused(_core.difference_penalty, -1, SIZE, 2, 0, match="order 0 to 10")
    refused(_core.difference_penalty, 11, SIZE, 2, 0, match="order 0 to 10")
    for size, support, held in ((0, 1, 0), (2**30, 1, 0), (SIZE, 0, 0), (SIZE, 2, -1)):
        refused(_core.difference_penalty, 1, size, support, held, match="no such penalty")
    for support, held in ((SIZE + 1, 0), (2, SIZE + 1)):
        refused(_core.difference_penalty, 1, SIZE, support, held, match="of size functions")


def test_matrices_and_samples():
    for shape in ((0, 0), (3, 2)):
        refused(_core.matrix_penalty, np.ones(shape), np.ones(shape), match="square, of one size")
    refused(_core.matrix_penalty, np.eye(3), np.eye(2), match="square, of one size")
    for shape in ((1, 3), (2, 0)):
        refused(_core.sampled, np.ones(shape), match="two places or more")


# -- data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [1, 2, 3])
def test_axes(at):
    arrays = [np.zeros(3), np.ones(3), np.zeros(3), np.ones(3)]
    arrays[at] = arrays[at][:2]
    refused(_core.Axes, *arrays, NO_MEAN, match="must be 3, not 2")
    refused(_core.Axes, *np.ones((4, 3)), numbers(2, 4), match="knots.* must be 3, not 2")
    refused(_core.Axes, np.zeros(1), np.ones(1), np.ones(1), np.zeros(1), NO_MEAN, match="beyond")


def test_knots():
    nan = np.nan
    for wrong in ([0.0, nan, nan], [0.0, nan, 1.0], [1.0, 0.5, 0.0]):
        refused(axes, 1, knots=np.array([wrong]), match="knots")
    refused(axes, 1, knots=np.zeros((1, 1)), match="no knots, or two and more")
    for right in ([nan, nan, nan], [0.0, 1.0, nan], [0.0, 0.5, 1.0]):
        axes(1, knots=np.array([right]))


def test_codes():
    refused(codes, -1, match="negative")
    refused(codes, 1, -1, match="negative")
    refused(codes, 2**40, 2**40, match="2\\^60 codes")
    for n_bins, degree in ((0, 1), (2**30, 0), (70_000, 1), (5, 4), (5, -1)):
        refused(_core.CodeGrid.bins, n_bins, degree, False, match="bins|degree")
    few = _core.CodeGrid.bins(5, 0, False)
    refused(_core.Codes, np.zeros((2, 3), np.uint32), few, 1, match="not as wide")


def test_codes_that_nobody_filled_are_codes():
    """Of new memory, or of memory that somebody has used before."""
    big = np.full(N_ROWS * N_FEATURES * 8, 255, dtype=np.uint8)
    del big
    assert not codes(1000, 30).array.any()
    part = codes()
    part.fill(X, ALL, np.where(ORDER < 6, ORDER, -1), axes(), 1)
    assert not part.array[6:].any()


def test_fill():
    fill = codes().fill
    refused(fill, X, ALL[:2], ORDER, axes(), 1, match="columns.* must be 3, not 2")
    refused(fill, X, ALL, ORDER[:5], axes(), 1, match="places.* must be 12, not 5")
    refused(fill, X, ALL, ORDER, axes(2), 1, match="axes.* must be 3, not 2")
    refused(fill, X, ALL + 1, ORDER, axes(), 1, match="no column 3; there are 3")
    refused(fill, X, ALL - 1, ORDER, axes(), 1, match="no column -1")
    refused(fill, X, ALL, ORDER + 1, axes(), 1, match="no place 12; there are 12")
    refused(fill, X, ALL, ORDER, axes(), 0, match="n_threads")
    mapped = _core.Codes(filled().array, _core.CodeGrid.bins(N_BINS, DEGREE, False), 4)
    refused(mapped.fill, X, ALL, ORDER, axes(), 1, match="in a file")


def test_rows():
    refused(_core.coded_rows, filled(), axes(2), match="axes.* must be 3, not 2")
    refused(_core.value_rows, X, ALL[:2], axes(), ORDER, match="columns.* must be 3, not 2")
    refused(_core.value_rows, X, ALL + 1, axes(), ORDER, match="no column 3")
    for order in (ORDER + 1, ORDER - 1):
        refused(_core.value_rows, X, ALL, axes(), order, match="no row (12|-1); there are 12")
    for rows in (values(), _core.coded_rows(filled(), axes()), sparse()):
        refused(_core.first_rows, rows, -1, match="negative")
        refused(_core.some_rows, rows, np.array([N_ROWS]), match="no row 12; there are 12")
        refused(_core.some_rows, rows, np.array([-1]), match="no row -1")


def test_sparse_rows():
    starts, features, data = csr()
    make, more = _core.sparse_rows, (axes(), ORDER, places(), False)
    refused(make, starts, features[1:], data, *more, match=f"must be {len(data)}, not")
    refused(make, starts[:0], features, data, *more, match="there is none")
    refused(make, starts + 1, features, data, *more, match="entries.* must be 28, not 27")
    refused(make, starts - 1, features, data, *more, match="ascend")
    refused(make, starts[::-1].copy(), features, data, *more, match="ascend")
    refused(make, starts, features + 1, data, *more, match="no feature 3; there are 3")
    refused(make, starts, features - 1, data, *more, match="no feature -1")
    refused(make, starts, features, data, axes(), ORDER + 1, places(), False, match="no row 12")
    refused(
        make, starts, features, data, axes(), ORDER, places(4), False, match="tables.* must be 3"
    )
    mapped, entries = _core.mapped_sparse_rows, np.full(len(data), 2, dtype=np.uint64)
    mapped(starts, entries, 4, places())
    refused(mapped, starts, entries[1:], 4, places(), match="entries.* must be 27, not 26")
    refused(mapped, starts[:0], entries, 4, places(), match="there is none")
    refused(mapped, starts[::-1].copy(), entries, 4, places(), match="ascend")
    for nowhere in (0, 3, 10**6):
        entries[5] = nowhere
        refused(mapped, starts, entries, 4, places(), match="of no feature")
    refused(places, 3, 0, match="a place for something")


def test_sparse_arguments():
    _, features, data = csr()
    refused(_core.sparse_arguments, features[1:], data, axes(), match="must be 27, not 26")
    refused(_core.sparse_arguments, features, data, axes(2), match="no feature 2; there are 2")
    refused(_core.sparse_arguments, features - 1, data, axes(), match="no feature -1")


# -- groups --------------------------------------------------------------------------------------


def test_groups():
    make, three = _core.Group, numbers(3)
    rows = values()
    refused(make, rows, basis(), penalty(), numbers(2), NO_MEAN, NONE, match="must be 3, not 2")
    refused(make, rows, basis(), penalty(SIZE + 1), three, NO_MEAN, NONE, match="must be 6, not 7")
    refused(make, rows, basis(), penalty(support=1), three, NO_MEAN, NONE, match="non-zero at once")
    refused(make, rows, basis(), penalty(), three, numbers(3, SIZE), NONE, match="both a mean")
    for mean, variance in (((2, SIZE), 3), ((3, SIZE - 1), 3), ((3, SIZE), 2)):
        wrong = numbers(*mean), numbers(variance)
        refused(make, rows, basis(), penalty(), three, *wrong, match=r"must be \d+, not \d+")
    refused(make, rows, basis(), penalty(), NONE, NO_MEAN, NONE, match="must have features")
    narrow = make, sparse(), basis(), penalty(), numbers(2), NO_MEAN, NONE
    refused(*narrow, match="features that the group does not have")


def test_codes_of_another_basis():
    """They would be read from behind the tables."""
    grids = [
        _core.CodeGrid.bins(N_BINS + 1, DEGREE, False),
        _core.CodeGrid.bins(N_BINS, 0, False),
        _core.CodeGrid.bins(N_BINS, DEGREE, True),
        _core.CodeGrid.whole_axis(False),
    ]
    for grid in grids:
        rows = _core.coded_rows(_core.Codes(N_ROWS, N_FEATURES, grid), axes())
        refused(group, rows, match="another basis")


# -- passes over rows ----------------------------------------------------------------------------


def test_scores(one):
    assert _core.score_all(one, numbers(LENGTH), 1).shape == (N_ROWS,)
    for wrong in (0, LENGTH - 1, LENGTH + 1):
        refused(_core.score_all, one, numbers(wrong), 1, match=f"must be {LENGTH}, not {wrong}")
        refused(_core.score_many, one, numbers(2, wrong), 1, match=f"must be {2 * LENGTH}, not")


SUMS = {
    "sum": (_core.sum_all, _core.sum_many),
    "blocks": (_core.blocks_all, _core.blocks_many),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums(one, name):
    of_one, of_many = SUMS[name]
    assert len(of_many(one, numbers(2, N_ROWS), 1)) == 2 * len(of_one(one, numbers(N_ROWS), 1))
    for wrong in (0, N_ROWS - 1, N_ROWS + 1):
        refused(of_one, one, numbers(wrong), 1, match=f"must be {N_ROWS}, not {wrong}")
        refused(of_many, one, numbers(2, wrong), 1, match=f"must be {2 * N_ROWS}, not")


def test_hessian(one):
    places, h = np.arange(LENGTH), numbers(N_ROWS)
    run = _core.hessian_some
    assert run(one, places, LENGTH + 1, h, 1.0, 1).shape == ((LENGTH + 1) ** 2,)
    refused(run, one, places[1:], LENGTH + 1, h, 1.0, 1, match=f"must be {LENGTH}, not")
    for wrong in (0, 1, LENGTH, LENGTH + 2, 2**32):
        refused(run, one, places, wrong, h, 1.0, 1, match=f"must be {LENGTH + 1}, not {wrong}")
    refused(run, one, places + 1, LENGTH + 1, h, 1.0, 1, match=f"no place {LENGTH}")
    refused(run, one, places[::-1].copy(), LENGTH + 1, h, 1.0, 1, match="ascend")
    refused(run, one, places, LENGTH + 1, numbers(N_ROWS + 1), 1.0, 1, match="more h than rows")


def test_thinned_hessian(one):
    run, h, whole = _core.hessian_thinned, numbers(N_ROWS), np.ones(1, dtype=np.int64)
    every = np.arange(LENGTH)
    expected = _core.hessian_some(one, every, LENGTH + 1, h, 1.0, 1)
    np.testing.assert_array_equal(run(one, whole, every, LENGTH + 1, h, 1.0, 1), expected)
    refused(run, one, whole, every[1:], LENGTH + 1, h, 1.0, 1, match=f"must be {LENGTH}, not")
    refused(run, one, whole[1:], every, LENGTH + 1, h, 1.0, 1, match="one per group")
    for wrong in (0, -1):
        refused(run, one, wrong * whole, every, LENGTH + 1, h, 1.0, 1, match="can be thinned")
    for factor in (2, 2**62):
        match = "one per coefficient|not sparse"
        refused(run, one, factor * whole, every, LENGTH + 1, h, 1.0, 1, match=match)


def test_groups_of_different_rows():
    pair = [group(), group(values(5))]
    refused(_core.sum_all, pair, numbers(N_ROWS), 1, match="same in all groups, must be 12, not 5")
    refused(_core.sum_all, [], numbers(N_ROWS), 1, match="a group of features")


@pytest.mark.parametrize("n_threads", [0, -1, -(2**40)])
def test_no_threads(n_threads):
    tables, r = numbers(1, LENGTH), numbers(1, N_ROWS)
    refused(_core.score_all, [group()], tables[0], n_threads, match="n_threads")
    refused(_core.score_many, [group()], tables, n_threads, match="n_threads")
    for of_one, of_many in SUMS.values():
        refused(of_one, [group()], r[0], n_threads, match="n_threads")
        refused(of_many, [group()], r, n_threads, match="n_threads")
    hessian = np.arange(LENGTH), LENGTH + 1, r[0], 1.0, n_threads
    refused(_core.hessian_some, [group()], *hessian, match="n_threads")
    refused(_core.min_kernel, X, None, numbers(N_ROWS, N_ROWS), n_threads, match="n_threads")
    refused(_core.decision, curves(), X, ALL, n_threads, match="n_threads")
    out = numbers(N_ROWS, 2)
    refused(_core.add_decision, curves(), X, ALL, NONE, out, n_threads, match="n_threads")
    refused(_core.are_finite, out, n_threads, match="n_threads")
    at_zero = np.empty((0, 0))
    refused(_core.decision_sparse, curves(), *csr(), at_zero, n_threads, match="n_threads")
    refused(options, n_threads, match="n_threads")


def test_any_number_of_threads():
    few, many = (_core.sum_all([group()], numbers(N_ROWS), n) for n in (1, 2**40))
    np.testing.assert_array_equal(few, many)


# -- scores of values ----------------------------------------------------------------------------


def curves(coef=None, intercepts=None, ax=None):
    coef = numbers(2, N_FEATURES, SIZE + 1) if coef is None else coef
    return _core.Curves(
        basis(), ax or axes(), coef, numbers(2) if intercepts is None else intercepts
    )


def test_curves():
    for shape in ((1, 3, 7), (2, 2, 7), (2, 3, 6)):
        expected, found = next((a, b) for a, b in zip((2, 3, 7), shape, strict=True) if a != b)
        refused(curves, numbers(*shape), match=f"must be {expected}, not {found}")
    refused(curves, intercepts=numbers(3), match="must be 3, not 2")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_decision(dtype):
    rows = X.astype(dtype)
    assert _core.decision(curves(), rows, ALL, 1).shape == (N_ROWS, 2)
    refused(_core.decision, curves(), rows, ALL[:2], 1, match="columns.* must be 3, not 2")
    refused(_core.decision, curves(), rows, ALL + 1, 1, match="no column 3; there are 3")
    refused(_core.decision, curves(), rows[:, :2], ALL, 1, match="no column 2; there are 2")
    refused(_core.decision, curves(), rows, ALL - 1, 1, match="no column -1")
    none = curves(numbers(0, 3, SIZE + 1), NONE)
    refused(_core.decision, none, rows, ALL, 1, match="an output")
    long = curves(ax=axes(last=N_BINS + 1.0))
    refused(_core.decision, long, rows, ALL, 1, match="beyond its basis")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_add_decision(dtype):
    rows, run, out = X.astype(dtype), _core.add_decision, np.ones((N_ROWS, 2))
    start, scores = numbers(2), _core.decision(curves(), rows, ALL, 1)
    run(curves(), rows, ALL, start, out, 1)
    np.testing.assert_array_equal(out, start + scores)
    run(curves(), rows, ALL, NONE, out, 2)
    np.testing.assert_array_equal(out, start + scores + scores)
    refused(run, curves(), rows, ALL[:2], start, out, 1, match="columns.* must be 3, not 2")
    refused(run, curves(), rows, ALL + 1, start, out, 1, match="no column 3; there are 3")
    refused(run, curves(), rows, ALL, numbers(3), out, 1, match="must be 2, not 3")
    refused(run, curves(), rows, ALL, start, numbers(5, 2), 1, match="must be 12, not 5")
    refused(run, curves(), rows, ALL, start, numbers(N_ROWS, 3), 1, match="must be 2, not 3")


def test_are_finite():
    assert _core.are_finite(numbers(N_ROWS, 2), 1)
    assert not _core.are_finite(np.full((1, 1), np.inf), 1)


def test_decision_with_more_knots_than_functions():
    """Twice as many cells as the tables have entries, on an axis that ends where the basis does."""
    knots = np.tile(np.linspace(0, 1, 65), (N_FEATURES, 1))
    warped = curves(numbers(2, N_FEATURES, SIZE + 1), ax=axes(knots=knots))
    single = _core.decision(warped, X.astype(np.float32), ALL, 1)
    np.testing.assert_allclose(single, _core.decision(warped, X, ALL, 1), rtol=1e-6)


def test_decision_sparse():
    starts, features, data = csr()
    at_zero, run = np.empty((0, 0)), _core.decision_sparse
    assert run(curves(), starts, features, data, at_zero, 1).shape == (N_ROWS, 2)
    refused(run, curves(), starts, features[1:], data, at_zero, 1, match="must be 27, not 26")
    refused(run, curves(), starts[:0], features, data, at_zero, 1, match="there is none")
    refused(run, curves(), starts + 1, features, data, at_zero, 1, match="must be 28, not 27")
    refused(run, curves(), starts, features + 1, data, at_zero, 1, match="no feature 3")
    for shape, expected in (((1, 3), 2), ((2, 2), 6), ((3, 2), 2)):
        wrong = numbers(*shape)
        refused(run, curves(), starts, features, data, wrong, 1, match=f"must be {expected}, not")


def test_min_kernel():
    run = _core.min_kernel
    refused(run, X, X[:, :2].copy(), numbers(N_ROWS, N_ROWS), 1, match="must be 3, not 2")
    refused(run, X, X[:5], numbers(N_ROWS, N_ROWS), 1, match="must be 5, not 12")
    refused(run, X, None, numbers(5, N_ROWS), 1, match="must be 12, not 5")
    refused(run, X, None, numbers(N_ROWS, 5), 1, match="must be 12, not 5")


# -- surfaces ------------------------------------------------------------------------------------

POSITIONS = np.linspace(0, 3, 2 * N_ROWS, dtype=np.float32).reshape(2, N_ROWS)
NODES = np.array([[0, 1, 4, 4], [1, 0, 5, 4]], dtype=np.int64)
N_NODES = 16 + 20


in_both_precisions = pytest.mark.parametrize(
    ("make", "dtype"), [(_core.Surfaces, np.float32), (_core.ExactSurfaces, np.float64)]
)


@in_both_precisions
def test_surfaces(make, dtype):
    positions = POSITIONS.astype(dtype)
    assert make(positions, NODES).score(numbers(2, N_NODES), 1).shape == (2, N_ROWS)
    refused(make, positions, NODES[:, :3].copy(), match="columns of surfaces must be 4, not 3")
    for at, wrong, what in (
        (0, 2, "no feature 2; there are 2"),
        (1, -1, "no feature -1"),
        (2, 2, "behind the last node"),
        (3, 1, "at least two nodes"),
        (3, 2**21, "at most 1,048,576 nodes"),
    ):
        changed = NODES.copy()
        changed[0, at] = wrong
        refused(make, positions, changed, match=what)
    for wrong in (np.nan, np.inf, 3.5):
        beyond = positions.copy()
        beyond[0, 3] = wrong
        refused(make, beyond, NODES, match="behind the last node")
    with pytest.raises(TypeError):
        make(POSITIONS.astype(np.float16), NODES)


@in_both_precisions
@pytest.mark.parametrize("name", ["sum", "blocks"])
def test_sums_of_surfaces(name, make, dtype):
    found = getattr(make(POSITIONS.astype(dtype), NODES), name)
    n = N_NODES if name == "sum" else 5 * N_NODES
    assert found(numbers(2, N_ROWS), 1).shape == (2, n)
    for wrong in (0, N_ROWS - 1, N_ROWS + 1):
        refused(found, numbers(2, wrong), 1, match=f"must be {2 * N_ROWS}, not {2 * wrong}")
    refused(found, numbers(2, N_ROWS), 0, match="n_threads")


@in_both_precisions
def test_scores_of_surfaces(make, dtype):
    score = make(POSITIONS.astype(dtype), NODES).score
    for wrong in (0, N_NODES - 1, N_NODES + 1):
        refused(score, numbers(2, wrong), 1, match=f"must be {2 * N_NODES}, not {2 * wrong}")
    refused(score, numbers(2, N_NODES), 0, match="n_threads")
    assert score(numbers(0, N_NODES), 1).shape[0] == 0


def test_pair_evidence():
    run, cells = _core.pair_evidence, np.zeros((3, N_ROWS), dtype=np.uint8)
    g, pairs = numbers(N_ROWS), np.array([[0, 1], [2, 0]])
    assert run(cells, g, g, pairs, 1).shape == (2,)
    refused(run, cells, g[1:], g, pairs, 1, match="must be 11, not 12")
    refused(run, cells, g, g[1:], pairs, 1, match="must be 12, not 11")
    refused(run, cells[:, 1:].copy(), g, g, pairs, 1, match="cells must be 36, not 33")
    refused(run, cells, g, g, pairs[:, :1].copy(), 1, match="columns of pairs must be 2, not 1")
    refused(run, cells, g, g, pairs + 1, 1, match="no feature 3; there are 3")
    refused(run, cells, g, g, pairs - 1, 1, match="no feature -1")
    refused(run, cells + np.uint8(16), g, g, pairs, 1, match="16 cells")
    refused(run, cells, g, g, pairs, 0, match="n_threads")


def test_band_inverse():
    run = _core.band_inverse
    assert run(numbers(3, 7)).shape == (3, 7)
    assert run(numbers(0, 7)).shape == (0, 7)
    assert run(numbers(3, 0)).shape == (3, 0)
    for wrong in (0.0, -1.0, np.nan):
        factor = numbers(3, 7)
        factor[0, 4] = wrong
        refused(run, factor, match="pivots must be above 0")


# -- training ------------------------------------------------------------------------------------

COSTS = {"cost_negative": 1.0, "cost_positive": 1.0, "bias": 1.0}
Y = np.where(X[:, 0] > 0.5, 1, -1).astype(np.int8)


def options(n_threads=1):
    return _core.DualOptions(tol=0.1, max_iter=5, seed=0, n_threads=n_threads, keep_alpha=False)


class Watch:
    def poll(self):
        return False

    def on_pass(self, *_):
        return False


def train(one, y=Y, alpha=None, coef=None):
    problem = _core.DualProblem(y, None, None, **COSTS)
    start = _core.DualStart(alpha, coef, 0.0)
    return _core.train(one, _core.hinge(), problem, options(), start, [1.0], Watch())


def test_train(one):
    ((found,), error) = train(one)
    assert found.coef.shape == (LENGTH,)
    assert error is None
    for wrong in (0, N_ROWS - 1):
        refused(train, one, Y[:wrong], match=f"y, .*must be 12, not {wrong}")
        refused(train, one, alpha=numbers(wrong), match=f"alpha, .*must be 12, not {wrong}")
    for wrong in (0, LENGTH + 1):
        refused(train, one, coef=numbers(wrong), match=f"coef, .*must be {LENGTH}, not {wrong}")


@pytest.mark.parametrize("wrong", [0, N_ROWS - 1, N_ROWS + 1])
def test_problems(wrong):
    """An empty array is not taken for none."""
    for name in ("targets", "weights"):
        arrays = {"targets": None, "weights": None, name: numbers(wrong)}
        refused(_core.DualProblem, Y, **arrays, **COSTS, match=f"{name}, .*12, not {wrong}")


def test_blocks_and_the_intercept():
    n, size = 2, 4
    bands, used, u = numbers(n, size, 2), np.ones((n, size), dtype=bool), numbers(n, size)
    bands[..., 0] = 3.0
    made = arrow_group(bands, used, NO_MEAN, u, 9.0, 1)
    assert isinstance(made, _core.ArrowGroup)
    assert made.is_definite
    assert not arrow_group(-bands, used, NO_MEAN, u, 9.0, 1).is_definite
    refused(arrow_group, bands, used[:1].copy(), NO_MEAN, u, 9.0, 1, match="used, .*8, not 4")
    refused(arrow_group, bands, used, NO_MEAN, u[:1].copy(), 9.0, 1, match="ties, .*8, not 4")
    refused(arrow_group, bands, used, numbers(n, size), u, 9.0, 1, match="mean, .*6, not 8")
    refused(arrow_group, bands[:, :0].copy(), used, NO_MEAN, u, 9.0, 1, match="bands must be")
    refused(arrow_group, bands, used, NO_MEAN, u, 9.0, 0, match="n_threads")
    lines = (u[1:].copy(), u, numbers(n)), (u, u[1:].copy(), numbers(n)), (u, u, numbers(1))
    for wrong in lines:
        refused(arrow_group, bands, used, NO_MEAN, u, 9.0, 1, wrong, match="lines.* must be")
    assert _core.solve_arrow([made], 9.0, numbers(3, 9), 1).shape == (3, 9)
    refused(_core.solve_arrow, [made], 9.0, numbers(3, 8), 1, match="all parameters")
    refused(_core.solve_arrow, [made], 9.0, numbers(3, 9), 0, match="n_threads")
    unfit = arrow_group(-bands, used, NO_MEAN, u, 9.0, 1)
    refused(_core.solve_arrow, [unfit], 9.0, numbers(3, 9), 1, match="not positive definite")


def test_variances_of_the_parts_of_curves():
    n, size = 2, 4
    bands, rows, used = numbers(n, size, 3), numbers(n, size, 2), np.ones((n, size), dtype=bool)
    bands[..., 0] = 3.0
    line, precision, bends, u = numbers(n, size), numbers(n), numbers(n, size, 2), 0.1 * used
    sound = bands, rows, used, line, precision, bends, u
    steps, of_bends, seen, slope, left = _core.part_variances(*sound, 1)
    assert steps.shape == of_bends.shape == (n, size)
    assert seen.shape == slope.shape == left.shape == (n,)
    assert _core.part_variances(-bands, *sound[1:], 1) is None
    wrong = {
        "size of line": (3, line[:1].copy()),
        "the size of used": (4, numbers(3)),
        "curves of bends": (5, numbers(1, 2 * size, 2)),
        "of all coefficients": (5, numbers(n, size - 2, 2)),
        "size of u": (6, u[:1].copy()),
        "size of the bands": (0, bands[:, 1:].copy()),
        "size of the rows": (1, rows[:1].copy()),
        "three bands": (0, bands[..., :2].copy()),
    }
    for match, (place, array) in wrong.items():
        arrays = [*sound[:place], array, *sound[place + 1 :]]
        refused(_core.part_variances, *arrays, 1, match=match)
    refused(_core.part_variances, *sound, 0, match="n_threads")


def test_bands():
    n, size = 2, 4
    bands, used = numbers(n, size, 2), np.ones((n, size), dtype=bool)
    levels, short, none = numbers(n, size), bands[:1].copy(), bands[..., :0].copy()
    add = _core.penalized_bands
    assert add(bands, bands, used, NO_MEAN, 0.0, 2, 1).shape == (n, size, 2)
    refused(add, short, bands, used, levels, 1.0, 2, 1, match="blocks, .*16, not 8")
    refused(add, bands, short, used, levels, 1.0, 2, 1, match="penalty, .*16, not 8")
    refused(add, bands, bands, used, levels[:1].copy(), 1.0, 2, 1, match="weights must be 8, not 4")
    refused(add, bands, bands, used, levels, 1.0, 1, 1, match="n x size x n_bands")
    refused(add, bands, bands, used, levels, 1.0, 2, 0, match="n_threads")
    assert _core.band_sums(bands, 1).shape == (n, size)
    refused(_core.band_sums, none, 1, match="n x size x n_bands")
    refused(_core.band_sums, bands, 0, match="n_threads")
    u = numbers(n, size)
    assert _core.step_variances(-bands, u, 1) is None
    refused(_core.step_variances, numbers(n, size, 3), u, 1, match="tridiagonal")
    refused(_core.step_variances, bands, u[:1].copy(), 1, match="size of the bands must be 8")
    refused(_core.step_variances, bands, u, 0, match="n_threads")


def group_penalty(n=N_FEATURES, missing=NONE):
    used = np.ones((n, SIZE + (missing.size > 0)), dtype=bool)
    return _core.GroupPenalty(
        penalty(), used, numbers(n, SIZE), numbers(n), missing, *NO_PARTS, True
    )


def test_what_penalties_take():
    rows = numbers(N_FEATURES, SIZE)
    refused(penalty().distance, rows, rows[1:].copy(), rows, match="number of rows")
    refused(penalty().distance, rows, rows, rows[:, 1:].copy(), match="length of rows")
    made, flat = group_penalty(), numbers(LENGTH)
    one = flat[None, :]
    refused(made.prior_variances, numbers(1, N_FEATURES * SIZE, 2), match="curves of bends")
    refused(made.prior_variances, numbers(N_FEATURES, SIZE, 2), match="must be parts")
    for call in (made.add_pull, made.soften):
        call(one, one.copy(), 1)
        refused(call, one[:, 1:], one, 1, match=f"parameters must be {LENGTH}, not 17")
        refused(call, one, one[:, 1:], 1, match="parameters to write to must be")
        refused(call, one, np.vstack([one, one]), 1, match="number of rows to write to")
        refused(
            call,
            np.asfortranarray(np.vstack([one, one])),
            np.vstack([one, one]),
            1,
            match="neighbors",
        )
        refused(call, one, one, 0, match="n_threads")
    assert made.softness(flat, 1) > 0.0
    assert made.level_weights.shape == (N_FEATURES, SIZE)
    refused(made.softness, flat[1:], 1, match=f"gradient must be {LENGTH}, not 17")
    refused(made.softness, flat, 0, match="n_threads")
    assert made.take_levels(flat.copy()) != 0.0
    refused(made.take_levels, flat[1:], match=f"parameters must be {LENGTH}, not 17")


def test_penalties_of_groups():
    used = np.ones((N_FEATURES, SIZE), dtype=bool)

    def make(penalty, used, weights, variance, missing, has_levels, parts=NO_PARTS):
        return _core.GroupPenalty(penalty, used, weights, variance, missing, *parts, has_levels)

    variance, short = numbers(N_FEATURES), numbers(N_FEATURES - 1)
    given = (numbers(N_FEATURES, SIZE), variance)
    refused(make, penalty(), used[1:].copy(), *given, NONE, False, match="used, .*18, not 12")
    refused(
        make, penalty(), used, given[0][1:].copy(), variance, NONE, False, match="weights, .*18"
    )
    refused(make, penalty(), used, given[0], short, NONE, False, match="used, .*12, not 18")
    refused(make, penalty(), used, *given, variance, False, match="used, .*21, not 18")
    wide = np.ones((N_FEATURES, SIZE + 1), dtype=bool)
    refused(make, penalty(), wide, *given, short, False, match="missing_variance, .*3, not 2")
    refused(make, penalty(), used[:0], given[0][:0], NONE, NONE, False, match="must have features")
    parts = numbers(N_FEATURES, SIZE, 2), variance, numbers(N_FEATURES, SIZE), variance
    for k, (other, match) in enumerate(
        [
            (numbers(N_FEATURES, SIZE - 1, 2), "bends must be 36, not 30"),
            (short, "bend_variance, .*3, not 2"),
            (numbers(N_FEATURES, SIZE - 1), "line, .*18, not 15"),
            (short, "line_variance, .*3, not 2"),
        ]
    ):
        wrong = [other if k == i else part for i, part in enumerate(parts)]
        refused(make, penalty(), used, *given, NONE, True, wrong, match=match)


def test_steps(one):
    used, bands = np.ones((N_FEATURES, SIZE), dtype=bool), numbers(N_FEATURES, SIZE, 2)
    bands[..., 0] = 3.0
    arrow = arrow_group(bands, used, NO_MEAN, numbers(N_FEATURES, SIZE), 9.0, 1)
    limits = _core.StepLimits(
        radius=1.0,
        accuracy=0.1,
        gap=0.0,
        max_products=5,
        keeps_scores=True,
        is_quadratic=False,
        farthest=1.0,
    )
    h, gradient = numbers(N_ROWS), numbers(LENGTH + 1)

    own = group_penalty()

    def step(h=h, penalties=(own,), blocks=(arrow,), gradient=gradient, n_threads=1):
        rest = (list(blocks), 9.0, None, gradient, limits, Watch(), n_threads)
        return _core.least_step(one, h, list(penalties), *rest)

    found, error = step()
    assert isinstance(found, _core.FoundStep)
    assert error is None
    assert (found.to.shape, found.scores.shape) == ((1, LENGTH + 1), (1, N_ROWS))
    refused(step, h=h[1:], match="weights, .*12, not 11")
    refused(step, penalties=(), match="penalties, .*1, not 0")
    refused(step, penalties=(group_penalty(2),), match="penalty must be 18, not 12")
    refused(step, blocks=(), match="blocks, .*1, not 0")
    few = arrow_group(bands[1:].copy(), used[1:].copy(), NO_MEAN, numbers(2, SIZE), 9.0, 1)
    refused(step, blocks=(few,), match="blocks must be 18, not 12")
    wide = bands.reshape(2, 9, 2)
    other = arrow_group(wide, np.ones((2, 9), dtype=bool), NO_MEAN, numbers(2, 9), 9.0, 1)
    refused(step, blocks=(other,), match="length of blocks must be 6, not 9")
    unfit = arrow_group(-bands, used, NO_MEAN, numbers(N_FEATURES, SIZE), 9.0, 1)
    refused(step, blocks=(unfit,), match="not positive definite")
    refused(step, gradient=gradient[1:], match="gradient, .*19, not 18")
    refused(step, n_threads=0, match="n_threads")


def test_products_with_a_hessian(one):
    scores, level, sums = _core.curved_sums(one, numbers(LENGTH), numbers(N_ROWS), 1)
    assert (scores.shape, sums.shape) == ((N_ROWS,), (LENGTH,))
    assert abs(level + (scores - level).mean()) < 1e-6
    refused(_core.curved_sums, one, numbers(LENGTH), numbers(N_ROWS - 1), 1, match="12, not 11")
    refused(_core.curved_sums, one, numbers(LENGTH - 1), numbers(N_ROWS), 1, match="must be 18")
    refused(_core.curved_sums, one, numbers(LENGTH), numbers(N_ROWS), 0, match="n_threads")


def test_norms_that_problems_share(one):
    norms = _core.squared_norms(one, 1)
    assert norms.shape == (N_ROWS,)
    refused(_core.squared_norms, one, 0, match="n_threads")
    start, problem = _core.DualStart(None, None, 0.0), _core.DualProblem
    posed = problem(Y, None, None, **COSTS, squared_norm=norms[1:].copy())
    given = (options(), start, [1.0], Watch())
    refused(_core.train, one, _core.hinge(), posed, *given, match="squared norms, .*12, not 11")
    whole = problem(Y, None, None, **COSTS, squared_norm=norms)
    [[found], _] = _core.train(one, _core.hinge(), whole, *given)
    np.testing.assert_array_equal(found.coef, train(one)[0][0].coef)


@pytest.mark.parametrize("n_scores", [0, N_ROWS - 1, N_ROWS + 1])
def test_sums_of_losses(n_scores):
    problem = _core.DualProblem(Y, targets=None, weights=None, **COSTS)
    given = (_core.logistic(), problem, numbers(n_scores))
    match = f"scores, .* must be {N_ROWS}, not {n_scores}"
    refused(_core.loss_value, *given, 1, match=match)
    refused(_core.loss_sums, *given, 1, match=match)
    refused(_core.loss_each, *given, 1, match=match)
    search = {"last": 0.0, "farthest": 1.0, "max_steps": 9, "n_threads": 1}
    refused(_core.loss_shift, *given, **search, match=match)
    refused(_core.cautious_bends, *given, 1.0, 1, match=match)
    wrong, right = numbers(n_scores), numbers(N_ROWS)
    refused(_core.missing_bends, *given, right, right, 1.0, 1, match=match)
    posed = (_core.logistic(), problem, right)
    refused(_core.missing_bends, *posed, wrong, right, 1.0, 1, match="moves, .* must be 12")
    refused(_core.missing_bends, *posed, right, wrong, 1.0, 1, match="bends, .* must be 12")
    refused(_core.moved_scores, right[None], wrong[None], 1.0, 1, match="moves, .* must be 12")
    refused(_core.add_scaled, right[None], 1.0, wrong[None], match="added must be 12")


def test_levels_and_totals_of_scores():
    random = np.random.default_rng(0)
    scores, levels = random.normal(size=(2, 5_000)), random.normal(size=2)
    raised = [scores.copy() for _ in THREADS]
    for n_threads, own in zip(THREADS, raised, strict=True):
        _core.add_levels(own, levels, n_threads)
        np.testing.assert_array_equal(own, scores + levels[:, None])
    totals = [_core.row_sums(scores, n_threads) for n_threads in THREADS]
    np.testing.assert_allclose(totals[0], scores.sum(axis=1), rtol=1e-12)
    for found in totals:
        np.testing.assert_array_equal(found, totals[0])
    assert _core.row_sums(np.empty((2, 0)), 1).tolist() == [0.0, 0.0]
    refused(_core.add_levels, scores, numbers(3), 1, match="must be 2, not 3")
    refused(_core.add_levels, scores, levels, 0, match="n_threads")
    refused(_core.row_sums, scores, 0, match="n_threads")


def test_numbers_of_rows_in_another_order():
    random = np.random.default_rng(0)
    numbers_of_all, places = random.normal(size=(2, 20_000)), random.permutation(20_000)[:15_000]
    for n_threads in THREADS:
        taken = _core.take_rows(numbers_of_all, places, n_threads)
        np.testing.assert_array_equal(taken, numbers_of_all[:, places])
        back = np.zeros_like(numbers_of_all)
        _core.put_rows(back, places, taken, n_threads)
        np.testing.assert_array_equal(back[:, places], taken)
        assert np.count_nonzero(back) == np.count_nonzero(taken)
    for wrong in (-1, 20_000):
        off = np.full(15_000, wrong)
        refused(_core.take_rows, numbers_of_all, off, 1, match="not among the rows")
        refused(_core.put_rows, back, off, taken, 1, match="not among the rows")
    refused(_core.put_rows, back[:1].copy(), places, taken, 1, match="per output, must be 1, not 2")
    refused(_core.put_rows, back, places[1:], taken, 1, match="per place, must be 14999")
    refused(_core.take_rows, numbers_of_all, places, 0, match="n_threads")
    refused(_core.put_rows, back, places, taken, 0, match="n_threads")


def test_looking_at_columns_and_rows():
    refused(_core.column_ranges, X, 0, match="n_threads")
    refused(_core.sample_rows, numbers(N_ROWS), 5.0, 0.05, 0, match="n_threads")
    assert [len(found) for found in _core.sample_rows(NONE, 5.0, 0.05, 1)] == [0, 0]
    assert [len(found) for found in _core.column_ranges(X[:, :0], 1)] == [0, 0, 0]


def test_knots_of_tails():
    values, ends, rule = numbers(3, 5), numbers(3), (0.01, 0.99, 0.1)
    refused(_core.tail_knots, values, ends[:2], ends, 4, *rule, 1, match="lo, .* must be 3, not 2")
    refused(_core.tail_knots, values, ends, ends[:2], 4, *rule, 1, match="hi, .* must be 3, not 2")
    refused(_core.tail_knots, values, ends, ends, 0, *rule, 1, match="bins")
    refused(_core.tail_knots, values, ends, ends, 4, *rule, 0, match="n_threads")
    assert np.isnan(_core.tail_knots(values[:, :0].copy(), ends, ends, 4, *rule, 1)).all()


def test_suspect_columns():
    some, ends, rule = np.array([0, 1]), numbers(2), (0.05, 0.95, 0.2)
    find = _core.suspect_columns
    refused(find, X, np.array([N_ROWS]), some, ends, ends, *rule, 2, 1, match="no row")
    refused(find, X, some, np.array([-1, 0]), ends, ends, *rule, 2, 1, match="no column")
    refused(find, X, some, some, ends[:1], ends, *rule, 2, 1, match="lo, .* must be 2, not 1")
    refused(find, X, some, some, ends, ends[:1], *rule, 2, 1, match="hi, .* must be 2, not 1")
    refused(find, X, some, some, ends, ends, *rule, -1, 1, match="few")
    refused(find, X, some, some, ends, ends, *rule, 2, 0, match="n_threads")
    many = np.zeros(65_536, dtype=np.int64)
    refused(find, X, many, some, ends, ends, *rule, 2, 1, match="fewer than 65,536 rows")
    assert find(X, some[:0], some, ends, ends, *rule, 2, 1).tolist() == [0, 1]


def test_columns_in_order_and_their_knots():
    some, ends = np.array([0, 1]), numbers(3)
    refused(_core.sorted_columns, X, np.array([N_ROWS]), some, 1, match="no row")
    refused(_core.sorted_columns, X, np.array([-1]), some, 1, match="no row")
    refused(_core.sorted_columns, X, some, np.array([X.shape[1]]), 1, match="no column")
    refused(_core.sorted_columns, X, some, some, 0, match="n_threads")
    assert _core.sorted_columns(X, some[:0], some, 1).shape == (2, 0)
    values = numbers(3, 5)
    refused(_core.spread_knots, values, ends[:2], ends, 8, 1, match="lo, .* must be 3, not 2")
    refused(_core.spread_knots, values, ends, ends[:2], 8, 1, match="hi, .* must be 3, not 2")
    refused(_core.spread_knots, values, ends, ends, 0, 1, match="bins")
    refused(_core.spread_knots, values, ends, ends, 8, 0, match="n_threads")
    assert np.isnan(_core.spread_knots(values[:, :0].copy(), ends, ends, 8, 1)).all()


@pytest.mark.parametrize("n_scores", [0, N_ROWS - 1, N_ROWS + 1])
def test_sums_of_smoothed_losses(n_scores):
    problem = _core.DualProblem(Y, targets=None, weights=None, **COSTS)
    match = f"scores, .* must be {N_ROWS}, not {n_scores}"
    ramp, wrong, right = _core.Ramp(1.0, 0.5, 0.5), numbers(n_scores), numbers(N_ROWS)
    given = (_core.hinge(), problem)
    refused(_core.ramp_measures, *given, ramp, wrong, 1, match=match)
    refused(_core.ramp_bends, *given, ramp, wrong, 1, match=match)
    refused(_core.ramp_along, *given, ramp, wrong, wrong, right, 1, match=match)
    refused(_core.ramp_along, *given, ramp, right, wrong, right, 1, match="moves, .* must be")
    refused(_core.ramp_gaps, *given, wrong, wrong, 1, match=match)
    refused(_core.ramp_gaps, *given, right, wrong, 1, match="slopes, .* must be")
    refused(_core.loss_gap, _core.logistic(), problem, right, wrong, 1, match="slopes, .* must be")
    refused(_core.ramp_bends, _core.logistic(), problem, ramp, right, 1, match="no ramp")
    refused(_core.nonzero_rows, right, 0, match="n_threads")
    assert [len(found) for found in _core.nonzero_rows(NONE, 1)] == [0, 0]


def test_the_upper_half_is_that_of_a_square():
    assert _core.upper_half(np.eye(3), 2).tolist() == [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    assert len(_core.upper_half(np.empty((0, 0)), 1)) == 0
    for shape in ((3, 2), (2, 3), (2, 0)):
        refused(_core.upper_half, np.ones(shape), 1, match="the size of the matrix")
    refused(_core.upper_half, np.eye(3), 0, match="n_threads")


def test_every_binding_is_here():
    """What is new in the core gets a test of the sizes that it takes."""
    text = Path(__file__).read_text(encoding="utf-8")
    names = {name for name in vars(_core) if not name.startswith("_")}
    assert names >= {"score_all", "train", "Codes"}
    missing = {name for name in names if not re.search(rf"_core\.{name}\b", text)}
    takes_no_array = {"Basis", "DualResult", "Loss", "Penalty", "Rows", "instruction_sets"} | {
        "is_smooth",
        "epsilon_insensitive",
        "logistic",
        "squared_error",
        "squared_hinge",
    }
    assert missing <= takes_no_array
