"""Tables in files, larger than memory: read in chunks, again and again.

`fit`, `predict` and `score` take the names of files; the classes here are what they make of them.
"""

from splinear.io._libsvm import LibsvmFile
from splinear.io._npy import NpyFiles
from splinear.io._open import as_source, open_table
from splinear.io._parquet import ArrowDataset, ParquetFiles

__all__ = ["ArrowDataset", "LibsvmFile", "NpyFiles", "ParquetFiles", "as_source", "open_table"]
