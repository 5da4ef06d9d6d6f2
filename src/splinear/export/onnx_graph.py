"""A builder of ONNX graphs: nodes and constants."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from splinear._types import AnyArray

__all__ = ["Attribute", "Graph"]

Attribute: TypeAlias = int | float | str | list[int] | list[str]


@dataclass
class Graph:
    """A graph under construction; the names of its values begin with `prefix`."""

    prefix: str = "splinear_"
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)

    def add(
        self,
        kind: str,
        *inputs: str,
        output: str | None = None,
        domain: str = "",
        **attributes: Attribute,
    ) -> str:
        """Add a node, and return the name of its single output."""
        out = f"{self.prefix}{len(self.nodes)}" if output is None else output
        node = helper.make_node(kind, list(inputs), [out], domain=domain)
        node.attribute.extend(helper.make_attribute(k, v) for k, v in attributes.items())
        node.name = f"{self.prefix}{kind}_{len(self.nodes)}"
        self.nodes.append(node)
        return out

    def constant(self, values: AnyArray | list[int] | list[str] | float) -> str:
        """Add an array, and return its name; integers are int64, other numbers double."""
        array = np.asarray(values)
        if array.dtype.kind in "US":
            array = array.astype(object)
        name = f"{self.prefix}constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def cast(self, value: str, to: int, output: str | None = None) -> str:
        """Return a value converted to another element type."""
        return self.add("Cast", value, output=output, to=to)

    def doubles(self, value: str) -> str:
        """Return a value converted to double precision."""
        return self.cast(value, TensorProto.DOUBLE)

    def columns(self, table: str, at: list[int]) -> str:
        """Return some columns of a table, (N, len(at))."""
        return self.add("Gather", table, self.constant(np.array(at, dtype=np.int64)), axis=1)

    def joined(self, parts: list[str]) -> str:
        """Return parts concatenated along columns."""
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=1)

    def unsqueezed(self, value: str, axis: int) -> str:
        """Return a value with an axis of length 1 added."""
        return self.add("Unsqueeze", value, self.constant([axis]))

    def squeezed(self, value: str, axis: int) -> str:
        """Return a value with an axis of length 1 removed."""
        return self.add("Squeeze", value, self.constant([axis]))
