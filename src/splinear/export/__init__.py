"""Models outside of Python: as JSON, as an ONNX graph, as an SQL query.

All of them reproduce the scores, probabilities and predictions of the estimator, including
categories, missing values and surfaces. To use a model in Python again, use `splinear.save`
instead.
"""

from splinear.export.as_json import to_json
from splinear.export.as_onnx import register_skl2onnx, to_onnx
from splinear.export.as_sql import to_sql

__all__ = ["register_skl2onnx", "to_json", "to_onnx", "to_sql"]
