"""Models of elastic filters and shapelets in C, after `shrink`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from warplearn._kernels.drivers import windows
from warplearn._kernels.drivers.slide import GROUP, LEAST_VARIANCE
from warplearn.export.program import Program, Table, as_float32, literal
from warplearn.export.readout import Readout, classes, targets
from warplearn.features.base import FeatureModel
from warplearn.features.representations import REPRESENTATIONS
from warplearn.features.shapelets import ElasticShapelets
from warplearn.features.sliding import SlidingFeatures

_POOL = 5 * GROUP * 4  # bytes of what is pooled of a group


class _Part(NamedTuple):
    """Filters or shapelets with coefficients, as tables of C.

    Attributes
    ----------
    groups : array (groups, 10)
        Where representations, channels and weights are is counted within the part.
    kinds, means, scales : arrays (representations, ...)
    levels, sizes : arrays (representations, channels)
        Mean and deviation that series are brought to; a deviation of 0 leaves them as they are.
    channels, weights : arrays
    biases : array (groups, 8)
    coefs : list of arrays
        Those of each group (matrix, output, pooling).
    """

    groups: Any
    kinds: Any
    means: Any
    scales: Any
    levels: Any
    sizes: Any
    channels: Any
    weights: Any
    biases: Any
    coefs: list[Any]

    @classmethod
    def of(cls, transformer: SlidingFeatures, coef: Any) -> _Part:
        """The groups of a transformer with coefficients (outputs, features) that are not all 0.

        If there are none it is the first group, since C has no empty arrays.
        """
        table = coef.reshape(len(coef), len(transformer.groups_), GROUP, -1)
        used = np.flatnonzero(table.any(axis=(0, 2, 3)))
        used = used if len(used) else np.arange(1)
        weights = [_weights(transformer, int(group)) for group in used]
        channels = [transformer._channels_of(int(group)) for group in used]
        rows = transformer.groups_[used]
        shapelets = isinstance(transformer, ElasticShapelets)
        level, size = np.repeat(transformer.common_[:, None], len(transformer._distinct), axis=1)
        poolings = sum(transformer._poolings[name] for name in transformer.poolings)
        groups = np.column_stack([
            rows[:, windows.ROWS],
            transformer.elasticities_[used],
            rows[:, [windows.DILATION, windows.PADDING, windows.REPRESENTATION]],
            _starts(channels),
            [len(each) for each in channels],
            _starts(weights),
            rows[:, windows.NORMALIZED] + 1 if shapelets else np.zeros(len(used), np.int64),
            np.full(len(used), poolings),
        ])  # fmt: skip
        return cls(
            groups,
            np.array([list(REPRESENTATIONS).index(name) for name in transformer._distinct]),
            as_float32(transformer.means_, "means_"),
            as_float32(transformer.scales_, "scales_"),
            as_float32(level, "common_"),
            as_float32(size, "common_"),
            np.concatenate(channels),
            np.concatenate(weights),
            transformer.biases_[used],
            list(as_float32(table[:, used], "coef_").transpose(1, 2, 0, 3)),
        )

    def after(self, other: _Part) -> _Part:
        """Both parts in one, this one behind."""
        groups = self.groups.copy()
        groups[:, 4] += len(other.kinds)
        groups[:, 5] += len(other.channels)
        groups[:, 7] += len(other.weights)
        moved = self._replace(groups=groups)
        joined = [np.concatenate(both) for both in zip(other[:-1], moved[:-1], strict=True)]
        return _Part._make([*joined, other.coefs + self.coefs])

    def sorted(self) -> _Part:
        """By representation, so that each is computed once."""
        order = np.argsort(self.groups[:, 4], kind="stable")
        coefs = [self.coefs[i] for i in order]
        return self._replace(groups=self.groups[order], biases=self.biases[order], coefs=coefs)


def feature_program(model: FeatureModel) -> Program:
    """A feature model in float32; groups of filters that do not matter are left out."""
    readout, part, first = _readout(model), None, 0
    for transformer in model._transformers():
        last = first + transformer.n_features
        own = _Part.of(transformer, model.coef_[:, first:last])
        part, first = own if part is None else own.after(part), last
    assert part is not None  # a model has at least one transformer
    part = part.sorted()
    groups = part.groups
    tables = [
        Table("groups", groups.astype(np.int32), "Groups of eight (see model_slide)"),
        Table("channels", part.channels.astype(np.int32), "Channels of the groups"),
        Table("kinds", part.kinds.astype(np.int32), "Representations (see model_represent)"),
        Table("means", part.means, "Means (representation, channel)"),
        Table("scales", part.scales, "Deviations"),
        Table("levels", part.levels, "Means that series are brought to (representation, channel)"),
        Table("sizes", part.sizes, "Deviations that series are brought to; 0: left as they are"),
        Table("weights", part.weights, "Weights of each group (matrix, row, column, channel)"),
        Table("thresholds", part.biases, "Of the share of outputs above it (group, matrix)"),
        Table("coefs", np.concatenate([each.ravel() for each in part.coefs]),
              "Coefficients (group, matrix, output, pooling)"),
        Table("biases", as_float32(model.intercept_, "intercept_"), "Outputs begin with these"),
    ]  # fmt: skip
    length, channels = int(model.n_features_in_), int(model.n_channels_in_)
    rows, columns = int(groups[:, 0].max()), int(groups[:, 1].max())
    constants: dict[str, int | str] = {
        "LENGTH": length, "CHANNELS": channels, "ROWS": rows, "COLUMNS": columns,
        "GROUPS": len(groups),
    }  # fmt: skip
    kinds = ["filters"]
    if groups[:, 8].any():
        constants["LEAST_VARIANCE"] = literal(LEAST_VARIANCE)
        kinds = ["squared:shapelet", "recursion:shapelet", "shapelets"]
    outputs = len(model.intercept_)
    return Program(
        {**constants, **readout.constants},
        tables,
        ["product", "plain", "recursion", *kinds, "features", *readout.parts],
        state=4 * length * channels + 4,
        scratch=4 * (length * channels + rows * channels + columns + GROUP + outputs) + _POOL,
        labels=readout.labels,
    )


def _readout(model: Any) -> Readout:
    if not hasattr(model, "classes_"):
        return targets(len(model.intercept_))
    two = len(model.classes_) == 2  # whose values are those for and against the second class
    return classes(model.classes_, sharpness=model.sharpness_ * (2 if two else 1))


def _weights(transformer: SlidingFeatures, group: int) -> Any:
    """The weights of a group (matrix, row, column, channel), flat."""
    half, row, channel, column, lane = range(5)
    return transformer._weights_of(group).transpose(half, lane, row, column, channel).ravel()


def _starts(arrays: list[Any]) -> Any:
    """Where each of some arrays begins, if they are put one behind the other."""
    return np.cumsum([0, *(len(each) for each in arrays)])[:-1]
