"""Losses that bend at a point: dual coordinate descent, and passes over all rows."""
