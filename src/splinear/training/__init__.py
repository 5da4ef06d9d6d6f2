"""From a table to a fitted model: what the estimators have in common."""
