"""What goes to the engine and comes back: the options of calls, requests, the types of reports.

`make contract` writes most of it from what the engine states: `options.py`, `flags.py`, the types in `results/`.
"""
