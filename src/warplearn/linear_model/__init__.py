"""Elastic linear models."""
