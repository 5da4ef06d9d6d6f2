"""The function of the coefficients that is minimized, its points, and its quadratic models."""
