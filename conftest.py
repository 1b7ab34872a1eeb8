"""Docstring examples of `warplearn.torch` are collected where PyTorch is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/warplearn/torch"]
