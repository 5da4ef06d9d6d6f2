"""What y holds and what scores stand for: classes, labels or numbers."""
