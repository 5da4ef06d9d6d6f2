"""Data sets as `sklearn.utils.Bunch` objects: a toy, images, tables and sparse text.

The toy set is generated. The others are read from a folder that `data_home=` or the environment
variable ``SPLINEAR_DATA`` names, in which each set has its own folder; contents are compared with
known checksums. Nothing is downloaded unless you say ``download=True``, which fetches what is not
yet in the folder. MNIST, a9a, w8a and the raw Adult table can be downloaded; the other files were
made from originals in other forms.
"""

from splinear.datasets._images import load_daimler, load_mnist
from splinear.datasets._sparse import load_a9a, load_newsgroups20, load_w8a
from splinear.datasets._tabular import (
    load_adult,
    load_adult_raw,
    load_california_housing,
    load_cod_rna,
    load_covtype,
    load_credit_default,
    load_magic,
    load_skin,
    load_spambase,
    load_usps,
)
from splinear.datasets._toy import load_disk

__all__ = [
    "load_a9a",
    "load_adult",
    "load_adult_raw",
    "load_california_housing",
    "load_cod_rna",
    "load_covtype",
    "load_credit_default",
    "load_daimler",
    "load_disk",
    "load_magic",
    "load_mnist",
    "load_newsgroups20",
    "load_skin",
    "load_spambase",
    "load_usps",
    "load_w8a",
]
