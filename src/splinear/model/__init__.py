"""The fitted model: groups of terms, their layout, scores and posteriors. No training."""
