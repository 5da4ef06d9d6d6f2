"""Models outside of Python: as JSON, as an ONNX graph, as an SQL query.

All of them give the scores, probabilities and predictions of the estimator, categories, missing
values and surfaces included. To keep a model for Python, `splinear.save` it instead.
"""

from splinear.export.as_json import to_json
from splinear.export.as_onnx import register_skl2onnx, to_onnx
from splinear.export.as_sql import to_sql

__all__ = ["register_skl2onnx", "to_json", "to_onnx", "to_sql"]
