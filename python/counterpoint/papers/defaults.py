"""What `reproduce` and `calibrate` do if they are not told otherwise."""

ALL = "all"
"""In the place of a paper: every paper."""

BUDGET = 40
"""Evaluations of each paper in a search: together with what comes after them, the papers of SecPM take 40 minutes on
two processors."""
