"""What a fit says that did not reach its goal: the true cause, and an honest advice."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from splinear import AdditiveClassifier, AdditiveRegressor, AdditiveSVC
from splinear.estimators.ending import how_it_ended

X, Y = load_breast_cancer(return_X_y=True)


def said(
    reason=None,
    gap=0.5,
    n_iter=264,
    tol=1e-3,
    settled=True,
    is_whole=True,
    rounded=False,
    memory=None,
):
    result = SimpleNamespace(n_iter=n_iter, converged=False)
    trained = SimpleNamespace(results=[result], settled=settled, is_whole=is_whole, rounded=rounded)
    estimator = SimpleNamespace(
        n_iter_=n_iter, max_iter=1000, time_limit=2.0, dual_gap_=gap, tol=tol, max_memory=memory
    )
    return how_it_ended(estimator, trained, reason)


def test_the_cause_is_the_true_one():
    assert "after 1000 passes (max_iter=1000) at a rel" in said(n_iter=1000)
    stalled = said(n_iter=264)
    assert "(max_iter" not in stalled
    assert "after 264 passes, where rounding errors left no step" in stalled
    rounded = said(rounded=True)
    assert "after 264 passes, where X is too far from the codes" in rounded
    assert rounded.endswith("Raise tol, or lower C.")
    assert said(rounded=True, memory="1GB").endswith("or leave out max_memory.")
    assert "by time_limit=2.0 s after 264 passes before the smoothness" in said(
        "time_limit", settled=False
    )
    assert "264 passes before pairs of features had been looked at" in said(
        "callback", settled=False, is_whole=False
    )


@pytest.mark.parametrize("reason", ["time_limit", "callback"])
def test_a_model_far_from_the_optimum_is_not_called_usable(reason):
    assert "usable" in said(reason, gap=0.09)
    assert "usable" in said(reason, gap=0.9, tol=0.1)
    assert "far from the optimum" in said(reason, gap=0.97)
    assert "far from the optimum" in said(reason, gap=np.inf)
    assert "at an unknown gap; " in said(reason, gap=np.nan)
    assert "far from the optimum" in said(reason, gap=np.nan)


@pytest.mark.parametrize("model", [AdditiveSVC(C=100.0), AdditiveClassifier(C=100.0)], ids=str)
def test_the_advice_follows_the_gap(model):
    model.set_params(tol=1e-6, callback=lambda progress: progress.n_iter == 1)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, Y)
    [warning] = caught
    said = "usable" if model.dual_gap_ <= 0.1 else "far from the optimum"
    assert said in str(warning.message)
    assert re.search(r"after 1 passes", str(warning.message))


def test_verbose_counts_on_while_smoothness_is_chosen(capsys):
    """Turns of REML are numbered through to the steps of the last fit; trials do not count."""
    model = AdditiveRegressor(verbose=2, random_state=0).fit(X, Y)
    *printed, _ = capsys.readouterr().err.splitlines()
    lines = [line for line in printed if not line.startswith("trial ")]
    passes = [int(re.match(r"(?:smoothness   )?pass +(\d+) ", line)[1]) for line in lines]
    assert passes == list(range(1, model.n_iter_ + 1))
    of_turns = [line.startswith("smoothness") for line in lines]
    assert of_turns[0]
    assert of_turns == sorted(of_turns, reverse=True)


@pytest.mark.parametrize("labels", [1, 2], ids=["a class", "labels"])
def test_no_line_is_printed_twice_where_models_are_compared(labels, capsys):
    """A wide table: two ways of REML, and trials, whose steps are numbered one by one."""
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 25))
    y = X[:, :labels] ** 2 + random.normal(size=(400, labels)) > 1
    seen = []
    model = AdditiveClassifier(verbose=2, random_state=0, callback=seen.append)
    model.fit(X, y if labels > 1 else y[:, 0])
    *lines, _ = capsys.readouterr().err.splitlines()
    about = [line.split("   gap")[0] for line in lines]
    assert len(set(about)) == len(about) == len(seen)
    assert {"smoothness", "trial 2"} <= {progress.phase for progress in seen}
    for progress in seen:
        alike = [p.n_iter for p in seen if (p.phase, p.label) == (progress.phase, progress.label)]
        assert alike == list(range(alike[0], alike[0] + len(alike)))
        assert alike[0] == 1 or progress.phase is None
    turns = [progress.n_iter for progress in seen if progress.phase == "smoothness"]
    steps = [progress.n_iter for progress in seen if progress.phase is None]
    assert max(steps, default=max(turns)) == model.n_iter_
