"""Model files without pickle.

A file is a zip archive of uncompressed parts: `structure.json`, and one part per array with its raw
numbers. It contains no code, and nothing in it is trusted: sizes, types, indices and numbers are
checked before they are used. See docs/guide/files.md.
"""

from splinear.files.saving import load, save

__all__ = ["load", "save"]
