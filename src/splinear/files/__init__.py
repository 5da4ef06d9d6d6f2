"""Model files without pickle: what they hold, and how they are written and read.

A file is a zip archive of uncompressed parts: `structure.json`, the structure, and one part per
array, its numbers as they lie in memory. Nothing in it is code, and nothing is believed: sizes,
types, indices and numbers are checked before they are used. See docs/guide/files.md.
"""

from splinear.files.saving import load, save

__all__ = ["load", "save"]
