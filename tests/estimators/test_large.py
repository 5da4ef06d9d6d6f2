"""Data larger than memory: codes on disk, blocks of them in memory, and nothing left behind."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
import textwrap

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning

from splinear import (
    AdditiveClassifier,
    AdditiveRegressor,
    AdditiveSVC,
    AdditiveSVR,
    PathSearchCV,
    _core,
)
from splinear.objective.local.disk import codes_on_disk
from splinear.objective.local.memory import (
    BytesPerRow,
    MemoryPlan,
    bytes_of,
    least_memory,
    plan_memory,
    say_bytes,
)
from splinear.objective.local.order import STREAM, Order
from splinear.solvers import newton
from splinear.solvers.hinge import ways
from splinear.tables.opening import open_table
from splinear.terms import Hermite, Spline
from splinear.terms.axes import Axes
from splinear.terms.basis import BSplineBasis, FourierBasis
from splinear.terms.embedding import Embedding
from splinear.terms.group import TermGroup

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, or Linux's ru_maxrss")


def make_rows(n=30_000, n_columns=8):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, n_columns)).astype(np.float32)
    score = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - 1 + 0.5 * random.normal(size=n)
    return X, score


X, SCORE = make_rows()
Y = SCORE > 0
# Of 30,000 rows x 8 columns the codes take 480 kB. With these bounds they go to disk, in several
# blocks of 4,096 rows or a little more.
SMALL = "900kB"


def noting_plans(model):
    """Return the model, and a list that its fits will add their plans to."""
    plans = []
    plan_of = model._plan_memory

    def noted(*args, **options):
        plans.append(plan_of(*args, **options))
        return plans[-1]

    model._plan_memory = noted
    return model, plans


def parameters(model):
    return model._model.parameters


# -- the file of codes ----------------------------------------------------------------------------


def group_of(X, features, basis, *, gaps=False):
    values = X[:, features].astype(np.float64)
    lo, hi = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    embedding = Embedding.of(Axes.spanning(lo, hi, basis), basis, 1, native=False)
    return TermGroup.of("curve", features, embedding, gaps, np.ones(len(features)))


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("rows_per_block", [4096, 40_000])
@pytest.mark.parametrize("kept", [None, 3])
def test_the_files_hold_the_codes_of_memory(kept, rows_per_block, n_threads, monkeypatch):
    """One file per group, whose features are anywhere in X."""
    monkeypatch.setattr("splinear.tables.table.READ_AT_ONCE", 8 * 7_001)
    table = X.copy()
    table[::7, 4] = np.nan
    groups = [
        group_of(table, [0, 5, 2], BSplineBasis(1, 10)),
        group_of(table, [1], FourierBasis(2)),
        group_of(table, [4, 3], BSplineBasis(1, 10), gaps=True),
    ]
    counted = None if kept is None else np.arange(len(X)) % kept > 0
    order = Order.draw(len(X), counted, 5)
    disk = codes_on_disk(
        open_table(table), order.of, order.n_rows, groups, rows_per_block, n_threads
    )
    for group, found in zip(groups, disk, strict=True):
        memory = _core.Codes(order.n_rows, group.n_features, group.grid)
        for rows, piece in open_table(table).chunks():
            columns = group.features.astype(np.int64)
            memory.fill(piece, columns, order.of(rows), group.embedding.axes.core(), 1)
        assert memory.rows_per_block == order.n_rows
        assert found.rows_per_block == rows_per_block
        np.testing.assert_array_equal(found.array, memory.array)


def test_codes_of_32_bits_go_to_disk():
    """A category of more levels than 16 bits can number."""
    n = 70_000
    codes = np.random.default_rng(0).permutation(n).astype(float)[:, None]
    basis = BSplineBasis(0, n)
    axes = Axes.spanning(np.zeros(1), np.full(1, float(n)), basis)
    embedding = Embedding.of(axes, basis, 0, native=False)
    levels = (tuple(range(n)),)
    group = TermGroup.of("Category", [0], embedding, True, np.ones(1), levels=levels)
    order = Order.draw(n, None, 5)
    [disk] = codes_on_disk(open_table(codes), order.of, n, [group], 4096, 1)
    memory = _core.Codes(n, 1, group.grid)
    memory.fill(codes, np.zeros(1, dtype=np.int64), order.of(slice(n)), embedding.axes.core(), 1)
    assert disk.array.dtype == memory.array.dtype == np.uint32
    np.testing.assert_array_equal(disk.array, memory.array)
    assert len(np.unique(disk.array)) == n


@pytest.mark.parametrize("n", [1, 10, 1000])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_an_order_is_a_permutation_and_can_be_undone(n, share):
    kept = None if share == 1.0 else np.arange(n) % 2 == 0
    order = Order.draw(n, kept, 3)
    values = np.random.default_rng(0).random(n)
    counted = values if kept is None else np.where(kept, values, 0.0)
    placed = order.place(values)
    np.testing.assert_array_equal(np.sort(placed), np.sort(counted[counted > 0]))
    np.testing.assert_array_equal(order.restore(placed), counted)
    if kept is None:  # the same as NumPy's own, which needs twice the memory
        expected = np.random.default_rng([3, STREAM]).permutation(n)
        np.testing.assert_array_equal(order.of(slice(n)), expected)


# -- the same model -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "squared_hinge"},
        {"curve": Hermite(3)},
        # The reference operator: no vector kernels.
        {"curve": Spline(3000), "C": 0.001, "terms": dict.fromkeys(range(4, 8), "drop")},
        {"class_weight": "balanced", "curve": Spline(10, knots="quantile")},
        {"C": 0.01, "fit_intercept": False},
        {"terms": {0: Hermite(2), 3: Spline(5), 5: "drop"}},  # several groups
    ],
    ids=str,
)
def test_blocks_lead_to_the_same_optimum(params, monkeypatch):
    tol, params = 1e-3, {"C": 1.0, **params}
    monkeypatch.setattr(ways, "suits_newton", lambda *_: False)  # whose steps are no passes
    memory = AdditiveSVC(random_state=0, tol=tol, **params).fit(X, Y)
    model, plan = noting_plans(AdditiveSVC(random_state=0, tol=tol, max_memory=SMALL, **params))
    model.fit(X, Y)
    assert plan[0].rows_per_block < len(X)
    assert model.dual_gap_ <= tol
    assert model.objective_ == pytest.approx(memory.objective_, rel=tol)
    # Every block is visited twice when it is read; the last pass may be one too many.
    assert model.n_iter_ <= memory.n_iter_ + 1


def mixed_table():
    """Numbers, gaps and categories: three groups of terms."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    frame["x1"] = frame["x1"].mask(frame["x2"] > 1)
    frame["place"] = np.array(["here", "there", "nowhere"])[np.arange(len(X)) % 3]
    return frame, Y ^ (frame["place"] == "there").to_numpy()


