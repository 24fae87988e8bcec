"""What `reproduce` and `calibrate` do if they are not told otherwise."""

ALL = "all"
"""In the place of a paper: every paper."""

BUDGET = 120
"""Evaluations of each paper in short; what a search looks at with more comes after them."""
