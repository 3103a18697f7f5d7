r"""The risk of a new patient: pi(x) = expit(x' beta), seen through the posterior of beta.

The predicted risk is the posterior predictive mean E[expit(x' beta) | D] (supplementary S2 of
[Karapanagiotis2021]); its spread is the patient's uncertainty. From draws it is an average; under
Laplace's approximation x' beta is normal and the mean is a one-dimensional integral.

Coefficients come as draws (S, p), the intercept first where there is one, and covariates as
(n, d), without the column of ones. Rows go through in blocks: nothing of size n x S is held
unless :func:`risk_draws` is asked for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from tailoredbayes.checks import check_number, check_threshold
from tailoredbayes.rows import (
    BLOCK_NUMBERS,
    WORTH_THREADS,
    available_threads,
    block_rows,
    one_blas_thread,
    real_matrix,
)

__all__ = [
    "decision_certainty",
    "iterate_risk_draws",
    "laplace_risk",
    "logistic_normal_mean",
    "mean_risk",
    "normal_risk",
    "risk_draws",
    "risk_interval",
    "risk_summary",
]

Floats = NDArray[np.float64]

# exp(-745) is the smallest positive double: beyond, a risk is 0 or 1 to the last bit.
_LARGEST_EXPONENT = 700.0
# Up to these standard deviations so many Gauss-Hermite nodes give twelve digits of the integral.
_HERMITE = ((0.02, 3), (0.1, 5), (0.25, 10), (0.75, 20))
# Above this one 64 Gauss-Legendre nodes do, however large it is.
_STEP_SD, _STEP_NODES = 10.0, 64


def expit(eta: Floats) -> Floats:
    """1 / (1 + exp(-eta)); faster than SciPy's, equal to rounding.

    >>> expit(np.array([-800.0, 0.0, 800.0]))
    array([0. , 0.5, 1. ])
    """
    u = np.asarray(np.negative(eta))  # in place from here on: fresh memory costs as much as exp
    np.minimum(u, _LARGEST_EXPONENT, out=u)
    np.exp(u, out=u)
    u += 1.0
    huge = u.max(initial=0.0) > 1e300
    np.divide(1.0, u, out=u)
    return np.where(eta < -_LARGEST_EXPONENT, 0.0, u) if huge else u


def mean_risk(x: ArrayLike, coefficients: Floats, *, threads: int | None = None) -> Floats:
    """Posterior predictive mean of each row's risk, from draws of the coefficients.

    Parameters
    ----------
    x : array (n, d)
    coefficients : array (S, d) or (S, d + 1)
        Draws; with one more column than ``x``, the first is the intercept.

    Examples
    --------
    >>> mean_risk([[0.0]], np.array([[-1.0, 2.0], [1.0, 2.0]]))
    array([0.5])
    """

    def one(eta: Floats) -> Floats:
        return np.asarray(expit(eta).mean(axis=1))

    return _by_rows(x, coefficients, one, (), threads)


def risk_interval(
    x: ArrayLike, coefficients: Floats, prob: float = 0.9, *, threads: int | None = None
) -> Floats:
    """Equal-tailed interval of each row's risk, (n, 2), from draws of the coefficients."""
    prob = check_number(prob, "prob", above=0, below=1, advice="0.9 asks for 90% intervals")

    def one(eta: Floats) -> Floats:
        out = np.empty((len(eta), 2))
        _sorted_tails(eta, prob, out)
        return out

    return expit(_by_rows(x, coefficients, one, (2,), threads))  # risks are monotone in eta


def _sorted_tails(eta: Floats, prob: float, out: Floats) -> None:
    """Put equal-tailed quantiles of each row of ``eta``, which is sorted in place, into ``out``.

    They are linear between order statistics, as NumPy's; sorting is faster than its partition.
    """
    eta.sort(axis=1)
    for end, tail in enumerate(((1 - prob) / 2, (1 + prob) / 2)):
        place, rest = divmod((eta.shape[1] - 1) * tail, 1)
        below, above = eta[:, int(place)], eta[:, min(int(place) + 1, eta.shape[1] - 1)]
        out[:, end] = below + rest * (above - below)