def test_a_table_of_all_kinds_in_blocks():
    frame, y = mixed_table()
    options = {"random_state": 0, "tol": 1e-3}
    memory = AdditiveSVC(**options).fit(frame, y)
    model, plan = noting_plans(AdditiveSVC(max_memory="1.1MB", **options))
    model.fit(frame, y)
    assert plan[0].rows_per_block < len(X)
    assert model.objective_ == pytest.approx(memory.objective_, rel=1e-3)
    found = []
    for plan in (MemoryPlan(), MemoryPlan(rows_per_block=4096)):
        smooth = AdditiveClassifier(C=1.0, random_state=0)
        smooth._plan_memory = lambda *args, plan=plan, **options: plan
        found.append(parameters(smooth.fit(frame[:10_000], y[:10_000])))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(("kind", "bound"), [(AdditiveRegressor, "4.5MB"), (AdditiveSVR, "1.9MB")])
def test_regression_in_blocks(kind, bound):
    options = {"C": 1.0, "tol": 1e-3, "random_state": 0}
    memory = kind(**options).fit(X, SCORE)
    model, plan = noting_plans(kind(max_memory=bound, **options))
    model.fit(X, SCORE)
    assert plan[0].rows_per_block < len(X)
    assert model.objective_ == pytest.approx(memory.objective_, rel=1e-3)
    # Gaps of 1e-3 leave predictions close, but for no row is there a bound worth the name.
    assert np.corrcoef(model.predict(X), memory.predict(X))[0, 1] > 0.999


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("C", [None, 1.0])
def test_newton_in_blocks_is_newton_to_the_bit(n_jobs, C):
    """Its passes go through the rows in order, whatever the blocks."""
    found = []
    for plan in (MemoryPlan(), MemoryPlan(rows_per_block=4096)):
        model = AdditiveClassifier(Spline(10), C=C, n_jobs=n_jobs, random_state=0)
        model._plan_memory = lambda *args, plan=plan, **options: plan
        found.append(parameters(model.fit(X[:10_000], Y[:10_000])))
    np.testing.assert_array_equal(*found)


