"""Benchmarks: each prints ratios, measured in one run.

`python -m benchmarks NAME` runs one of the modules of this package.  Shared machines make absolute
times meaningless, so whatever is compared is measured by turns, and the best of several is taken.
"""