def decision_certainty(
    x: ArrayLike, coefficients: Floats, threshold: float, *, threads: int | None = None
) -> Floats:
    """P(risk >= threshold | data) of each row: the share of draws under which it is treated.

    >>> decision_certainty([[0.0]], np.array([[-1.0, 2.0], [1.0, 2.0]]), 0.5)
    array([0.5])
    """
    t = check_threshold(threshold)
    cut = np.log(t / (1 - t))

    def one(eta: Floats) -> Floats:
        return np.asarray((eta >= cut).mean(axis=1))

    return _by_rows(x, coefficients, one, (), threads)


def risk_summary(
    x: ArrayLike,
    coefficients: Floats,
    threshold: float,
    prob: float = 0.9,
    *,
    threads: int | None = None,
) -> Floats:
    """Mean risk, interval and certainty of each row in one pass, (n, 4).

    The columns are those of :func:`mean_risk`, :func:`risk_interval` and
    :func:`decision_certainty`, which apart take twice as long.

    >>> x, draws = [[0.0]], np.array([[-1.0, 2.0], [0.0, 2.0], [1.0, 2.0]])
    >>> risk_summary(x, draws, 0.5, 0.9).round(3)
    array([[0.5  , 0.289, 0.711, 0.667]])
    """
    t = check_threshold(threshold)
    prob = check_number(prob, "prob", above=0, below=1, advice="0.9 asks for 90% intervals")
    cut = np.log(t / (1 - t))

    def one(eta: Floats) -> Floats:
        out = np.empty((len(eta), 4))
        out[:, 0] = expit(eta).mean(axis=1)
        out[:, 3] = [np.count_nonzero(row) for row in eta >= cut]  # faster than with axis=1
        _sorted_tails(eta, prob, out[:, 1:3])
        return out

    found = _by_rows(x, coefficients, one, (4,), threads)
    found[:, 1:3] = expit(found[:, 1:3])
    found[:, 3] /= len(coefficients)
    return found


def risk_draws(x: ArrayLike, coefficients: Floats, *, threads: int | None = None) -> Floats:
    """Every row's risk under every draw, (n, S): 3.2 GB for 100,000 rows and 4000 draws.

    :func:`iterate_risk_draws` gives the same in blocks.
    """
    return _by_rows(x, coefficients, expit, (len(coefficients),), threads)