def test_newton_in_blocks_takes_other_samples_to_the_same_optimum():
    """Of rows on disk the first are a sample, of others those that add most to the Hessian."""
    objectives = []
    for plan in (MemoryPlan(), MemoryPlan(rows_per_block=4096)):
        model = AdditiveClassifier(Spline(10), C=1.0, random_state=0)
        model._plan_memory = lambda *args, plan=plan, **options: plan
        objectives.append(model.fit(X, Y).objective_)
    assert len(X) > 2 * newton.FIRST_SAMPLE
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-3)


def test_several_classes_weights_and_threads():
    wide = np.hstack([X, X[::-1], X[::2].repeat(2, axis=0)])
    y = np.digitize(SCORE, [-0.5, 0.5])
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    fits, plans = [], []
    for n_jobs, bound in ((1, "3.1MB"), (3, "3.1MB"), (3, "6MB")):
        model, plan = noting_plans(
            AdditiveSVC(
                random_state=0, class_weight="balanced", n_jobs=n_jobs, max_memory=bound, C=1.0
            )
        )
        fits.append(model.fit(wide, y, weights))
        plans.append(plan[0])
    memory = AdditiveSVC(random_state=0, class_weight="balanced", C=1.0).fit(wide, y, weights)
    assert fits[0].objective_ == pytest.approx(memory.objective_, rel=1e-2)
    np.testing.assert_array_equal(parameters(fits[0]), parameters(fits[1]))
    np.testing.assert_array_equal(parameters(fits[2]), parameters(memory))  # it fits into memory
    assert [plan.width for plan in plans] == [1, 2, 3]
    assert plans[0].rows_per_block == plans[1].rows_per_block is not None
    assert plans[2].rows_per_block is None


def test_warm_start_in_blocks():
    bound = "2.5MB"
    model, plan = noting_plans(
        AdditiveSVC(warm_start=True, random_state=0, max_memory=bound, C=1.0)
    )
    first = model.fit(X, Y).n_iter_
    assert plan[0].rows_per_block is not None
    assert model.fit(X, Y).n_iter_ == 0 < first  # certified at once
    model.set_params(C=1.1).fit(X, Y)
    cold = AdditiveSVC(C=1.1, random_state=0).fit(X, Y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=1e-2)


def test_stopping_early_in_blocks():
    with pytest.warns(UserWarning, match="Stopped by the callback after 2 passes"):
        model = AdditiveSVC(
            random_state=0, tol=1e-3, max_memory=SMALL, callback=lambda p: p.n_iter == 2, C=1.0
        ).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.score(X, Y) > 0.7


# -- memory maps ----------------------------------------------------------------------------------


def mapped(X, folder, mode="r"):
    path = os.path.join(folder, "X.npy")
    np.save(path, X)
    return np.load(path, mmap_mode=mode)


@settings(max_examples=25, deadline=None)
@given(
    X=arrays(
        np.float32,
        st.tuples(st.integers(4, 60), st.integers(1, 4)),
        elements=st.floats(-9, 9, width=32),
    ),
    seed=st.integers(0, 5),
    fortran=st.booleans(),
    n_bins=st.sampled_from([1, 5, 40]),
)
def test_a_memory_map_is_an_array(X, seed, fortran, n_bins):
    y = np.arange(len(X)) % 2
    with tempfile.TemporaryDirectory() as folder:
        same = mapped(np.asfortranarray(X) if fortran else X, folder)
        params = {"random_state": seed, "curve": Spline(n_bins), "C": 0.1}
        expected = AdditiveSVC(**params).fit(X, y)
        model = AdditiveSVC(**params).fit(same, y)
        np.testing.assert_array_equal(parameters(model), parameters(expected))
        np.testing.assert_array_equal(model.decision_function(same), expected.decision_function(X))
        np.testing.assert_array_equal(same, X)
        del same


@pytest.mark.parametrize("bound", [None, SMALL])
@pytest.mark.parametrize(
    "view",
    [lambda M: M, lambda M: M[100:29_000], lambda M: M[::2, 1:], lambda M: M[::-1], np.asarray],
    ids=["whole", "slice", "strided", "reversed", "plain"],
)
def test_views_of_a_map(view, bound, tmp_path, monkeypatch):
    monkeypatch.setattr("splinear.tables.table.COPIED_AT_ONCE", 8 * 5_000)
    array, same = view(X), view(mapped(X, tmp_path))
    y = array[:, 0] > 0.2
    params = {"random_state": 0, "max_memory": bound}
    expected = AdditiveSVC(**params).fit(np.ascontiguousarray(array), y)
    model = AdditiveSVC(**params).fit(same, y)
    np.testing.assert_array_equal(parameters(model), parameters(expected))


