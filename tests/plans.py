"""Plans of a few models, without an estimator."""

import numpy as np

from warplearn import SeriesCollection
from warplearn.training.plan import Examples, Objective, Plan, Procedure, Stopping
from warplearn.training.schedules import Constant
from warplearn.training.train import train

OBJECTIVE = ("n_outputs", "penalty", "head", "band", "cost")
PROCEDURE = ("batch_size", "solver", "average", "max_norm")


def plan_of(
    X, targets, loss, models, stopping=Stopping(), *,
    weights=None, seed=0, shuffle=True, schedule=Constant(), first_epoch=0, **options,
):  # fmt: skip
    """A plan whose models are all trained on all series of weight not 0."""
    X = SeriesCollection.of(X)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    objective = Objective(loss, **{k: options.pop(k) for k in OBJECTIVE if k in options})
    chosen = {k: options.pop(k) for k in PROCEDURE if k in options}
    assert not options, options
    procedure = Procedure(schedule=schedule, stopping=stopping, **chosen)
    examples = Examples(np.flatnonzero(weights), weights, seed, shuffle)
    targets = np.atleast_2d(targets)
    return Plan(X, targets, objective, procedure, examples, tuple(models), 1, first_epoch)


def solve(X, targets, loss, models, stopping=Stopping(), *, n_jobs=1, verbose=0, **options):
    """The solutions of such a plan, one a model."""
    plan = plan_of(X, targets, loss, models, stopping, **options)
    return train([plan], n_jobs=n_jobs, verbose=verbose)[0]
