"""Elastic neural networks."""
