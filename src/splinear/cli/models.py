"""Loads model files."""

from __future__ import annotations

from pathlib import Path

from splinear.training.estimator import AdditiveEstimator

__all__ = ["load_model"]


def load_model(path: Path) -> AdditiveEstimator:
    """Return a model that ``splinear fit`` or `splinear.save` has written."""
    import splinear

    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}; splinear fit writes model files")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; a model file was expected")
    model = splinear.load(path)
    if not isinstance(model, AdditiveEstimator):
        raise ValueError(f"{path} holds {type(model).__name__}, which cannot predict")
    return model
