"""Kernels that Python calls: loops over series and matrices around the recursion."""