def test_changes_in_a_private_map_are_kept(tmp_path):
    """Letting go of its pages would undo them."""
    same = mapped(X, tmp_path, mode="c")
    same[:, 0] = 0.5
    AdditiveSVC(random_state=0, max_memory=SMALL, C=1.0).fit(same, Y)
    assert (same[:, 0] == 0.5).all()
    shared = mapped(X, tmp_path, mode="r+")
    shared[:, 0] = 0.5
    AdditiveSVC(random_state=0, C=1.0).fit(shared, Y)
    assert (shared[:, 0] == 0.5).all()


def test_a_search_on_a_map(tmp_path):
    same = mapped(X[:2000], tmp_path)
    for inner in (AdditiveSVC(random_state=0, C=1.0), AdditiveClassifier(C=1.0, random_state=0)):
        expected = PathSearchCV(inner, Cs=3, cv=2).fit(X[:2000], Y[:2000])
        model = PathSearchCV(inner, Cs=3, cv=2).fit(same, Y[:2000])
        np.testing.assert_array_equal(
            parameters(model.best_estimator_), parameters(expected.best_estimator_)
        )
        np.testing.assert_array_equal(
            model.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
        )


# -- max_memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "n"),
    [
        (None, None),
        (1000, 1000),
        (np.int64(5), 5),
        ("800", 800),
        ("1kB", 1000),
        ("1 GB", 10**9),
        ("2GiB", 2 * 2**30),
        ("1.5 MiB", 3 * 2**19),
        ("500mb", 5 * 10**8),
        ("1T", 10**12),
    ],
)
def test_amounts_of_memory(text, n):
    assert bytes_of(text) == n


@pytest.mark.parametrize("wrong", [0, -5, True, "", "GB", "1 XB", "-1GB", "0GB", "12iB", "1e9"])
def test_wrong_amounts_are_named(wrong):
    with pytest.raises(ValueError, match="max_memory"):
        AdditiveSVC(max_memory=wrong, C=1.0).fit(X[:50], Y[:50])


def test_a_plan_keeps_within_its_bound():
    need = BytesPerRow(shared=10, each=14)
    for bound in (3 * 10**7, 10**8, 10**9):
        for width in (1, 4):
            plan = plan_memory(bound, 10**6, 40, need, width)
            if plan is None:
                assert least_memory(10**6, 40, need) > bound
                continue
            codes = 4 * 10**7
            if plan.rows_per_block is not None:
                codes = max(2, plan.width) * plan.rows_per_block * 20 * 2
            assert codes + 10**6 * (10 + 14 * plan.width) <= bound
    least = int(least_memory(10**6, 40, need))
    assert plan_memory(least - 10, 10**6, 40, need, 4) is None
    assert plan_memory(least + 10, 10**6, 40, need, 4) == MemoryPlan(1, 4096, False)
    assert plan_memory(10**10, 10**6, 40, need, 4) == MemoryPlan(4)
    assert [say_bytes(n) for n in (5, 1234, 48.8e6, 2e9)] == [
        "5 bytes",
        "1.23 kB",
        "48.8 MB",
        "2 GB",
    ]


def test_too_little_memory_says_how_much_is_needed():
    message = r"is too small: 30,000 rows and 1 output need at least [\d.]+ [kM]B"
    for model in (
        AdditiveSVC(C=1.0),
        AdditiveSVR(C=1.0),
        AdditiveClassifier(),
        AdditiveRegressor(),
    ):
        model.set_params(max_memory="100kB")
        with pytest.raises(ValueError, match=f"'100kB' {message}"):
            model.fit(X, Y if "lass" in type(model).__name__ or "SVC" in repr(model) else SCORE)
    y = np.digitize(SCORE, [-1, 1])
    with pytest.raises(ValueError, match="3 outputs need at least") as caught:
        AdditiveClassifier(max_memory=SMALL).fit(X, y)
    least = str(caught.value).split("at least ")[1].rstrip(".")
    amount, unit = least.split()
    AdditiveClassifier(C=1.0, max_memory=f"{float(amount) * 1.01}{unit}").fit(X, y)


def test_full_precision_needs_memory(tmp_path):
    """Without room for X itself codes are all there is, and a warning says what is missing."""
    np.save(tmp_path / "X.npy", X)
    for kind in (AdditiveSVC, AdditiveClassifier):
        bound = SMALL if kind is AdditiveSVC else "3.7MB"
        small = kind(C=1.0, tol=1e-6, max_memory=bound, random_state=0)
        with pytest.warns(ConvergenceWarning, match=r"codes .* tol=1e-06 .* leave out max_memory"):
            small.fit(X, Y)
        with pytest.warns(ConvergenceWarning, match="leave out max_memory"):
            small.set_params(max_memory="100MB").fit(tmp_path / "X.npy", Y)
        assert small.dual_gap_ > 1e-6
        assert not small.certified_
        whole = small.set_params(max_memory="100MB").fit(X, Y)
        assert whole.certified_


