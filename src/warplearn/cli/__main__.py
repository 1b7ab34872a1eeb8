"""`python -m warplearn.cli`, the same as `warplearn`."""

from warplearn.cli import main

main()
