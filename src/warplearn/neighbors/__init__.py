"""Nearest neighbours and nearest prototypes under dynamic time warping."""
