"""The estimators: reading a table, training, and storing the fitted model."""
