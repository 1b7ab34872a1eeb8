"""What needs PyTorch is collected, for its docstring examples, where PyTorch is installed."""

from importlib.util import find_spec

_NEED_TORCH = ["src/warplearn/torch", "tests/fuzz/networks.py"]
collect_ignore = [] if find_spec("torch") else _NEED_TORCH
