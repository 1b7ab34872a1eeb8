"""`python -m benchmarks NAME [options]`."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks

NAMES = sorted(
    module.name
    for module in pkgutil.iter_modules(benchmarks.__path__)
    if module.name not in ("__main__", "measure", "data")
)


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
        sys.exit(f"usage: python -m benchmarks {{{','.join(NAMES)}}}")
    importlib.import_module(f"benchmarks.{sys.argv[1]}").main(sys.argv[2:])


main()
