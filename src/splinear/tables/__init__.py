"""Tables: arrays, data frames, sparse matrices and files, as rows of numbers to be read."""
