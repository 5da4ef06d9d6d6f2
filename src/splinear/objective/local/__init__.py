"""The training rows in the form that the core reads, in memory or in files."""
