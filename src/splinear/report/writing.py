"""report.write: writes the page of a model.

>>> import tempfile
>>> from pathlib import Path
>>> from sklearn.datasets import load_diabetes
>>> from splinear import AdditiveRegressor, report
>>> X, y = load_diabetes(return_X_y=True, as_frame=True)
>>> model = AdditiveRegressor(random_state=0).fit(X[:300], y[:300])
>>> with tempfile.TemporaryDirectory() as folder:
...     report.write(model, Path(folder) / "model.html", X[300:], y[300:])
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from splinear._types import Input
from splinear._writing import write as write_file
from splinear.estimators.reading import Given
from splinear.estimators.regression import RegressionEstimator
from splinear.inspection.resolving import FittedModel, has_threshold, resolve
from splinear.report.content import Content, read_content
from splinear.report.page import render
from splinear.report.quality import assess
from splinear.report.scoring import score_rows
from splinear.tables.opening import open_table, open_target

__all__ = ["write"]


def write(
    model: FittedModel,
    path: str | os.PathLike[str],
    X_test: Input = None,
    y_test: Input = None,
    *,
    sample_weight: Input = None,
    offset: Input = None,
    title: str | None = None,
    class_names: Sequence[str] | None = None,
    target_name: str = "the target",
    top: int = 50,
) -> None:
    """Write a report on a model: one HTML file that needs no network.

    The page contains no row of the training data, and no names of levels with fewer than ten
    training rows.

    Parameters
    ----------
    model : fitted estimator, or a pipeline or search that ends in one
        The features of a pipeline are the columns that its last step sees.
    path : str or path-like
        The file to write; an existing one is replaced when the new one is complete.
    X_test : array-like or files as in fit, default=None
        Test rows. Without them, histograms are those of training, as coarse as the model stores
        them.
    y_test : array-like, or the name of the target's column in files, default=None
        The target of the test rows. Without it there are no measures of quality, unless the files
        hold labels as LIBSVM's do.
    sample_weight : array-like, default=None
        Weights of the test rows.
    offset : array-like, default=None
        A known part of the scores of the test rows, as in `predict`. Measures are of predictions
        with it; curves and the panel to try values are for an offset of 0.
    title : str, default=None
        None means the names of the estimator and of what it predicts.
    class_names, target_name : names for the classes, or for the target of a regression
    top : int, default=50
        The number of terms to show, the most important first. The others stay at their means.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from splinear import AdditiveClassifier, report
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = AdditiveClassifier(random_state=0).fit(X[:400], y[:400])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "cancer.html"
    ...     report.write(model, page, X[400:], y[400:], title="Which tumors are benign?")
    ...     page.read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    if X_test is None and any(given is not None for given in (y_test, sample_weight, offset)):
        raise ValueError("y_test, sample_weight and offset belong to test rows: give X_test, too.")
    _refuse_threshold(model)
    estimator, X = resolve(model, X_test)
    if isinstance(estimator, RegressionEstimator) and len(estimator.intercept_) > 1:
        raise ValueError(
            "A report is about one number, and the model predicts several quantiles. Fit "
            "Quantile(level) for the one to report."
        )
    if X is not None:  # a table that was opened is read again, but not opened
        table = open_table(X, type(estimator).__name__)
        X, y_test = open_target(table, y_test, getattr(estimator, "classes_", ()))
    content = read_content(estimator, X, class_names, target_name, top)
    page = _page(content, Given(X, y_test, sample_weight, offset=offset), title)
    write_file(path, page.encode("utf-8"))


def _refuse_threshold(model: FittedModel) -> None:
    """Raise if a wrapper decides: the page measures and shows the decisions of the model."""
    if has_threshold(model):
        raise TypeError(
            f"{type(model).__name__} decides by a threshold of its own, and a report measures the "
            "decisions of the model: pass estimator_ of it, which is the model."
        )


def _page(content: Content, test: Given, title: str | None) -> str:
    quality = None
    if test.y is not None:
        scores = content.model._scores(test.X, test.offset)
        scored = score_rows(content.model, scores, test.y, test.sample_weight, content.class_names)
        quality = assess(scored, content.target_name)
    n_test = 0 if content.table is None else content.table.shape[0]
    how = {"weighted": test.sample_weight is not None, "moved": test.offset is not None}
    return render(content, quality, title or _title(content), n_test, **how)


def _title(content: Content) -> str:
    names = content.class_names
    if not names:
        what = content.target_name
    elif len(names) > 3:
        what = f"{len(names)} {'levels' if content.pieces.grades is not None else 'classes'}"
    else:
        what = " or ".join([", ".join(names[:-1]), names[-1]])
    return f"{type(content.model).__name__}: {what}"
