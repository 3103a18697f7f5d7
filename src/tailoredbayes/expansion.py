r"""The log-likelihood near a mode, as a polynomial: many points for the price of a few passes.

With f(u) = log(1 + e^u), a row's loss at theta = mode + R z is f(a_i + g_i' z), where a_i is the
margin at the mode (its sign turned) and g_i = R' z_i is small: one row moves a posterior little.
Taylor's series in g_i' z, summed over the rows, is one polynomial in z,

    sum_i w_i f(a_i + g_i' z) = sum_alpha  z^alpha / alpha!  sum_i w_i f_|alpha|(a_i) g_i^alpha,

whose coefficients are sums over rows. Once they are known a point costs the terms of the
polynomial, however many rows there are. The remainder after degree K is at most

    |z|^(K+1) / (K+1)!  sup|f_(K+1)|  sum_i w_i |g_i|^(K+1),

which is known before the work is done. Points for which it may exceed the tolerance are evaluated
row by row: no value is off by more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.rows import BLOCK_NUMBERS, Block, block_rows, scratch, sum_over_rows

__all__ = ["NearMode"]

Floats = NDArray[np.float64]

# Error allowed in a log density: an importance weight is then right to one part in ten thousand,
# where chance alone moves an average over 4000 draws by one part in sixty. The bound counts every
# row as if it moved straight along z, so that what is met is a thousandth of it or less.
_TOLERANCE = 1e-4
# The derivatives of f alternate and grow: beyond this degree terms gain little.
_DEGREES = range(3, 11)
# Numbers in a block of monomials: two megabytes. Shorter rows of them cost more than cache does.
_BLOCK = 16 * BLOCK_NUMBERS
# Polynomials of more terms than this are not tried.
_MOST_TERMS = 20_000
# What a term of the polynomial costs, and a row at a point (an exp and a log), in one currency.
_TERM, _ROW = 1.0, 3.0
# Fewer evaluations of a row than this are not worth a plan.
_WORTH = 2_000_000


class NearMode:
    """A posterior's log-density around a mode, by a polynomial where that is as good.

    Parameters
    ----------
    posterior, column
        The posterior.
    mode, root
        theta = mode + root z, in the engine's coordinates.
    """

    def __init__(
        self, posterior: TailoredPosterior, column: int, mode: Floats, root: Floats
    ) -> None:
        self.posterior, self.column, self.mode, self.root = posterior, column, mode, root
        self._moments: Floats | None = None
        self._coefficients: dict[int, Floats] = {}

    def log_density(self, z: Floats) -> Floats:
        """Log posterior density at mode + root z_j, for the rows z_j of ``z`` (S, p)."""
        theta = self.mode[:, None] + self.root @ z.T
        length = np.sqrt((z * z).sum(axis=1))
        degree, reach = self._plan(length)
        near = length <= reach
        if not near.any():
            return self.posterior.evaluate(theta, self.column, order=0).value
        value = np.empty(len(z))
        prior = self.posterior.prior.value(self.posterior.coefficients(theta[:, near]))
        value[near] = self._polynomial(z[near], degree) + prior
        if not near.all():
            far = np.ascontiguousarray(theta[:, ~near])
            value[~near] = self.posterior.evaluate(far, self.column, order=0).value
        return value

    def _plan(self, length: Floats) -> tuple[int, float]:
        """Return the cheapest degree, and how far from the mode it may be trusted."""
        n, p = self.posterior.rows.n_rows, len(self.mode)
        direct = _ROW * n * len(length)
        cheapest, degree, reach = direct, 0, -1.0
        if n * len(length) < _WORTH or _term_count(p, _DEGREES[0]) * _TERM * n > direct:
            return degree, reach
        if self._moments is None:
            self._moments = self._leverage_moments()
        for candidate, moment in zip(_DEGREES, self._moments, strict=True):
            terms = _term_count(p, candidate)
            if terms > _MOST_TERMS:
                break
            order = candidate + 1
            bound = _largest_derivative(order) * moment / math.factorial(order)
            trusted = math.inf if bound == 0 else (_TOLERANCE / bound) ** (1 / order)
            far = int(np.count_nonzero(length > trusted))
            known = candidate in self._coefficients
            cost = _TERM * terms * (len(length) + (0 if known else n)) + _ROW * n * far
            if cost < cheapest:
                cheapest, degree, reach = cost, candidate, trusted
        return degree, reach

    def _leverage_moments(self) -> Floats:
        """Return sum_i w_i |g_i|^(K+1) for every degree K."""
        powers = 0.5 * (np.array(_DEGREES) + 1)

        def sums(block: Block) -> tuple[Floats, ...]:
            g = self.posterior.against(block) @ self.root
            square = np.maximum((g * g).sum(axis=1), np.finfo(float).tiny)
            return (np.exp(np.outer(powers, np.log(square))) @ block.weights[:, 0],)

        return self._sum(sums, len(self.mode) + len(powers))

    def _polynomial(self, z: Floats, degree: int) -> Floats:
        """Return the log-likelihood by its polynomial, at the rows of ``z``."""
        if degree not in self._coefficients:
            self._coefficients[degree] = self._fitted(degree)
        coefficients = self._coefficients[degree]
        value = np.empty(len(z))
        size = block_rows(len(coefficients), _BLOCK)
        for start in range(0, len(z), size):
            some = slice(start, start + size)
            value[some] = coefficients @ _monomials(np.ascontiguousarray(z[some].T), degree)
        return value

    def _fitted(self, degree: int) -> Floats:
        """Coefficients of the polynomial, as :func:`_monomials` orders its terms."""
        starts = _starts(len(self.mode), degree)

        def sums(block: Block) -> tuple[Floats, ...]:
            against = self.posterior.against(block)
            derivatives = _loss_derivatives(against @ self.mode, degree) * block.weights[:, 0]
            terms = _monomials(np.ascontiguousarray((against @ self.root).T), degree)
            return (
                np.concatenate(
                    [terms[starts[k] : starts[k + 1]] @ derivatives[k] for k in range(degree + 1)]
                ),
            )

        return -self._sum(sums, starts[-1]) / _factorials(len(self.mode), degree)

    def _sum(self, sums: Callable[[Block], tuple[Floats, ...]], cost: int) -> Floats:
        (total,) = sum_over_rows(
            self.posterior.rows,
            sums,
            size=block_rows(cost, _BLOCK),
            columns=np.array([self.column]),
            threads=self.posterior.threads,
            cost_per_row=cost,
        )
        return np.asarray(total)


# --- Terms of a polynomial ----------------------------------------------------------------------


def _term_count(p: int, degree: int) -> int:
    """Monomials in p variables of degree at most ``degree``."""
    return math.comb(p + degree, degree)


def _starts(p: int, degree: int) -> list[int]:
    """Where the monomials of each degree begin, and where the last end."""
    return [0, *(_term_count(p, k) for k in range(degree + 1))]


def _monomials(z: Floats, degree: int) -> Floats:
    """All monomials of the rows of ``z`` (p, n) up to a degree, (terms, n).

    Those of one degree are ordered by their last variable, so that those made of the first
    variables alone come first: z_j times the ones of the degree below in z_1 to z_j makes the
    monomials whose last variable is z_j. The array is the thread's: the next call writes over it.

    >>> _monomials(np.array([[2.0], [3.0]]), 2).T        # 1, a, b, aa, ab, bb
    array([[1., 2., 3., 4., 6., 9.]])
    """
    p, n = z.shape
    starts = _starts(p, degree)
    out = scratch("monomials", starts[-1], n)
    out[0] = 1.0
    for k in range(1, degree + 1):
        below, place = starts[k - 1], starts[k]
        for j in range(p):
            count = math.comb(j + k - 1, k - 1)
            np.multiply(out[below : below + count], z[j], out=out[place : place + count])
            place += count
    return out


@lru_cache(maxsize=64)
def _factorials(p: int, degree: int) -> Floats:
    """Return alpha! for each monomial's exponents alpha, as :func:`_monomials` orders them."""
    # A point that is 2 in one variable and 1 elsewhere: a monomial there is 2^exponent.
    exponents = np.log2(_monomials(1.0 + np.eye(p), degree)).astype(int)
    table = np.array([math.factorial(k) for k in range(degree + 1)], dtype=np.float64)
    return np.asarray(table[exponents].prod(axis=1))


