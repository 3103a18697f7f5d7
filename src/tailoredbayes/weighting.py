"""Weights: how near each row's reference risk lies to the threshold.

    w_i = exp(-lambda * h(pi_u(x_i), t))

with the discount lambda >= 0, the distance h and the reference risk pi_u. Weights lie in [0, 1]
and are never normalised: their sum, the effective sample size for tailoring, sets the posterior's
spread. [Karapanagiotis2021]

A new distance is one function of (reference_risk, threshold) and one line in `DISTANCES`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from tailoredbayes.checks import (
    FloatArray,
    check_array,
    check_number,
    check_risk,
    check_threshold,
    check_within,
)

__all__ = [
    "DISTANCES",
    "NEVER",
    "CellWeights",
    "Distance",
    "absolute_distance",
    "distance_to_threshold",
    "effective_sample_fraction",
    "effective_sample_size",
    "kish_effective_sample_size",
    "largest_discount",
    "squared_distance",
    "tailoring_weights",
]

NEVER = -2
"""The fold of a row that takes part in nothing: a design row, whose outcome stage 1 has seen."""

Distance = Callable[[FloatArray, float], FloatArray]
"""h(reference_risk, threshold): one distance per row, finite and 0 or more."""


# --- The distance h ---------------------------------------------------------------------------


def squared_distance(reference_risk: FloatArray, threshold: float) -> FloatArray:
    """Return h = (pi_u - t)^2, the paper's choice [Karapanagiotis2021].

    Examples
    --------
    >>> squared_distance(np.array([0.0, 0.5, 1.0]), 0.5)
    array([0.25, 0.  , 0.25])
    """
    return np.square(reference_risk - threshold)


def absolute_distance(reference_risk: FloatArray, threshold: float) -> FloatArray:
    """Return h = |pi_u - t|.

    Examples
    --------
    >>> absolute_distance(np.array([0.0, 0.5, 1.0]), 0.5)
    array([0.5, 0. , 0.5])
    """
    return np.abs(reference_risk - threshold)


DISTANCES: dict[str, Distance] = {
    "squared": squared_distance,
    "absolute": absolute_distance,
}
"""The distances known by name."""


def distance_to_threshold(
    reference_risk: ArrayLike,
    threshold: float,
    distance: str | Distance = "squared",
    epsilon: float = 0.0,
) -> FloatArray:
    """Return each row's distance h(pi_u, t), as the weights use it.

    With epsilon > 0 distances up to epsilon count as none, max(0, h - epsilon). For the absolute
    distance this is Vapnik's epsilon-insensitive function, the paper's |pi_u - t|_epsilon.
    epsilon has the units of h: for the squared distance, rows within sqrt(epsilon) of t are at
    distance 0. [Karapanagiotis2021], [Vapnik1998]

    Parameters
    ----------
    reference_risk
        pi_u per row, in [0, 1].
    threshold
        t strictly between 0 and 1.
    distance
        A name in `DISTANCES`, or a function h(reference_risk, threshold) -> one distance per row.
    epsilon
        Half-width of the insensitive band, 0 or more. 0 has none.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> distance_to_threshold([0.0, 0.5, 1.0], 0.5)
    array([0.25, 0.  , 0.25])
    >>> distance_to_threshold([0.0, 0.5, 1.0], 0.25, "absolute", epsilon=0.25)
    array([0. , 0. , 0.5])
    """
    risk = check_risk(reference_risk, "reference_risk")
    threshold = check_threshold(threshold)
    epsilon = check_number(epsilon, "epsilon", at_least=0, advice="0 leaves the distance as it is")
    values = check_array(
        _distance_function(distance)(risk, threshold),
        "distance(reference_risk, threshold)",
        advice="return one distance per row",
    )
    if values.shape != risk.shape:
        raise ValueError(
            "distance(reference_risk, threshold) must return one distance per row, got "
            f"{len(values)} for {len(risk)} rows; check the function passed as distance"
        )
    check_within(
        values,
        "distance(reference_risk, threshold)",
        0.0,
        expected="be finite and 0 or more",
        advice="a negative distance would give a weight above 1",
    )
    return np.maximum(values - epsilon, 0.0) if epsilon > 0 else values


def _distance_function(distance: str | Distance) -> Distance:
    """Look a distance up by name; a function is its own."""
    if callable(distance):
        return distance
    if distance in DISTANCES:
        return DISTANCES[distance]
    known = ", ".join(repr(name) for name in DISTANCES)
    raise ValueError(
        f"distance must be one of {known} or a function, got {distance!r}; "
        "choose one of these, or pass h(reference_risk, threshold)"
    )


# --- The weights ------------------------------------------------------------------------------


def tailoring_weights(
    reference_risk: ArrayLike,
    threshold: float,
    discount: ArrayLike,
    distance: str | Distance = "squared",
    epsilon: float = 0.0,
) -> FloatArray:
    """Return the tailoring weights w_i = exp(-lambda h(pi_u(x_i), t)).

    A row at the threshold weighs 1, one further away less. lambda = 0 gives ones, which is
    standard Bayes. As lambda grows, only rows at distance 0 keep their weight; beyond
    lambda h of about 745 a weight is 0 in double precision. [Karapanagiotis2021]

    Parameters
    ----------
    reference_risk
        pi_u per row, in [0, 1].
    threshold
        t strictly between 0 and 1.
    discount
        lambda, 0 or more, or a 1-D array of m of them; the distance is computed once for all.
    distance, epsilon
        As in `distance_to_threshold`.

    Returns
    -------
    ndarray of shape (n,) or (n, m)
        One column per discount when there are several.

    Examples
    --------
    >>> tailoring_weights([0.1, 0.6], threshold=0.1, discount=4).round(4)
    array([1.    , 0.3679])
    >>> tailoring_weights([0.1, 0.6], threshold=0.1, discount=[0, 4, 8]).round(4)
    array([[1.    , 1.    , 1.    ],
           [1.    , 0.3679, 0.1353]])
    """
    discounts = check_array(discount, "discount", ndim=(0, 1), advice="pass a number such as 10")
    check_within(
        discounts,
        "discount",
        0.0,
        expected="be finite and 0 or more",
        advice="0 gives standard Bayes, larger values tailor more",
    )
    h = distance_to_threshold(reference_risk, threshold, distance, epsilon)
    return _weights(h, discounts)


def _weights(h: FloatArray, discount: FloatArray) -> FloatArray:
    """Return exp(-lambda h), in the memory of the result alone."""
    with np.errstate(over="ignore", under="ignore"):  # lambda h beyond the largest float: weight 0
        weights = np.multiply.outer(h, -discount)
        return np.exp(weights, out=weights)


@dataclass(frozen=True)
class CellWeights:
    """Weight columns for many discounts, thresholds and held-out folds, worked out block by block.

    Column j weighs row i by s_i exp(-discount_j h_i), h the distance numbered ``which[j]``, and by
    zero where ``folds[i, repeat_j] == fold_j``: that fold is held out. n x m numbers are never
    held, and each exp(-discount h) is computed once for all the folds that share it.

    Parameters
    ----------
    distances : array (n, q)
        One column a threshold (or round).
    which, discounts, repeats, held_out : arrays (m,)
        What each column is made of; ``held_out`` of -1 holds nothing out.
    folds : integer array (n, repeats)
        The fold of each row; rows of fold -2 never take part.
    sample_weight : array (n,), optional
    """

    distances: FloatArray
    which: NDArray[np.intp]
    discounts: FloatArray
    repeats: NDArray[np.intp]
    held_out: NDArray[np.intp]
    folds: NDArray[np.int16]
    sample_weight: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.distances), len(self.which)

    def block(self, rows: slice, columns: NDArray[np.intp] | None) -> FloatArray:
        """Return the weights of some rows, for the named columns or for all."""
        j = slice(None) if columns is None else columns
        (first_pair, pair), (first_cell, cell) = self._pairs, self._cells
        # Only the pairs and cells that the columns need.
        pairs, pair_of = np.unique(pair[j], return_inverse=True)
        cells, cell_of = np.unique(cell[j], return_inverse=True)
        some = first_pair[pairs]
        weights = np.exp(-self.discounts[some] * self.distances[rows][:, self.which[some]])
        some = first_cell[cells]
        fold = self.folds[rows][:, self.repeats[some]]
        kept = (fold != self.held_out[some]) & (fold != NEVER)
        out: FloatArray = weights[:, pair_of] * kept[:, cell_of]
        return out if self.sample_weight is None else out * self.sample_weight[rows, None]

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """First column of each distinct (distance, discount), and the pair of each column."""
        return _distinct(self.which, self.discounts)

    @cached_property
    def _cells(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """First column of each distinct (repeat, fold), and the cell of each column."""
        return _distinct(self.repeats, self.held_out)


def _distinct(*keys: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    together = np.stack([np.asarray(key, dtype=np.float64) for key in keys], axis=1)
    _, first, label = np.unique(together, axis=0, return_index=True, return_inverse=True)
    return first, label.reshape(-1)


def effective_sample_size(weights: ArrayLike) -> float | FloatArray:
    """Return the effective sample size for tailoring, ESS_T = sum_i w_i.

    It is n at lambda = 0 and falls as lambda grows; for weights in [0, 1] it is at most Kish's.
    [Karapanagiotis2021]

    Parameters
    ----------
    weights
        Of shape (n,), or (n, m) for m columns of weights.

    Returns
    -------
    float or ndarray of shape (m,)

    See Also
    --------
    effective_sample_fraction : The same as a share of n.
    kish_effective_sample_size : What unequal weights leave of n.

    Examples
    --------
    >>> effective_sample_size([1.0, 0.5, 0.25])
    1.75
    """
    return _per_column(_check_weights(weights).sum(axis=0))


def effective_sample_fraction(weights: ArrayLike) -> float | FloatArray:
    """Return ESS_T as a share of the rows, ESS_T / n = sum_i w_i / n.

    It is 1 at lambda = 0, and what the authors' R package calls the effective sample size.

    Parameters
    ----------
    weights
        Of shape (n,), or (n, m) for m columns of weights.

    Returns
    -------
    float or ndarray of shape (m,)

    Examples
    --------
    >>> effective_sample_fraction([1.0, 0.5, 0.75, 0.75])
    0.75
    """
    return _per_column(_check_weights(weights).mean(axis=0))


def kish_effective_sample_size(weights: ArrayLike) -> float | FloatArray:
    """Return Kish's effective sample size, (sum w)^2 / sum w^2.

    How many equally weighted rows would estimate a mean as precisely. It is blind to the weights'
    scale: n whenever all are alike, however small; 0, by convention, when all are 0. [Kish1965]

    Parameters
    ----------
    weights
        Of shape (n,), or (n, m) for m columns of weights.

    Returns
    -------
    float or ndarray of shape (m,)

    Examples
    --------
    >>> kish_effective_sample_size([1.0, 1.0, 0.0, 0.0])
    2.0
    """
    values = _check_weights(weights)
    largest = values.max(axis=0)
    # The scale cancels; dividing by the largest weight keeps the squares from under- or overflow.
    scaled = values / np.where(largest > 0, largest, 1.0)
    squares = np.square(scaled).sum(axis=0)
    return _per_column(scaled.sum(axis=0) ** 2 / np.where(largest > 0, squares, 1.0))


def _check_weights(weights: ArrayLike) -> FloatArray:
    values = check_array(weights, "weights", ndim=(1, 2), advice="pass one weight per row")
    check_within(
        values,
        "weights",
        0.0,
        expected="be finite and 0 or more",
        advice="tailoring_weights makes them from risks",
    )
    return values


def _per_column(values: FloatArray) -> float | FloatArray:
    return float(values) if np.ndim(values) == 0 else values


# --- The top of the discount grid -------------------------------------------------------------


def largest_discount(
    reference_risk: ArrayLike,
    threshold: float,
    share: float,
    distance: str | Distance = "squared",
    epsilon: float = 0.0,
) -> float:
    """Return the largest lambda that keeps ESS_T / n at `share` or above.

    The solution of

        sum_i exp(-lambda h_i) / n = share,

    whose left side falls from 1 at lambda = 0 to the share of rows at distance 0. The paper's
    guide to where the grid of lambda may end, known before any tailored fit.
    [Karapanagiotis2021], section S9 of the supplement.

    Parameters
    ----------
    reference_risk
        pi_u per row, in [0, 1].
    threshold
        t strictly between 0 and 1.
    share
        The least ESS_T / n wanted, above 0 and at most 1.
    distance, epsilon
        As in `distance_to_threshold`.

    Returns
    -------
    float
        Exact to about 12 digits. 0 when `share` is 1 and some row lies away from t; inf when at
        least `share` of the rows lie at distance 0, so that no finite lambda would do harm.

    Examples
    --------
    Both rows lie 0.5 from the threshold, so exp(-lambda / 4) = 0.5 at lambda = 4 log 2:

    >>> round(largest_discount([0.0, 1.0], threshold=0.5, share=0.5), 6)
    2.772589
    >>> largest_discount([0.5, 1.0], threshold=0.5, share=0.5)
    inf
    """
    share = check_number(
        share,
        "share",
        above=0,
        at_most=1,
        advice="pass the part of the rows' weight to keep, such as 0.5",
    )
    h = distance_to_threshold(reference_risk, threshold, distance, epsilon)

    if np.mean(h == 0) >= share:
        return math.inf
    if share == 1:
        return 0.0

    def surplus(log_discount: float) -> float:
        """Return ESS_T / n - share, in the form that loses no digits near 0 or near 1."""
        discount = np.asarray(math.exp(log_discount))
        if share <= 0.5:
            return float(_weights(h, discount).mean()) - share
        with np.errstate(over="ignore"):
            return (1 - share) + float(np.expm1(-discount * h).mean())

    # No weight is below exp(-lambda max(h)), so this lambda keeps the share; half of it does so
    # with room for rounding. The upper end is the largest float.
    lowest = math.log(-math.log(share)) - math.log(h.max()) - math.log(2)
    highest = math.log(np.finfo(np.float64).max) - 1e-12
    if surplus(highest) >= 0:
        return math.inf
    return math.exp(brentq(surplus, lowest, highest, xtol=1e-13))
