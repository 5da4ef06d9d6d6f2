"""The fitted attributes of a transformer as plain data."""

from __future__ import annotations

from typing import Protocol

from splinear._types import AnyArray
from splinear.estimators.state.checking import Fields, Plain
from splinear.estimators.state.curves import embedding_from, embedding_plain
from splinear.estimators.state.fitted import names_from
from splinear.estimators.state.stateful import Codec
from splinear.terms.embedding import Embedding

__all__ = ["TRANSFORMING", "restore", "transformer_plain"]

LEARNED = frozenset({"n_features_in_", "feature_names_in_", "embedding_", "_n_features_out"})


class Transformer(Protocol):
    """A transformer that has been fitted."""

    n_features_in_: int
    embedding_: Embedding
    _n_features_out: int


def transformer_plain(of: Transformer) -> Plain:
    """Return the fitted attributes as plain data."""
    names: AnyArray | None = getattr(of, "feature_names_in_", None)
    return {
        "n_features": int(of.n_features_in_),
        "names": None if names is None else [str(name) for name in names],
        "embedding": embedding_plain(of.embedding_),
    }


def restore(transformer: Transformer, data: object) -> None:
    """Set the fitted attributes of a transformer from plain data."""
    f = Fields(data, "fitted", "n_features names embedding")
    n = f.integer("n_features", 1)
    embedding = embedding_from(f.get("embedding"), f.at("embedding"), n)
    names = names_from(f, n)
    learned = {
        "n_features_in_": n,
        "embedding_": embedding,
        "_n_features_out": n * embedding.basis.size,
    }
    if names is not None:
        learned["feature_names_in_"] = names
    vars(transformer).update(learned)


TRANSFORMING = Codec(LEARNED, "embedding_", transformer_plain, restore)
