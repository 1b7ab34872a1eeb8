"""Models as C for devices without Python.

`to_c` writes a fitted model as one C99 header that allocates nothing and needs no library but
`<math.h>`.  `Export` knows its size, and what fixed point costs in accuracy.
"""

from warplearn.export.export import Export, to_c

__all__ = ["Export", "to_c"]
