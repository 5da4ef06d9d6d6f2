"""The ONNX graph of a model: inputs, terms and outputs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, defs, helper
from onnx.checker import check_model

from splinear._types import AnyArray
from splinear.export.onnx_graph import Graph
from splinear.export.onnx_terms import ML, Inputs, OnnxTerms
from splinear.export.pieces import ModelPieces, OrderedLevels

__all__ = ["ML_VERSION", "Outputs", "build", "check_opset", "outputs_of", "text_features"]

OLDEST, USUAL, ML_VERSION = 13, 17, 2  # opsets; the operators in use have not changed since

BEYOND = 1e300  # cut points below the lowest and above the highest level

TYPES = {"float32": int(TensorProto.FLOAT), "float64": int(TensorProto.DOUBLE)}


@dataclass(frozen=True)
class Outputs:
    """The values of a graph that hold the results of a model.

    Attributes
    ----------
    scores : str
        (N, n_outputs), in double precision.
    parts : str
        The contributions of all terms, (N, n_terms, n_outputs).
    """

    graph: Graph
    pieces: ModelPieces
    scores: str
    parts: str

    def label(self, name: str) -> int:
        """Add the predicted classes (N,) or labels (N, n_labels), and return their type."""
        graph, pieces = self.graph, self.pieces
        if pieces.task == "ordinal":
            at = graph.add("ArgMax", self.probabilities(), axis=1, keepdims=0)
        elif pieces.task == "multiclass":
            at = graph.add("ArgMax", self.scores, axis=1, keepdims=0)
        else:
            above = graph.add("Greater", self.scores, graph.constant(0.0))
            if pieces.task == "multilabel":
                graph.cast(above, TensorProto.INT64, output=name)
                return int(TensorProto.INT64)
            at = graph.cast(graph.squeezed(above, 1), TensorProto.INT64)
        classes = _classes(pieces)
        graph.add("Gather", graph.constant(classes), at, output=name)
        return int(helper.np_dtype_to_tensor_dtype(classes.dtype))

    def probabilities(self) -> str:
        """Return the probabilities of classes or labels, (N, n_classes), in double precision."""
        graph = self.graph
        if self.pieces.link == "softmax":
            return graph.add("Softmax", self.scores, axis=1)
        if self.pieces.grades is not None:
            return self._of_levels(self.pieces.grades)
        if self.pieces.task == "multilabel":
            return graph.add("Sigmoid", self.scores)
        both = graph.joined([graph.add("Neg", self.scores), self.scores])
        return graph.add("Sigmoid", both)

    def _of_levels(self, levels: OrderedLevels) -> str:
        """Return P(y >= level) P(y <= level) (1 - exp(-width of the level)), (N, n_levels)."""
        graph, cuts = self.graph, levels.cut_points
        low, high = np.append(-BEYOND, cuts), np.append(cuts, BEYOND)
        above = graph.add("Sigmoid", graph.add("Sub", self.scores, graph.constant(low)))
        below = graph.add("Sigmoid", graph.add("Sub", graph.constant(high), self.scores))
        share = graph.constant(-np.expm1(low - high))
        return graph.add("Mul", graph.add("Mul", above, below), share)

    def mean(self) -> str:
        """Return the predicted numbers, (N, n_outputs), in double precision."""
        graph = self.graph
        if self.pieces.link == "identity":
            return self.scores
        ends = np.finfo(np.float64)
        inside = graph.add("Clip", self.scores, graph.constant(-800.0), graph.constant(709.0))
        mean = graph.add("Exp", inside)
        return graph.add(
            "Clip", mean, graph.constant(float(ends.tiny)), graph.constant(float(ends.max))
        )

    def contributions(self) -> str:
        """Return the centered contributions, (N, n_terms, n_outputs)."""
        means = np.stack([term.mean for term in self.pieces.terms])
        return self.graph.add("Sub", self.parts, self.graph.constant(means))


def outputs_of(pieces: ModelPieces, graph: Graph, inputs: Inputs) -> Outputs:
    """Add all terms to a graph, and return its outputs."""
    parts = OnnxTerms(graph, inputs, pieces.n_outputs).parts(pieces.terms)
    total = graph.add("ReduceSum", parts, graph.constant([1]), keepdims=0)
    scores = graph.add("Add", total, graph.constant(pieces.intercept))
    return Outputs(graph, pieces, scores, parts)


def build(
    pieces: ModelPieces,
    dtype: str,
    contributions: bool,
    target_opset: int | None,
    missing_text: str,
) -> ModelProto:
    """Return the whole model."""
    if dtype not in TYPES:
        raise ValueError(f"dtype must be 'float32' or 'float64'; got {dtype!r}.")
    opset = check_opset(target_opset)
    graph = Graph(_prefix(pieces))
    given, inputs = _inputs(pieces, graph, TYPES[dtype], missing_text)
    taken = [one.name for one in given]
    found = outputs_of(pieces, graph, inputs)
    returned = _outputs(found, TYPES[dtype], contributions, taken)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(ML, ML_VERSION)]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "splinear", given, returned, graph.constants),
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
        producer_name="splinear",
    )
    helper.set_model_props(made, {"terms": "\n".join(term.name for term in pieces.terms)})
    check_model(made)
    return made


def _prefix(pieces: ModelPieces) -> str:
    """Return what names inside the graph begin with; no column's name begins with it."""
    prefix = "splinear_"
    while any(feature.name.startswith(prefix) for feature in pieces.features):
        prefix += "_"
    return prefix


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name, with as many underscores at its end as make it differ from those taken."""
    while name in taken:
        name += "_"
    return name


def check_opset(target_opset: int | None) -> int:
    """Return the version of operators; raise if it is too old, or unknown to onnx."""
    newest = int(defs.onnx_opset_version())
    if target_opset is None:
        return min(USUAL, newest)
    if not OLDEST <= target_opset <= newest:
        raise ValueError(
            f"target_opset must be from {OLDEST}, the first with all operators that are needed, to "
            f"{newest}, the last that the installed onnx knows; got {target_opset}."
        )
    return int(target_opset)


def text_features(pieces: ModelPieces, missing_text: str) -> list[int]:
    """Return the categories whose levels are text; raise if one is `missing_text`."""
    found = [j for j, feature in enumerate(pieces.features) if feature.holds_text]
    for j in found:
        if missing_text in (pieces.features[j].levels or ()):
            raise ValueError(
                f"{missing_text!r} is a level of {pieces.features[j].name!r} and cannot stand for "
                "missing values as well; pass another missing_text."
            )
    return found


def _inputs(
    pieces: ModelPieces, graph: Graph, kind: int, missing_text: str
) -> tuple[list[ValueInfoProto], Inputs]:
    """Declare one table of numbers, or one input per column if some columns hold text."""
    text = text_features(pieces, missing_text)
    if not text:
        n = len(pieces.features)
        given = [helper.make_tensor_value_info("X", kind, ["N", n])]
        place = {j: j for j in range(n)}
        return given, Inputs(graph.doubles("X"), place, {}, missing_text)
    names = _column_names(pieces)
    used = [j for j, feature in enumerate(pieces.features) if feature.kind != "dropped"]
    given = [
        helper.make_tensor_value_info(names[j], TensorProto.STRING if j in text else kind, ["N", 1])
        for j in used
    ]
    numbers = [j for j in used if j not in text]
    table = graph.doubles(graph.joined([names[j] for j in numbers])) if numbers else ""
    place = {j: k for k, j in enumerate(numbers)}
    return given, Inputs(table, place, {j: names[j] for j in text}, missing_text)


def _column_names(pieces: ModelPieces) -> list[str]:
    """Return the names of the inputs; an empty name would mean no input in ONNX."""
    named = [feature.name for feature in pieces.features]
    return [name or _free(f"x{j}", named) for j, name in enumerate(named)]


def _outputs(
    found: Outputs, kind: int, contributions: bool, taken: Collection[str]
) -> list[ValueInfoProto]:
    """Name the outputs, with the types and shapes of the estimator's own results.

    Inputs have the names that are `taken`: the columns' own, by which callers feed them.
    """
    graph, pieces, one = found.graph, found.pieces, found.pieces.n_outputs == 1
    out = []

    def give(wanted: str, value: str, shape: Sequence[str | int], squeeze: int | None) -> None:
        name = _free(wanted, taken)
        flat = value if squeeze is None else graph.squeezed(value, squeeze)
        graph.cast(flat, kind, output=name)
        out.append(helper.make_tensor_value_info(name, kind, list(shape)))

    n: list[str | int] = ["N"]
    if pieces.task == "regression":
        give("prediction", found.mean(), *((n, 1) if one else ([*n, pieces.n_outputs], None)))
    else:
        labels = [*n, pieces.n_outputs] if pieces.task == "multilabel" else n
        label = _free("label", taken)
        out.append(helper.make_tensor_value_info(label, found.label(label), labels))
        if pieces.link is not None:
            assert pieces.classes is not None
            give("probabilities", found.probabilities(), [*n, len(pieces.classes)], None)
    flat = one and pieces.task != "multilabel"
    give("scores", found.scores, n if flat else [*n, pieces.n_outputs], 1 if flat else None)
    if contributions:
        shape = [*n, len(pieces.terms)]
        end = None if not flat else 2
        give(
            "contributions",
            found.contributions(),
            shape if flat else [*shape, pieces.n_outputs],
            end,
        )
    return out


def _classes(pieces: ModelPieces) -> AnyArray:
    """Return the classes as an array of a type that ONNX has."""
    classes = np.array(pieces.classes)
    if classes.dtype.kind == "U":
        return classes.astype(object)
    if classes.dtype.kind in "bf":
        return classes
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    raise TypeError(f"Classes must be text or numbers for ONNX; got {classes.tolist()!r:.200}.")
