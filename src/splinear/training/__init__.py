"""Code shared by the estimators: reading a table, training, and storing the fitted model."""
