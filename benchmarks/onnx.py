"""Elastic inner products and features as ONNX graphs, against the library.

Both graphs have standard operators only.  The elastic inner product is a `Scan` over
anti-diagonals, whose cells do not depend on each other.  Of the features there are the groups of
m = 1, dilated convolutions, and the shares of their outputs above a bias; the recursion of m = 2
and other poolings would come on top.  One thread each, best of several.
Needs `pip install onnx onnxruntime`, in an environment of their own.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data import bumps
from benchmarks.measure import best_times, describe_machine
from warplearn import ElasticFeatureClassifier, ElasticLogisticRegression
from warplearn._kernels.drivers import windows

LENGTH, COLUMNS = 150, 15
NONE = np.float32(-1e30)


def _session(graph):
    import onnxruntime
    from onnx import checker, helper

    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda X: session.run(None, {"x": X})[0]


def elastic_scores(W: np.ndarray):
    """A function of series (cases, n): elastic inner products with matrices W (units, n, m)."""
    from onnx import TensorProto, helper, numpy_helper

    units, n, m = W.shape
    diagonals = n + m - 1
    time = np.arange(diagonals)[:, None] - np.arange(m)  # of the cell of a diagonal in a column
    outside = (time < 0) | (time >= n)
    skewed = np.where(outside, 0, W[:, time.clip(0, n - 1), np.arange(m)])  # (units, diagonal, m)
    mask = np.where(outside, NONE, 0).astype(np.float32)
    floor = np.full_like(mask, NONE)
    floor[0, 0] = 0  # a path begins in the first cell
    constants = {
        "places": time.clip(0, n - 1).astype(np.int64),
        "weights": skewed.transpose(1, 0, 2).astype(np.float32),  # (diagonal, units, m)
        "mask": mask[:, None],
        "floor": floor[:, None],
        "pads": np.array([0, 0, 1, 0, 0, -1], np.int64),  # a column to the right
        "none": np.float32(NONE),
        "case_axis": np.array([1], np.int64),
        "unit_axis": np.array([2], np.int64),
        "last": np.array(m - 1, np.int64),
        "start": np.zeros(1, np.float32),
    }
    number, node = TensorProto.FLOAT, helper.make_node
    cells = [None, units, m]
    body = helper.make_graph(
        [
            node("Unsqueeze", ["x_d", "case_axis"], ["x_units"]),  # (cases, 1, m)
            node("Mul", ["x_units", "w_d"], ["product"]),
            node("Add", ["product", "mask_d"], ["local"]),
            node("Pad", ["last_d", "pads", "none"], ["left"]),
            node("Pad", ["before_d", "pads", "none"], ["diagonal"]),
            node("Max", ["last_d", "left", "diagonal", "floor_d"], ["best"]),
            node("Add", ["best", "local"], ["next_d"]),
            node("Identity", ["last_d"], ["kept_d"]),
        ],
        "diagonal",
        [
            helper.make_tensor_value_info(name, number, shape)
            for name, shape in (
                ("before_d", cells), ("last_d", cells),
                ("x_d", [None, m]), ("w_d", [units, m]), ("mask_d", [1, m]), ("floor_d", [1, m]),
            )
        ],
        [helper.make_tensor_value_info(name, number, cells) for name in ("kept_d", "next_d")],
    )  # fmt: skip
    constants["nothing"] = np.full((1, units, m), NONE, np.float32)
    graph = helper.make_graph(
        [
            node("Gather", ["x", "places"], ["skewed_x"], axis=1),  # (cases, diagonal, m)
            node("Transpose", ["skewed_x"], ["by_diagonal"], perm=[1, 0, 2]),
            node("Slice", ["x", "zero_at", "one_at", "one_at"], ["column"]),  # (cases, 1)
            node("Mul", ["column", "start"], ["zeros"]),
            node("Unsqueeze", ["zeros", "unit_axis"], ["zeros3"]),
            node("Add", ["zeros3", "nothing"], ["nothings"]),  # (cases, units, m)
            node(
                "Scan", ["nothings", "nothings", "by_diagonal", "weights", "mask", "floor"],
                ["kept", "final"], num_scan_inputs=4, body=body,
            ),
            node("Gather", ["final", "last"], ["scores"], axis=2),
        ],
        "elastic",
        [helper.make_tensor_value_info("x", number, [None, n])],
        [helper.make_tensor_value_info("scores", number, [None, units])],
        [
            numpy_helper.from_array(np.asarray(value), name)
            for name, value in {
                **constants,
                "zero_at": np.array([0], np.int64),
                "one_at": np.array([1], np.int64),
            }.items()
        ],
    )  # fmt: skip
    return _session(graph)


def shares(features):
    """A function of series (cases, 1, n): shares above the bias, of the groups of m = 1."""
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants, outputs = [], {}, []
    for i in np.flatnonzero(features.elasticities_ == 1):
        row = features.groups_[i]
        weights = features._weights_of(i)[:, :, 0, 0].transpose(0, 2, 1).reshape(8, 1, -1)
        constants |= {f"w{i}": weights.copy(), f"b{i}": features.biases_[i].reshape(1, 8, 1)}
        padding, dilation = int(row[windows.PADDING]), int(row[windows.DILATION])
        nodes += [
            helper.make_node(
                "Conv", ["x", f"w{i}"], [f"y{i}"], dilations=[dilation], pads=[padding] * 2
            ),
            helper.make_node("Greater", [f"y{i}", f"b{i}"], [f"g{i}"]),
            helper.make_node("Cast", [f"g{i}"], [f"f{i}"], to=TensorProto.FLOAT),
            helper.make_node("ReduceMean", [f"f{i}"], [f"s{i}"], axes=[2], keepdims=0),
        ]
        outputs.append(f"s{i}")
    nodes.append(helper.make_node("Concat", outputs, ["shares"], axis=1))
    number = TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "shares",
        [helper.make_tensor_value_info("x", number, [None, 1, LENGTH])],
        [helper.make_tensor_value_info("shares", number, [None, 8 * len(outputs)])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    return _session(graph)


def _compare(title, python, onnx, sizes, X):
    for size in sizes:
        some = np.ascontiguousarray(X[:size])
        best = best_times({"python": lambda s=some: python(s), "onnx": lambda s=some: onnx(s)})
        print(
            f"{title:<34s}{size:6d} series: library {1e6 * best['python'] / size:9.1f}, "
            f"ONNX {1e6 * best['onnx'] / size:9.1f} microseconds a series, "
            f"ratio {best['onnx'] / best['python']:6.1f}",
            flush=True,
        )


def main(arguments: list[str]) -> None:
    print(describe_machine("onnx", "onnxruntime"))
    X, y = bumps(2000, LENGTH)
    model = ElasticLogisticRegression(elasticity=COLUMNS, max_iter=20, random_state=0)
    model.fit(X[:100], y[:100])
    scores = elastic_scores(model.coef_)
    found = (scores(X[:50]) + model.intercept_) @ model.polarity_.mix
    np.testing.assert_allclose(found[:, 0], model.decision_function(X[:50]), rtol=1e-4, atol=1e-4)
    _compare("elastic logistic regression", model.decision_function, scores, (1, 100, 2000), X)
    features = ElasticFeatureClassifier(
        256, elasticities=(1,), representations=("raw",), poolings=("share",), random_state=0
    )
    features.fit(X[:100], y[:100])
    onnx = shares(features.features_)
    scaled = features.features_

    def standardized(some):
        return ((some - scaled.means_[0, 0]) / scaled.scales_[0, 0])[:, None].astype(np.float32)

    found, expected = onnx(standardized(X[:50])), features.features_.transform(X[:50])
    assert np.abs(found - expected).max() < 0.05
    _compare(
        "256 filters of m = 1", features.features_.transform, lambda some: onnx(standardized(some)),
        (1, 100, 2000), X,
    )  # fmt: skip
