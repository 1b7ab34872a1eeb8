"""The generalized gradient method: steps, ends, what is kept, and what models do to each other."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from plans import plan_of, solve
from sklearn.exceptions import ConvergenceWarning

from warplearn import SeriesCollection, elastic_inner_product, value_and_gradient
from warplearn.series.chunks import total
from warplearn.training import batches, incremental, optimizers
from warplearn.training.batches import Batches
from warplearn.training.incremental import Bank
from warplearn.training.losses import LeastSquares, Logistic, Margin
from warplearn.training.optimizers import Adam, Momentum
from warplearn.training.plan import Model, Stopping
from warplearn.training.schedules import Decay
from warplearn.training.train import train as train_plans

RISK = Stopping(max_iter=8, monitor="loss", perfect=False)
KINDS = pytest.mark.parametrize("batch_size", [None, 5], ids=["incremental", "batches"])


@pytest.fixture
def data(rng):
    """Twenty series of length 7, and labels that no model gets all right."""
    X = rng.normal(size=(20, 7))
    X[1] = X[0]
    y = np.where(X[:, 2] + X[:, 4] > 0, 1.0, -1.0)
    y[1] = -y[0]
    return X, y


def start(seed, size=1, **numbers):
    random = np.random.default_rng(seed)
    shape = (size, 7, 3, 1)
    numbers = {"eta": 0.1, "rows": (0,) * size, **numbers}
    return Model(0.1 * random.normal(size=shape), np.zeros(size), **numbers)


def train(
    X, y, loss, models, stopping=RISK, *, weights=None, size=1, seed=0, shuffle=True, **options
):
    """Solve with a schedule that all tests share, and any options."""
    options.setdefault("schedule", Decay(0.0))
    return solve(
        X, y, loss, models, stopping,
        weights=weights, n_outputs=size, seed=seed, shuffle=shuffle, **options,
    )  # fmt: skip


def norm(solution):
    return np.sqrt((solution.W**2).sum() + (solution.b**2).sum())


# --- Steps


@pytest.mark.parametrize("max_norm", [None, 0.2])
def test_a_batch_of_all_examples_takes_one_pass_for_risk_and_gradient(data, monkeypatch, max_norm):
    X, y = data
    passes = []

    def counted(function, *args, **options):
        passes.append(function.__name__)
        return total(function, *args, **options)

    monkeypatch.setattr(batches, "total", counted)
    models = [start(0), start(1, lam=0.01)]
    whole = train(X, y, Logistic(), models, batch_size=20, max_norm=max_norm)
    assert passes == ["gradients", *["risks_and_gradients"] * 7, "risks"]
    for epochs in (1, 4):  # whose last risk has a pass of its own
        fewer = RISK._replace(max_iter=epochs)
        found = train(X, y, Logistic(), models, fewer, batch_size=20, max_norm=max_norm)
        for one, other in zip(found, whole, strict=True):
            np.testing.assert_array_equal(one.history, other.history[:epochs])
    passes.clear()
    train(X, y, Logistic(), models, RISK._replace(max_iter=2), batch_size=20, average=True)
    assert passes == ["gradients", "risks"] * 2


@pytest.mark.parametrize(
    ("loss", "lam", "size", "max_norm"),
    [
        (Logistic(), 0.0, 1, None),
        (Margin(1.0), 0.01, 2, 0.8),
        pytest.param(Logistic(), 0.0, 1, 0.8, marks=pytest.mark.slow),
        pytest.param(Margin(1.0), 0.01, 1, None, marks=pytest.mark.slow),
        pytest.param(Margin(1.0), 0.01, 1, 0.8, marks=pytest.mark.slow),
        pytest.param(Margin(1.0), 0.01, 2, None, marks=pytest.mark.slow),
    ],
)
def test_batches_of_one_are_the_incremental_method(data, rng, loss, lam, size, max_norm):
    X, y = data
    options = {
        "max_norm": max_norm, "schedule": Decay(0.1),
        "weights": rng.uniform(0.5, 2.0, size=20), "size": size,
    }  # fmt: skip
    (one,) = train(X, y, loss, [start(0, size, lam=lam)], **options)
    (other,) = train(X, y, loss, [start(0, size, lam=lam)], batch_size=1, **options)
    assert other.W == pytest.approx(one.W, abs=1e-12)
    assert other.b == pytest.approx(one.b, abs=1e-12)
    assert other.history == pytest.approx(one.history, abs=1e-12)
    assert other.mistakes_history.tolist() == one.mistakes_history.tolist()


def risk_gradient(X, y, model):
    """Generalized gradient of the mean logistic loss."""
    f = elastic_inner_product(X, model.W[0, ..., 0]) + model.b[0]
    slopes = -y / (1 + np.exp(y * f)) / len(y)
    found = value_and_gradient(X, model.W[0, ..., 0], upstream=slopes)
    return found.W[None, ..., None], slopes.sum(keepdims=True)


def heavy_ball(beta):
    def step(memory, gradient, t):
        memory["step"] = beta * memory.get("step", 0.0) + gradient
        return memory["step"]

    return step


def adam(beta1, beta2):
    def step(memory, gradient, t):
        memory["m"] = beta1 * memory.get("m", 0.0) + (1 - beta1) * gradient
        memory["v"] = beta2 * memory.get("v", 0.0) + (1 - beta2) * gradient**2
        mean, spread = memory["m"] / (1 - beta1**t), np.sqrt(memory["v"] / (1 - beta2**t))
        return mean / (spread + 1e-8)

    return step


@pytest.mark.parametrize(
    ("solver", "textbook"),
    [
        ("sgd", heavy_ball(0.0)),
        ("momentum", heavy_ball(0.9)),
        (Momentum(0.5), heavy_ball(0.5)),
        ("adam", adam(0.9, 0.999)),
        (Adam(0.8, 0.9), adam(0.8, 0.9)),
    ],
    ids=lambda case: getattr(case, "__name__", repr(case)),
)
def test_full_batch_steps_by_the_textbook(data, solver, textbook):
    X, y = data
    model = start(1)
    (got,) = train(X, y, Logistic(), [start(1)], batch_size=20, solver=optimizers.resolve(solver))
    assert got.history.argmin() == 7, "the last weights must be the best"
    memories = {}, {}
    for t in range(1, 9):
        to_W, to_b = risk_gradient(X, y, model)
        model = model._replace(
            W=model.W - 0.1 * textbook(memories[0], to_W, t),
            b=model.b - 0.1 * textbook(memories[1], to_b, t),
        )
    assert got.W == pytest.approx(model.W, abs=1e-12)
    assert got.b == pytest.approx(model.b, abs=1e-12)


@KINDS
def test_projection_keeps_parameters_in_the_ball(data, batch_size):
    X, y = data
    models = [start(seed, lam=0.01) for seed in range(3)]
    free = train(X, y, Margin(1.0), models, batch_size=batch_size)
    held = train(X, y, Margin(1.0), models, max_norm=0.5, batch_size=batch_size)
    assert min(map(norm, free)) > 0.6
    assert max(map(norm, held)) <= 0.5 * (1 + 1e-12)
    assert max(map(norm, held)) == pytest.approx(0.5)


@KINDS
def test_averages_are_means_over_epochs(data, batch_size):
    X, y = data
    options = {"batch_size": batch_size, "shuffle": False}
    plain, averaged = (
        [
            train(X, y, Margin(1.0), [start(0, eta=0.002)], RISK._replace(max_iter=epochs),
                  average=average, **options)[0]
            for epochs in (1, 2, 3, 4)
        ]
        for average in (False, True)
    )  # fmt: skip
    for run in (plain[-1], averaged[-1]):
        assert (np.diff(run.history) < 0).all(), "the last weights must be the best"
    for epochs in (1, 2, 3, 4):
        ref = np.mean([solution.W for solution in plain[:epochs]], axis=0)
        assert averaged[epochs - 1].W == pytest.approx(ref, abs=1e-14)
        ref = np.mean([solution.b for solution in plain[:epochs]], axis=0)
        assert averaged[epochs - 1].b == pytest.approx(ref, abs=1e-14)


# --- The end, and what is kept


@KINDS
@pytest.mark.parametrize(
    ("loss", "lam", "monitor"),
    [(Margin(1.0), 0.02, "accuracy"), (Margin(1.0), 0.02, "loss"), (Logistic(), 0.0, "loss")],
)
def test_kept_weights_are_the_best_and_as_good_as_reported(
    data, rng, loss, lam, monitor, batch_size
):
    X, y = data
    weights = rng.uniform(0.5, 2.0, size=20)
    stopping = Stopping(max_iter=12, monitor=monitor, perfect=False)
    models = [start(seed, lam=lam, eta=1.0) for seed in range(5)]
    for got in train(X, y, loss, models, stopping, weights=weights, batch_size=batch_size):
        f = elastic_inner_product(X, got.W[0, ..., 0]) + got.b[0]
        values = np.maximum(0, 1 - y * f) if loss == Margin(1.0) else np.logaddexp(0, -y * f)
        risk = np.average(values, weights=weights) + lam * (got.W**2).sum()
        assert got.risk == pytest.approx(risk, rel=1e-12)
        assert got.mistakes == np.sum((f >= 0) != (y > 0))
        assert got.n_epochs == len(got.history) == len(got.mistakes_history) == 12
        if monitor == "loss":
            assert got.risk == got.history.min()
        else:
            fewest = got.mistakes_history == got.mistakes_history.min()
            assert got.mistakes == got.mistakes_history.min()
            assert got.risk == got.history[fewest].min()


@KINDS
def test_stops_when_perfect(data, batch_size):
    X = data[0]
    y = np.where(X[:, 0] > 0, 1.0, -1.0)  # the first sample meets the first cell on every path
    stopping = Stopping(max_iter=1000, patience=1000)
    (got,) = train(X, y, Margin(1.0), [start(0)], stopping, batch_size=batch_size)
    assert got.reason == "perfect training accuracy"
    assert got.mistakes == 0
    assert got.mistakes_history[-1] == 0
    assert (got.mistakes_history[:-1] > 0).all()
    assert got.n_epochs < 1000
    (on,) = train(X, y, Margin(1.0), [start(0)], RISK, batch_size=batch_size)
    assert on.reason == "max_iter epochs"
    assert on.n_epochs == len(on.history) == 8


@KINDS
@pytest.mark.parametrize("monitor", ["accuracy", "loss"])
def test_stops_without_improvement(data, monitor, batch_size):
    X, y = data
    stopping = Stopping(max_iter=1000, monitor=monitor, patience=6, tol=0.01)
    (got,) = train(X, y, Margin(1.0), [start(0, eta=0.5)], stopping, batch_size=batch_size)
    assert got.reason == "no improvement"
    watched = got.mistakes_history if monitor == "accuracy" else got.history
    tolerance = 0 if monitor == "accuracy" else 0.01
    lowest = np.minimum.accumulate(np.append(np.inf, watched))
    progress = [t for t, (before, now) in enumerate(pairwise(lowest)) if now < before - tolerance]
    assert got.n_epochs == progress[-1] + 1 + 6


@KINDS
def test_divergence_is_caught_and_leaves_finite_weights(data, batch_size):
    """One model diverges; its neighbours in the lanes are none the worse."""
    X, y = data
    models = [start(0, eta=0.01), start(1, eta=1e3), start(2, eta=0.02)]
    stopping = RISK._replace(max_iter=200, patience=200)
    with pytest.warns(
        ConvergenceWarning, match=r"1 of 3 models diverged.*smaller learning_rate_init"
    ):
        good, bad, other = train(X, y, LeastSquares(), models, stopping, batch_size=batch_size)
    assert bad.reason == "diverged"
    assert np.isfinite(bad.W).all()
    assert np.isfinite(bad.b).all()
    assert not np.isfinite(bad.history[-1])
    assert bad.n_epochs == len(bad.history) < 200
    alone = train(X, y, LeastSquares(), [models[0], models[2]], stopping, batch_size=batch_size)
    assert [good.W.tolist(), other.W.tolist()] == [found.W.tolist() for found in alone]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("monitor", ["accuracy", "loss"])
def test_divergence_is_caught_where_outputs_are_not_numbers(data, monitor):
    """Outputs that are NaN must not pass for outputs beyond the margin."""
    X, y = data
    stopping = Stopping(max_iter=50, monitor=monitor, perfect=False)
    with pytest.warns(ConvergenceWarning, match="diverged"):
        (got,) = train(1e3 * X, y, Margin(1.0), [start(0, eta=1e305)], stopping)
    assert got.reason == "diverged"
    assert np.isfinite(got.W).all()


@KINDS
@pytest.mark.parametrize("runs", [0, 3])
def test_interrupted_keeps_the_best_so_far(data, monkeypatch, batch_size, runs):
    X, y = data
    driver = Bank if batch_size is None else Batches
    original, calls = driver.run, []

    def run(self, epochs):
        if len(calls) == runs:
            raise KeyboardInterrupt
        calls.append(epochs)
        original(self, epochs)

    models = [start(0), start(1)]
    monkeypatch.setattr(driver, "run", run)
    with pytest.warns(ConvergenceWarning, match="interrupted; the best weights so far are kept"):
        found = train(
            X, y, Logistic(), models, RISK._replace(max_iter=10**6), batch_size=batch_size
        )
    monkeypatch.undo()
    assert [solution.reason for solution in found] == ["interrupted"] * 2
    assert {solution.n_epochs for solution in found} == {sum(calls)}
    if runs == 0:
        assert [s.W.tolist() for s in found] == [model.W.tolist() for model in models]
        assert [s.mistakes for s in found] == [-1, -1]
    else:
        stopping = RISK._replace(max_iter=sum(calls))
        refs = train(X, y, Logistic(), models, stopping, batch_size=batch_size)
        assert [s.W.tolist() for s in found] == [s.W.tolist() for s in refs]
        assert [s.history.tolist() for s in found] == [s.history.tolist() for s in refs]


def test_interrupted_inside_the_kernel(data, monkeypatch):
    """Python raises the interrupt when the kernel has returned: its epochs count."""
    X, y = data
    kernel, calls = incremental.train_serial, []

    def train_serial(*arguments):
        kernel(*arguments)
        calls.append(arguments[-1].epochs)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(incremental, "train_serial", train_serial)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        (got,) = train(X, y, Logistic(), [start(0)], RISK._replace(max_iter=10**6))
    assert got.n_epochs == len(got.history) == len(got.mistakes_history) == sum(calls)
    assert got.risk == got.history.min()


# --- Many models


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [3, pytest.param(12, marks=pytest.mark.slow), 30])
def test_models_do_not_see_each_other(data, rng, count, dtype):
    """In lanes of 8, 16 or 32 a model is trained as it is alone, bit for bit."""
    X, y = data
    X, targets = SeriesCollection.of(X.astype(dtype)), np.stack([y, rng.permutation(y)])
    masks = np.stack([np.ones(20), rng.integers(0, 3, size=20)])
    plans = []
    for i, (eta, p, xi) in enumerate(rng.uniform(0.01, 1.0, size=(count, 3))):
        model = start(i, eta=eta, lam=0.4 * p, loss_parameters=(xi,), rows=(i % 2,))
        model = model._replace(W=model.W.astype(dtype))
        options = {"weights": masks[int(i >= count - 2)], "seed": 7, "schedule": Decay(0.0)}
        plans.append(plan_of(X, targets, Margin(1.0), [model], RISK, **options))
    together = train_plans(plans)
    for i in (0, 1, count - 2, count - 1):
        ((alone,),) = train_plans([plans[i]])
        (beside,) = together[i]
        assert beside.W.tolist() == alone.W.tolist()
        assert beside.b.tolist() == alone.b.tolist()
        rounding = 500 * float(np.finfo(dtype).eps)
        assert beside.history == pytest.approx(alone.history, rel=rounding)


def test_models_in_lanes_may_have_different_numbers_of_rows(data):
    """Rows behind the end of all series are kept as they are."""
    X, y = data
    taller = start(1)._replace(W=np.concatenate([start(1).W, start(2).W], axis=1))
    models = [start(0), taller, start(2)]
    together = train(X, y, Logistic(), models, RISK)
    n = start(0).W.shape[1]
    for model, got in zip(models, together, strict=True):
        alone = model._replace(W=model.W[:, :n])
        (wanted,) = train(X, y, Logistic(), [alone], RISK)
        assert got.W.shape == model.W.shape
        np.testing.assert_array_equal(got.W[:, :n], wanted.W)
        np.testing.assert_array_equal(got.W[:, n:], model.W[:, n:])


def test_plans_of_different_kinds_are_trained_in_one_call(data):
    """Losses, sizes, methods and data may differ: the result is that of each plan alone."""
    X, y = data
    short = start(3)._replace(W=start(3).W[:, :5])
    plans = [
        plan_of(X, y, Margin(1.0), [start(0), start(1)], RISK),
        plan_of(X, y, Logistic(), [start(1)], RISK),
        plan_of(X, y, Margin(1.0), [start(2, 2)], RISK, n_outputs=2),
        plan_of(X, y, Margin(1.0), [start(0)], RISK, batch_size=5),
        plan_of(X[:, :5], y, Margin(1.0), [short], RISK),
    ]
    before = [model.W.copy() for plan in plans for model in plan.models]
    together = train_plans(plans)
    alone = [train_plans([plan])[0] for plan in plans]
    assert [len(own) for own in together] == [2, 1, 1, 1, 1]
    for one, other in zip(together, alone, strict=True):
        assert [s.W.tolist() for s in one] == [s.W.tolist() for s in other]
    after = [model.W for plan in plans for model in plan.models]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)), "plans changed"


@KINDS
def test_held_out_examples_are_judged_and_not_trained_on(data, batch_size):
    X, y = data
    plan = plan_of(X, y, Logistic(), [start(0)], RISK, batch_size=batch_size)
    cases, held_out = np.arange(12), np.arange(12, 20)
    held = plan._replace(examples=replace(plan.examples, cases=cases, held_out=held_out))
    ((got,),) = train_plans([held])
    f = elastic_inner_product(X[12:], got.W[0, ..., 0]) + got.b[0]
    assert got.risk == pytest.approx(np.logaddexp(0, -y[12:] * f).mean())
    assert got.risk == got.history.min()
    seen = plan_of(X[:12], y[:12], Logistic(), [start(0)], RISK, batch_size=batch_size)
    ((alone,),) = train_plans([seen])
    assert not np.array_equal(got.history, alone.history)
    other = X.copy()
    other[12:] += 100.0
    ((moved,),) = train_plans([held._replace(X=SeriesCollection.of(other))])
    best = int(got.history.argmin()) == int(moved.history.argmin())
    assert not best or moved.W.tolist() == got.W.tolist()


@KINDS
def test_going_on_is_as_if_never_stopped(data, batch_size):
    """Means over epochs, and the memory of a solver, are carried from run to run."""
    X, y = data
    options = {"average": True, "shuffle": False, "schedule": Decay(0.1), "batch_size": batch_size}
    if batch_size is not None:
        options["solver"] = Adam()
    once = RISK._replace(max_iter=1)
    (whole,) = solve(X, y, Logistic(), [start(0, eta=0.01)], RISK._replace(max_iter=4), **options)
    model, history = start(0, eta=0.01), []
    for epoch in range(4):
        (piece,) = solve(X, y, Logistic(), [model], once, first_epoch=epoch, **options)
        history.append(piece.history[0])
        W, b = piece.state.parameters
        model = model._replace(W=W, b=b, state=piece.state)
    assert piece.state.n_averaged == 4
    assert history == pytest.approx(whole.history, rel=1e-12)
    assert piece.W == pytest.approx(whole.state.mean[0], rel=1e-12)
    assert whole.history.argmin() == 3, "the last weights must be the best"


@pytest.mark.parametrize("wrong", ["newton", 3, Adam])
def test_wrong_solvers_are_named(wrong):
    with pytest.raises((TypeError, ValueError), match="solver must be one of .* got"):
        optimizers.resolve(wrong)


def test_other_steps_need_batches(data):
    with pytest.raises(ValueError, match=r"solver=Adam.* needs a batch_size, got batch_size=None"):
        train(*data, Logistic(), [start(0)], solver=Adam())


def test_progress_is_shown_on_request(data, capsys):
    train(*data, Logistic(), [start(0)], RISK)
    assert capsys.readouterr().err == ""
    train(*data, Logistic(), [start(0)], RISK, verbose=1)
    shown = capsys.readouterr()
    assert "epoch 8 of at most 8" in shown.err
    assert shown.out == ""
