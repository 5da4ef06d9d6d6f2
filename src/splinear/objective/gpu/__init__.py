"""Rows on a device: passes over them by NumPy, the core or CUDA."""
