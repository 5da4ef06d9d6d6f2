"""Reports: a model as one HTML page that needs no network. See docs/report.md."""

from splinear.report.writing import write

__all__ = ["write"]
