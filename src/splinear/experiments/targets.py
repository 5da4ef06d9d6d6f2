"""What a reproduction should show: limits that the measured numbers are held against."""

# Daimler, means of the six runs, percent
ABOVE_LINEAR = 7
BELOW_MIN_KERNEL = 0.5
BEST_SPLINE = 89

# MNIST: points above the paper's error that still count as its region, how many times faster than
# the paper one digit is trained, and seconds for all ten
LINEAR_REGION = 0.1
FASTER = 50
TEN_DIGITS = 30

# Minutes for all experiments, as they are and in the quick form
FULL_MINUTES = 30
QUICK_MINUTES = 2
