"""The dynamic program on a grid, forward and backward."""
