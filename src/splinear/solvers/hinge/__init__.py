"""Solvers for hinge-like losses: dual coordinate descent, and passes over all rows."""
