"""How functions become machine code, with less work than Numba takes by default.

An entry point is compiled whole: it is linked with all of its parts, and then optimized.  Most of
the compiler's time would otherwise go into parts of kernels that are never called on their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any

from llvmlite import binding as llvm
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.datamodel import default_manager
from numba.core.imputils import user_function
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext
from numba.core.typed_passes import (
    BaseNativeLowering,
    IRLegalization,
    NativeLowering,
    NopythonTypeInference,
)

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
    after the first time.  LLVM makes no vectors of its own: where they pay, kernels have them, and
    other loops would only get longer.
    """

    def finalize(self) -> None:
        self._codegen._check_llvm_bugs()
        self._raise_if_finalized()
        _link_callees(self, self._final_module)
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False)
        passes.run(self._final_module, builder)
        self._final_module.verify()
        self._finalize_final_module()


class _Part(_Library):
    """Code that is linked, optimized, and turned into machine code only for an entry point.

    Numba would do all three for every function on its own, and again for everything that calls it:
    what is deep inside a kernel would be copied and optimized once a level.
    """

    _shared_module: Any

    def finalize(self) -> None:
        self._raise_if_finalized()
        for function in self.get_defined_functions():
            function.linkage = "linkonce_odr"  # several modules may have it; the unused have not
        self._finalize_dynamic_globals()
        self._finalized = True

    def own_module(self) -> Any:
        """The code without that of callees."""
        self._ensure_finalized()
        return self._final_module

    def _get_module_for_linking(self) -> Any:
        # For libraries of Numba itself, such as the body of a parallel loop.
        if self._shared_module is None:
            self._shared_module = self.own_module().clone()
            _link_callees(self, self._shared_module)
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _NoEnvironment(self._codegen)


def _link_callees(library: _Library, module: Any) -> None:
    """Add the code of all that a library calls, and of what these call, each once."""
    order: dict[Any, None] = {}

    def visit(each: Any) -> None:
        if isinstance(each, _Library):
            for callee in each._linking_libraries:
                if callee not in order:
                    visit(callee)
        order[each] = None

    visit(library)
    # Callers come first: what nobody calls yet is not linked.
    for each in [*reversed(order)][1:]:
        library._reload_init.update(each._reload_init)
        code = each.own_module() if isinstance(each, _Part) else each._get_module_for_linking()
        module.link_in(code, preserve=True)


class _NoEnvironment:
    """A code generator that does not look for the environment of a function without address."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, env: Any) -> None:
        pass


@cache
def _holds_arrays(kind: types.Type) -> bool:
    """Whether values of a type have reference counts."""
    return bool(default_manager[kind].contains_nrt_meminfo())


class _References(NRTContext):
    """Reference counts, for which only what has them is taken out of a tuple.

    Numba would take out every number, and the shape of every array.
    """

    def get_meminfos(self, builder: Any, kind: types.Type, value: Any) -> list[tuple[Any, Any]]:
        model = default_manager[kind]
        found = []
        if model.has_nrt_meminfo():
            found.append((kind, model.get_nrt_meminfo(builder, value)))
        for field, get in model.traverse(builder):
            if _holds_arrays(field):
                found += self.get_meminfos(builder, field, get(value))
        return found


class _Undivided(tuple[types.Type, ...]):
    """The types of a part's arguments."""


class _Arguments:
    """Arguments of a part, each of them one value for LLVM.

    Numba would take arrays and tuples apart for each call, and put them together again in what is
    called: a third of all instructions that the compiler reads.
    """

    def __init__(self, context: Any, kinds: _Undivided) -> None:
        self.argument_types = [context.get_value_type(kind) for kind in kinds]

    def as_arguments(self, builder: Any, values: Any) -> Any:
        return values

    def from_arguments(self, builder: Any, arguments: Any) -> Any:
        return arguments

    def assign_names(self, arguments: Any, names: Any) -> None:
        pass


def _calling_parts(context: Any) -> Any:
    """A context that knows how arguments are handed to parts, and to functions of Numba."""

    def packer(kinds: tuple[types.Type, ...]) -> Any:
        if isinstance(kinds, _Undivided):
            return _Arguments(context, kinds)
        return context.get_arg_packer(kinds)

    return context.subtarget(get_arg_packer=packer)


