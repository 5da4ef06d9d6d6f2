"""Smoothness of terms, chosen from the data, and the information that rows have about a model."""
