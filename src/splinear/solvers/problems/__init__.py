"""The problems that solvers minimize: losses, sums of losses, and stopping rules."""
