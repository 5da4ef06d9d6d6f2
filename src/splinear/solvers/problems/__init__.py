"""What is minimized: problems, losses and their sums, and what may stop a fit."""
