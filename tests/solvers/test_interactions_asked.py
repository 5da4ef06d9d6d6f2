"""How surfaces are asked for and refused, stopped, kept within memory, and read from files."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    PathSearchCV,
)
from splinear.terms import Pair, Spline

both = pytest.mark.parametrize("estimator", [AdditiveClassifier, AdditiveRegressor])
chosen_or_fixed = pytest.mark.parametrize("C", [None, 1.0])

X = np.random.default_rng(0).uniform(-1, 1, (400, 3))
F = 3.0 * X[:, 0] * X[:, 1] + X[:, 2]


def target(estimator):
    return F > 0 if estimator in (AdditiveClassifier, AdditiveSVC) else F


def predicted(model, rows=X):
    numbers = isinstance(model, AdditiveRegressor)
    return model.predict(rows) if numbers else model.decision_function(rows)


# -- refusals ------------------------------------------------------------------------------------

REFUSED = {
    "a negative number": ({"interactions": -1}, "interactions must be .*got -1"),
    "a share": ({"interactions": 0.5}, "interactions"),
    "true": ({"interactions": True}, "interactions must be .*got True"),
    "none": ({"interactions": None}, "interactions"),
    "a text": ({"interactions": "all"}, "interactions.*auto.*'all'"),
    "one pair, not a list": ({"interactions": (0, 1)}, "list of pairs.*got \\(0, 1\\)"),
    "texts": ({"interactions": ["ab", "cd"]}, "list of pairs.*got \\['ab', 'cd'\\]"),
    "three features": ({"interactions": [(0, 1, 2)]}, "list of pairs"),
    "the same feature": ({"interactions": [(1, "b")]}, "interactions: .*two different"),
    "no such name": (
        {"interactions": [("a", "bb")]},
        "interactions names .*'bb'.*Did you mean 'b'",
    ),
    "no such position": ({"interactions": [(0, 3)]}, "interactions names .*\\(0, 3\\).*0 to 2"),
    "a half position": ({"interactions": [(0, 1.5)]}, "interactions names .*0 to 2"),
    "a dropped feature": (
        {"interactions": [(0, 1)], "terms": {1: "drop"}},
        "interactions: .*\\(0, 1\\) is dropped by `terms`",
    ),
    "a dropped feature in terms": (
        {"terms": {"b": "drop", ("a", "b"): Pair()}},
        "terms\\[\\('a', 'b'\\)\\]: .*dropped",
    ),
    "a curve for two": ({"terms": {(0, 1): Spline()}}, "terms\\[\\(0, 1\\)\\] must be a Pair"),
    "a class": (
        {"terms": {(0, 1): Pair}},
        "must be a Pair\\(\\) or a Varying\\(\\).*It is a class; call it",
    ),
    "drop for two": (
        {"terms": {(0, 1): "drop"}},
        "must be a Pair\\(\\) or a Varying\\(\\); got 'drop'",
    ),
    "a pair for one": ({"terms": {0: Pair()}}, "terms\\[0\\]: Pair is for two features"),
    "a pair as a curve": ({"curve": Pair()}, "curve: Pair is for two features"),
    "the same pair twice": (
        {"terms": {(0, 1): Pair(), ("b", "a"): Pair()}},
        "terms names the pair \\(0, 1\\) twice",
    ),
    "three in terms": ({"terms": {(0, 1, 2): Pair()}}, "expected two features; got \\(0, 1, 2\\)"),
    "no bins": ({"terms": {(0, 1): Pair(0)}}, "n_bins"),
    "too many bins": ({"terms": {(0, 1): Pair(64)}}, "n_bins"),
}


@both
@pytest.mark.parametrize("what", REFUSED)
def test_refusals(estimator, what):
    """They name the parameter, what was found, and what is expected."""
    parameters, message = REFUSED[what]
    model = estimator(random_state=0, **parameters)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match=message):
        model.fit(frame, target(estimator))
    assert not hasattr(model, "terms_")


@both
@pytest.mark.parametrize("asked", [{"interactions": 1}, {"terms": {(0, 1): Pair()}}], ids=str)
def test_sparse_tables_have_none(estimator, asked):
    with pytest.raises(ValueError, match=r"need a dense X; got a sparse one. Use X.toarray\(\)"):
        estimator(**asked).fit(sparse.csr_array(np.abs(X)), target(estimator))


@pytest.mark.parametrize("estimator", [AdditiveSVC, AdditiveSVR])
def test_support_vectors_have_none(estimator):
    model = estimator(terms={(0, 1): Pair()})
    message = f"{estimator.__name__} has no surfaces .*AdditiveClassifier and AdditiveRegressor"
    with pytest.raises(ValueError, match=message):
        model.fit(X, target(estimator))
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, target(estimator), **_classes(estimator))
    with pytest.raises(TypeError):
        estimator(interactions=1)


def _classes(estimator):
    return {"classes": [False, True]} if estimator is AdditiveSVC else {}


@pytest.mark.parametrize(
    ("parameters", "grid"),
    [
        ({"interactions": "auto"}, None),
        ({"interactions": [(0, 1)]}, None),
        ({"terms": {(0, 1): Pair()}}, None),
        ({}, {"interactions": [0, 2]}),
    ],
    ids=str,
)
@both
def test_paths_are_of_curves_alone(estimator, parameters, grid):
    """Not silently: the folds would have no surfaces, and the final model would."""
    search = PathSearchCV(estimator(random_state=0, **parameters), Cs=2, cv=2, param_grid=grid)
    with pytest.raises(ValueError, match=r"PathSearchCV .*interactions=0 .*GridSearchCV"):
        search.fit(X, target(estimator))


def test_grids_take_interactions():
    grid = {"interactions": [0, [(0, 1)]]}
    search = GridSearchCV(AdditiveRegressor(C=1.0, random_state=0), grid, cv=2).fit(X, F)
    assert search.best_params_["interactions"] == [(0, 1)]


# -- stops ---------------------------------------------------------------------------------------


def stop_after(n):
    seen = []

    def tell(progress):
        seen.append(progress.n_iter)
        return len(seen) >= n

    return tell, seen


@both
@chosen_or_fixed
def test_a_stop_leaves_a_whole_model(estimator, C):
    """Wherever it comes: while there are curves only, while pairs are fitted, and at the end."""
    tell, seen = stop_after(10**6)
    whole = estimator(interactions=[(0, 1)], C=C, callback=tell, random_state=0)
    whole.fit(X, target(estimator))
    assert seen == sorted(seen), "steps are counted on"
    assert whole.n_iter_ == seen[-1]
    with_pairs = set()
    for n in np.unique(np.linspace(1, len(seen) - 1, 6).astype(int)):
        tell, _ = stop_after(n)
        model = clone(whole).set_params(callback=tell)
        with pytest.warns(ConvergenceWarning, match="by the callback"):
            model.fit(X, target(estimator))
        assert np.isfinite(predicted(model)).all()
        assert len(model.terms_) == 3 + len(model.terms_.pairs)
        assert np.isfinite(model.objective_)
        with_pairs.add(len(model.terms_.pairs))
    # Squares take two steps with a given C, the last of which is the end.
    assert with_pairs == ({0} if len(seen) == 2 else {0, 1})


@both
@chosen_or_fixed
def test_a_stop_before_pairs_is_told_of(estimator, C):
    """Even if the curves alone have converged."""
    tell, _ = stop_after(1)
    model = estimator(interactions=1, C=C, callback=tell, tol=0.5, random_state=0)
    with pytest.warns(ConvergenceWarning, match="before pairs of features had been looked at"):
        model.fit(X, target(estimator))
    assert model.terms_.pairs == []


@both
@chosen_or_fixed
def test_time_limits(estimator, C):
    model = estimator(interactions="auto", C=C, time_limit=1e-4, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, target(estimator))
    assert np.isfinite(predicted(model)).all()


@both
@chosen_or_fixed
def test_what_a_callback_raises(estimator, C):
    class StopError(Exception):
        pass

    seen = []

    def tell(progress):
        seen.append(progress.n_iter)
        if len(seen) == 12:
            raise StopError

    model = estimator(interactions=[(0, 1)], C=C, tol=1e-12, callback=tell, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X, target(estimator))
        except StopError:
            assert len(seen) == 12
    assert np.isfinite(predicted(model)).all()


# -- memory and files ----------------------------------------------------------------------------


def least_memory(model):
    with pytest.raises(ValueError, match="too small") as refusal:
        clone(model).set_params(max_memory=1).fit(X, F)
    number, unit = re.search(r"need at least ([\d.]+) (\w+)", str(refusal.value)).groups()
    return float(number) * {"kB": 1e3, "MB": 1e6}[unit]


def test_positions_count_in_max_memory():
    plain = least_memory(AdditiveRegressor(random_state=0))
    one = least_memory(AdditiveRegressor(terms={(0, 1): Pair(3)}, random_state=0))
    # Two chains of 6 bytes per row, and a surface of 5 x 5 nodes, of which an eighth is spare.
    expected = (12 * 400 + 8 * 25 * 7 * 4) * 8 / 7
    assert one - plain == pytest.approx(expected, rel=0.02)
    many = least_memory(AdditiveRegressor(interactions="auto", random_state=0))
    assert many > one
    wide = least_memory(AdditiveRegressor(terms={(0, 1): Pair(63)}, random_state=0))
    assert wide > one + 1e6


@both
@chosen_or_fixed
def test_codes_on_disk(estimator, C):
    """The codes go to a file; the optimum is the same."""
    random = np.random.default_rng(1)
    rows = random.uniform(-1, 1, (30_000, 8))
    f = 3.0 * rows[:, 0] * rows[:, 1] + rows[:, 2] + random.normal(size=len(rows))
    y = f > 0 if estimator is AdditiveClassifier else f
    model = estimator(interactions=[(0, 1)], C=C, random_state=0)
    here = clone(model).fit(rows, y)
    there = clone(model).set_params(max_memory="5.5MB").fit(rows, y)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=3e-3)
    assert [p.features for p in there.terms_.pairs] == [(0, 1)]


@pytest.mark.parametrize("form", ["npy", "memmap", "csv", "parquet"])
@both
def test_files_are_as_arrays(estimator, form, tmp_path):
    values = X.copy()
    values[::13, 1] = np.nan
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    y = target(estimator)
    if form == "npy":
        np.save(tmp_path / "x.npy", values)
        given = tmp_path / "x.npy"
    elif form == "memmap":
        np.save(tmp_path / "x.npy", values)
        given = np.load(tmp_path / "x.npy", mmap_mode="r")
    elif form == "csv":
        given = tmp_path / "x.csv"
        frame.to_csv(given, index=False)
    else:
        pytest.importorskip("pyarrow")
        given = tmp_path / "x.parquet"
        frame.to_parquet(given)
    model = estimator(interactions="auto", random_state=0)
    here, there = clone(model).fit(values, y), clone(model).fit(given, y)
    assert len(here.terms_.pairs) > 0
    np.testing.assert_array_equal(predicted(here, values), predicted(there, given))


@both
def test_files_in_many_chunks(estimator, tmp_path):
    """Chunks of a file come in their order; rows stand in that of training."""
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    table = pa.table({name: X[:, k] for k, name in enumerate("abc")})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=37)
    model = estimator(interactions=2, C=1.0, random_state=0)
    here = clone(model).fit(X, target(estimator))
    there = clone(model).fit(tmp_path / "x.parquet", target(estimator))
    np.testing.assert_array_equal(predicted(here), predicted(there, tmp_path / "x.parquet"))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_category_of_missing_values_alone(n_classes):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=60), "b": pd.Series([None] * 60, dtype="str")})
    y = random.integers(0, n_classes, 60)
    model = AdditiveClassifier(C=1.0, terms={("a", "b"): Pair()}, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
