"""Certificates of objective and gap on X itself, and training beyond the precision of codes."""
