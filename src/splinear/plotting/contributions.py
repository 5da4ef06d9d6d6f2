"""A picture of the score of one row. Needs matplotlib: ``pip install 'splinear[plot]'``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from splinear._types import Input
from splinear.inspection.explaining import explain
from splinear.inspection.reasons import Reasons
from splinear.inspection.resolving import FittedModel
from splinear.plotting.request import require_matplotlib
from splinear.plotting.waterfall import draw_waterfall

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ContributionsDisplay"]

_WIDTH, _HEIGHT = 9.0, 0.52  # of a figure, and of one line of it, in inches
_AROUND = 1.7  # the height of title and axis


class ContributionsDisplay:
    """The score of one row as a waterfall: from the base value, term by term, to the score.

    Each bar begins where the last one ended, blue ones to the right and orange ones to the left.
    The numbers beside them are what each term adds and, where the model has a posterior, its
    standard error, which whiskers also show. Terms are sorted by size, with the values of the row
    below their names; the smallest are summed in one bar. For two classes the upper axis has the
    probabilities that belong to the scores, and under a log link the means. Make a display with
    :meth:`from_estimator`, or by `explain(model, X).plot(row)`.

    Parameters
    ----------
    reasons : Reasons
        From :meth:`splinear.inspection.Explanation.reasons`.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : Axes
    bars_ : BarContainer
        One bar per term, and one of all others if there are some.
    whiskers_ : LineCollection or None
        From one standard error below to one above, of terms whose errors are known, then of the
        score; None if no error is known.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from splinear import AdditiveClassifier
    >>> from splinear.plotting import ContributionsDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = AdditiveClassifier(random_state=0).fit(X, y)
    >>> display = ContributionsDisplay.from_estimator(model, X, row=7)
    >>> display.figure_.savefig("row.png")
    """

    def __init__(self, reasons: Reasons) -> None:
        self.reasons = reasons

    @classmethod
    def from_estimator(
        cls,
        estimator: FittedModel,
        X: Input,
        row: int = 0,
        *,
        target: object = None,
        top: int = 8,
        class_names: Sequence[str] | None = None,
        target_name: str = "the target",
        ax: Axes | None = None,
        figure: Figure | None = None,
    ) -> ContributionsDisplay:
        """Explain the score of a row and draw it.

        Parameters
        ----------
        estimator : fitted estimator, or a pipeline or search that ends in one
        X : array-like of shape (n_samples, n_features)
        row : int, default=0
            Which row of X; all of them are explained, so pass few if X is large.
        target : class label or int, default=None
            Which of several outputs; None means the one with the highest score.
        top : int, default=8
            The number of terms with a bar of their own.
        class_names, target_name : names for title and axis
        ax, figure : as in :meth:`plot`
        """
        require_matplotlib()
        found = explain(
            estimator, X, target=target, class_names=class_names, target_name=target_name
        )
        return cls(found.reasons(row, top=top)).plot(ax, figure=figure)

    def plot(self, ax: Axes | None = None, *, figure: Figure | None = None) -> ContributionsDisplay:
        """Draw the waterfall.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw into. Names are to its left, numbers to its right.
        figure : Figure, default=None
            Without `ax`: an empty figure to draw into. None makes one with pyplot, so that
            notebooks and `plt.show()` display it.

        Returns
        -------
        self : ContributionsDisplay
        """
        require_matplotlib()
        if ax is None:
            ax = self._new_axes(figure)
        self.ax_, self.figure_ = ax, ax.figure
        self.bars_, self.whiskers_ = draw_waterfall(ax, self.reasons)
        return self

    def _new_axes(self, figure: Figure | None) -> Axes:
        if figure is None:
            from matplotlib import pyplot

            n = len(self.reasons.terms) + bool(self.reasons.n_others) + 2
            figure = pyplot.figure(figsize=(_WIDTH, _HEIGHT * n + _AROUND))
        figure.set_layout_engine("constrained", w_pad=0.15, h_pad=0.12)
        return figure.subplots()
