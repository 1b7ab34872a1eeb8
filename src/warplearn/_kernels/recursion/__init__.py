"""The dynamic program on a grid, forward and backward.

There is one recursion: the value of a cell is the best of its three neighbours (`forward.best_of`)
plus a local score (`local`).  It is traversed in four ways, because vectors need many independent
cells, and where these are depends on the task:

forward
    Lanes are grids, of series or of matrices.  Serves all functions, gradients and paths.  One more
    row at a time it serves streams (`drivers/stream.py`), with the same `forward.cell`.
lone
    One grid, when a single model is trained one example at a time.  Lanes are consecutive rows,
    each a column behind the row above.
windows (`drivers/windows.py`)
    Small matrices that slide along a series.  Lanes are consecutive positions, and the row of a
    grid stays in registers, so the number of columns is known to the compiler.
anti-diagonals (`warplearn/torch/diagonal.py`)
    PyTorch alone, on any device, with a smooth maximum and derivatives of any order.

A test (`tests/test_recursions.py`) holds all of them against each other.
"""
