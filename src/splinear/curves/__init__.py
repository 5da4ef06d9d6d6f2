"""The mathematics of one curve: axes, bases, knots, embeddings."""
