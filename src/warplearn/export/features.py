"""Models of random elastic features in C, after `shrink`."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplearn._kernels.drivers import windows
from warplearn._kernels.drivers.slide import GROUP
from warplearn.export.program import Program, Table, as_float32
from warplearn.export.readout import Readout, classes, targets
from warplearn.features.base import FeatureModel
from warplearn.features.representations import REPRESENTATIONS
from warplearn.features.settings import POOLINGS

_FIELDS = (windows.DILATION, windows.PADDING, windows.REPRESENTATION, windows.CHANNELS_FROM)
_POOL = 4 * GROUP * 4  # bytes of what is pooled of a group


def feature_program(model: FeatureModel) -> Program:
    """A feature model in float32; groups of filters that do not matter are left out."""
    features, readout = model.features_, _readout(model)
    if model.shapelets_ is not None or features is None:
        raise ValueError("shapelets cannot be exported: fit the model with n_shapelets=0")
    coef = model.coef_.reshape(len(model.coef_), len(features.groups_), GROUP, -1)
    used = np.flatnonzero(coef.any(axis=(0, 2, 3)))
    used = used if len(used) else np.arange(1)  # C has no empty arrays
    # Each representation is computed once.
    used = used[np.argsort(features.groups_[used, windows.REPRESENTATION], kind="stable")]
    weights = [_weights(features, int(group)) for group in used]
    sizes = [each.size for each in weights]
    groups = np.column_stack([
        features.groups_[used, windows.ROWS],
        features.elasticities_[used],
        features.groups_[used][:, _FIELDS],
        features.groups_[used, windows.CHANNELS_TO] - features.groups_[used, windows.CHANNELS_FROM],
        np.cumsum([0, *sizes])[:-1],
    ])  # fmt: skip
    kinds = [list(REPRESENTATIONS).index(name) for name in features._distinct]
    tables = [
        Table("groups", groups.astype(np.int32), "Groups of eight filters (see model_slide)"),
        Table("channels", features.channels_.astype(np.int32), "Channels of the groups"),
        Table("kinds", np.array(kinds, np.int32), "Representations (see model_represent)"),
        Table("means", as_float32(features.means_, "means_"), "Means (representation, channel)"),
        Table("scales", as_float32(features.scales_, "scales_"), "Deviations"),
        Table("weights", np.concatenate(weights),
              "Weights of each group (filter, row, column, channel)"),
        Table("thresholds", features.biases_[used],
              "Of the share of outputs above it (group, filter)"),
        Table("coefs", _coefs(coef[:, used]), "Coefficients (group, filter, output, pooling)"),
        Table("biases", as_float32(model.intercept_, "intercept_"), "Outputs begin with these"),
    ]  # fmt: skip
    length, channels = model.n_features_in_, model.n_channels_in_
    columns = int(features.elasticities_[used].max())
    constants: dict[str, int | str] = {
        "LENGTH": length, "CHANNELS": channels, "COLUMNS": columns, "GROUPS": len(used),
        "POOLINGS": len(features.poolings),
        **{f"POOL_{name.upper()}": int(name in features.poolings) for name in POOLINGS},
    }  # fmt: skip
    outputs = len(model.intercept_)
    return Program(
        {**constants, **readout.constants},
        tables,
        ["product", "plain", "recursion", "features", *readout.parts],
        state=4 * length * channels + 4,
        scratch=4 * (length * channels + GROUP * columns + GROUP + channels + outputs) + _POOL,
        labels=readout.labels,
    )


def _readout(model: Any) -> Readout:
    if not hasattr(model, "classes_"):
        return targets(len(model.intercept_))
    two = len(model.classes_) == 2  # whose values are those for and against the second class
    return classes(model.classes_, sharpness=model.sharpness_ * (2 if two else 1))


def _weights(features: Any, group: int) -> Any:
    """The weights of a group (filter, row, column, channel), flat."""
    half, row, channel, column, lane = range(5)
    return features._weights_of(group).transpose(half, lane, row, column, channel).ravel()


def _coefs(coef: Any) -> Any:
    """Coefficients (group, filter, output, pooling) of those (output, group, filter, pooling)."""
    return as_float32(coef, "coef_").transpose(1, 2, 0, 3).ravel()
