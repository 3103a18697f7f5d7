r"""The tailored posterior: value, gradient and curvature as sums over rows.

    log p(beta | D) = sum_i w_i log expit(s_i x_i' beta) + log p(beta) + constant,

with s_i = 2 y_i - 1, which is equation 6 of [Karapanagiotis2021] written once for both outcomes:
y log p + (1 - y) log(1 - p) = log expit(s eta). With q_i = expit(-s_i eta_i), the probability given
to what did not happen,

    gradient  = sum_i w_i q_i s_i x_i          + gradient of log p(beta)
    curvature = sum_i w_i q_i (1 - q_i) x_i x_i' + curvature of log p(beta)     (minus the Hessian).

Many weight columns (discounts, folds, thresholds) share one pass over the rows, and many
coefficient vectors can be tried under one weight column (draws, chains).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import check_flag, check_number
from tailoredbayes.priors import Normal, Prior
from tailoredbayes.rows import (
    BLOCK_NUMBERS,
    WORTH_THREADS,
    ArrayRows,
    Block,
    RowSource,
    RowSummary,
    WeightColumns,
    WeightSummary,
    block_rows,
    one_blas_thread,
    scratch,
    sum_over_rows,
    summarise_rows,
    summarise_weights,
)

__all__ = ["Evaluation", "TailoredPosterior"]

Floats = NDArray[np.float64]

# Points taken together within a block: enough for the matrix product to pay, few enough for its
# result to stay in cache.
_POINTS = {0: 256, 1: 64, 2: 64}
# From this many points on, up to this many coefficients, the products x_j x_k of a block are worth
# writing out: the curvatures of all points are then one matrix product.
_PRODUCT_POINTS, _PRODUCT_COEFFICIENTS = 4, 24
# The most a pass may hold in curvatures of all points and shards; more points take several passes.
_CURVATURE_NUMBERS = 2**21
# exp(700) is still finite; beyond, log(1 + exp(m)) = m to the last bit.
_LARGEST_EXPONENT = 700.0
# Data of at most this many numbers (8 MiB) are kept signed and shifted as well.
_KEPT_NUMBERS = 2**20
# Weights that are worked out block by block are kept if they are at most this many (32 MiB).
_KEPT_WEIGHTS = 2**22
# A covariate further than this many standard deviations from 0 is handed to the engine shifted.
_FAR = 30.0


@dataclass(frozen=True)
class Evaluation:
    """The log posterior at k points: value (k,), gradient (p, k), curvature (k, p, p).

    What was not asked for is empty.
    """

    value: Floats
    gradient: Floats
    curvature: Floats


class TailoredPosterior:
    """The tailored posterior of logistic regression coefficients, for one or many weight columns.

    Up to a constant, with p_i = expit(x_i' beta) and the weights w_i of a column,

        log p(beta | D) = log p(beta) + sum_i w_i [y_i log p_i + (1 - y_i) log(1 - p_i)].

    Weights of one are standard Bayes; a row of weight 0 is not there. [Karapanagiotis2021]

    Parameters
    ----------
    X : array (n, d) or a row source
        Covariates, without the intercept. A :class:`~tailoredbayes.rows.RowSource` (such as
        ``ParquetRows``) brings its outcomes and weights along.
    y : array (n,)
        0/1 or boolean outcomes.
    weights : array (n,) or (n, m)
        Tailoring weights, one column a posterior; none means ones: standard Bayes. They are never
        normalised: their sum sets the posterior's spread.
    prior
        ``Normal(0, 100)`` if not given, on every coefficient, the intercept too.
    fit_intercept
        Whether the coefficients start with an intercept.
    names
        Names of the coefficients, without the intercept.
    threads
        Most threads a pass over the rows may use; by default the cores of this process. The
        answers do not depend on it.

    Notes
    -----
    Points are columns of a (coefficients x points) array. :meth:`evaluate` works in the engine's
    coordinates ``theta``, in which the intercept belongs to covariates shifted by ``shift``: zero
    unless a covariate lies so far from 0 that the user's intercept could not be told from its
    slope in double precision. :meth:`coefficients` and :meth:`theta` translate.

    Examples
    --------
    >>> posterior = TailoredPosterior([[0.0], [1.0], [2.0]], [0, 1, 1], prior=Normal(0, 10))
    >>> round(posterior.log_likelihood([0.0, 0.0]), 6)      # 3 log(1/2)
    -2.079442
    """

    def __init__(
        self,
        X: ArrayLike | RowSource,
        y: ArrayLike | None = None,
        *,
        weights: ArrayLike | WeightColumns | None = None,
        prior: Prior | None = None,
        fit_intercept: bool = True,
        names: Sequence[str] | None = None,
        threads: int | None = None,
    ) -> None:
        if isinstance(X, RowSource):
            if y is not None or weights is not None:
                raise ValueError("a row source brings y and weights along; do not give them too")
            rows = X
        elif y is None:
            raise ValueError("y is needed when X is an array")
        else:
            rows = ArrayRows.from_arrays(X, y, weights)
        if threads is not None:
            advice = "leave it out to use every core"
            check_number(threads, "threads", at_least=1, advice=advice)
        self.rows = rows
        self.fit_intercept = check_flag(fit_intercept, "fit_intercept")
        self.n_coefficients = rows.n_features + self.fit_intercept
        self.n_columns = rows.n_columns
        self.threads = threads
        self.names = self._names(names if names is not None else getattr(rows, "features", None))
        self.prior: Prior = Normal() if prior is None else prior
        if not isinstance(self.prior, Prior) or isinstance(self.prior, type):
            raise TypeError(
                "prior must be a prior such as tailoredbayes.Normal(0, 100) or a LogDensity, got "
                f"{prior!r}"
            )
        self.prior.check(self.n_coefficients)
        self.summary: RowSummary = summarise_rows(rows, threads)
        self.weight_summary: WeightSummary = summarise_weights(rows, threads)
        self.shift = self._far_shift()
        self.shifted = bool(self.shift.any())
        # The largest size of each coordinate of a row: bounds the margins.
        low, high = self.summary.low - self.shift, self.summary.high - self.shift
        reach = np.maximum(np.abs(low), np.abs(high))
        self._reach = np.append(1.0, reach) if fit_intercept else reach
        # A sampler passes over small data thousands of times: sign and shift the rows once.
        self._signed: RowSource | None = None
        if isinstance(rows, ArrayRows) and rows.n_rows * self.n_coefficients <= _KEPT_NUMBERS:
            self._signed = replace(rows, x=self.against(rows.covariates()))

    def _names(self, names: Sequence[str] | None) -> tuple[str, ...]:
        d = self.rows.n_features
        given = tuple(f"x{j}" for j in range(d)) if names is None else tuple(map(str, names))
        if len(given) != d:
            raise ValueError(f"names must name the {d} columns of X, got {len(given)} names")
        return ("intercept", *given) if self.fit_intercept else given

    def _far_shift(self) -> Floats:
        if not self.fit_intercept:
            return np.zeros(self.rows.n_features)
        s = self.summary
        far = np.abs(s.mean) > _FAR * s.sd
        # A constant column becomes exactly 0: a mean would leave its rounding error as data.
        return np.where(far, np.where(s.low == s.high, s.low, s.mean), 0.0)

    def reweighted(self, weights: ArrayLike | WeightColumns) -> TailoredPosterior:
        """Return the posterior of the same rows in memory under other weights; X is shared."""
        if not isinstance(self.rows, ArrayRows):
            raise TypeError("only rows in memory can be reweighted; name other weight columns")
        other = copy(self)
        rows = self.rows.reweighted(weights)
        if (
            not isinstance(rows.weights, np.ndarray)
            and math.prod(rows.weights.shape) <= _KEPT_WEIGHTS
        ):
            rows = rows.reweighted(rows.weights.block(slice(None), None))
        other.rows = rows
        other.n_columns = other.rows.n_columns
        other.weight_summary = summarise_weights(rows, self.threads)
        if isinstance(self._signed, ArrayRows):
            other._signed = replace(self._signed, weights=rows.weights)
        return other

    def on_threads(self, threads: int) -> TailoredPosterior:
        """Return the same posterior, its passes on at most so many threads."""
        other = copy(self)
        other.threads = threads
        return other

    def thinned(self, step: int) -> TailoredPosterior:
        """Return the posterior of about every ``step``-th row: a place to start from, no answer."""
        few = copy(self)
        few.rows, few._signed = self.rows.thinned(step), None
        return few

    # -- coordinates ---------------------------------------------------------------------------

    def coefficients(self, theta: Floats) -> Floats:
        """Translate the engine's coordinates (p, k) into the user's coefficients."""
        if not self.shifted:
            return theta
        beta = theta.copy()
        beta[0] -= self.shift @ theta[1:]
        return beta

    def theta(self, beta: Floats) -> Floats:
        """Translate the user's coefficients (p, k) into the engine's coordinates."""
        if not self.shifted:
            return beta
        theta = beta.copy()
        theta[0] += self.shift @ beta[1:]
        return theta

    def coefficient_map(self) -> Floats:
        """Return the matrix T of beta = T theta."""
        return self.coefficients(np.eye(self.n_coefficients))

    # -- for the user, one point ---------------------------------------------------------------

    def log_likelihood(self, beta: ArrayLike, column: int = 0) -> float:
        """Tailored log-likelihood, equation 6 of the paper, at one coefficient vector."""
        theta = self.theta(self._one_point(beta))
        return float(self.likelihood(theta, self._column(column), 0).value[0])

    def log_density(self, beta: ArrayLike, column: int = 0) -> float:
        """Log posterior density at one coefficient vector, up to the evidence."""
        theta = self.theta(self._one_point(beta))
        return float(self.evaluate(theta, column, order=0).value[0])

    def gradient(self, beta: ArrayLike, column: int = 0) -> Floats:
        """Gradient of the log posterior at one coefficient vector, shape (p,)."""
        theta = self.theta(self._one_point(beta))
        likelihood = self.likelihood(theta, self._column(column), 1).gradient
        # theta = T^-1 beta: only the intercept's coordinate mixes.
        out: Floats = likelihood[:, 0].copy()
        if self.shifted:
            out[1:] += self.shift * out[0]
        return np.asarray(out + self.prior.gradient(self._one_point(beta))[:, 0])

    def hessian(self, beta: ArrayLike, column: int = 0) -> Floats:
        """Hessian of the log posterior at one coefficient vector, shape (p, p)."""
        theta = self.theta(self._one_point(beta))
        inner = self.likelihood(theta, self._column(column), 2).curvature[0]
        to_theta = self.theta(np.eye(self.n_coefficients))
        curvature = to_theta.T @ inner @ to_theta
        return np.asarray(-(curvature + self.prior.curvature(self._one_point(beta))[0]))

    def _one_point(self, beta: ArrayLike) -> Floats:
        point = np.asarray(beta, dtype=np.float64)
        if point.shape != (self.n_coefficients,) or not np.isfinite(point).all():
            raise ValueError(
                f"beta must be {self.n_coefficients} finite numbers "
                f"({', '.join(self.names[:4])}{', ...' if len(self.names) > 4 else ''}), got "
                f"shape {point.shape}"
            )
        return point[:, None]

    def _column(self, column: int) -> NDArray[np.intp]:
        self.check_column(column)
        return np.array([column])

    def check_column(self, column: int) -> None:
        """Raise unless there is such a weight column."""
        if column not in range(self.n_columns):
            raise ValueError(f"column must be from 0 to {self.n_columns - 1}, got {column!r}")

    # -- for the engine, many points -----------------------------------------------------------

    def evaluate(
        self,
        theta: Floats,
        columns: int | NDArray[np.intp] | None = None,
        *,
        order: int = 2,
        prior: Prior | None = None,
    ) -> Evaluation:
        """Log posterior at the columns of ``theta`` (p, k), with derivatives up to ``order``.

        Parameters
        ----------
        columns
            The weight column of each point; all columns in order by default. A single number:
            every point under that one column.
        prior
            Stands in for the posterior's own (a smoothed one, say).
        """
        if columns is None:
            indices = np.arange(self.n_columns)
        else:
            indices = self._column(columns) if isinstance(columns, int) else columns
        prior = self.prior if prior is None else prior
        likelihood = self.likelihood(theta, indices, order)
        beta = self.coefficients(theta)
        value = likelihood.value + prior.value(beta)
        gradient, curvature = likelihood.gradient, likelihood.curvature
        if order >= 1:
            gradient = gradient + self._pull(prior.gradient(beta))
        if order >= 2:
            curvature = curvature + self.pull_curvature(prior.curvature(beta))
        return Evaluation(value, gradient, curvature)

    def _pull(self, gradient: Floats) -> Floats:
        """Turn a gradient by beta into one by theta."""
        if not self.shifted:
            return gradient
        pulled = gradient.copy()
        pulled[1:] -= self.shift[:, None] * gradient[0]
        return pulled

    def pull_curvature(self, curvature: Floats) -> Floats:
        """Turn curvatures (k, p, p) by beta into ones by theta."""
        if not self.shifted:
            return curvature
        t = self.coefficient_map()
        out: Floats = t.T @ curvature @ t
        return out

    def likelihood(self, theta: Floats, columns: NDArray[np.intp], order: int) -> Evaluation:
        """Tailored log-likelihood and its derivatives by theta, as :meth:`evaluate` takes them."""
        p, k = theta.shape
        paired = len(columns) > 1
        at_once = k
        if order == 2:
            at_once = max(1, _CURVATURE_NUMBERS // (p * p * self.rows.n_shards))
        parts = [
            self._pass(
                theta[:, start : start + at_once],
                columns[start : start + at_once] if paired else columns,
                order,
            )
            for start in range(0, k, at_once)
        ]
        if len(parts) == 1:
            return parts[0]
        return Evaluation(
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.gradient for part in parts], axis=1),
            np.concatenate([part.curvature for part in parts]),
        )

    def against(self, block: Block) -> Floats:
        """Rows z_i = -s_i x_i, the intercept's 1 first: z_i' theta is minus the margin of row i."""
        x = block.x - self.shift if self.shifted else block.x
        minus = -block.sign[:, None]
        if not self.fit_intercept:
            return x * minus
        z = np.empty((x.shape[0], x.shape[1] + 1))
        z[:, :1] = minus
        z[:, 1:] = x * minus
        return z

    def _pass(self, theta: Floats, columns: NDArray[np.intp], order: int) -> Evaluation:
        p, k = theta.shape
        products = order == 2 and k >= _PRODUCT_POINTS and p <= _PRODUCT_COEFFICIENTS
        if len(columns) == k > 1 and (theta == theta[:, :1]).all():
            theta = theta[:, :1]

        def block_sums(block: Block) -> tuple[Floats, ...]:
            z = self.against(block) if self._signed is None else block.x
            return _block_sums(z, block.weights, theta, order, products, calm)

        # Margins that cannot be extreme need not be looked at one by one.
        calm = bool((self._reach @ np.abs(theta) < _LARGEST_EXPONENT).all())
        signed, cost = self._signed, k * (10 + (p * p if order == 2 else p))
        size = _block_size(p, k, order, products)
        if (
            isinstance(signed, ArrayRows)
            and signed.n_rows <= size
            and signed.n_rows * cost < WORTH_THREADS
            and isinstance(signed.weights, np.ndarray)
        ):
            # One block: a sampler's thousands of small steps are spared the machinery.
            with one_blas_thread:
                w = signed.weights[:, columns]
                value, gradient, curvature = _block_sums(signed.x, w, theta, order, products, calm)
            return Evaluation(value, gradient, _unpacked(curvature, p) if products else curvature)
        every = np.array_equal(columns, np.arange(self.n_columns))
        value, gradient, curvature = sum_over_rows(
            self.rows if self._signed is None else self._signed,
            block_sums,
            size=size,
            columns=None if every else columns,
            threads=self.threads,
            cost_per_row=cost,
        )
        return Evaluation(value, gradient, _unpacked(curvature, p) if products else curvature)


def _block_size(p: int, k: int, order: int, products: bool) -> int:
    """Return the rows of a block: its temporary arrays stay in cache.

    Longer blocks cost one thread little; short ones keep two threads waiting for each other, as
    each of NumPy's calls hands Python's lock over.
    """
    if k == 1:
        return min(8192, block_rows(p, 8 * BLOCK_NUMBERS))
    size = block_rows(max(p, min(k, _POINTS[order])), 4 * BLOCK_NUMBERS)
    return min(size, block_rows(p * (p + 1) // 2, 32 * BLOCK_NUMBERS)) if products else size


def _block_sums(
    z: Floats, weights: Floats, theta: Floats, order: int, products: bool, calm: bool
) -> tuple[Floats, Floats, Floats]:
    """Return a block's share of value (k,), gradient (p, k) and curvature (k, p, p).

    With ``products`` the curvature comes as packed lower triangles (p(p+1)/2, k). ``calm``
    promises that no margin is too large for exp.
    """
    pairs = _products(z) if products else None
    if theta.shape[1] == 1 < weights.shape[1]:
        return _block_sums_at_one_point(z, weights, theta, order, pairs, calm)
    values, gradients, curvatures = [], [], []
    for start in range(0, theta.shape[1], _POINTS[order]):
        some = slice(start, start + _POINTS[order])
        w = weights if weights.shape[1] == 1 else weights[:, some]
        u, one_u, loss = _row_terms(z, theta[:, some], calm)
        if w.shape[1] == 1:
            values.append(-(w.T @ loss)[0])
        else:
            loss *= w
            values.append(-loss.sum(axis=0))
        if order == 0:
            continue
        u /= one_u  # now q = expit(-margin)
        u *= w
        gradients.append(-(z.T @ u))
        if order == 2:
            u /= one_u  # w q (1 - q), as 1 - q = 1 / (1 + u)
            curvatures.append(_weighted_squares(z, u) if pairs is None else pairs @ u)
    if len(values) == 1:
        value, gradient, curvature = values[0], gradients, curvatures
    else:
        value = np.concatenate(values)
        gradient = [np.concatenate(gradients, axis=1)] if order >= 1 else []
        curvature = [np.concatenate(curvatures, axis=1 if products else 0)] if order == 2 else []
    nothing = np.zeros((0, 0))
    return value, gradient[0] if gradient else nothing, curvature[0] if curvature else nothing


def _block_sums_at_one_point(
    z: Floats, weights: Floats, theta: Floats, order: int, pairs: Floats | None, calm: bool
) -> tuple[Floats, Floats, Floats]:
    """Return the same where all weight columns share one point: its rows' terms are needed once."""
    u, one_u, loss = _row_terms(z, theta, calm)
    value, gradient, curvature = -(loss[:, 0] @ weights), np.zeros((0, 0)), np.zeros((0, 0))
    if order >= 1:
        u /= one_u
        gradient = -((z * u).T @ weights)
    if order == 2:
        u /= one_u
        if pairs is None:
            curvature = _weighted_squares(z, np.multiply(weights, u))
        else:
            pairs *= u[:, 0]
            curvature = pairs @ weights
    return value, gradient, curvature


def _row_terms(z: Floats, theta: Floats, calm: bool) -> tuple[Floats, Floats, Floats]:
    """Return u = exp(-margin), 1 + u and the loss log(1 + u) of each row at each point."""
    shape = len(z), theta.shape[1]
    minus_margin = np.matmul(z, theta, out=scratch("margin", *shape))
    extreme = not calm and float(minus_margin.max()) > _LARGEST_EXPONENT
    exponent = np.minimum(minus_margin, _LARGEST_EXPONENT) if extreme else minus_margin
    u = np.exp(exponent, out=scratch("u", *shape))
    one_u = np.add(u, 1.0, out=scratch("one_u", *shape))
    loss = np.log(one_u, out=scratch("loss", *shape))
    if extreme:
        np.maximum(loss, minus_margin, out=loss)
    return u, one_u, loss


def _products(z: Floats) -> Floats:
    """Rows z_j z_i, i <= j: the lower triangle of z z' for each row of data, packed by rows."""
    across = z.T.copy()
    p = len(across)
    packed = scratch("products", p * (p + 1) // 2, len(z))
    place = 0
    for j in range(p):
        np.multiply(across[: j + 1], across[j], out=packed[place : place + j + 1])
        place += j + 1
    return packed


def _weighted_squares(z: Floats, v: Floats) -> Floats:
    """Sum v_i z_i z_i' for each column of v, shape (k, p, p)."""
    roots = np.sqrt(v)
    squares = []
    for column in range(v.shape[1]):
        scaled = np.multiply(z, roots[:, column, None], out=scratch("scaled", *z.shape))
        squares.append(scaled.T @ scaled)
    return np.stack(squares)


def _unpacked(packed: Floats, p: int) -> Floats:
    """Turn packed lower triangles (p(p+1)/2, k) into full matrices (k, p, p)."""
    full = np.empty((packed.shape[1], p, p))
    row, column = np.tril_indices(p)
    full[:, row, column] = packed.T
    full[:, column, row] = packed.T
    return full
