"""The fitted model: groups of terms, their layout, scores; no training."""
