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
    """A CPU: how many vector registers it has, and how many bytes each."""

    n_registers: int
    register_bytes: int

    @property
    def vector_bytes(self) -> int:
        """The bytes of a vector in the recursion, measured or by the rule.

        The rule: a vector fills two of sixteen registers, and four rows are swept at once; of
        thirty-two registers it fills four.
        """
        rule = self.register_bytes * (4 if self.n_registers >= 32 else 2)
        return MEASURED.get(self, rule)


# Chosen with `python -m benchmarks kernels`: pairwise DTW and elastic inner products with vectors
# of 32 to 256 bytes, on an Intel Emerald Rapids (AVX-512) and an AMD EPYC (AVX2).
MEASURED = {Target(32, 64): 256, Target(16, 32): 64}


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
        return Target(16, 32)
    return Target(16 if "%xmm" in assembly else 32, 16)  # SSE2, or NEON and the like


TARGET = _detect()


def lanes_for(dtype: Any) -> Static:
    """How many numbers of a dtype stand side by side in the recursion."""
    return Static(max(_LEAST_LANES, TARGET.vector_bytes // np.dtype(dtype).itemsize))


def register_lanes(dtype: Any) -> Static:
    """How many numbers of a dtype one register holds, at least eight."""
    return Static(max(_LEAST_LANES, TARGET.register_bytes // np.dtype(dtype).itemsize))
