"""The terms of a model: what one feature, or two together, add to the score.

=================  ==================  ===================================================
term               feature             what it adds
=================  ==================  ===================================================
:class:`Spline`    a number            a curve of polynomial pieces (the default)
:class:`Fourier`   a number            a periodic curve
:class:`Hermite`   a number            a polynomial of low degree
:class:`Linear`    a number            a slope
:class:`Category`  a category          an effect per level
:class:`Pair`      two features        a surface
:class:`Varying`   two features        a slope of one that varies with the other
=================  ==================  ===================================================
"""

from splinear.terms.base import Term
from splinear.terms.category import Category
from splinear.terms.fourier import Fourier
from splinear.terms.hermite import Hermite, Linear
from splinear.terms.pair import Pair
from splinear.terms.spline import Spline
from splinear.terms.varying import Varying

__all__ = ["Category", "Fourier", "Hermite", "Linear", "Pair", "Spline", "Term", "Varying"]
