"""Solvers: they take a problem and return a result, and print nothing."""
