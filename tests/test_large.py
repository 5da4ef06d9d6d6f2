"""Data larger than memory: codes on disk, blocks of them in memory, and nothing left behind."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from splinear import AdditiveClassifier, AdditiveClassifierCV, AdditiveRegressor, _core
from splinear._reading import float_chunks
from splinear.axes import Axes
from splinear.basis import BSplineBasis, FourierBasis
from splinear.embedding import Embedding
from splinear.solvers.disk import codes_on_disk
from splinear.solvers.memory import MemoryPlan, Need, bytes_of, least_memory, plan_memory, say_bytes
from splinear.solvers.rows import _Order

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
    """Give the model, and a list that its fits will add their plans to."""
    plans = []
    plan_of = model._plan_memory

    def noted(*args, **options):
        plans.append(plan_of(*args, **options))
        return plans[-1]

    model._plan_memory = noted
    return model, plans


# -- the file of codes ----------------------------------------------------------------------------


def embedding_of(X, basis):
    lo, hi = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    return Embedding.of(Axes.spanning(lo, hi, basis), basis, 1, native=False)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("rows_per_block", [4096, 8192, 40_000])
@pytest.mark.parametrize("kept", [None, 3])
@pytest.mark.parametrize("basis", [BSplineBasis(1, 10), FourierBasis(2)], ids=["spline", "fourier"])
def test_the_file_holds_the_codes_of_memory(basis, kept, rows_per_block, n_threads, monkeypatch):
    monkeypatch.setattr("splinear._reading._PIECE", 8 * 7_001)
    embedding = embedding_of(X, basis)
    counted = None if kept is None else np.arange(len(X)) % kept > 0
    order = _Order.draw(len(X), counted, 5)
    memory = _core.Codes(order.n_rows, 8, basis.grid())
    for rows, piece in float_chunks(X):
        memory.fill(piece, order.of(rows), embedding.axes.core(), 1)
    disk = codes_on_disk(X, order.of, order.n_rows, embedding, rows_per_block, n_threads)
    assert memory.rows_per_block == order.n_rows
    assert disk.rows_per_block == rows_per_block
    np.testing.assert_array_equal(disk.array, memory.array)


@pytest.mark.parametrize("n", [1, 10, 1000])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_an_order_is_a_permutation_and_can_be_undone(n, share):
    kept = None if share == 1.0 else np.arange(n) % 2 == 0
    order = _Order.draw(n, kept, 3)
    values = np.random.default_rng(0).random(n)
    counted = values if kept is None else np.where(kept, values, 0.0)
    placed = order.place(values)
    np.testing.assert_array_equal(np.sort(placed), np.sort(counted[counted > 0]))
    np.testing.assert_array_equal(order.restore(placed), counted)
    if kept is None:  # the same as NumPy's own, which needs twice the memory
        np.testing.assert_array_equal(order.of(slice(n)), np.random.default_rng(3).permutation(n))


# -- the same model -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "squared_hinge", "solver": "dual_cd"},
        {"loss": "logistic", "solver": "dual_cd"},
        {"basis": "hermite", "degree": 3},
        {"n_bins": 3000},  # the reference path: no vector kernels
        {"class_weight": "balanced", "knots": "quantile"},
        {"C": 0.01, "fit_intercept": False},
    ],
    ids=str,
)
def test_blocks_lead_to_the_same_optimum(params):
    tol = 1e-3
    memory = AdditiveClassifier(random_state=0, tol=tol, **params).fit(X, Y)
    model, plan = noting_plans(
        AdditiveClassifier(random_state=0, tol=tol, max_memory=SMALL, **params)
    )
    model.fit(X, Y)
    assert plan[0].rows_per_block < len(X)
    assert model.dual_gap_ <= tol
    assert model.objective_ == pytest.approx(memory.objective_, rel=tol)
    assert model.n_iter_ <= memory.n_iter_  # every block is visited twice when it is read


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
def test_regression_in_blocks(loss):
    memory = AdditiveRegressor(random_state=0, loss=loss).fit(X, SCORE)
    model, plan = noting_plans(AdditiveRegressor(random_state=0, loss=loss, max_memory="1.9MB"))
    model.fit(X, SCORE)
    assert plan[0].rows_per_block < len(X)
    assert model.objective_ == pytest.approx(memory.objective_, rel=1e-3)
    np.testing.assert_allclose(model.predict(X[:100]), memory.predict(X[:100]), atol=0.1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_newton_in_blocks_is_newton_to_the_bit(n_jobs):
    """Its passes go through the rows in order, whatever the blocks."""
    rows = {}
    for plan in (MemoryPlan(), MemoryPlan(rows_per_block=4096)):
        model = AdditiveClassifier(loss="logistic", solver="newton", n_jobs=n_jobs)
        model._plan_memory = lambda *args, plan=plan, **options: plan
        rows[plan] = model.set_params(random_state=0).fit(X, Y).coef_
    first, second = rows.values()
    np.testing.assert_array_equal(first, second)


def test_several_classes_weights_and_threads():
    wide = np.hstack([X, X[::-1], X[::2].repeat(2, axis=0)])
    y = np.digitize(SCORE, [-0.5, 0.5])
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    fits, plans = [], []
    for n_jobs, bound in ((1, "3.1MB"), (3, "3.1MB"), (3, "6MB")):
        model, plan = noting_plans(
            AdditiveClassifier(
                random_state=0, class_weight="balanced", n_jobs=n_jobs, max_memory=bound
            )
        )
        fits.append(model.fit(wide, y, weights))
        plans.append(plan[0])
    memory = AdditiveClassifier(random_state=0, class_weight="balanced").fit(wide, y, weights)
    assert fits[0].objective_ == pytest.approx(memory.objective_, rel=1e-2)
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    np.testing.assert_array_equal(fits[2].coef_, memory.coef_)  # there it fits into memory
    assert [plan.width for plan in plans] == [1, 2, 3]
    assert plans[0].rows_per_block == plans[1].rows_per_block is not None
    assert plans[2].rows_per_block is None


def test_calibration_in_blocks():
    params = {"random_state": 0, "tol": 1e-3, "calibration": "sigmoid"}
    memory = AdditiveClassifier(**params).fit(X, Y)
    model = AdditiveClassifier(**params)
    model._plan_memory = lambda *args, **options: MemoryPlan(1, 8192)
    model.fit(X, Y)
    # Both objectives are within tol of the optimum, where the curves still differ a little.
    difference = model.predict_proba(X) - memory.predict_proba(X)
    assert np.abs(difference).mean() < 0.01


def test_warm_start_in_blocks():
    bound = "2.5MB"
    model, plan = noting_plans(
        AdditiveClassifier(warm_start=True, random_state=0, max_memory=bound)
    )
    first = model.fit(X, Y).n_iter_
    assert plan[0].rows_per_block is not None
    assert model.fit(X, Y).n_iter_ == 0 < first  # certified at once
    model.set_params(C=1.1).fit(X, Y)
    cold = AdditiveClassifier(C=1.1, random_state=0).fit(X, Y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=1e-2)


def test_stopping_early_in_blocks():
    with pytest.warns(UserWarning, match="Stopped by the callback after 2 passes"):
        model = AdditiveClassifier(
            random_state=0, tol=1e-3, max_memory=SMALL, callback=lambda p: p.n_iter == 2
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
        params = {"random_state": seed, "n_bins": n_bins, "C": 0.1}
        expected = AdditiveClassifier(**params).fit(X, y)
        model = AdditiveClassifier(**params).fit(same, y)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
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
    monkeypatch.setattr("splinear._reading._COPIED_PIECE", 8 * 5_000)
    array, same = view(X), view(mapped(X, tmp_path))
    y = array[:, 0] > 0.2
    params = {"random_state": 0, "max_memory": bound}
    expected = AdditiveClassifier(**params).fit(np.ascontiguousarray(array), y)
    model = AdditiveClassifier(**params).fit(same, y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_changes_in_a_private_map_are_kept(tmp_path):
    """Letting go of its pages would undo them."""
    same = mapped(X, tmp_path, mode="c")
    same[:, 0] = 0.5
    AdditiveClassifier(random_state=0, max_memory=SMALL).fit(same, Y)
    assert (same[:, 0] == 0.5).all()
    shared = mapped(X, tmp_path, mode="r+")
    shared[:, 0] = 0.5
    AdditiveClassifier(random_state=0).fit(shared, Y)
    assert (shared[:, 0] == 0.5).all()


def test_a_search_on_a_map(tmp_path):
    expected = AdditiveClassifierCV(Cs=3, cv=2, random_state=0).fit(X[:2000], Y[:2000])
    same = mapped(X[:2000], tmp_path)
    model = AdditiveClassifierCV(Cs=3, cv=2, random_state=0).fit(same, Y[:2000])
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.scores_, expected.scores_)


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
        AdditiveClassifier(max_memory=wrong).fit(X[:50], Y[:50])


def test_a_plan_keeps_within_its_bound():
    need = Need(shared=10, each=14)
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
    assert plan_memory(least + 10, 10**6, 40, need, 4) == MemoryPlan(1, 4096)
    assert plan_memory(10**10, 10**6, 40, need, 4) == MemoryPlan(4)
    assert MemoryPlan(5).inside(2).width == 2
    assert MemoryPlan(1).inside(3).width == 1
    assert [say_bytes(n) for n in (5, 1234, 48.8e6, 2e9)] == [
        "5 bytes",
        "1.23 kB",
        "48.8 MB",
        "2 GB",
    ]


def test_too_little_memory_says_how_much_is_needed():
    with pytest.raises(
        ValueError, match=r"'100kB' is too small: 30,000 rows and 1 output need at le"
    ):
        AdditiveClassifier(max_memory="100kB").fit(X, Y)
    with pytest.raises(ValueError, match="solver='newton'"):
        AdditiveClassifier(loss="logistic", solver="newton", max_memory=SMALL).fit(X, Y)
    with pytest.raises(ValueError, match="3 outputs need at least"):
        AdditiveClassifier(loss="logistic", max_memory=SMALL).fit(X, np.digitize(SCORE, [-1, 1]))
    with pytest.raises(ValueError, match="solver='newton'"):
        AdditiveClassifier(loss="logistic", smoothness="reml", max_memory=SMALL).fit(X, Y)


def test_newton_where_it_fits_and_dual_where_not():
    seen = []
    for bound in ("5MB", "1.5MB"):
        model = AdditiveClassifier(loss="logistic", random_state=0, max_memory=bound)
        model.set_params(callback=lambda p: seen.append(p.n_active)).fit(X, Y)
    newton = AdditiveClassifier(loss="logistic", solver="newton", random_state=0).fit(X, Y)
    assert model.objective_ == pytest.approx(newton.objective_, rel=1e-2)
    assert model.n_iter_ > newton.n_iter_


def test_full_precision_needs_memory(tmp_path):
    with pytest.raises(ValueError, match=r"tol=0.0001 is below 0.001.*Raise tol or max_memory"):
        AdditiveClassifier(tol=1e-4, max_memory=SMALL).fit(X, Y)
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match=r"tol=0.0001 is below 0.001"):
        AdditiveClassifier(tol=1e-4, max_memory="100MB").fit(tmp_path / "X.npy", Y)


def test_the_coding_is_told_of(capsys):
    AdditiveClassifier(max_memory=SMALL, verbose=1, random_state=0).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("coded 30,000 rows in ")
    assert "the codes are on disk, in blocks of" in lines[0]
    assert lines[1].startswith("pass    1")


# -- the disk -------------------------------------------------------------------------------------


@linux
def test_a_full_disk_is_found_at_once(monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(OSError, match=r"need 0\.00 GB of disk, .* TMPDIR name another folder"):
        AdditiveClassifier(max_memory=SMALL).fit(X, Y)


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
    from splinear import AdditiveClassifier, _reading

    _reading._PIECE = 8 * 1000
    random = np.random.default_rng(0)
    X, y = random.random((60_000, 8)), random.integers(0, 2, 60_000)
    from splinear.solvers import disk

    deal = disk._Blocks.deal
    def slowly(self, *args):
        print("dealing", flush=True)
        deal(self, *args)
        time.sleep(0.2)
    disk._Blocks.deal = slowly
    try:
        AdditiveClassifier(max_memory="1.9MB").fit(X, y)
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
    out, _ = process.communicate(timeout=30)
    assert list(tmp_path.iterdir()) == []
    assert out.endswith("interrupted\n") == (how == signal.SIGINT)


PEAK = """
    import sys, warnings
    import numpy as np
    from splinear import AdditiveClassifier, AdditiveRegressor

    def status(field):  # not ru_maxrss: that of a new process begins with its parent's
        [line] = [line for line in open("/proc/self/status") if line.startswith(field)]
        return 1024 * int(line.split()[1])

    warnings.simplefilter("ignore")
    path, bound, params = sys.argv[1], sys.argv[2], eval(sys.argv[3])
    X, y = np.load(f"{path}/X.npy", mmap_mode="r"), np.load(f"{path}/y.npy")
    weights = np.load(f"{path}/y.npy") + 0.5 if params.pop("weighted", False) else None
    kind = AdditiveRegressor if "epsilon" in params else AdditiveClassifier
    model = kind(random_state=0, max_iter=3, **params)
    model.fit(np.array(X[:2000]), y[:2000])  # warmed up
    before = status("VmRSS")
    model.set_params(max_memory=bound).fit(X, y, weights)
    print(status("VmHWM") - before)
