"""Tables: a common interface to arrays, data frames, sparse matrices and files."""
