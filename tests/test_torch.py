"""Elastic layers for PyTorch; skipped where it is not installed."""

import copy
import itertools
import math
import os
import pickle
import sys

import naive
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from warplearn._kernels.drivers import evaluate as drive  # noqa: E402
from warplearn.elastic.bands import band_of  # noqa: E402
from warplearn.elastic.costs import resolve  # noqa: E402
from warplearn.torch import ElasticConv1d, ElasticDistance, ElasticLinear, functional  # noqa: E402
from warplearn.torch import diagonal as in_torch  # noqa: E402
from warplearn.torch import kernels as in_lanes  # noqa: E402

LENGTHS = [9, 4, 1, 9, 7]


@pytest.fixture(autouse=True)
def one_thread_in_torch():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)


def operands(channels=2, *, batch=5, time=9, units=3, rows=10, m=4):
    x = torch.randn(batch, channels, time, dtype=torch.float64, requires_grad=True)
    w = torch.randn(units, rows, m, channels, dtype=torch.float64, requires_grad=True)
    return x, w


def score_with(module, cost, x, w, lengths=LENGTHS, band=None, *rest):
    local, _ = resolve(cost)
    return module.scores(local, x.transpose(1, 2), w, np.array(lengths), band_of(band, 100), *rest)


def gradients(values, x, w, upstream):
    return [g.numpy() for g in torch.autograd.grad(values, (x, w), upstream)]


def naively(cost, x, w, lengths, band, upstream):
    """Scores and gradients of the weighted sum, from the textbook recursion."""
    x, w = x.detach().numpy().transpose(0, 2, 1), w.detach().numpy()
    values, to_x, to_w = np.zeros((len(x), len(w))), np.zeros(x.shape), np.zeros(w.shape)
    for s, u in np.ndindex(values.shape):
        series = x[s, : lengths[s]]
        local = naive.local_scores(series, w[u], naive.SCORES[cost])
        values[s, u], path, gap = naive.best(local, band)
        assert gap > 1e-9
        x_slope, w_slope = naive.gradient_along(path, series, w[u], naive.SLOPES[cost])
        to_x[s, : lengths[s]] += float(upstream[s, u]) * x_slope
        to_w[u] += float(upstream[s, u]) * w_slope
    return values, to_x.transpose(0, 2, 1), to_w


# The kernels, the anti-diagonals and the definition