"""


@linux
@pytest.mark.parametrize(
    ("bound", "n_classes", "params"),
    [
        ("55MB", 2, {"n_jobs": 2}),
        ("75MB", 3, {"n_jobs": 2}),
        ("90MB", 2, {"weighted": True, "class_weight": "balanced"}),
        ("110MB", 2, {"epsilon": 0.1, "solver": "dual_cd"}),
        ("115MB", 2, {"warm_start": True}),
        ("160MB", 2, {"loss": "logistic", "solver": "newton"}),
    ],
    ids=["two classes", "three classes", "weights", "regression", "warm start", "newton"],
)
def test_peak_memory_stays_below_the_bound(bound, n_classes, params, tmp_path):
    n = 1_500_000
    random = np.random.default_rng(0)
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (n, 20))
    y = np.empty(n, dtype=np.int8)
    for start in range(0, n, 100_000):
        piece = random.random((100_000, 20), dtype=np.float32)
        X[start : start + 100_000] = piece
        y[start : start + 100_000] = np.minimum(piece[:, 0] * n_classes, n_classes - 1)
    del X
    np.save(tmp_path / "y.npy", y)
    process = run(PEAK, tmp_path, str(tmp_path), bound, repr(params))
    out, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    assert int(out) <= bytes_of(bound)  # X alone has 120 MB, and its codes 60
