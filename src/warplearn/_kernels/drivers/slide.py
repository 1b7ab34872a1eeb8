"""Windows at consecutive positions of a series, scored against half a group of matrices.

At each position of a series a window of k elements, `dilation` apart, is scored against a k x m
matrix by the recursion of `forward`.  All windows of a series have the same shape, so neighbouring
ones go side by side: a row of the grid is one contiguous load, and the weights are broadcast.  The
m values of the last row, all that the recursion keeps, stay in registers; m is known to the
compiler.  An element is loaded once for four grids, which also make four independent chains of
operations.

The last value of column j is the score of the matrix that the first j + 1 columns make.  So one
recursion scores matrices that begin with the same columns.

There are two local scores.  A *filter* has the product x_i w_ij.  A *shapelet* has the negated
squared difference -(x_i - w_ij)^2; windows can be normalized before (`normalize`).
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from warplearn._kernels.simd.compiling import inner
from warplearn._kernels.simd.constants import Static, constants
from warplearn._kernels.simd.vector import (
    FUSE,
    address_of,
    fields_of,
    larger_of,
    load,
    root,
    splat,
    spread,
    store,
)

GROUP = 8
WHOLE, HALF = Static(GROUP), Static(GROUP // 2)

# Added to the variance of a window before its root is divided by.  Elements of all series have a
# variance of 1, so this keeps noise in flat windows small.
LEAST_VARIANCE = 1e-4


@constants
class Plan(NamedTuple):
    """What a kernel is compiled for.

    Lanes, columns of the matrices, after which of them there is an output (bits, from the first
    column on), whether matrices have several channels, whether they are shapelets, and the
    poolings.
    """

    lanes: Static
    columns: Static
    outputs: Static
    several: Static
    shapelets: Static
    poolings: Static


class Window(NamedTuple):
    """Elements x[at], x[at + step], ... of some rows, in channels that begin at `channels[c]`."""

    x: Any
    at: int
    step: int
    rows: int
    channels: Any
    n_channels: int


class Target(NamedTuple):
    """Where outputs go: those of matrix g to outputs[at + g * stride].

    Those after the next column that has any are a group further.
    """

    outputs: Any
    at: int
    stride: int


class _SlideCode:
    """Emits the code of `slide`; `kept` and `local` hold a vector for each (matrix, column)."""

    def __init__(self, context, builder, plan, start):
        self.context, self.builder, self.plan, self.start = context, builder, plan, start
        self.grids = [(g, j) for g in range(HALF.value) for j in range(plan.columns.value)]
        self.kept = {grid: cgutils.alloca_once(builder, start.type) for grid in self.grids}
        self.local = {grid: cgutils.alloca_once(builder, start.type) for grid in self.grids}

    def read_from(self, kind, window, weights_kind, weights, first):
        """Set where windows and weights are read."""
        self.kinds, self.window = fields_of(self.builder, kind, window)
        self.weights_kind, self.weights = weights_kind, weights
        self.weight = cgutils.alloca_once_value(self.builder, first)
        self.element = cgutils.alloca_once_value(self.builder, self.window.at)

    def address(self, kind, array, index, pointee):
        return address_of(self.context, self.builder, kind, array, index, pointee)

    def elements(self, channel):
        """The elements of a channel in the current row, which need not be aligned."""
        builder, kinds, window = self.builder, self.kinds, self.window
        place = self.address(kinds.channels, window.channels, channel, channel.type)
        index = builder.add(builder.load(place), builder.load(self.element))
        return builder.load(self.address(kinds.x, window.x, index, self.start.type), align=4)

    def score(self, xi, wij):
        """The local score of a cell, of one channel."""
        builder = self.builder
        if not self.plan.shapelets.value:
            return builder.fmul(xi, wij, flags=FUSE)
        difference = builder.fsub(xi, wij)
        return builder.fmul(builder.fneg(difference), difference, flags=FUSE)

    def channel_scores(self, channel):
        """The local scores of a row for each grid, of one channel; moves on to the next weights.

        Each is written where it is used: all of them at once would need too many registers.
        """
        builder, word, xi = self.builder, channel.type, self.elements(channel)
        position = builder.load(self.weight)
        for g, j in self.grids:
            place = builder.add(position, word(HALF.value * j + g))
            address = self.address(self.weights_kind, self.weights, place, xi.type.element)
            wij = spread(builder, builder.load(address), xi.type.count)
            yield (g, j), self.score(xi, wij)
        builder.store(builder.add(position, word(len(self.grids))), self.weight)

    def scores(self):
        """The local scores of a row: sums over the channels."""
        builder, word = self.builder, self.window.n_channels.type
        if not self.plan.several.value:
            return self.channel_scores(word(0))
        for grid, score in self.channel_scores(word(0)):
            builder.store(score, self.local[grid])
        with cgutils.for_range(builder, builder.sub(self.window.n_channels, word(1))) as loop:
            for grid, score in self.channel_scores(builder.add(loop.index, word(1))):
                summed = builder.fadd(builder.load(self.local[grid]), score, flags=FUSE)
                builder.store(summed, self.local[grid])
        return ((grid, builder.load(place)) for grid, place in self.local.items())

    def row(self, best):
        """A row of every grid; `best(j, up, diagonal, left)` is what leads to a cell."""
        builder, left, diagonal = self.builder, None, None
        for (g, j), score in self.scores():
            up = builder.load(self.kept[g, j])
            left = builder.fadd(best(j, up, diagonal, left), score, flags=FUSE)
            builder.store(left, self.kept[g, j])
            diagonal = up

    def first_row(self):
        """In the first row a path can only come from the left."""
        self.row(lambda j, up, diagonal, left: left if j else self.start)

    def next_row(self):
        """Any other row: the recursion of `forward`."""
        builder = self.builder
        builder.store(builder.add(builder.load(self.element), self.window.step), self.element)

        def best(j, up, diagonal, left):
            above = larger_of(builder, up, diagonal) if j else up
            return larger_of(builder, above, left) if j else above

        self.row(best)


@intrinsic
def slide(typingctx, plan, start, window, weights, first, target):
    """Score windows at consecutive positions against half a group of matrices.

    `start` is 0 for lanes that count and minus infinity for others.  Weights are read one after
    the other, from `first` on, in the order (row, channel, column, matrix).
    """
    fixed = plan.instance_class(*plan.types)

    def codegen(context, builder, sig, args):
        _, start_value, window_value, weights_value, first_value, target_value = args
        code = _SlideCode(context, builder, fixed, start_value)
        code.read_from(window, window_value, weights, weights_value, first_value)
        code.first_row()
        more = builder.sub(code.window.rows, code.window.rows.type(1))
        with cgutils.for_range(builder, more):
            code.next_row()
        kinds, into = fields_of(builder, target, target_value)
        last = [j for j in range(fixed.columns.value) if fixed.outputs.value >> j & 1]
        for place, (j, g) in enumerate(product(last, range(GROUP))):
            if g < HALF.value:
                index = builder.add(into.at, builder.mul(into.stride, into.stride.type(place)))
                address = code.address(kinds.outputs, into.outputs, index, start_value.type)
                builder.store(builder.load(code.kept[g, j]), address, align=4)
        return context.get_dummy_value()

    signature = types.void(plan, start, window, weights, types.intp, target)
    return signature, codegen


@inner
def normalize(plan, window, normalized, target):
    """Copy windows to a target, where they are normalized by mean and deviation if so asked.

    The target is a window too: its `step` is a vector, and its channels are `rows` steps long.
    """
    lanes, x, rows = plan.lanes, window.x, window.rows
    number = x.dtype.type
    one = splat(lanes, number(1))
    for c in range(window.n_channels):
        mean = splat(lanes, number(0))
        scale = one
        first = window.channels[c] + window.at
        if normalized:
            for i in range(rows):
                mean = mean + load(lanes, x, first + i * window.step)
            mean = mean / number(rows)
            squares = splat(lanes, number(0))
            for i in range(rows):
                difference = load(lanes, x, first + i * window.step) - mean
                squares = squares + difference * difference
            scale = one / root(squares / number(rows) + number(LEAST_VARIANCE))
        target.channels[c] = c * rows * target.step
        begin = target.channels[c] + target.at
        for i in range(rows):
            element = load(lanes, x, first + i * window.step)
            store(target.x, begin + i * target.step, (element - mean) * scale)