@pytest.mark.parametrize(
    ("cost", "band", "modules"),
    [
        ("product", None, (in_lanes, in_torch)),
        ("product", 4, (in_lanes, in_torch)),
        ("squared", None, (in_lanes, in_torch)),
        ("absolute", None, (in_torch,)),  # the kernels of these are tested in test_kernels
        ("gaussian", None, (in_torch,)),
    ],
)
def test_kernels_anti_diagonals_and_definition_agree(cost, band, modules):
    x, w = operands()
    upstream = torch.randn(5, 3, dtype=torch.float64)
    values, to_x, to_w = naively(cost, x, w, LENGTHS, band, upstream)
    for module in modules:
        got = score_with(module, cost, x, w, band=band)
        np.testing.assert_allclose(got.detach(), values, rtol=1e-12, atol=1e-12)
        got_x, got_w = gradients(got, x, w, upstream)
        np.testing.assert_allclose(got_x, to_x, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(got_w, to_w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("units", [3, 40], ids=["series in lanes", "matrices in lanes"])
def test_ties_are_broken_alike(units):
    """Small integers make many ties, and every sum exact."""
    x = torch.randint(-1, 2, (30, 2, 9)).double().requires_grad_()
    w = torch.randint(-1, 2, (units, 9, 4, 2)).double().requires_grad_()
    upstream = torch.randint(-3, 4, (30, units)).double()
    lengths = torch.randint(1, 10, (30,)).tolist()
    found = []
    for module in (in_lanes, in_torch):
        values = score_with(module, "product", x, w, lengths)
        found.append([values.detach().numpy(), *gradients(values, x, w, upstream)])
    for lanes, diagonals in zip(*found, strict=True):
        np.testing.assert_array_equal(lanes, diagonals)


@pytest.mark.parametrize(
    ("channels", "time", "stride", "dilation", "band"),
    [(1, 80, 1, 1, None), (1, 100, 3, 1, None), (2, 40, 1, 4, None), (2, 9, 2, 2, 2)],
)
def test_convolutions_agree(channels, time, stride, dilation, band):
    """Blocks of windows that end with a series and in the middle of one; windows of one series."""
    dtype = torch.float32 if channels == 1 else torch.float64
    x = torch.randint(-2, 3, (7, channels, time)).to(dtype).requires_grad_()
    w = torch.randint(-2, 3, (3, 5, 3, channels)).to(dtype).requires_grad_()
    local, _ = resolve("product")
    found = []
    for module in (in_lanes, in_torch):
        values = module.slide(local, x, w, stride, dilation, band_of(band, 100))
        upstream = torch.arange(values.numel()).to(dtype).reshape(values.shape) % 7 - 3
        found.append([values.detach().numpy(), *gradients(values, x, w, upstream)])
    assert found[0][0].shape[2] == (time - 4 * dilation - 1) // stride + 1
    for lanes, diagonals in zip(*found, strict=True):
        np.testing.assert_array_equal(lanes, diagonals)


def test_float32_on_a_larger_batch():
    x = torch.randn(130, 2, 60, requires_grad=True)
    w = torch.randn(8, 60, 6, 2, requires_grad=True)
    upstream = torch.randn(130, 8)
    found = []
    for module in (in_lanes, in_torch):
        values = score_with(module, "product", x, w, [60] * 130)
        assert values.dtype == torch.float32
        found.append([values.detach().numpy(), *gradients(values, x, w, upstream)])
    for lanes, diagonals in zip(*found, strict=True):
        np.testing.assert_allclose(lanes, diagonals, rtol=1e-4, atol=1e-4)


def test_number_of_threads_changes_nothing(two_threads):
    x = torch.randn(9, 1, 80, requires_grad=True)
    w = torch.randn(4, 5, 3, 1, requires_grad=True)
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        values = functional.elastic_conv1d(x, w)
        found.append((values.detach(), *torch.autograd.grad(values.square().sum(), (x, w))))
    for one, two in zip(*found, strict=True):
        assert torch.equal(one, two)


# Gradients

FUNCTIONS = {
    "inner product": lambda x, w: functional.elastic_inner_product(x, w, LENGTHS),
    "band": lambda x, w: functional.elastic_inner_product(x, w, LENGTHS, band=4),
    "distance": lambda x, w: functional.elastic_distance(x, w, LENGTHS),
    "convolution": lambda x, w: functional.elastic_conv1d(
        x, w[:, :3], stride=2, dilation=2, padding=1
    ),
}
SMOOTH = {
    "inner product": lambda x, w: functional.elastic_inner_product(x, w, LENGTHS, temperature=0.5),
    "band": lambda x, w: functional.elastic_inner_product(x, w, LENGTHS, band=4, temperature=0.5),
    "distance": lambda x, w: functional.elastic_distance(
        x, w, LENGTHS, root=False, temperature=0.5
    ),
    "convolution": lambda x, w: functional.elastic_conv1d(
        x, w[:, :3], stride=2, dilation=2, padding=1, temperature=0.5
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("functions", [FUNCTIONS, SMOOTH], ids=["exact", "smooth"])
def test_gradcheck(functions, name):
    assert torch.autograd.gradcheck(functions[name], operands())


@pytest.mark.parametrize("functions", [FUNCTIONS, SMOOTH], ids=["exact", "smooth"])
def test_second_derivatives(functions):
    assert torch.autograd.gradgradcheck(functions["inner product"], operands(), fast_mode=True)
    assert torch.autograd.gradgradcheck(functions["distance"], operands(), fast_mode=True)
    assert torch.autograd.gradgradcheck(functions["convolution"], operands(), fast_mode=True)


def test_smooth_score_is_the_sum_over_all_paths():
    x, w = operands(batch=2, time=4, rows=4, m=3)
    for band in (None, 2):
        got = score_with(in_torch, "product", x, w, [4, 3], band, 0.7)
        for s, u in np.ndindex(*got.shape):
            k = (4, 3)[s]
            series = x[s].detach().numpy().T[:k]
            local = naive.local_scores(series, w[u].detach().numpy(), naive.SCORES["product"])
            total = sum(
                math.exp(naive.score_along(local, path) / 0.7)
                for path in naive.all_paths(k, 3)
                if all(naive.in_band(i, j, k, 3, band) for i, j in path)
            )
            assert got[s, u].item() == pytest.approx(0.7 * math.log(total), rel=1e-12)


def test_exact_gradient_is_the_limit_of_the_smooth_one():
    x, w = operands()
    upstream = torch.randn(5, 3, dtype=torch.float64)
    exact = score_with(in_lanes, "product", x, w)
    exact_gradients = gradients(exact, x, w, upstream)
    errors = []
    for temperature in (1.0, 0.1, 0.01, 1e-4):
        values = score_with(in_torch, "product", x, w, LENGTHS, None, temperature)
        assert (values >= exact - 1e-12).all()
        found = gradients(values, x, w, upstream)
        errors.append(max(abs(a - b).max() for a, b in zip(found, exact_gradients, strict=True)))
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 0.1
    assert errors[-1] < 1e-6


def test_distance_of_zero_has_gradient_zero():
    layer = ElasticDistance(6, 3, units=2, channels=2, dtype=torch.float64)
    series = torch.randn(2, 2, 6, dtype=torch.float64, requires_grad=True)
    distances = layer.start_at(series)(series)
    assert distances.diagonal().tolist() == [0, 0]
    distances.diagonal().sum().backward()
    assert not layer.weight.grad.any()
    assert not series.grad.any()
    assert distances[0, 1] > 0


@pytest.mark.parametrize(("to_x", "to_w"), [(False, True), (True, False)])
def test_only_required_gradients_are_computed(monkeypatch, to_x, to_w):
    asked = []

    def spy(*args, **options):
        asked.append((options.get("want_series", False), options.get("want_matrix", False)))
        return evaluate(*args, **options | {"want_series": True, "want_matrix": True})

    evaluate = drive.evaluate
    monkeypatch.setattr(drive, "evaluate", spy)
    x, w = (
        o.detach().requires_grad_(wanted)
        for o, wanted in zip(operands(), (to_x, to_w), strict=True)
    )
    functional.elastic_inner_product(x, w).sum().backward()
    assert asked == [(False, False), (to_x, to_w)]
    assert ((x.grad is not None), (w.grad is not None)) == (to_x, to_w)


@pytest.mark.parametrize("temperature", [0.0, 0.3])
def test_values_past_the_end_are_ignored(temperature):
    x, w = operands()
    behind = torch.arange(9) >= torch.tensor(LENGTHS)[:, None]
    found = []
    for value in (0.0, math.nan):
        filled = x.detach().masked_fill(behind[:, None], value).requires_grad_()
        values = functional.elastic_inner_product(filled, w, LENGTHS, temperature=temperature)
        found.append([values.detach(), *torch.autograd.grad(values.sum(), (filled, w))])
    for zeros, nans in zip(*found, strict=True):
        assert torch.equal(zeros, nans)
    assert not found[0][1].masked_select(behind[:, None]).any()


@pytest.mark.parametrize("temperature", [0.0, 0.3])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_that_are_not_finite_give_nan(value, temperature):
    x, w = operands()
    with torch.no_grad():
        x[1, 0, 2] = w[2, 0, 3, 1] = value
    values = functional.elastic_inner_product(x, w, LENGTHS, temperature=temperature)
    expected = torch.zeros(5, 3, dtype=bool)
    expected[1], expected[:, 2] = True, True
    assert torch.equal(values.isnan(), expected)
    values.square().sum().backward()
    assert x.grad[1].isnan().any()
    assert w.grad[0].isnan().any()
    windows = functional.elastic_conv1d(x, w[:2, :3], dilation=2, temperature=temperature)
    assert windows[1].isnan().any(dim=0).tolist() == [True, False, True, False, False]
    assert not windows[0].isnan().any()


# Layers


@pytest.mark.parametrize(
    ("stride", "dilation", "padding"), [(1, 1, 0), (1, 2, "same"), (3, 2, 4), (2, 1, 1)]
)
def test_one_column_is_torch_conv1d(stride, dilation, padding):
    ours = ElasticConv1d(
        4, 1, units=5, channels=2, stride=stride, dilation=dilation, padding=padding,
        dtype=torch.float64,
    )  # fmt: skip
    theirs = nn.Conv1d(2, 5, 4, stride, padding, dilation, dtype=torch.float64)
    with torch.no_grad():
        theirs.weight.copy_(ours.weight[:, :, 0].transpose(1, 2))
        theirs.bias.copy_(ours.bias)
    found = []
    for layer in (ours, theirs):
        x = torch.linspace(-2, 3, 60, dtype=torch.float64).sin().view(3, 2, 10).requires_grad_()
        values = layer(x)
        weights = torch.linspace(1, 2, values.numel(), dtype=torch.float64).view(values.shape)
        (values * weights).sum().backward()
        weight_gradient = layer.weight.grad
        if layer is ours:
            weight_gradient = weight_gradient[:, :, 0].transpose(1, 2)
        found.append((values.detach(), x.grad, weight_gradient, layer.bias.grad))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_convolution_is_the_inner_product_of_each_window():
    layer = ElasticConv1d(3, 2, units=2, channels=2, stride=2, dilation=2, dtype=torch.float64)
    x = torch.randn(2, 2, 11, dtype=torch.float64)
    got = layer(x)
    assert got.shape == (2, 2, 4)
    for case, unit, position in itertools.product(range(2), range(2), range(4)):
        window = x[case, :, 2 * position : 2 * position + 5 : 2].T.numpy()
        expected = naive.elastic(window, layer.weight[unit].detach().numpy(), "product")
        expected += layer.bias[unit].item()
        assert got[case, unit, position].item() == pytest.approx(expected, rel=1e-12)


def test_one_column_is_torch_linear():
    ours = ElasticLinear(7, 1, units=3, channels=2, dtype=torch.float64)
    x = torch.randn(4, 2, 7, dtype=torch.float64)
    expected = nn.functional.linear(x.transpose(1, 2).flatten(1), ours.weight.flatten(1), ours.bias)
    torch.testing.assert_close(ours(x), expected)


def test_distance_to_equal_rows_is_dtw():
    layer = ElasticDistance(6, 8, units=2, channels=2, dtype=torch.float64)
    other = torch.randn(2, 2, 8, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(other.transpose(1, 2)[:, None])
    x = torch.randn(3, 2, 6, dtype=torch.float64)
    expected = naive.pairwise(x.numpy(), other.numpy())
    np.testing.assert_allclose(layer(x).detach(), expected, rtol=1e-12)


@pytest.mark.parametrize(("k", "m", "channels"), [(9, 3, 2), (60, 6, 3), (100, 1, 2), (40, 40, 2)])
def test_outputs_start_with_unit_order(k, m, channels):
    layer = ElasticLinear(k, m, units=40, channels=channels)
    with torch.no_grad():
        values = layer(torch.randn(60, channels, k))
    assert abs(values.mean()) < 1
    assert 0.4 < values.std(dim=0).mean() < 1.6


def test_network_of_elastic_and_other_layers_learns():
    """Bumps at any place, up or down: a first layer in windows, a last one over all of the time."""
    time, y = torch.linspace(0, 1, 40), torch.arange(60) % 2
    bump = torch.exp(-(((time - 0.3 - 0.4 * torch.rand(60, 1)) / 0.05) ** 2))
    x = (torch.where(y[:, None] == 1, bump, -bump) + 0.1 * torch.randn(60, 40))[:, None]
    x.requires_grad_()  # not needed, but must not hurt
    model = nn.Sequential(
        ElasticConv1d(5, 2, units=6, padding="same"), nn.ReLU(),
        nn.Conv1d(6, 4, 3, padding=1), nn.ReLU(),
        ElasticLinear(40, 3, units=2, channels=4),
    )  # fmt: skip
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 < losses[0]
    assert (model(x).argmax(dim=1) == y).all()
    assert not torch.equal(before["0.weight"], model.state_dict()["0.weight"])


# Other features of PyTorch


def test_state_comes_back():
    layer = ElasticConv1d(5, 0.4, units=3, padding=2)
    assert layer.weight.shape == (3, 5, 2, 1)
    other = ElasticConv1d(5, 2, units=3, padding=2)
    x = torch.randn(4, 1, 12)
    assert not torch.equal(layer(x), other(x))
    assert other.load_state_dict(layer.state_dict()).missing_keys == []
    for same in (other, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(layer(x), same(x))
    assert str(ElasticConv1d(5, 2, 3, band=3)) == (
        "ElasticConv1d(5, 2, units=3, channels=1, band=3, stride=1, dilation=1, padding=0)"
    )


def test_compiled_model_gives_the_same():
    model = nn.Sequential(ElasticConv1d(5, 2, units=4), nn.ReLU(), ElasticLinear(16, 3, 2, 4))
    compiled = torch.compile(copy.deepcopy(model), backend="aot_eager")
    x = torch.randn(6, 1, 20, requires_grad=True)
    for each in (model, compiled):
        each(x).square().sum().backward()
    torch.testing.assert_close(compiled(x), model(x))
    for a, b in zip(model.parameters(), compiled.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_autocast_is_off_inside(temperature):
    layer = ElasticLinear(12, 3, units=4, channels=2, temperature=temperature)
    x = torch.randn(5, 2, 12, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert nn.functional.linear(x, x[0, :1]).dtype == torch.bfloat16
        values = layer(x)
        half = layer(x.bfloat16())
    assert values.dtype == half.dtype == torch.float32
    assert torch.equal(values, layer(x))
    assert torch.equal(half, layer(x.bfloat16().float()))
    half.sum().backward()
    assert layer.weight.grad.dtype == torch.float32


def test_module_of_half_precision():
    layer = ElasticLinear(12, 3, units=4, channels=2).bfloat16()
    x = torch.randn(5, 2, 12).bfloat16()
    values = layer(x)
    precise = functional.elastic_inner_product(x.float(), layer.weight.float(), bias=layer.bias)
    assert values.dtype == torch.bfloat16
    torch.testing.assert_close(values.float(), precise, rtol=0.02, atol=0.02)


def test_other_devices_need_no_kernels(monkeypatch):
    monkeypatch.setattr(in_lanes, "_Scores", None)
    x = torch.empty(5, 2, 9, device="meta")
    assert ElasticLinear(9, 2, 3, 2, device="meta")(x, LENGTHS).shape == (5, 3)
    assert ElasticConv1d(3, 2, 4, 2, device="meta")(x).shape == (5, 4, 7)
    values = ElasticDistance(9, 2, 3, 2, 4, device="meta")(x)
    assert values.device.type == "meta"
    with pytest.raises(ValueError, match="x must be on meta, where the weights are, got cpu"):
        ElasticLinear(9, 2, 3, 2, device="meta")(torch.empty(5, 2, 9))


def test_empty_batch():
    layer = ElasticConv1d(3, 2, units=4)
    values = layer(torch.empty(0, 1, 9))
    assert values.shape == (0, 4, 7)
    values.sum().backward()
    assert not layer.weight.grad.any()


def _parallel_worker(rank, folder, x, y, state):
    torch.set_num_threads(1)
    if sys.platform == "linux":  # where the name of a machine may lead nowhere
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
    )
    model = _parallel_model()
    model.load_state_dict(state)
    model = nn.parallel.DistributedDataParallel(model)
    x.requires_grad_()
    half = slice(4 * rank, 4 * rank + 4)
    nn.functional.cross_entropy(model(x[half]), y[half]).backward()
    torch.save([p.grad for p in model.parameters()], f"{folder}/gradients{rank}")
    torch.distributed.barrier()
    del model  # once the group is gone, its threads may wait for this for ever
    torch.distributed.destroy_process_group()


def _parallel_model():
    return nn.Sequential(ElasticConv1d(5, 2, units=4), nn.ReLU(), ElasticLinear(16, 3, 2, 4))


@pytest.mark.skipif(not torch.distributed.is_available(), reason="PyTorch without distributed")
def test_two_processes_find_the_gradients_of_one(tmp_path):
    x, y = torch.randn(8, 1, 20, requires_grad=True), torch.tensor([0, 1] * 4)
    model = _parallel_model()
    nn.functional.cross_entropy(model(x), y).backward()
    arguments = (str(tmp_path), x.detach(), y, model.state_dict())
    workers = torch.multiprocessing.spawn(_parallel_worker, arguments, nprocs=2, join=False)
    try:
        assert workers.join(timeout=120) or workers.join(timeout=120)  # one after the other
    finally:
        for process in workers.processes:
            process.kill()
    for rank in range(2):
        found = torch.load(tmp_path / f"gradients{rank}")
        assert len(found) == 4
        for gradient, parameter in zip(found, model.parameters(), strict=True):
            torch.testing.assert_close(gradient, parameter.grad, rtol=1e-5, atol=1e-6)


# Errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ElasticLinear(0, 2, 3), "length must be a positive integer, got 0"),
        (lambda: ElasticLinear(9, 2, 3.0), "units must be a positive integer, got 3.0"),
        (lambda: ElasticLinear(9, -1, 3), "elasticity must be an integer of at least 0"),
        (lambda: ElasticConv1d(3, 2, 3, stride=0), "stride must be a positive integer, got 0"),
        (lambda: ElasticConv1d(3, 2, 3, padding=-1), "padding must be an integer of at least 0 or"),
        (lambda: ElasticConv1d(3, 2, 3, padding="same", stride=2), "padding='same' needs stride=1"),
        (lambda: ElasticConv1d(3, 2, 3)(torch.zeros(2, 1, 2)), "3 elements, got 2 with its padding"),
        (lambda: ElasticLinear(9, 2, 3)(torch.zeros(2, 9)), r"\(batch, channels, time\), got shape"),
        (lambda: ElasticLinear(9, 2, 3)(torch.zeros(2, 2, 9)), r"1 channel\(s\), got 2"),
        (lambda: ElasticLinear(9, 2, 3)(torch.zeros(2, 1, 10)), "at most 9 time points"),
        (lambda: ElasticLinear(9, 2, 3)(torch.zeros(2, 1, 9, dtype=int)), "of torch.int64"),
        (lambda: ElasticLinear(9, 2, 3)(torch.zeros(2, 1, 9), [9]), "lengths must be 2 integers"),
        (lambda: ElasticLinear(9, 2, 3)(torch.zeros(2, 1, 9), [9.0, 1.0]), "of float64"),
        (lambda: ElasticLinear(9, 2, 3)(torch.zeros(2, 1, 9), [9, 0]), "between 1 and 9"),
        (lambda: ElasticLinear(9, 2, 3, temperature=-1)(torch.zeros(2, 1, 9)), "temperature must"),
        (lambda: ElasticLinear(9, 2, 3, band=0)(torch.zeros(2, 1, 9)), "leaves no warping path"),
        (
            lambda: ElasticDistance(9, 2, 3, temperature=1.0)(torch.zeros(2, 1, 9)),
            "root must be False at a temperature above 0",
        ),
        (
            lambda: ElasticDistance(9, 2, 3, cost="mismatch")(torch.zeros(2, 1, 9)),
            "cost must be one of",
        ),
        (
            lambda: ElasticDistance(9, 2, 3).start_at(torch.zeros(2, 1, 9)),
            r"series must have shape \(3, 1, 9\)",
        ),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
