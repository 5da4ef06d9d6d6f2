"""Objective and gap on X itself, and training that goes on where codes are too coarse."""
