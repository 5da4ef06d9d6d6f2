"""Models as ONNX graphs; the package onnx is imported only when needed."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from splinear._writing import write
from splinear.estimators.base import AdditiveEstimator
from splinear.export.reading import read_model

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["register_skl2onnx", "to_onnx"]


def to_onnx(
    model: AdditiveEstimator,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Literal["float32", "float64"] = "float32",
    contributions: bool = False,
    target_opset: int | None = None,
    missing_text: str = "",
) -> ModelProto:
    """Turn a model into an ONNX graph of standard operators.

    If all features are numbers, the graph has one input, X (N, n_features). If some are text, every
    feature that is not dropped is an input by its name, (N, 1). Outputs: `label`, `probabilities`
    (if any) and `scores`, or `prediction` and `scores`, with "_" appended where an input has that
    name. Missing numbers are NaN. Where the estimator would raise an error, scores are NaN.

    Parameters
    ----------
    model : fitted additive estimator
    path : path-like, default=None
        A file to write as well.
    dtype : {"float32", "float64"}, default="float32"
        The type of inputs and outputs; everything between them is computed in double precision.
    contributions : bool, default=False
        Whether to output the centered contributions; the metadata "terms" has their names.
    target_opset : int, default=None
        The version of the operators, 13 or later; None means 17.
    missing_text : str, default=""
        The text that stands for a missing value.

    Returns
    -------
    onnx_model : onnx.ModelProto

    Examples
    --------
    >>> import numpy as np
    >>> import onnxruntime
    >>> from sklearn.datasets import load_iris
    >>> from splinear import AdditiveClassifier
    >>> from splinear.export import to_onnx
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = AdditiveClassifier(random_state=0).fit(X, y)
    >>> graph = to_onnx(model, dtype="float64")
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> label, probabilities, scores = session.run(None, {"X": X.to_numpy()})
    >>> bool(np.abs(probabilities - model.predict_proba(X)).max() < 1e-9)
    True
    """
    _need("onnx")
    from splinear.export.onnx_model import build

    made = build(read_model(model), dtype, contributions, target_opset, missing_text)
    write(path, made.SerializeToString())
    return made


def register_skl2onnx() -> None:
    """Let skl2onnx convert the additive estimators, also as the last step of a pipeline.

    Call it once; `skl2onnx.to_onnx(pipeline, X)` works from then on.

    Examples
    --------
    >>> import skl2onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from splinear import AdditiveClassifier
    >>> from splinear.export import register_skl2onnx
    >>> register_skl2onnx()
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), AdditiveClassifier(random_state=0)).fit(X, y)
    >>> graph = skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False})
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities']
    """
    _need("skl2onnx")
    from splinear.export.onnx_converter import register

    register()


def _need(package: str) -> None:
    """Raise an error that says how to install a package if it is missing."""
    try:
        import_module(package)
    except ImportError as error:
        raise ImportError(
            f"The package {package} is needed; pip install 'splinear[onnx]' installs it."
        ) from error