def _insert_part(context: Any, function: Any, description: Any, libraries: Any = ()) -> None:
    """Say how a part is called, whoever calls it."""
    call = user_function(description, libraries)

    @wraps(call)
    def implementation(caller: Any, *args: Any) -> Any:
        return call(_calling_parts(caller), *args)

    context._defns[function].append(implementation, call.signature)


class _Lower(Lower):
    """Writes nothing for the end of a variable that has no reference counts."""

    def delvar(self, name: str) -> None:
        if self.context.enable_nrt and _holds_arrays(self.typeof(name)):
            super().delvar(name)


class _LowerPart(_Lower):
    """Writes a function that takes undivided arguments."""

    def __init__(self, context: Any, library: Any, fndesc: Any, *args: Any, **options: Any) -> None:
        fndesc.argtypes = _Undivided(fndesc.argtypes)
        super().__init__(_calling_parts(context), library, fndesc, *args, **options)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(BaseNativeLowering):
    """Writes the code of an entry point for LLVM."""

    _name = "entry_lowering"
    lowering_class = _Lower


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(BaseNativeLowering):
    """Writes the code of a part for LLVM."""

    _name = "part_lowering"
    lowering_class = _LowerPart

    def run_pass(self, state: Any) -> bool:
        state.targetctx.insert_user_function = partial(_insert_part, state.targetctx)
        return bool(super().run_pass(state))


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
        state.targetctx.nrt = _References(state.targetctx, state.targetctx.enable_nrt)
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


def _call_with_room(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a frame that is as large as the frames of a thousand calls.

    Python keeps frames in blocks of 16 kB.  A loop that calls across the end of a block takes one
    from the system, and gives it back, each time.  Compiling is so many calls deep that it was a
    tenth of its time.  The block that holds a large frame has room for all that are called from it.
    """
    return function(*args)


_call_with_room.__code__ = _call_with_room.__code__.replace(co_stacksize=1 << 16)

_SIZES: dict[str, int] = {}


def _size_of(context: Any, kind: Any) -> int:
    """The bytes of an LLVM type: for every variable Numba parses a module to find out."""
    name = str(kind)
    if name not in _SIZES:
        _SIZES[name] = kind.get_abi_size(context.target_data)
    return _SIZES[name]


@register_pass(mutates_CFG=False, analysis_only=True)
class _Endings(IRLegalization):
    """Says where variables end, if that is where references are counted."""

    _name = "endings"

    def run_pass(self, state: Any) -> bool:
        return bool(state.targetctx.enable_nrt and super().run_pass(state))


class _Compiler(Compiler):
    """Compiles into a library of our own.

    Functions have no closures, comprehensions, expressions of whole arrays, `with`, and loops over
    tuples of several types.
    """

    _library: type[_Library]
    _lowering: type[BaseNativeLowering]
    _left_out = frozenset({
        "annotate_types",
        "dump_parfor_diagnostics",
        "find_literally",
        "inline_closure_likes",
        "inline_inlinables",
        "inline_overloads",
        "ir_processing",
        "literal_unroll",
        "LiteralPropagation",
        "make_function_op_code_to_jit_function",
        "nopython_rewrites",
        "with_lifting",
    })  # fmt: skip

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, result: Any, flags: Any,
        locals: Any,
    ) -> None:  # fmt: skip
        targetctx = targetctx.subtarget(get_abi_sizeof=partial(_size_of, targetctx))
        if library is None:
            library = self._library(targetctx.codegen(), self._library.__name__)
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, args, result, _Flags(flags), locals)

    def define_pipelines(self) -> list[Any]:
        if self.state.flags.auto_parallel.enabled:
            return list(super().define_pipelines())
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        own = {IRLegalization: _Endings, NativeLowering: self._lowering}
        passes.passes = [
            (own.get(each, each), description)
            for each, description in passes.passes
            if each._name not in self._left_out
        ]
        passes.add_pass_after(_BorrowArrays, NopythonTypeInference)
        passes.finalize()
        return [passes]


class WholeCompiler(_Compiler):
    """Compiles an entry point."""

    _library = _Whole
    _lowering = _Lowering

    def compile_extra(self, function: Any) -> Any:
        return _call_with_room(super().compile_extra, function)


class PartCompiler(_Compiler):
    """Compiles a function that only kernels call."""

    _library = _Part
    _lowering = _PartLowering
