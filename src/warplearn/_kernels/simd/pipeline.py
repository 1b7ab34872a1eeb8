"""How functions become machine code, with less work than Numba takes by default.

An entry point is compiled whole: it is linked with all of its parts, and then optimized.  Most of
the compiler's time would otherwise go into parts of kernels that are never called on their own.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding as llvm
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.datamodel import default_manager
from numba.core.typed_passes import NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes

_STACK_ALIGNMENT = 64  # bytes: of the longest vector registers, and of a cache line


class _Library(JITCodeLibrary):
    """Code whose functions are only simplified before they are linked with others.

    Numba would run all optimizations on each of them.
    """

    def add_ir_module(self, ir_module: Any) -> None:
        # Else vectors that do not fit into registers are kept on the stack as it is, mostly across
        # two cache lines: kernels run at half their speed, or a tenth, depending on the caller.
        for function in ir_module.functions:
            if not function.is_declaration:
                function.attributes.alignstack = _STACK_ALIGNMENT
                function.attributes.add("nounwind")  # true, and llvmlite writes none without it
        super().add_ir_module(ir_module)

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder()
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class _Whole(_Library):
    """The code of an entry point, with all of its parts.

    It is optimized once.  Numba would do it twice, to find reference counts that cancel each other
    after the first time.
    """

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _Part(_Library):
    """Code that is optimized, and turned into machine code, only as a part of an entry point.

    Numba would do both for every function on its own, and again for everything that calls it: what
    is deep inside a kernel would be optimized once a level.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        return _NoEnvironment(self._codegen)


class _NoEnvironment:
    """A code generator that does not look for the environment of a function without address."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, env: Any) -> None:
        pass


def _holds_arrays(kind: types.Type) -> bool:
    """Whether values of a type have reference counts."""
    return bool(default_manager[kind].contains_nrt_meminfo())


@register_pass(mutates_CFG=False, analysis_only=False)
class _BorrowArrays(AnalysisPass):
    """Count no references in a function that neither gets an array from a call nor returns one.

    Its callers hold the arrays it works with.  A tuple that it puts together holds them no longer
    than its callers do.  If it allocates an array in another way, Numba refuses to compile it.
    """

    _name = "borrow_arrays"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        if not _holds_arrays(state.return_type) and not self._gets_arrays(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False

    @staticmethod
    def _gets_arrays(state: Any) -> bool:
        calls = (
            call for block in state.func_ir.blocks.values() for call in block.find_exprs(op="call")
        )
        return any(
            _holds_arrays(state.calltypes[call].return_type)
            for call in calls
            if not isinstance(state.typemap[call.func.name], types.NamedTupleClass)
        )


class _Flags(Flags):
    """Flags that are compared quickly.

    Numba asks thousands of times whether it has compiled a function with these flags.
    """

    def __hash__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and self._values == other._values


class WholeCompiler(Compiler):
    """Compiles an entry point."""

    _library: type[JITCodeLibrary] = _Whole

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, result: Any, flags: Any,
        locals: Any,
    ) -> None:  # fmt: skip
        if library is None:
            library = self._library(targetctx.codegen(), self._library.__name__)
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, args, result, _Flags(flags), locals)


class PartCompiler(WholeCompiler):
    """Compiles a function that only kernels call.

    Such functions have no closures, comprehensions and expressions of whole arrays.
    """

    _library = _Part
    _left_out = (InlineClosureLikes, NopythonRewrites)

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [each for each in passes.passes if each[0] not in self._left_out]
        passes.add_pass_after(_BorrowArrays, NopythonTypeInference)
        passes.finalize()
        return [passes]
