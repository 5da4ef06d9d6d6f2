"""Knots are placed where the values are, or where the user says."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    FourierEmbedding,
    HermiteEmbedding,
    PathSearchCV,
    SplineEmbedding,
    _core,
)
from splinear.inspection import contributions, knots, shape_function
from splinear.tables.opening import open_table
from splinear.terms import Fourier, Hermite, Spline
from splinear.terms.knot_plan import KnotPlan
from splinear.terms.knots import (
    Sample,
    all_spread_knots,
    filled,
    has_long_tail,
    quantile_knots,
    spread_knots,
    suspects,
    tail_knots,
    with_ends,
)

GIVEN = [-1.0, -0.25, 0.5, 2.0]


def placed(column, n_bins):
    X = np.asarray(column, dtype=float)[:, None]
    plan = KnotPlan(["quantile"], np.array([n_bins]))
    (row,) = plan.place(open_table(X), X.min(axis=0), X.max(axis=0))
    return row[~np.isnan(row)]


@pytest.fixture(scope="module")
def rows():
    """Three columns and two classes, for which each column has a curve of its own."""
    random = np.random.default_rng(3)
    X = np.column_stack([random.normal(size=600), random.uniform(0, 9, 600), random.random(600)])
    signal = np.sin(2 * X[:, 0]) + np.abs(X[:, 1] - 4) / 2 + X[:, 2] ** 2
    return X, (signal + random.normal(size=600) > 1.7).astype(int)


@pytest.mark.parametrize("values", [[0, 1], [3, 7, 8, 20], [-1.5, 0, 0.25, 100, 1e6]])
def test_few_values_have_a_knot_each(values):
    column = np.random.default_rng(0).choice(values, 500)
    assert_array_equal(placed(column, 10), values)


def test_many_values_have_knots_where_rows_are():
    column = np.random.default_rng(0).normal(size=20_000)
    found = placed(column, 20)
    assert len(found) == 21
    assert (found[0], found[-1]) == (column.min(), column.max())
    assert_array_equal(found[1:-1], np.sort(found[1:-1]))
    assert np.isin(found, column).all()
    # All values differ, so both kinds of quantiles are shares of the rows.
    below = [np.mean(column < knot) for knot in found]
    assert np.diff(below).max() < 0.11


def test_a_long_tail_has_knots_too():
    """Quantiles of the rows alone would all be zero."""
    random = np.random.default_rng(0)
    column = np.where(random.random(10_000) < 0.95, 0.0, random.exponential(1e4, 10_000))
    found = placed(column, 16)
    assert np.count_nonzero(found > 0) >= 7


def test_rows_that_do_not_count_are_not_seen():
    x, y = np.array([[0.0], [1.0], [2.0], [50.0]]), np.array([0, 1, 1, 0])
    model = AdditiveSVC(Spline(5, knots="quantile"), C=1.0)
    model.fit(x, y, sample_weight=np.array([1, 1, 1, 0]))
    assert_array_equal(knots(model, 0), [0, 1, 2])


def test_many_rows_are_sampled_but_the_ends_are_exact():
    column = np.arange(200_000.0)
    column[77] = 1e9
    found = placed(column, 8)
    assert found[-1] == 1e9
    assert found[0] == 0
    assert len(found) == 9
    assert_array_equal(found, placed(column, 8))


@pytest.mark.parametrize("place", [quantile_knots, spread_knots])
@pytest.mark.parametrize("n_bins", [1, 5, 6, 20, 128])
def test_knots_from_data_are_values_in_order(place, n_bins):
    """At most as many as asked for, ends included; a row of weight 2 counts as two rows."""
    random = np.random.default_rng(2)
    for column in (
        random.normal(size=1000),
        np.round(random.exponential(5, 1000)),
        np.where(random.random(1000) < 0.9, 0.0, random.normal(size=1000)),
    ):
        weights = random.integers(1, 4, 1000)
        lo, hi = column.min(), column.max()
        found = place(Sample.of(column, weights.astype(float)), lo, hi, n_bins)
        assert 2 <= len(found) <= n_bins + 1
        assert (found[0], found[-1]) == (lo, hi)
        assert (np.diff(found) > 0).all()
        # The middle of two values, if an odd number of an even number of values is chosen.
        assert np.count_nonzero(~np.isin(found, column)) <= (place is spread_knots)
        repeated = place(Sample.of(np.repeat(column, weights), None), lo, hi, n_bins)
        assert_array_equal(found, repeated)


@pytest.mark.parametrize("n_bins", [6, 8, 21, 40, 128])
@pytest.mark.parametrize("n", [150, 420, 600, 601])
def test_a_mirrored_feature_has_mirrored_knots(n_bins, n):
    """One by one, with weights or without, and at once, also where two values are equally near."""
    random = np.random.default_rng(n)
    columns = [
        random.normal(size=n),
        random.exponential(size=n).round(2),
        np.arange(float(n)),
        np.linspace(-1.0, 1.0, n),
        np.where(random.random(n) < 0.4, 0.0, random.normal(size=n)),
    ]
    weights = random.integers(1, 4, n).astype(float)
    for column in columns:
        lo, hi = column.min(), column.max()
        for w in (None, weights):
            knots_of = spread_knots(Sample.of(column, w), lo, hi, n_bins)
            mirrored = spread_knots(Sample.of(-column, w), -hi, -lo, n_bins)
            assert_array_equal(mirrored, -knots_of[::-1])
    for dtype in (np.float32, np.float64):
        block = np.sort(np.array(columns, dtype=dtype), axis=1)
        lo, hi = block[:, 0].astype(float), block[:, -1].astype(float)
        found = all_spread_knots(block, lo, hi, n_bins)
        mirrored = all_spread_knots(-block[:, ::-1], -hi, -lo, n_bins)
        for one, other in zip(found, mirrored, strict=True):
            assert_array_equal(other[~np.isnan(other)], -one[~np.isnan(one)][::-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_values_in_order_are_a_sample(dtype):
    """NaN is left out, whether values were in order or are put so."""
    column = np.array([3, 1, 2, 2, 9], dtype=dtype)
    if dtype != np.int64:
        column[3] = np.nan
    for seen in (Sample.of(column, None), Sample.of_sorted(np.sort(column))):
        assert_array_equal(seen.values, np.sort(column[~np.isnan(column)]))
        assert_array_equal(seen.total, np.arange(1, len(seen.values) + 1))
        assert seen.values.dtype == np.float64
    assert len(Sample.of_sorted(np.full(3, np.nan)).values) == 0


def test_spread_knots_are_everywhere():
    """Dense where rows are, and no large part of the range without one."""
    random = np.random.default_rng(3)
    column = np.concatenate([random.normal(size=5000), random.uniform(0, 100, 500)])
    found = spread_knots(Sample.of(column, None), column.min(), column.max(), 60)
    assert len(found) == 61
    assert np.diff(found).max() < 100 / 15
    assert np.count_nonzero(np.abs(found) < 2) > 15


def test_pieces_are_divided_until_there_are_enough():
    found = filled(np.array([0.0, 1.0, 10.0]), 5)
    assert_allclose(found, [0, 1 / 3, 2 / 3, 1, 5.5, 10])
    narrow = np.array([1.0, np.nextafter(np.float32(1), np.float32(2)), 2.0])
    single = filled(narrow, 4, np.float32)
    assert_array_equal(single.astype(np.float32), single)  # numbers of that type, all different
    assert len(single) == 4


@pytest.mark.parametrize("degree", range(4))
def test_features_with_fewer_knots_than_others(degree):
    """A 0/1 column has one bin, whatever the others have; its curve is a step of that height."""
    random = np.random.default_rng(1)
    X = np.column_stack([random.normal(size=800), random.integers(0, 2, 800)])
    y = np.sin(2 * X[:, 0]) + 2 * X[:, 1] + random.normal(size=800) > 1
    curve = Spline(12, degree=degree, knots="quantile")
    model = AdditiveSVC(curve, random_state=0, C=1.0).fit(X, y)
    assert_array_equal(knots(model, 1), [0, 1])
    assert len(knots(model, 0)) == 13
    _, ends = shape_function(model, 1, grid=[-5, 0, 1, 5])
    assert ends[0] == ends[1] < ends[2] == ends[3]  # constant beyond the range
    parts = [shape_function(model, j, grid=X[:, j])[1] for j in range(2)]
    assert_allclose(model.decision_function(X), sum(parts) + model.intercept_[0])
    exact = AdditiveSVC(curve, random_state=0, tol=1e-4, C=1.0).fit(X, y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-2)


@pytest.mark.parametrize("estimator", [AdditiveSVC, AdditiveClassifier], ids=lambda e: e.__name__)
def test_few_values_have_a_knot_each_unless_bins_are_given(rows, estimator):
    X, y = rows[0].copy(), rows[1]
    X[:, 1] = np.round(X[:, 1] / 2) ** 2
    values = np.unique(X[:, 1])
    model = estimator(random_state=0).fit(X, y)
    assert_array_equal(knots(model, 1), values)
    given = estimator(Spline(3, knots="uniform"), random_state=0).fit(X, y)
    assert_allclose(knots(given, 1), np.linspace(values[0], values[-1], 4))


@pytest.mark.parametrize("knots_rule", ["auto", "quantile"])
@pytest.mark.parametrize("C", [None, 100.0])
def test_steps_at_each_value_tell_all_values_apart(knots_rule, C):
    """Curves of degree 0: a piece per value, the last one too."""
    random = np.random.default_rng(5)
    X = np.column_stack([random.integers(0, 2, 500), random.integers(0, 4, 500) ** 2]) * 1.0
    effects = [np.array([0.0, 2.0]), np.array([1.0, -1.0, 0.0, 3.0])]
    y = effects[0][X[:, 0].astype(int)] + effects[1][np.sqrt(X[:, 1]).astype(int)]
    n_bins = None if knots_rule == "auto" else 12
    curve = Spline(n_bins, degree=0, knots=knots_rule)
    model = AdditiveRegressor(curve, C=C).fit(X, y, counts=np.ones(500))  # no copies
    assert [term.coef.shape[1] for term in model.terms_] == [2, 4]
    assert_allclose(model.predict(X), y, atol=0.05)


def test_advice_follows_the_estimator(rows):
    """Ten pieces of equal width for a fixed C; many, where rows are, if smoothness is chosen."""
    X, y = rows
    for model in (AdditiveSVC(C=1.0), AdditiveClassifier(C=1.0), AdditiveRegressor(C=1.0)):
        found = knots(model.fit(X, y), 0)
        assert_allclose(found, np.linspace(X[:, 0].min(), X[:, 0].max(), 11))
    for model in (AdditiveClassifier(), AdditiveRegressor()):
        found = knots(model.fit(X, y), 0)
        assert len(found) == min(128, max(40, len(X) // 50)) + 1
        assert np.isin(found, X[:, 0]).all()


@pytest.mark.parametrize(
    ("n_curves", "n_flags", "expected"), [(64, 0, 128), (128, 0, 64), (40, 100, 128), (80, 60, 101)]
)
def test_columns_of_few_values_leave_pieces_to_others(n_curves, n_flags, expected):
    """As many pieces as make 8,192 coefficients in all; rows without weight do not matter."""
    random = np.random.default_rng(0)
    n = 6_400
    X = np.hstack(
        [random.normal(size=(n, n_curves)), random.integers(0, 2, (n, n_flags)).astype(float)]
    )
    y = X[:, 0] + random.normal(size=n)
    more = np.vstack([X, random.normal(size=(50, X.shape[1]))])
    weights = np.append(np.ones(n), np.zeros(50))
    model = AdditiveRegressor(random_state=0, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for fitted in (model.fit(X, y), clone(model).fit(more, np.append(y, np.ones(50)), weights)):
            assert len(knots(fitted, 0)) == expected + 1


def test_transformed_columns_stay_zero_beyond_the_last_knot():
    X = np.column_stack([np.linspace(0, 1, 50), np.arange(50) % 2])
    embedded = SplineEmbedding(n_bins=8, knots="quantile", penalty_order=0).fit_transform(X)
    second = embedded.toarray()[:, 9:]
    assert np.any(second[:, :2] > 0)
    assert_array_equal(second[:, 2:], 0)


def warped(column, places):
    """Where a value lies between the knots, counted in pieces; by interpolation."""
    return np.interp(column, places, np.arange(len(places)))


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_each_feature_is_embedded_as_if_it_were_alone(rows, degree, order):
    """Fewer bins than others, knots of its own: the same functions, and zeros behind them."""
    X, _ = rows
    options = {"degree": degree, "penalty_order": order, "sparse_output": False}
    together = SplineEmbedding(
        n_bins=[4, 12, 7], knots={1: "quantile", 2: [0.1, 0.2, 0.9]}, **options
    )
    blocks = np.split(together.fit_transform(X), 3, axis=1)
    alone = [
        SplineEmbedding(n_bins=4, **options).fit_transform(X[:, [0]]),
        SplineEmbedding(n_bins=12, knots="quantile", **options).fit_transform(X[:, [1]]),
        # Equal pieces of the warped column; its ends are among the values.
        SplineEmbedding(n_bins=2, **options).fit_transform(warped(X[:, [2]], [0.1, 0.2, 0.9])),
    ]
    for block, one in zip(blocks, alone, strict=True):
        assert_allclose(block[:, : one.shape[1]], one, rtol=1e-12, atol=1e-13)
        assert_array_equal(block[:, one.shape[1] :], 0)
    assert len(together.get_feature_names_out()) == 3 * (12 + degree)


@pytest.mark.parametrize("instructions", _core.instruction_sets())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_same_optimum_as_liblinear_on_the_embedding(rows, order, dtype, instructions, monkeypatch):
    """Codes, and values beyond the knots, are those of the explicit features."""
    monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", instructions)
    X, y = rows[0].astype(dtype), rows[1]
    options = {"n_bins": [3, 8, 5], "knots": {0: GIVEN}, "penalty_order": order}
    phi = SplineEmbedding(sparse_output=False, **options).fit_transform(X)
    terms = {
        0: Spline(penalty_order=order, knots=GIVEN),
        1: Spline(8, penalty_order=order),
        2: Spline(5, penalty_order=order),
    }
    line = LinearSVC(loss="hinge", tol=1e-8, max_iter=1_000_000, random_state=0).fit(phi, y)
    margins = np.where(y, 1, -1) * line.decision_function(phi)
    objective = (
        np.sum(line.coef_**2) / 2 + line.intercept_[0] ** 2 / 2 + np.maximum(0, 1 - margins).sum()
    )
    model = AdditiveSVC(terms=terms, tol=1e-3, random_state=0, C=1.0).fit(X, y)
    assert model.objective_ == pytest.approx(objective, rel=2e-3)
    assert_allclose(
        model.decision_function(X),
        model.intercept_ + contributions(model, X, center=False).sum(axis=1),
        rtol=1e-5,
        atol=1e-6,  # float32 is scored in single precision, and some scores are near zero
    )


@pytest.mark.parametrize("instructions", _core.instruction_sets())
@pytest.mark.parametrize("n_bins", [3, 10, 30, 45, 60, 128, 600])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_single_precision_is_scored_as_double(degree, n_bins, instructions, monkeypatch):
    """Scores of float32, at knots, between and beyond them, and by tables of every length."""
    monkeypatch.setenv("SPLINEAR_INSTRUCTIONS", instructions)
    random = np.random.default_rng(0)
    X = random.lognormal(size=(900, 37)).astype(np.float32)
    X[:, 3] = random.integers(0, 2, 900)
    X[:, 4] = 7
    y = X[:, 0] + X[:, 36] + random.normal(size=900) > 2
    terms = dict.fromkeys(range(20), Spline(n_bins, degree=degree, knots="quantile"))
    fewer = Spline(max(1, n_bins // 3), degree=degree, knots="uniform")
    terms |= dict.fromkeys(range(30, 36), fewer)
    terms[36] = Spline(degree=degree, knots=[0.25, 0.5, 2, 32])
    curve = Spline(n_bins, degree=degree, knots="uniform")
    model = AdditiveSVC(curve, terms=terms, random_state=0, C=1.0).fit(X, y)
    beyond = np.concatenate([X, 3 * X - 2, X[:5] * 0])
    exact = model.decision_function(beyond.astype(np.float64))
    # 37 terms of single precision, of which each is about as large as the score.
    assert_allclose(model.decision_function(beyond), exact, atol=2e-5 * np.abs(exact).max())
    beyond[7, 2] = np.inf
    with pytest.raises(ValueError, match="infinity in column 2"):
        model.decision_function(beyond)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Spline(6, degree=2),
        lambda: Spline(6, knots="quantile"),
        lambda: Fourier(2),
        lambda: Hermite(2),
    ],
)
def test_one_term_for_all_features_is_the_curve(rows, make):
    """To the bit; equal terms that are not the same object, up to the tolerance."""
    X, y = rows
    options = {"C": 1.0, "tol": 1e-6, "max_iter": 5000, "random_state": 0}
    model = AdditiveSVC(make(), **options).fit(X, y)
    shared = AdditiveSVC(terms=dict.fromkeys(range(3), make()), **options).fit(X, y)
    assert_array_equal(shared._model.parameters, model._model.parameters)
    apart = AdditiveSVC(terms={j: make() for j in range(3)}, **options).fit(X, y)
    assert apart.objective_ == pytest.approx(model.objective_, rel=2e-6)


@pytest.mark.parametrize(("embedding", "degree"), [(FourierEmbedding, 3), (HermiteEmbedding, 4)])
def test_given_knots_warp_other_bases(rows, embedding, degree):
    X, _ = rows
    found = embedding(degree=degree, knots={0: GIVEN}).fit_transform(X)
    straight = X.copy()
    straight[:, 0] = warped(X[:, 0], GIVEN)
    assert_allclose(found, embedding(degree=degree).fit_transform(straight), rtol=1e-12, atol=1e-12)


def test_given_knots_are_the_range(rows):
    """Inside the data, and beyond; values outside count as the nearest end."""
    X, y = rows
    terms = {0: Spline(knots=GIVEN), 1: Spline(knots=[-10, 4, 30])}
    model = AdditiveSVC(terms=terms, random_state=0, C=1.0).fit(X, y)
    assert_array_equal(knots(model, 0), GIVEN)
    assert_array_equal(knots(model, 1), [-10, 4, 30])
    assert_allclose(knots(model, 2), np.linspace(X[:, 2].min(), X[:, 2].max(), 11))
    x, f = shape_function(model, 0, n_points=7)
    assert (x[0], x[-1]) == (-1, 2)
    assert_array_equal(shape_function(model, 0, grid=[-5, 8])[1], f[[0, -1]])
    assert X[:, 0].min() < -1
    clipped = X.copy()
    clipped[:, 0] = np.clip(X[:, 0], -1, 2)
    assert_array_equal(model.decision_function(X), model.decision_function(clipped))


def test_a_feature_that_is_constant_between_its_knots_has_no_curve(rows):
    X, y = rows
    wider = np.column_stack([X, np.full(len(X), 5.0), X[:, 0]])
    terms = {3: Spline(knots=[0, 10]), 4: Spline(knots=[90, 91, 92])}
    model = AdditiveSVC(terms=terms, tol=1e-6, random_state=0, C=1.0).fit(wider, y)
    for term in model.terms_[3:]:
        assert_array_equal(term.coef, 0)
        assert len(term.knots) == 0
    # Sums over other numbers of features are rounded otherwise: the optimum is the same.
    without = AdditiveSVC(tol=1e-6, random_state=0, C=1.0).fit(X, y)
    assert model.objective_ == pytest.approx(without.objective_, rel=2e-6)


def test_columns_by_name(rows):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    second, third = Spline(knots=[0, 3, 9]), Spline(4, knots="quantile")
    options = {"C": 1.0, "random_state": 0}
    model = AdditiveRegressor(Spline(4), terms={"b": second, "c": third}, **options).fit(frame, y)
    by_place = AdditiveRegressor(Spline(4), terms={1: second, 2: third}, **options).fit(X, y)
    assert_array_equal(model._model.parameters, by_place._model.parameters)
    assert_array_equal(knots(model, "b"), [0, 3, 9])
    again = clone(model).fit(frame, y)
    assert_array_equal(again._model.parameters, model._model.parameters)
    with pytest.raises(ValueError, match=r"terms names feature 'd', which is not there.*'a', 'b'"):
        AdditiveSVC(terms={"d": third}, C=1.0).fit(frame, y)
    with pytest.raises(ValueError, match="names column 1 twice"):
        AdditiveSVC(terms={"b": second, 1: third}, C=1.0).fit(frame, y)
    embed = SplineEmbedding(n_bins=4, knots={"b": [0, 3, 9], "c": "quantile"})
    plain = SplineEmbedding(n_bins=4, knots={1: [0, 3, 9], 2: "quantile"})
    assert_array_equal(embed.fit_transform(frame), plain.fit_transform(X))
    with pytest.raises(ValueError, match=r"knots names column 'd', which is not there.*'a', 'b'"):
        SplineEmbedding(knots={"d": "quantile"}).fit(frame)
    with pytest.raises(ValueError, match=r"knots of column 'b': got 3\.0 before 2\.0"):
        SplineEmbedding(knots={"b": [0, 3, 2]}).fit(frame)
    with pytest.raises(ValueError, match="names column 1 twice"):
        SplineEmbedding(knots={"b": "quantile", 1: "quantile"}).fit(frame)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"knots": "even"}, "knots"),
        ({"knots": ["uniform", "quantile"]}, "one entry per feature, 3 in all; got 2"),
        ({"knots": ["uniform", "even", "quantile"]}, "knots of column 1: got 'even'; expected"),
        ({"knots": [0, 1, 2]}, "knots of column 0: got 0; expected"),
        ({"knots": {0: [1]}}, "knots of column 0: got 1 of them; expected .* 2 to"),
        ({"knots": {0: [0, np.nan, 1]}}, "knots of column 0: got nan in place 1"),
        ({"knots": {2: [0, 1, 1]}}, "knots of column 2: got 1.0 before 1.0"),
        ({"knots": {2: ["a", "b"]}}, "knots of column 2: got"),
        ({"knots": {3: [0, 1]}}, "knots names column 3.*from 0 to 2"),
        ({"knots": {"a": [0, 1]}}, "knots names column 'a'.*no column names"),
        ({"knots": {True: [0, 1]}}, "knots names column True"),
        ({"n_bins": [5, 5]}, "n_bins must be .* 3 in all; got 2"),
        ({"n_bins": [5, 0, 5]}, "n_bins of column 1: got 0; expected a whole number from 1"),
        ({"n_bins": [5, 5, 2.5]}, "n_bins of column 2: got 2.5"),
    ],
)
def test_errors_of_transformers_name_the_column(rows, parameters, message):
    with pytest.raises(ValueError, match=message):
        SplineEmbedding(**parameters).fit(rows[0])


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        (Spline(knots="even"), "'knots' parameter of Spline"),
        (Spline(knots=[1]), "knots of Spline: got 1 of them; expected .* 2 to"),
        (Spline(knots=[0, np.nan, 1]), "knots of Spline: got nan in place 1"),
        (Spline(knots=[0, 1, 1]), "knots of Spline: got 1.0 before 1.0"),
        (Spline(knots=["a", "b"]), "knots of Spline: got"),
        (Spline(n_bins=0), "'n_bins' parameter of Spline"),
        (Spline(n_bins=2.5), "'n_bins' parameter of Spline"),
        (Spline(n_bins=32_769), "'n_bins' parameter of Spline"),
    ],
    ids=str,
)
def test_errors_of_terms_name_the_parameter(rows, curve, message):
    X, y = rows
    for estimator in (AdditiveSVC, AdditiveClassifier, AdditiveRegressor):
        with pytest.raises(ValueError, match=message):
            estimator(curve).fit(X, y)
        with pytest.raises(ValueError, match=message):
            estimator(terms={1: curve}).fit(X, y)


def test_errors_of_terms_name_the_feature(rows):
    X, y = rows
    for key in (3, -1, "a", True):
        with pytest.raises(ValueError, match=f"terms names feature {key!r}"):
            AdditiveSVC(terms={key: Spline()}, C=1.0).fit(X, y)


@pytest.mark.parametrize(
    "curves",
    [
        [Spline(2), Spline(9), Spline(4, degree=2)],
        [Fourier(4), Spline(30, knots="quantile")],
        [Spline(knots=GIVEN), Spline(5, knots="uniform")],
    ],
)
def test_a_search_codes_rows_anew_where_axes_change(rows, curves):
    X, y = rows
    plain = AdditiveSVC(random_state=0, C=1.0)
    options = {"Cs": [0.1, 1.0], "cv": 2}
    search = PathSearchCV(plain, param_grid={"curve": curves}, **options).fit(X, y)
    best = AdditiveSVC(**search.best_params_, random_state=0).fit(X, y)
    assert_array_equal(search.best_estimator_._model.parameters, best._model.parameters)
    for curve in curves:
        one = PathSearchCV(AdditiveSVC(curve, random_state=0, C=1.0), **options).fit(X, y)
        params = search.cv_results_["params"]
        here = [k for k, setting in enumerate(params) if str(setting["curve"]) == str(curve)]
        for name in ("split0_test_score", "split1_test_score"):
            assert_array_equal(search.cv_results_[name][here], one.cv_results_[name])


def test_warm_start_and_chunks_keep_the_knots(rows):
    X, y = rows
    terms = {0: Spline(knots=GIVEN), 1: Spline(8), 2: Spline(2)}
    model = AdditiveSVC(terms=terms, warm_start=True, random_state=0, C=1.0)
    objective = model.fit(X, y).objective_
    assert model.fit(X, y).objective_ == pytest.approx(objective, rel=1e-2)
    assert model.n_iter_ <= 3
    chunks = clone(model).partial_fit(X[:300], y[:300], classes=[0, 1])
    chunks.partial_fit(10 * X[300:], y[300:])
    assert_array_equal(knots(chunks, 0), GIVEN)
    assert [len(knots(chunks, j)) for j in range(3)] == [4, 9, 3]


@pytest.mark.parametrize("estimator", [AdditiveSVC, AdditiveClassifier], ids=lambda e: e.__name__)
def test_a_count_of_two_is_two_rows(estimator):
    """In the knots: bulk, quantiles and values alike."""
    random = np.random.default_rng(4)
    X = np.column_stack([random.normal(size=700), random.lognormal(size=700) ** 2])
    y, weights = random.random(700) < 0.5, random.integers(0, 4, 700)
    one = estimator(random_state=0).fit(X, y, counts=weights)
    again = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    two = estimator(random_state=0).fit(*again, counts=np.ones(weights.sum()))
    for j in range(2):
        assert_array_equal(knots(one, j), knots(two, j))
    other = estimator(random_state=0).fit(X, y)
    assert not np.array_equal(knots(one, 1), knots(other, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_suspects_are_at_least_those_of_few_values_or_a_long_tail(dtype):
    """A quick look may ask for a closer one, and must not miss what that would find."""
    random = np.random.default_rng(5)
    n = 3000
    columns = {
        "even": (random.random(n), False),
        "normal": (random.normal(size=n), False),
        "few values": (random.integers(0, 9, n), True),
        "a tail": (random.lognormal(sigma=2.0, size=n), True),
        "mostly zero": (random.random(n) * (random.random(n) < 0.03), True),
        "gaps": (np.where(random.random(n) < 0.1, np.nan, random.random(n)), True),
    }
    X = np.column_stack([values for values, _ in columns.values()]).astype(dtype)
    lo, hi = np.nanmin(X, axis=0).astype(float), np.nanmax(X, axis=0).astype(float)
    found = suspects(open_table(X), np.arange(n), np.arange(len(columns)), 11, lo, hi)
    expected = [is_suspect for _, is_suspect in columns.values()]
    np.testing.assert_array_equal(found, np.flatnonzero(expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_is_not_suspected_is_no_long_tail(dtype, order):
    """By the rule itself, however near to it: from even columns to long tails, 300 of them."""
    random = np.random.default_rng(11)
    n = 700
    powers = np.linspace(1.0, 60.0, 300)
    values = 1e6 * random.random((n, len(powers))) ** powers - 3e5
    values[:, ::7] *= values[:, ::7] > 0
    values[:, ::11] //= 1e5
    X = np.asarray(values, dtype=dtype, order=order)
    lo, hi = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
    rows, columns = np.flatnonzero(random.random(n) < 0.8), np.arange(len(powers))[::-1]
    few = 12

    def is_certain(j):
        seen = Sample.of(X[rows, j], None)
        return has_long_tail(seen, lo[j], hi[j]) or len(seen.distinct) <= few

    certain = np.array([is_certain(j) for j in columns])
    found = [
        suspects(open_table(X), rows, columns, few, lo[columns], hi[columns], n_threads)
        for n_threads in (1, 3)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    forward = suspects(open_table(X), rows, columns[::-1], few, lo, hi)
    np.testing.assert_array_equal(columns[found[0]], forward[::-1])
    is_suspect = np.isin(np.arange(len(columns)), found[0])
    assert is_suspect[certain].all()
    assert 50 < certain.sum() <= is_suspect.sum() < 1.3 * certain.sum()


def test_columns_of_any_size_may_be_suspected():
    far = np.finfo(np.float64).max
    X = np.linspace(0.0, 1.0, 101)[:, None] * [1.0, 1e-310, 1e308, 0.0]
    X[:, 3] = far * np.linspace(-1.0, 1.0, 101)
    lo, hi = X.min(axis=0), X.max(axis=0)
    rows = np.arange(len(X))
    found = suspects(open_table(X), rows, np.arange(4), 0, lo, hi)
    assert {3} <= set(found) <= {1, 3}  # whose width is no number, or has no inverse
    none = suspects(open_table(X), rows, np.arange(0), 0, lo[:0], hi[:0])
    assert len(none) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_bins", [1, 2, 3, 8, 40, 63])
def test_knots_of_tails_at_once_are_those_one_by_one(dtype, n_bins):
    random = np.random.default_rng(7)
    n = 501
    columns = [
        random.random(n),
        random.lognormal(sigma=2.0, size=n),
        random.lognormal(sigma=3.0, size=n) - 5.0,
        random.random(n) * (random.random(n) < 0.03),
        random.random(n) ** 9 * (random.random(n) < 0.5),
        np.round(random.lognormal(sigma=2.0, size=n)),
        np.where(random.random(n) < 0.3, np.nan, random.lognormal(sigma=2.0, size=n)),
        np.arange(n) < 3,
        np.full(n, np.nan),
        np.minimum(np.arange(n) // 100, 2.5),
    ]
    block = np.sort(np.array(columns, dtype=dtype), axis=1)
    lo = np.nan_to_num(block[:, 0].astype(float))
    hi = np.nan_to_num(np.nanmax(block[:-2], axis=1, initial=1.0).astype(float), nan=1.0)
    hi = np.append(hi, [1.0, 9.0]) + 0.5  # rows that were not seen may be beyond those that were
    found = tail_knots(block, lo, hi, n_bins)
    n_tails = 0
    for row, values, first, last in zip(found, block, lo, hi, strict=True):
        seen = Sample.of_sorted(values)
        if has_long_tail(seen, first, last):
            n_tails += 1
            expected = filled(quantile_knots(seen, first, last, n_bins), n_bins, dtype)
            np.testing.assert_array_equal(row[: len(expected)], expected)
            assert np.isnan(row[len(expected) :]).all()
        else:
            assert np.isnan(row).all()
    assert n_tails >= 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_bins", [1, 5, 6, 7, 40, 128])
def test_spread_knots_at_once_are_those_one_by_one(dtype, n_bins):
    random = np.random.default_rng(9)
    n = 777
    columns = [
        random.random(n),
        random.lognormal(sigma=2.0, size=n),
        np.round(20 * random.lognormal(size=n)),
        random.random(n) * (random.random(n) < 0.5),
        np.where(random.random(n) < 0.3, np.nan, random.normal(size=n)),
        np.arange(n) % 2,
        np.full(n, np.nan),
        np.arange(n) % (n_bins + 1),
        np.arange(n) % (n_bins + 2),
    ]
    block = np.sort(np.array(columns, dtype=dtype), axis=1)
    block[6] = np.nan
    lo = np.nan_to_num(block[:, 0].astype(float)) - np.arange(len(block)) % 2
    hi = np.nan_to_num(np.nanmax(block, axis=1, initial=1.0).astype(float), nan=1.0) + 0.25
    found = all_spread_knots(block, lo, hi, n_bins, 2)
    n_placed = 0
    for row, values, first, last in zip(found, block, lo, hi, strict=True):
        seen = Sample.of_sorted(values)
        if len(with_ends(seen.distinct, first, last)) <= n_bins + 1 or n_bins < 6:
            assert np.isnan(row).all()
            continue
        if len(seen.values):
            n_placed += 1
            expected = spread_knots(seen, first, last, n_bins)
            np.testing.assert_array_equal(row[: len(expected)], expected)
            assert np.isnan(row[len(expected) :]).all()
    assert n_placed >= (0 if n_bins < 6 else 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_are_sorted(dtype, order):
    random = np.random.default_rng(10)
    n = 1_500
    special = [0.0, np.inf, -np.inf, np.nan, -np.nan, 5e-324, np.finfo(dtype).max]
    columns = [
        random.normal(size=n),
        -(10.0 ** random.uniform(-30, 30, n)),
        1e6 + random.random(n) * 1e-3,
        np.round(random.normal(size=n)) + 0.0,
        random.choice(special, n),
        np.zeros(n),
        np.arange(n)[::-1],
    ]
    X = np.asarray(np.array(columns).T, dtype=dtype, order=order)
    rows = np.flatnonzero(random.random(n) < 0.7)
    some = np.array([6, 0, 4, 2, 3, 1])
    expected = np.sort(X[np.ix_(rows, some)].T, axis=1)
    for n_threads in (1, 2, 5):
        found = open_table(X).sorted_columns(rows, some, n_threads)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(
            open_table(X[::-1]).sorted_columns(n - 1 - rows, some), expected
        )
    whole = open_table(np.round(np.nan_to_num(X[:, [0, 3]])).astype(np.int64))
    ints = whole.sorted_columns(rows, [1, 0])
    np.testing.assert_array_equal(ints, np.sort(whole.array[np.ix_(rows, [1, 0])].T, axis=1))


@pytest.mark.parametrize("order", ["C", "F"])
def test_long_tails_of_a_table_have_knots(order):
    random = np.random.default_rng(8)
    X = np.asarray(random.random((400, 6), dtype=np.float32), order=order)
    X[:, ::2] = np.exp(3 * random.normal(size=(400, 3)))
    model = AdditiveSVC(Spline(12), random_state=0, max_iter=3, tol=10.0, C=1.0).fit(
        X, X[:, 1] > 0.5
    )
    for j in range(6):
        column = X[:, j].astype(float)
        lo, hi = column.min(), column.max()
        seen = quantile_knots(Sample.of(column, None), lo, hi, 12)
        expected = np.linspace(lo, hi, 13) if j % 2 else filled(seen, 12, np.float32)
        assert_allclose(knots(model, j), expected, rtol=1e-6)


def test_wide_tables_have_bins_alike():
    """Under a fixed C; so that the core handles all columns together."""
    random = np.random.default_rng(6)
    X = random.random((300, 200))
    X[:, 0] = random.integers(0, 20, 300)
    model = AdditiveSVC(random_state=0, C=1.0).fit(X, X[:, 1] > 0.5)
    assert {term.coef.shape[1] for term in model.terms_} == {41}
    narrow = AdditiveSVC(random_state=0, C=1.0).fit(X[:, :10], X[:, 1] > 0.5)
    assert narrow.terms_[0].coef.shape[1] == 20


def test_quantile_knots_in_wide_tables_are_for_longer_tails():
    """Those of image features stay with equal pieces: most values are in 15 % of their range."""
    random = np.random.default_rng(7)
    X = random.random((400, 200))
    X[:, 0] = np.where(np.arange(400) < 16, X[:, 0], 0.15 * X[:, 0])
    X[:, 1] = np.where(np.arange(400) < 16, X[:, 1], 0.05 * X[:, 1])
    y = random.random(400) > 0.5
    wide = AdditiveSVC(C=1.0, random_state=0).fit(X, y)
    narrow = AdditiveSVC(C=1.0, random_state=0).fit(X[:, :10], y)

    def is_even(model, j):
        return bool(np.ptp(np.diff(knots(model, j))) < 1e-6)

    assert [is_even(wide, j) for j in range(3)] == [True, False, True]
    assert [is_even(narrow, j) for j in range(3)] == [False, False, True]
