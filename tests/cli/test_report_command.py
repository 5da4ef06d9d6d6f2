"""``splinear report`` and ``splinear fit --report``: from a model to a page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import roc_auc_score

import splinear

pytest.importorskip("jinja2")
FEATURES = ["age", "income", "größe", "plan", "country"]


def test_a_page_with_measures(model, train, customers, invoke, tmp_path):
    path = tmp_path / "churn.html"
    done = invoke("report", model, train, "--target", "churn", "-o", path, "--title", "Who leaves?")
    assert done.exit_code == 0, done.output
    page = path.read_text(encoding="utf-8")
    assert "Who leaves?" in page
    p = splinear.load(model).predict_proba(customers[FEATURES])[:, 1]
    assert f"{roc_auc_score(customers['churn'] == 'yes', p):.3f}" in page
    assert "customer 17" not in page


def test_a_page_without_a_target(model, train, invoke, tmp_path):
    path = tmp_path / "churn.html"
    done = invoke("report", model, train, "-o", path)
    assert done.exit_code == 0, done.output
    assert "--target" in done.stdout
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("holdout", ["0.0", "0.25"])
def test_fit_writes_a_page(holdout, train, invoke, tmp_path):
    path = tmp_path / "spent.html"
    wanted = ("fit", train, "--target", "spent", "--drop", "name", "-o", tmp_path / "m.splinear")
    done = invoke(*wanted, "--holdout", holdout, "--report", path)
    assert done.exit_code == 0, done.output
    assert "spent.html" in done.stdout
    assert "spent" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("classes", "in_test"),
    [
        (["01", "12", "20"], ["12", "20"]),  # text in training, and as numbers in the test file
        (["1", "2", "x"], ["1", "2"]),
        (["1", "2", "3"], ["01", "02", "03"]),  # numbers in training, and as codes in the test file
        ([str(k) for k in range(30)], [f"{k:03}" for k in range(30)]),  # numbers, not classes
    ],
)
def test_the_target_is_read_as_in_training(classes, in_test, invoke, tmp_path):
    for name, own in (("train", classes), ("test", in_test)):
        k = np.arange(120) % len(own)
        rows = pd.DataFrame({"x": k, "y": np.array(own)[k]})
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    model, page = tmp_path / "m.splinear", tmp_path / "m.html"
    made = invoke("fit", tmp_path / "train.csv", "--target", "y", "-o", model)
    assert made.exit_code == 0, made.output
    done = invoke("report", model, tmp_path / "test.csv", "--target", "y", "-o", page)
    assert done.exit_code == 0, done.output


def test_sparse_rows_have_their_target(invoke, tmp_path):
    random = np.random.default_rng(0)
    X = sparse.random_array((300, 8), density=0.4, random_state=random)
    X = sparse.csr_array(X.toarray())  # indices of 32 bits, as scikit-learn of old wants them
    dump_svmlight_file(X, X.sum(axis=1) > np.median(X.sum(axis=1)), str(tmp_path / "rows.svm"))
    made = invoke("fit", tmp_path / "rows.svm", "-o", tmp_path / "m.splinear")
    assert made.exit_code == 0, made.output
    done = invoke(
        "report", tmp_path / "m.splinear", tmp_path / "rows.svm", "-o", tmp_path / "m.html"
    )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "m.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("page.txt", (), "must end in one of .html"),
        ("page.html", ("--target", "chrun"), "no column 'chrun'"),
    ],
)
def test_mistakes(name, more, message, model, train, invoke, tmp_path):
    done = invoke("report", model, train, "-o", tmp_path / name, *more)
    assert done.exit_code != 0
    assert message in done.output.replace("\n", " ")
    assert not list(tmp_path.iterdir())
