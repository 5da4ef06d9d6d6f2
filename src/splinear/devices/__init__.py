"""Rows on a device: the passes of Newton's method by NumPy, by the core, or by CUDA."""
