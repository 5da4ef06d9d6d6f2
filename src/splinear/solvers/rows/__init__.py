"""The training rows as the core reads them, in memory or in files."""
