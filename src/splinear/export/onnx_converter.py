"""Conversion of additive estimators in pipelines by skl2onnx."""

from __future__ import annotations

from typing import Any

from onnx import TensorProto, helper, numpy_helper
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import Int64TensorType, StringTensorType, guess_proto_type
from skl2onnx.common.utils import check_input_and_output_numbers

from splinear.estimators.classifier import AdditiveClassifier
from splinear.estimators.ordinal import AdditiveOrdinal
from splinear.estimators.regressor import AdditiveRegressor
from splinear.estimators.svc import AdditiveSVC
from splinear.estimators.svr import AdditiveSVR
from splinear.export.onnx_graph import Graph
from splinear.export.onnx_model import ML_VERSION, check_opset, outputs_of, text_features
from splinear.export.onnx_terms import ML, Inputs
from splinear.export.pieces import ModelPieces
from splinear.export.reading import read_model

__all__ = ["register"]

MISSING_TEXT = ""


def register() -> None:
    """Register the estimators with skl2onnx.

    Outputs have its names: label and probabilities (or scores if there are none) for classifiers,
    and variable (N, 1) for regressors.
    """
    options = {
        "zipmap": [True, False, "columns"],
        "output_class_labels": [False, True],
        "nocl": [False],
    }
    for estimator, own in (
        (AdditiveClassifier, options),
        (AdditiveOrdinal, options),
        (AdditiveSVC, None),
        (AdditiveRegressor, None),
        (AdditiveSVR, None),
    ):
        alias = f"Splinear{estimator.__name__}"
        update_registered_converter(estimator, alias, _set_types, _convert, options=own)


def _set_types(operator: Any) -> None:
    """Set the types and shapes of the outputs."""
    pieces = read_model(operator.raw_operator)
    n_rows = operator.inputs[0].get_first_dimension()
    if pieces.task == "regression":
        check_input_and_output_numbers(operator, output_count_range=1)
        operator.outputs[0].type.shape = [n_rows, pieces.n_outputs]
        return
    check_input_and_output_numbers(operator, output_count_range=2)
    assert pieces.classes is not None
    is_text = all(isinstance(label, str) for label in pieces.classes)
    shape = [n_rows, pieces.n_outputs] if pieces.task == "multilabel" else [n_rows]
    operator.outputs[0].set_type((StringTensorType if is_text else Int64TensorType)(shape))
    n_columns = pieces.n_outputs if pieces.link is None else len(pieces.classes)
    operator.outputs[1].type.shape = [n_rows, n_columns]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a fitted estimator."""
    check_opset(container.target_opset_any_domain(""))
    pieces = read_model(operator.raw_operator)
    graph = Graph(scope.get_unique_variable_name("splinear") + "_")
    found = outputs_of(pieces, graph, _inputs(pieces, graph, operator.inputs))
    names = [variable.full_name for variable in operator.outputs]
    if pieces.task == "regression":
        graph.cast(found.mean(), guess_proto_type(operator.outputs[0].type), names[0])
    else:
        is_text = isinstance(operator.outputs[0].type, StringTensorType)
        label = found.label(f"{graph.prefix}label")
        if not is_text and label not in (TensorProto.INT64, TensorProto.BOOL):
            raise TypeError(f"skl2onnx has whole numbers or text as classes; got {pieces.classes}.")
        to = TensorProto.STRING if is_text else TensorProto.INT64
        graph.cast(f"{graph.prefix}label", to, names[0])
        second = found.scores if pieces.link is None else found.probabilities()
        graph.cast(second, guess_proto_type(operator.outputs[1].type), names[1])
    _hand_over(graph, container)


def _inputs(pieces: ModelPieces, graph: Graph, given: list[Any]) -> Inputs:
    """Return the features in the order of the inputs, which have one or more columns each."""
    wanted_text = set(text_features(pieces, MISSING_TEXT))
    numbers: list[str] = []
    place: dict[int, int] = {}
    text: dict[int, str] = {}
    j = 0
    for variable in given:
        n_columns = variable.type.shape[1] if len(variable.type.shape) > 1 else 1
        features = range(j, j + int(n_columns or len(pieces.features)))
        j = features.stop
        if isinstance(variable.type, StringTensorType):
            text |= {k: graph.columns(variable.full_name, [k - features.start]) for k in features}
            continue
        place |= {k: len(place) + i for i, k in enumerate(features)}
        numbers.append(graph.doubles(variable.full_name))
    used = {k for k, feature in enumerate(pieces.features) if feature.kind != "dropped"}
    if j != len(pieces.features) or (used & set(text)) != wanted_text:
        raise TypeError(
            f"{pieces.estimator} was fitted on {len(pieces.features)} features, of which "
            f"{len(wanted_text)} are text; in the graph it gets {j}, of which {len(text)} are. "
            "Text and numbers do not go through one ColumnTransformer of skl2onnx: put an "
            "OrdinalEncoder there, and name the columns in categorical_features."
        )
    return Inputs(graph.joined(numbers) if numbers else "", place, text, MISSING_TEXT)


def _hand_over(graph: Graph, container: Any) -> None:
    """Move nodes and constants to the container of skl2onnx."""
    for tensor in graph.constants:
        values = numpy_helper.to_array(tensor)
        content = list(values.ravel()) if tensor.data_type == TensorProto.STRING else tensor
        container.add_initializer(tensor.name, tensor.data_type, list(tensor.dims), content)
    for node in graph.nodes:
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        container.add_node(
            node.op_type,
            list(node.input),
            list(node.output),
            op_domain=node.domain,
            op_version=ML_VERSION if node.domain == ML else None,
            name=node.name,
            **attributes,
        )
