"""Compiled code: arrays in, arrays out. Imports nothing else of the package."""
