"""Features of images."""

from splinear.features.pyramid import GradientPyramid

__all__ = ["GradientPyramid"]
