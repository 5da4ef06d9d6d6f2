"""Fitted estimators as plain data: numbers, texts, lists, dicts with text as keys, and arrays.

This is what model files, pickles and skops hold, so that none of them depends on the names of
private classes. Every class has a pair of functions, one to plain data and one back. What comes
back is checked: sizes, types, indices and numbers, so that nothing read from a file can lead the
compiled core astray.
"""
