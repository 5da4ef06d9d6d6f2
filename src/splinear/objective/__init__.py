"""The function of the coefficients that is minimized, its points, models and rows."""
