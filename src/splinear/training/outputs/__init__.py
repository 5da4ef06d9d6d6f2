"""What the outputs of a model stand for: classes, labels or numbers."""
