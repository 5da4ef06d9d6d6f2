"""From a model and test rows to a page."""

from __future__ import annotations

import os
from collections.abc import Sequence

from splinear._types import Input
from splinear.export.writing import write as write_file
from splinear.inspection.curves import read_numbers
from splinear.inspection.resolving import FittedModel, resolve
from splinear.report.content import read_content
from splinear.report.page import render
from splinear.report.quality import assess
from splinear.report.scoring import score_rows

__all__ = ["write"]


def write(
    model: FittedModel,
    path: str | os.PathLike[str],
    X_test: Input = None,
    y_test: Input = None,
    *,
    sample_weight: Input = None,
    title: str | None = None,
    class_names: Sequence[str] | None = None,
    target_name: str = "the target",
    top: int = 50,
) -> None:
    """Write all there is to say of a model as one HTML file, which needs no network.

    It shows what the model is, how good it is on test rows, all of its curves and surfaces, and a
    panel in which a reader changes values and sees the prediction move. The page holds no row of
    the training data, and names no level of fewer than ten training rows. Needs jinja2.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        Or a fitted pipeline, or a search, that ends in one. Of a pipeline, features are the columns
        that its last step sees.
    path : path-like
        The file; it is replaced when the new one is complete.
    X_test : array-like of shape (n_rows, n_features), default=None
        Rows that the model has not seen, for histograms; None: as the model remembers training.
    y_test : array-like of shape (n_rows,), default=None
        Their target, for measures; None: the page has none.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the test rows, in measures.
    title : str, default=None
        Of the page; None: the name of the estimator, and of what it predicts.
    class_names, target_name
        How classes, and the target of a regression, are called.
    top : int, default=50
        Terms to show: the most important ones. In the panel the others stay at their means.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor, report
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X[:300], y[:300])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.write(model, Path(folder) / "model.html", X[300:], y[300:])
    """
    if X_test is None and (y_test is not None or sample_weight is not None):
        raise ValueError("y_test and sample_weight are of test rows: give X_test, too.")
    if top < 1:
        raise ValueError(f"top must be at least 1; got {top}.")
    estimator, X = resolve(model, X_test)
    table = None if X is None else read_numbers(estimator, X)
    content = read_content(estimator, table, class_names, target_name, top)
    quality = None
    if y_test is not None:
        scored = score_rows(
            estimator, content.pieces, X, y_test, sample_weight, content.class_names
        )
        quality = assess(scored, target_name)
    if title is None:
        title = f"{type(estimator).__name__}: {_what(content.class_names, target_name)}"
    n_test = 0 if table is None else table.shape[0]
    page = render(content, quality, title, n_test, weighted=sample_weight is not None)
    write_file(path, page.encode("utf-8"))


def _what(class_names: list[str], target_name: str) -> str:
    if not class_names:
        return target_name
    if len(class_names) > 3:
        return f"{len(class_names)} classes"
    return " or ".join([", ".join(class_names[:-1]), class_names[-1]])