def test_the_coding_is_told_of(capsys):
    AdditiveSVC(max_memory=SMALL, verbose=2, random_state=0, C=1.0).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("coded 30,000 rows; the codes are on disk, in blocks of ")
    assert lines[1].startswith("pass    1")


# -- the disk -------------------------------------------------------------------------------------


@linux
def test_a_full_disk_is_found_at_once(monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(OSError, match=r"need 0\.00 GB of disk, .* TMPDIR name another folder"):
        AdditiveSVC(max_memory=SMALL, C=1.0).fit(X, Y)


def run(code, tmp_path, *arguments):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


SLOW_CODING = """
    import time
    import numpy as np
    from splinear import AdditiveSVC
    from splinear.tables import table

    table.READ_AT_ONCE = 8 * 1000
    random = np.random.default_rng(0)
    X, y = random.random((60_000, 8)), random.integers(0, 2, 60_000)
    from splinear.objective.local import disk

    deal = disk._Blocks.deal
    def slowly(self, *args):
        print("dealing", flush=True)
        deal(self, *args)
        time.sleep(0.2)
    disk._Blocks.deal = slowly
    try:
        AdditiveSVC(max_memory="1.9MB").fit(X, y)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@linux
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_nothing_is_left_behind(how, tmp_path):
    process = run(SLOW_CODING, tmp_path)
    for _ in range(3):
        assert process.stdout.readline() == "dealing\n"
    # The files are open, and have no name.
    links = [
        os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{process.pid}/fd")
    ]
    assert sum(link.startswith(str(tmp_path)) for link in links) == 2
    assert list(tmp_path.iterdir()) == []
    process.send_signal(how)
    out, _ = process.communicate(timeout=120)
    assert list(tmp_path.iterdir()) == []
    assert out.endswith("interrupted\n") == (how == signal.SIGINT)


PEAK = """
    import sys, warnings
    import numpy as np
    from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC, AdditiveSVR
    from splinear.tables import table

    def status(field):  # not ru_maxrss: that of a new process begins with its parent's
        [line] = [line for line in open("/proc/self/status") if line.startswith(field)]
        return 1024 * int(line.split()[1])

    table.COPIED_AT_ONCE //= 8  # as the table is smaller than one would have a bound for
    warnings.simplefilter("ignore")
    path, bound, n_classes, params = sys.argv[1], sys.argv[2], sys.argv[3], eval(sys.argv[4])
    X, y = np.load(f"{path}/X.npy", mmap_mode="r"), np.load(f"{path}/y{n_classes}.npy")
    weights = y + 0.5 if params.pop("weighted", False) else None
    kind = eval(params.pop("kind", "AdditiveSVC"))
    model = kind(random_state=0, max_iter=1, **params)
    model.fit(np.array(X[:2000]), y[:2000])  # warmed up
    before = status("VmRSS")
    model.set_params(max_memory=bound).fit(X, y, weights)
    print(status("VmHWM") - before)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """400,000 rows of 20 columns: 32 MB, and their codes 16."""
    folder, n = tmp_path_factory.mktemp("large"), 400_000
    random = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n, 20))
    for start in range(0, n, 100_000):
        X[start : start + 100_000] = random.random((100_000, 20), dtype=np.float32)
    for n_classes in (2, 3):
        y = np.minimum(X[:, 0] * n_classes, n_classes - 1).astype(np.int8)
        np.save(folder / f"y{n_classes}.npy", y)
    return folder


@linux
@pytest.mark.parametrize(
    ("bound", "n_classes", "params"),
    [
        ("20MB", 2, {"n_jobs": 2}),
        ("64MB", 3, {"weighted": True, "class_weight": "balanced", "warm_start": True}),
        ("57MB", 2, {"kind": "AdditiveClassifier"}),
        ("188MB", 3, {"kind": "AdditiveClassifier", "C": 1.0}),
        ("70MB", 2, {"kind": "AdditiveRegressor"}),
    ],
    ids=str,
)
def test_peak_memory_stays_below_the_bound(bound, n_classes, params, large, tmp_path):
    process = run(PEAK, tmp_path, str(large), bound, str(n_classes), repr(params))
    out, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    assert int(out) <= bytes_of(bound)
