"""Reports: a model as one HTML page that works offline. See docs/guide/report.md."""

from splinear.report.writing import write

__all__ = ["write"]
