"""The CPU that code is generated for, and the vectors that suit it.

Numba compiles for the CPU it runs on, unless `NUMBA_CPU_NAME` and `NUMBA_CPU_FEATURES` say
otherwise.  What counts here is that target, not the machine: a machine with AVX-512 can so measure
and test code for AVX2 (`NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES=`) and for SSE2
(`NUMBA_CPU_NAME=x86-64 NUMBA_CPU_FEATURES=`).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding as llvm
from numba import config

from warplearn._kernels.simd.constants import Static

_LEAST_LANES = 8  # masks are stored in bytes

# A comparison shows the registers that LLVM uses for vectors, and whether masks have their own.
_PROBE = """
define <16 x float> @probe(<16 x float> %a, <16 x float> %b) {
    %mask = fcmp ogt <16 x float> %a, %b
    %larger = select <16 x i1> %mask, <16 x float> %a, <16 x float> %b
    ret <16 x float> %larger
}
"""


class Target(NamedTuple):
    """A CPU: how many vector registers it has, how many bytes each, and how masks become bits.

    `packs_masks` is for AVX2: see `recursion.steps`.
    """

    n_registers: int
    register_bytes: int
    packs_masks: bool = False


# Registers of a vector, by the number that a CPU has: for grids of whole series, and for those of
# short windows, whose few cells hardly pay for what is done once for each vector.  With sixteen
# registers longer vectors spill.  Measured with `python -m benchmarks kernels` and `torch` on an
# Intel Emerald Rapids and an AMD Zen 4 (AVX-512, thirty-two registers), and on the latter and
# another AMD EPYC for AVX2 (sixteen).
_SERIES = {32: 4, 16: 2}
_WINDOWS = {32: 4, 16: 4}


def _detect() -> Target:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name = config.CPU_NAME or llvm.get_host_cpu_name()
    features = config.CPU_FEATURES
    if features is None:
        features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=name, features=features)
    assembly = machine.emit_assembly(llvm.parse_assembly(_PROBE))
    if re.search(r"%k[0-7]|%zmm", assembly):
        return Target(32, 64)
    if "%ymm" in assembly:
        return Target(16, 32, packs_masks=True)
    return Target(16 if "%xmm" in assembly else 32, 16)  # SSE2, or NEON and the like


TARGET = _detect()


def lanes_for(dtype: Any, *, windows: bool = False) -> Static:
    """How many numbers of a dtype stand side by side in the recursion.

    Parameters
    ----------
    windows : bool
        Whether grids are those of short windows, not of whole series.
    """
    registers = (_WINDOWS if windows else _SERIES)[TARGET.n_registers]
    size = registers * TARGET.register_bytes // np.dtype(dtype).itemsize
    return Static(max(_LEAST_LANES, size))


def bank_lanes(dtype: Any) -> list[int]:
    """How many matrices may stand side by side in training, most first: two registers, or less.

    Three or more cost as much for each matrix, or twice as much with sixteen registers, and leave
    more lanes empty (`python -m benchmarks training`, on the machines above).
    """
    most = max(_LEAST_LANES, 2 * TARGET.register_bytes // np.dtype(dtype).itemsize)
    return [most >> halvings for halvings in range(8) if most >> halvings >= _LEAST_LANES]


def register_lanes(dtype: Any) -> Static:
    """How many numbers of a dtype one register holds, at least eight."""
    return Static(max(_LEAST_LANES, TARGET.register_bytes // np.dtype(dtype).itemsize))


def pair_lanes(dtype: Any) -> Static:
    """How many columns of a single grid stand side by side.

    Four registers hide the latency of the recursion, but more than two cache lines of columns
    leave too many lanes idle where a stripe begins and ends.
    """
    size = min(4 * TARGET.register_bytes, 128) // np.dtype(dtype).itemsize
    return Static(max(_LEAST_LANES, size))