# --- Derivatives of the loss --------------------------------------------------------------------


@lru_cache(maxsize=1)
def _derivative_polynomials() -> Floats:
    """Return f' = q, f'' = q (1 - q), ...: a row of coefficients of q, q^2, ... each.

    The derivative by u is that by q, times dq/du = q (1 - q).

    >>> _derivative_polynomials()[2, :4]            # f''' = q (1 - q) (1 - 2q)
    array([ 1., -3.,  2.,  0.])
    """
    most = _DEGREES[-1] + 1
    rows = np.zeros((most, most))
    rows[0, 0] = 1.0
    power = np.arange(1, most + 1)
    for k in range(1, most):
        slope = power * rows[k - 1]
        rows[k] = slope
        rows[k, 1:] -= slope[:-1]
    return rows


@lru_cache(maxsize=32)
def _largest_derivative(order: int) -> float:
    """Return the derivative's largest size over q in [0, 1]."""
    polynomial = Polynomial([0.0, *_derivative_polynomials()[order - 1]])
    turns = polynomial.deriv().roots()
    inside = np.concatenate([[0.0, 1.0], turns.real[(turns.real > 0) & (turns.real < 1)]])
    return float(np.abs(polynomial(inside)).max())


def _loss_derivatives(u: Floats, degree: int) -> Floats:
    """Return f and its derivatives at each u, (degree + 1, n)."""
    small = np.exp(-np.abs(u))
    powers = np.empty((degree, len(u)))
    powers[0] = np.where(u >= 0, 1.0, small) / (1.0 + small)
    for k in range(1, degree):
        np.multiply(powers[k - 1], powers[0], out=powers[k])
    loss = np.log1p(small) + np.maximum(u, 0.0)
    return np.vstack([loss, _derivative_polynomials()[:degree, :degree] @ powers])
