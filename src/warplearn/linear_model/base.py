"""What elastic linear models share.

The output for a series x is `b + sigma_W(x)`, a bias and the elastic inner product with a weight
matrix W of n rows (the longest training series) and m columns (the elasticity).  Each model is a
loss with defaults and a *readout*, which says how outputs become predictions (`Polarity` for
classifiers, `TargetScale` for regressors).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.simd.threads import limits_blas
from warplearn.base import check_not_negative
from warplearn.elastic.bands import resolve_band
from warplearn.elastic.extent import columns_for
from warplearn.elastic.streaming import ElasticStream
from warplearn.linear_model.explanation import Explanation, contributions
from warplearn.series.chunks import mapped
from warplearn.series.convert import to_floats
from warplearn.training.data import TrainingSet
from warplearn.training.estimator import GradientEstimator
from warplearn.training.matrices import Context, MatrixModel
from warplearn.training.plan import Model, Plan, Start


class LinearModel(MatrixModel):
    """Outputs of elastic linear models, their explanations and streams.

    The context has a readout, which says with `mix` and `offset` how scores become outputs.
    """

    def _check_state(self, whole: bool = False) -> None:
        super()._check_state(whole)
        units = len(self._context.readout.mix)
        if len(self.coef_) != units:
            raise ValueError(f"coef_ must have {units} matrices, got {len(self.coef_)}")

    def _combined(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Outputs of the models, (cases,) or (cases, outputs), from scores of the matrices."""
        readout = self._context.readout
        outputs = (scores + self.intercept_) @ readout.mix + readout.offset
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    @limits_blas
    def _from_scores(self, read: Callable[[NDArray[Any]], NDArray[Any]], X: Any) -> NDArray[Any]:
        """What a function makes of the scores of all matrices, for each series."""
        series, operands = self._operands(X)
        return mapped(lambda some: read(operands.scores(some)), series)

    def explain(self, X: Any) -> Explanation:
        """How much each time step (and channel) contributes to the outputs.

        The contribution of a time step is the sum of `x_i w_ij` over the cells (i, j) of its row
        on the active path.  Contributions and `bias` add up to the decision value of a classifier,
        or to the prediction of a regressor.  Where the path has several cells in a row, the time
        step is counted several times; `climbing` says how much of its contribution is due to that.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        Explanation
            `contributions` and `climbing`, arrays (cases, time) or (cases, channels, time), 0
            behind the end of a series, and `bias`, a number; with several outputs (more than two
            classes, or several targets) all have a first axis for them.
        """
        series, operands = self._operands(X)
        readout = self._context.readout
        length = min(series.max_length, operands.W.shape[1])
        total, climbing = mapped(
            lambda some: contributions(some, operands, readout.mix, length), series, axis=2
        )
        bias = self.intercept_ @ readout.mix + readout.offset
        if len(total) == 1:
            return Explanation(total[0], float(bias[0]), climbing[0])
        return Explanation(total, bias, climbing)

    def stream(self, n_streams: int = 1) -> ElasticStream:
        """An online scorer that takes one sample at a time (see `ElasticStream`).

        Parameters
        ----------
        n_streams : int, default=1
            How many series grow side by side.
        """
        check_is_fitted(self)
        self._check_state()
        if self.band is not None:
            raise ValueError(
                f"stream needs band=None, got band={self.band!r}: where a band lies depends on the "
                "length of the series, which a stream does not know"
            )
        alphabet = getattr(self, "alphabet_", None)
        readout = self._context.readout
        return ElasticStream(
            to_floats(self.matrices_, "coef_"),
            self.intercept_,
            readout.mix,
            readout.offset,
            n_streams,
            alphabet,
            self._derived_channels(),
        )


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLinearModel(LinearModel, GradientEstimator):
    """Plans of elastic linear models."""

    init_scale: float = 0.01

    @abstractmethod
    def _readout(self, data: TrainingSet) -> Any:
        """How outputs become predictions: targets of training, models, and how they combine."""

    @abstractmethod
    def _loss(self, readout: Any) -> Any:
        """What is minimized."""

    @abstractmethod
    def _targets(self, data: TrainingSet, readout: Any) -> NDArray[np.float64]:
        """Targets of training, an array (rows, cases)."""

    @abstractmethod
    def _weights(self, data: TrainingSet) -> NDArray[np.float64]:
        """Weights of the examples."""

    def plan(
        self, data: TrainingSet, rng: np.random.RandomState, start: Start | None = None
    ) -> Plan:
        """Everything that a fit needs (see `warplearn.training.plan`)."""
        self._check_parameters()
        readout = self._readout(data) if start is None else start.context.readout
        held_out = self._held_out(data, rng)
        rows = data.max_length
        columns = columns_for(self.elasticity, rows)
        loss = self._loss(readout)
        if start is None:
            models = self._random_models(readout, (rows, columns, data.X.n_channels), data, rng)
        else:
            models = self._models_from(start, readout, rows, data)
            columns = start.W.shape[2]
        band = resolve_band(self.band, data.X.lengths[data.cases], np.array([columns]))
        return Plan(
            data.X,
            self._targets(data, readout),
            self._objective(loss, readout.n_matrices, band, None),
            self._procedure(),
            self._examples(data, self._weights(data), held_out, rng),
            tuple(model._replace(loss_parameters=tuple(loss)) for model in models),
            self.n_init if start is None else 1,
            context=Context.of(readout, data),
        )

    def _random_models(
        self,
        readout: Any,
        shape: tuple[int, int, int],
        data: TrainingSet,
        rng: np.random.RandomState,
    ) -> list[Model]:
        size, scale = readout.n_matrices, self.init_scale
        models = []
        for model in range(readout.n_models):
            for _ in range(self.n_init):
                W = rng.uniform(-scale, scale, (size, *shape)).astype(data.X.dtype)
                b = rng.uniform(-scale, scale, size)
                models.append(self._model(W, b, readout.rows(model)))
        return models

    def _models_from(self, start: Start, readout: Any, rows: int, data: TrainingSet) -> list[Model]:
        """The fitted weights, with rows of 0 for series longer than any before."""
        size = readout.n_matrices
        if start.states is None:
            self._check_warm_start(start, data)
        W = np.zeros((len(start.W), max(rows, start.W.shape[1]), *start.W.shape[2:]), data.X.dtype)
        W[:, : start.W.shape[1]] = start.W
        models = []
        for model in range(readout.n_models):
            units = slice(model * size, (model + 1) * size)
            state = None if start.states is None else start.states[model]
            own = self._model(W[units].copy(), start.b[units].copy(), readout.rows(model))
            models.append(own._replace(state=state))
        return models

    def _check_warm_start(self, start: Start, data: TrainingSet) -> None:
        """`fit` starts from weights that it could have fitted."""
        fitted, wanted = start.context.readout, self._readout(data)
        columns = columns_for(self.elasticity, start.W.shape[1])
        if (wanted.n_models, wanted.n_matrices) != (
            fitted.n_models,
            fitted.n_matrices,
        ) or start.W.shape[2:] != (columns, data.X.n_channels):
            raise ValueError(
                "the fitted weights do not fit the data and parameters: elasticity, channels and "
                "classes must stay the same"
            )

    def _model(self, W: NDArray[Any], b: NDArray[Any], rows: tuple[int, ...]) -> Model:
        return Model(W, b, self.learning_rate_init, self.alpha, rows=rows)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_not_negative(self, "init_scale")

    def _check_state(self, whole: bool = False) -> None:
        super()._check_state(whole)
        readout = self._context.readout
        if whole and len(self._states) != readout.n_models:
            raise ValueError(
                f"the states of training must be {readout.n_models}, got {len(self._states)}"
            )
