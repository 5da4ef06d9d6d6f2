"""The search for pairs of features that interact."""
