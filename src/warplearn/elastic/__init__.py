"""Elastic functions of a series and a matrix: costs, bands, values, paths, gradients, streams."""
