"""Learning rates: the formulas, the paper's two conditions, and a schedule of one's own."""

from typing import NamedTuple

import numpy as np
import pytest

from warplearn.linear_model.classifiers import ElasticMarginPerceptron
from warplearn.training import schedules
from warplearn.training.schedules import Constant, Decay, InverseScaling


class Halving(NamedTuple):
    """A user's schedule: the rate is halved every `every` epochs."""

    every: float = 10.0

    def converges(self):
        return False  # the sum of the rates is finite


def halving(schedule, eta, t):
    return eta * 0.5 ** (t // schedule.every)


schedules.register(Halving, halving)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (Constant(), {0: 0.2, 1: 0.2, 1000: 0.2}),
        (Decay(), {0: 0.2, 1: 0.2 / 1.1, 10: 0.1, 90: 0.02}),
        (Decay(1.0), {0: 0.2, 1: 0.1, 3: 0.05}),
        (Decay(0.0), {0: 0.2, 7: 0.2}),
        (InverseScaling(), {0: 0.2, 3: 0.1, 99: 0.02}),
        (InverseScaling(1.0), {0: 0.2, 1: 0.1, 3: 0.05}),
        (InverseScaling(0.0), {0: 0.2, 5: 0.2}),
        (Halving(2.0), {0: 0.2, 1: 0.2, 2: 0.1, 5: 0.05}),
    ],
    ids=repr,
)
def test_rates_by_formula(schedule, rates):
    found = {t: schedules.rate(schedule, 0.2, t) for t in rates}
    assert found == pytest.approx(rates)


@pytest.mark.parametrize(
    ("schedule", "converges"),
    [
        (Constant(), False),  # does not tend to 0
        (Decay(0.1), True),
        (Decay(0.0), False),
        (InverseScaling(0.5), True),
        (InverseScaling(1.0), True),
        (InverseScaling(1.01), False),  # the sum is finite
        (InverseScaling(2.0), False),
        (InverseScaling(0.0), False),
        (Halving(), False),
    ],
    ids=repr,
)
def test_conditions_of_the_paper(schedule, converges):
    assert schedule.converges() is converges


@pytest.mark.parametrize("schedule", [Decay(0.3), InverseScaling(0.5), InverseScaling(1.0)])
def test_converging_rates_do_what_the_conditions_say(schedule):
    """Rates tend to 0, and their partial sums grow by as much again and again."""
    rates = np.array([schedules.rate(schedule, 1.0, t) for t in range(4**7)])
    assert (np.diff(rates) < 0).all()
    assert rates[-1] < 0.01
    blocks = [rates[4**k : 4 ** (k + 1)].sum() for k in range(2, 7)]
    assert min(blocks) > 0.9 * blocks[0]


@pytest.mark.parametrize(
    ("name", "schedule"),
    [("constant", Constant()), ("decay", Decay(0.1)), ("invscaling", InverseScaling(0.5))],
)
def test_names(name, schedule):
    found = schedules.resolve(name)
    assert (type(found), found) == (type(schedule), schedule)
    assert schedules.resolve(schedule) is schedule


@pytest.mark.parametrize("wrong", ["linear", None, 0.1, Halving])
def test_wrong_schedules_are_named(wrong):
    with pytest.raises((TypeError, ValueError), match="learning_rate must be one of .* got"):
        schedules.resolve(wrong)


@pytest.mark.parametrize("schedule", [Constant(), Halving(2.0)], ids=repr)
def test_kernels_follow_the_schedule(schedule, rng):
    """Training with a schedule is training by hand, an epoch at a time, at its rates."""
    X, y = rng.normal(size=(10, 6)), np.arange(10) % 2
    options = {
        "elasticity": 2, "init_scale": 0.0, "margin": 1e9, "monitor": "loss", "tol": None,
        "shuffle": False,
    }  # fmt: skip
    whole = ElasticMarginPerceptron(
        learning_rate_init=0.1, learning_rate=schedule, max_iter=5, **options
    ).fit(X, y)
    parts = ElasticMarginPerceptron(
        warm_start=True, learning_rate=Decay(0.0), max_iter=1, **options
    )
    for t in range(5):
        parts.set_params(learning_rate_init=schedules.rate(schedule, 0.1, t)).fit(X, y)
        assert parts.history_[0][0] == pytest.approx(whole.history_[0][t], rel=1e-14)


# --- Without a module

TEXT = """
from typing import NamedTuple

import numpy as np
from warplearn.training import losses
from warplearn.training import schedules
from warplearn import SeriesCollection
from warplearn.training.plan import Examples, Model, Objective, Plan, Procedure, Stopping
from warplearn.training.train import train


class Deviation(NamedTuple):
    scale: float = 1.0


class Halving(NamedTuple):
    every: float = 2.0

    def converges(self):
        return False


losses.register(
    Deviation,
    lambda loss, y, f: abs(f - y) / loss.scale,
    lambda loss, y, f: (f > y) / loss.scale - (f < y) / loss.scale,
)
schedules.register(Halving, lambda schedule, eta, t: eta * 0.5 ** (t // schedule.every))
model = Model(np.zeros((1, 3, 2, 1)), np.zeros(1), eta=0.1)
procedure = Procedure(schedule=Halving(), stopping=Stopping(max_iter=3, perfect=False))
plan = Plan(
    SeriesCollection.of(np.eye(3)), np.ones((1, 3)), Objective(Deviation(0.5)), procedure,
    Examples(np.arange(3), np.ones(3)), (model,),
)
((solution,),) = train([plan], n_jobs=1)
"""


@pytest.mark.slow
def test_text_handed_to_exec_is_found_again(run_python):
    """The functions have no module that a kernel kept on disk could import: notebooks, documents."""
    script = f"""
import json
from warplearn._kernels.drivers.train import train_serial
names = {{"__name__": "a document"}}
exec({TEXT!r}, names)
hits = sum(train_serial.stats.cache_hits.values())
print(json.dumps([hits, names["solution"].history.tolist()]))
"""
    hits, history = run_python(script)
    assert (hits, len(history)) == (0, 3)
    assert run_python(script) == [1, history]
