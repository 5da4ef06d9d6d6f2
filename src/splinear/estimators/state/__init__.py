"""Fitted estimators as plain data: numbers, texts, lists, dicts with text as keys, and arrays.

This is what model files, pickles and skops store, so that none of them depends on the names of
private classes. For each class there is a pair of functions, one to plain data and one back. Data
that comes back is checked (sizes, types, indices, numbers), so that nothing read from a file can
make the compiled core read or write out of bounds.
"""