def iterate_risk_draws(
    x: ArrayLike, coefficients: Floats, *, rows: int | None = None
) -> Iterator[Floats]:
    """Yield (b, S) blocks of :func:`risk_draws`, ``rows`` at a time (about 8 MiB by default)."""
    matrix, intercept, slopes = _split(x, coefficients)
    size = rows or max(1, 2**20 // len(coefficients))
    for start in range(0, matrix.shape[0], size):
        yield expit(_eta(matrix[start : start + size], intercept, slopes))


def laplace_risk(
    x: ArrayLike, modes: Floats, covariances: Floats, *, threads: int | None = None
) -> Floats:
    """Predictive mean risk under normal posteriors of the coefficients, (n, k).

    Parameters
    ----------
    x : array (n, d)
    modes : array (p, k)
        One posterior a column, in the user's coefficients.
    covariances : array (k, p, p)
    """
    symmetric = 0.5 * (covariances + covariances.transpose(0, 2, 1))
    return normal_risk(x, modes, np.asarray(np.linalg.cholesky(symmetric)), threads=threads)


def normal_risk(
    x: ArrayLike,
    modes: Floats,
    roots: Floats,
    *,
    rows: NDArray[np.intp] | None = None,
    threads: int | None = None,
) -> Floats:
    """Predict as :func:`laplace_risk`, from roots R (k, p, p) of the covariances R R'.

    ``rows`` picks rows of ``x``, block by block: no copy of them all is made.
    """
    matrix = real_matrix(x)
    p, k = modes.shape
    intercept = p == matrix.shape[1] + 1
    across = np.ascontiguousarray(roots.transpose(2, 1, 0))
    out = np.empty((matrix.shape[0] if rows is None else len(rows), k))
    size = block_rows(max(k, p), 4 * BLOCK_NUMBERS)

    def fill(start: int) -> None:
        some = slice(start, start + size)
        block = np.asarray(matrix[some if rows is None else rows[some]], dtype=np.float64)
        z = np.concatenate([np.ones((len(block), 1)), block], axis=1) if intercept else block
        variance = np.zeros((len(z), k))
        for direction in across:
            scaled = z @ direction
            scaled *= scaled
            variance += scaled
        out[some] = logistic_normal_mean(z @ modes, np.sqrt(variance))

    # An integral costs about as much as twenty evaluations of a risk.
    enough = len(out) * k * 20 >= WORTH_THREADS
    _share_out(fill, range(0, len(out), size), threads if enough else 1)
    return out


def logistic_normal_mean(mean: Floats, sd: Floats) -> Floats:
    """E[expit(mean + sd Z)], Z standard normal, elementwise, to about twelve digits.

    Gauss-Hermite for small ``sd``. The poles of expit at +-i pi come near the real axis, in units
    of Z, as ``sd`` grows, and Gauss-Hermite converges ever more slowly; the trapezoidal rule's
    error is 2 exp(-2 pi a / h) for a step h and poles at a = pi / sd [TrefethenWeideman2014], times
    the normal density's exp(a^2 / 2) there, so its step shrinks with ``sd``. For large ``sd`` expit
    is nearly a step, and what it differs by is all near 0. Each column of a matrix is given the
    rule that its own largest ``sd`` asks for.

    >>> logistic_normal_mean(np.array([0.0, 1.0]), np.array([3.0, 0.0])).round(6)
    array([0.5     , 0.731059])
    """
    if sd.ndim < 2 or sd.shape != mean.shape or not sd.size:
        return _one_rule_mean(mean, sd)
    rule = np.searchsorted([bound for bound, _ in _HERMITE], sd.max(axis=0))
    if (rule == rule[0]).all():
        return _one_rule_mean(mean, sd)
    out = np.empty_like(mean)
    for one in np.unique(rule):
        out[:, rule == one] = _one_rule_mean(mean[:, rule == one], sd[:, rule == one])
    return out


def _one_rule_mean(mean: Floats, sd: Floats) -> Floats:
    if float(sd.max(initial=0.0)) > _STEP_SD:
        narrow = _narrow_mean(mean, np.minimum(sd, _STEP_SD))
        return np.where(sd > _STEP_SD, _wide_mean(mean, np.maximum(sd, _STEP_SD)), narrow)
    return _narrow_mean(mean, sd)


def _narrow_mean(mean: Floats, sd: Floats) -> Floats:
    """Sum over a symmetric rule, a pair of nodes +-z at a time.

    With a = exp(-|m|), c = exp(z s) and v = a (c + 1/c),

        expit(m + z s) + expit(m - z s) = (2 q + v) / (1 + a^2 + v),   q = 1 or, for m < 0, a^2,

    which costs one exponential a pair, overflows nowhere and keeps small risks' digits.
    """
    largest = float(sd.max(initial=0.0))
    hermite = [number for bound, number in _HERMITE if largest <= bound]
    if hermite:
        nodes, weights = _hermite(hermite[0])
    else:
        # 28 = -log(twelve digits); beyond 7.5 the normal density is below that, too.
        pole = np.pi / largest
        step = min(0.6, 2 * np.pi * pole / (28.0 + 0.5 * pole**2))
        nodes = step * np.arange(np.ceil(7.5 / step) + 1)
        weights = np.exp(-0.5 * nodes * nodes)
    weights = np.where(nodes > 0, weights, 0.5 * weights)  # 0 is a pair with itself
    a = np.exp(-np.abs(mean))
    square = a * a
    whole, twice = 1.0 + square, np.where(mean < 0, 2 * square, 2.0)
    total = np.zeros(np.broadcast_shapes(mean.shape, sd.shape))
    for node, weight in zip(nodes, 0.5 * weights / weights.sum(), strict=True):
        c = np.exp(node * sd)
        v = a * (c + 1.0 / c)
        pair = v + twice
        v += whole
        pair /= v
        pair *= weight
        total += pair
    return total


@lru_cache(maxsize=len(_HERMITE))
def _hermite(number: int) -> tuple[Floats, Floats]:
    """Return the nodes from 0 on and their weights; the rule is symmetric."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(number)
    return nodes[number // 2 :], weights[number // 2 :]


def _wide_mean(mean: Floats, sd: Floats) -> Floats:
    """Phi(mean / sd) + integral over u > 0 of expit(-u) [f(-u) - f(u)], f the normal density.

    expit(u) is the step u > 0 plus an odd function that decays like exp(-|u|).
    """
    nodes, weights = np.polynomial.legendre.leggauss(_STEP_NODES)
    total = ndtr(mean / sd)
    for u, weight in zip(20 * (nodes + 1), 20 * weights, strict=True):  # exp(-40) is nothing
        f = np.exp(-0.5 * ((-u - mean) / sd) ** 2) - np.exp(-0.5 * ((u - mean) / sd) ** 2)
        total = total + weight / (1 + np.exp(u)) * f / (sd * np.sqrt(2 * np.pi))
    return np.asarray(total)


def _split(
    x: ArrayLike, coefficients: Floats
) -> tuple[NDArray[np.floating], Floats | None, Floats]:
    """Return covariates, intercept draws (S,) and slope draws (d, S)."""
    matrix = real_matrix(x)
    if coefficients.ndim != 2 or coefficients.shape[1] - matrix.shape[1] not in (0, 1):
        raise ValueError(
            f"coefficients must have shape (draws, {matrix.shape[1]}) or, with an intercept, "
            f"(draws, {matrix.shape[1] + 1}) for {matrix.shape[1]} covariates, got "
            f"{coefficients.shape}"
        )
    across = np.ascontiguousarray(coefficients.T)
    if coefficients.shape[1] == matrix.shape[1]:
        return matrix, None, across
    return matrix, across[0], across[1:]


def _eta(x: NDArray[np.floating], intercept: Floats | None, slopes: Floats) -> Floats:
    eta = np.asarray(x, dtype=np.float64) @ slopes
    if intercept is not None:
        eta += intercept
    return eta


def _by_rows(
    x: ArrayLike,
    coefficients: Floats,
    function: Callable[[Floats], Floats],
    shape: tuple[int, ...],
    threads: int | None,
) -> Floats:
    """Apply ``function`` to the linear predictors (b, S) of blocks of rows."""
    matrix, intercept, slopes = _split(x, coefficients)
    out = np.empty((matrix.shape[0], *shape))
    # A block of whole rows of draws: at least 8, at most half a megabyte when draws are few.
    size = max(8, block_rows(slopes.shape[1], 4 * BLOCK_NUMBERS))

    def fill(start: int) -> None:
        out[start : start + size] = function(_eta(matrix[start : start + size], intercept, slopes))

    _share_out(fill, range(0, matrix.shape[0], size), threads)
    return out


def _share_out(fill: Callable[[int], None], starts: range, threads: int | None) -> None:
    workers = min(available_threads() if threads is None else threads, len(starts))
    with one_blas_thread:
        if workers <= 1:
            for start in starts:
                fill(start)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(fill, starts))
