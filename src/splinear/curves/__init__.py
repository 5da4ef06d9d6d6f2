"""The mathematics of curves: axes, bases, knots, embeddings and shape constraints."""
