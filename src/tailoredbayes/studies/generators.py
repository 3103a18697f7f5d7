r"""The paper's data-generating models, each with its mathematics.

Let theta(x) be the true risk at x = (x1, x2) and F the distribution of x. A rule that treats in a
region A has, in the population, the net benefit

    NB(A) = E[theta; A] - E[1 - theta; A] odds(t)  =  E[(theta - t) 1_A] / (1 - t),

with odds(t) = t / (1 - t). It is largest for A = {theta >= t}: the oracle. A logistic model treats
where expit(a + b1 x1 + b2 x2) >= t, which is the half-plane

    (a - logit t) + b1 x1 + b2 x2 >= 0,

and NB of a half-plane is known here to rounding error or by quadrature to better than 1e-10. A
posterior mean risk, or any other model's risk, treats in a region of another shape:
`surface_net_benefit` finds it and integrates. So a fit is judged without a test set and its noise.

Simulations 1, 2 and 3 are those of section 3 of [Karapanagiotis2021]; the first extends
[Hand2003]. A new one is a class that meets the contract `Simulation`, and a line in `SIMULATIONS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, rel_entr

from tailoredbayes.checks import (
    FloatArray,
    ScalarOrCurve,
    check_array,
    check_finite,
    check_number,
    check_risk,
    check_same_length,
    check_threshold,
    check_thresholds,
    check_within,
)
from tailoredbayes.decision import harm_to_benefit
from tailoredbayes.predictive import expit
from tailoredbayes.studies.regions import Box, Primitive, integrate_region

__all__ = [
    "SIMULATIONS",
    "Rows",
    "Simulation",
    "Simulation1",
    "Simulation2",
    "Simulation3",
    "SurfaceNetBenefit",
]

Rows = tuple[FloatArray, NDArray[np.int64]]
"""Covariates (n, 2) and outcomes (n,), 0 or 1."""
RiskFunction = Callable[[FloatArray], ArrayLike]
"""Covariates (n, 2) to predicted risks (n,)."""


@dataclass(frozen=True)
class SurfaceNetBenefit:
    """The net benefit of a risk function, and how far it may be off."""

    net_benefit: float
    error: float
    """Distance from the same integral on a grid two thirds as fine: an estimate, not a bound."""


class Simulation(Protocol):
    """What a study asks of a data-generating model with two covariates."""

    @property
    def prevalence(self) -> float:
        """The population's share of events, E[theta]."""

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n independent rows to fit on."""

    def sample_test(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n independent rows of the population, to judge a fit by."""

    def risk(self, X: ArrayLike) -> FloatArray:
        """Return theta(x), the true risk of each row (n, 2)."""

    def boundary(self, threshold: float, x1: ArrayLike) -> FloatArray:
        """Return x2 where theta = t, (branches, n); nan where a branch has no point."""

    def oracle_net_benefit(self, threshold: ScalarOrCurve) -> ScalarOrCurve:
        """Return the largest net benefit of any rule: that of treating where theta >= t."""

    def linear_net_benefit(
        self, intercept: ScalarOrCurve, slopes: ArrayLike, threshold: float
    ) -> ScalarOrCurve:
        """Return the net benefit of treating where expit(intercept + slopes' x) >= t.

        One rule (a number and two slopes) gives a number, m rules (m intercepts and slopes
        (m, 2)) give m. Ties treat; slopes of 0 treat everyone or no one.
        """

    def surface_net_benefit(
        self, risk_function: RiskFunction, threshold: float, *, cells: int = 96
    ) -> SurfaceNetBenefit:
        """Return the net benefit of treating where risk_function(X) >= t.

        The function takes points (n, 2) and returns their risks. It is asked about 25,000 to
        45,000 points in some hundred calls, the largest of (cells + 1)^2 points. Nothing is
        assumed monotone. For a smooth risk the error is below 1e-6, for a tree's steps about
        1e-4; a treated (or untreated) region thinner than a cell may be missed.
        """


# --- Simulation 1: linear boundaries that are not parallel -------------------------------------


@dataclass(frozen=True)
class Simulation1:
    """Optimal boundaries are straight but not parallel [Hand2003], [Karapanagiotis2021].

        x1, x2 ~ uniform on (0, 1),    theta = q x2 / (x1 + q x2).

    Treating where theta >= t is treating where x2 >= odds(t) / q x1: lines through the origin.

    theta is constant along rays from the origin, so x' grad theta = 0 and div(x theta) =
    2 theta. By the divergence theorem, for a polygon A with corners p_1, ..., p_k in
    counter-clockwise order,

        integral of theta over A = 1/2 sum_i (p_i x p_{i+1}) mean of theta on the side p_i p_{i+1},

    x the cross product: sides on rays through the origin count nothing. Along a side theta is a
    ratio of linear functions, whose mean is a logarithm. The same with 1 in place of theta is the
    area, so NB of a half-plane, which cuts a polygon from the square, is in closed form; the
    oracle is a half-plane, too.

    Parameters
    ----------
    q
        Above 0; the odds of an event on the diagonal. q = 0.1, 0.5, 1 give prevalences 0.143,
        0.369, 0.5 (the paper says "around 0.15, 0.36, 0.50").

    Examples
    --------
    >>> simulation = Simulation1(q=1)
    >>> simulation.prevalence
    0.5
    >>> simulation.boundary(0.5, [0.2, 0.8])
    array([[0.2, 0.8]])

    At t = 0.5 the oracle is the rule x2 >= x1; the logistic model that says so is as good:

    >>> simulation.oracle_net_benefit(0.5) == simulation.linear_net_benefit(0.0, [-1, 1], 0.5)
    True
    """

    q: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.q, "q", above=0, advice="the paper takes 0.1, 0.5 and 1")

    @property
    def prevalence(self) -> float:
        """E[theta] = (1 - log(1 + q)/q + q log(1 + 1/q)) / 2."""
        q = self.q
        upper_side = q * (math.log1p(q) - math.log(q))
        return 0.5 * (1.0 - math.log1p(q) / q + upper_side)

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n independent rows: covariates (n, 2) and outcomes 0 or 1."""
        n, rng = _check_draw(n, rng)
        x = rng.random((n, 2))
        return x, _outcomes(self.risk(x), rng)

    def sample_test(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n rows to judge a fit by: as `sample`."""
        return self.sample(n, rng)

    def risk(self, X: ArrayLike) -> FloatArray:
        """Return theta of rows in the unit square.

        At the origin, where theta has no limit, its value on the diagonal: q / (1 + q).
        """
        x = _check_rows(X)
        check_within(
            x, "X", 0.0, 1.0, expected="lie in the unit square", advice="drop the rows outside"
        )
        x1, events = x[:, 0], self.q * x[:, 1]
        origin = x1 + events == 0
        risk: FloatArray = events / np.where(origin, 1.0, x1 + events)
        return np.where(origin, self.q / (1 + self.q), risk)

    def boundary(self, threshold: float, x1: ArrayLike) -> FloatArray:
        """Return x2 = odds(t) / q x1, one branch; above 1 it has left the square."""
        odds = harm_to_benefit(check_threshold(threshold))
        return odds / self.q * check_array(x1, "x1")[None, :]

    def oracle_net_benefit(self, threshold: ScalarOrCurve) -> ScalarOrCurve:
        """Return NB of treating where theta >= t, that is -odds(t) x1 + q x2 >= 0."""
        threshold = check_thresholds(threshold)
        t = np.atleast_1d(threshold)
        rules = np.stack([np.zeros(len(t)), -t / (1 - t), np.full(len(t), self.q)], axis=1)
        return _as_given(self._half_planes(_rescaled(rules), t), threshold)

    def linear_net_benefit(
        self, intercept: ScalarOrCurve, slopes: ArrayLike, threshold: float
    ) -> ScalarOrCurve:
        """Return NB of treating where expit(intercept + slopes' x) >= t, in closed form."""
        rules, t = _check_rules(intercept, slopes, threshold)
        return _as_given(self._half_planes(rules, np.full(len(rules), t)), intercept)

    def surface_net_benefit(
        self, risk_function: RiskFunction, threshold: float, *, cells: int = 96
    ) -> SurfaceNetBenefit:
        """Return NB of treating where risk_function(X) >= t; see `Simulation`."""
        t = check_threshold(threshold)

        def gain_below(x1: FloatArray, x2: FloatArray) -> FloatArray:
            # integral of theta - t over z < x2: (1 - t) x2 - x1/q log((x1 + q x2) / x1)
            gain: FloatArray = (1 - t) * x2 + rel_entr(x1, x1 + self.q * x2) / self.q
            return gain

        return _surface(risk_function, t, gain_below, ((0.0, 1.0), (0.0, 1.0)), cells)

    def _half_planes(self, rules: FloatArray, t: FloatArray) -> FloatArray:
        """Return NB of treating where c + b' x >= 0, one row (c, b1, b2) and one t a rule."""
        t = t[:, None]
        corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        following = np.roll(corners, -1, axis=0)
        level = rules[:, :1] + rules[:, 1:] @ corners.T
        next_level = np.roll(level, -1, axis=1)
        treated, next_treated = level >= 0, next_level >= 0
        leaves, enters = treated & ~next_treated, ~treated & next_treated
        cut = leaves | enters
        share = np.where(cut, level / np.where(cut, level - next_level, 1.0), 0.0)
        crossing = corners + share[..., None] * (following - corners)
        # What is left of the square's own sides, and the side along the rule's line.
        start = np.where(treated[..., None], corners, crossing)
        end = np.where(next_treated[..., None], following, crossing)
        sides = np.where(treated | next_treated, self._gain(start, end, t), 0.0)
        leaving = (crossing * leaves[..., None]).sum(axis=1, keepdims=True)
        entering = (crossing * enters[..., None]).sum(axis=1, keepdims=True)
        gain = sides.sum(axis=1) + self._gain(leaving, entering, t)[:, 0]
        return np.asarray(gain / (1 - t[:, 0]))

    def _gain(self, p: FloatArray, p_next: FloatArray, t: FloatArray) -> FloatArray:
        """Return 1/2 (p x p_next) (mean of theta on the side - t).

        With D = x1 + q x2 and rho = D(p_next) / D(p), theta goes along the side, s from 0 to 1,
        from theta(p) to theta(p_next) by the share rho s / (1 + (rho - 1) s).
        """
        cross = p[..., 0] * p_next[..., 1] - p[..., 1] * p_next[..., 0]
        tiny = np.finfo(np.float64).tiny  # at the origin the cross product is 0
        d = np.maximum(p[..., 0] + self.q * p[..., 1], tiny)
        d_next = np.maximum(p_next[..., 0] + self.q * p_next[..., 1], tiny)
        theta, theta_next = self.q * p[..., 1] / d, self.q * p_next[..., 1] / d_next
        mean = theta + (theta_next - theta) * _mean_share(d, d_next)
        return np.asarray(0.5 * cross * (mean - t))


def _mean_share(d: FloatArray, d_next: FloatArray) -> FloatArray:
    """Return the mean of rho s / (1 + (rho - 1) s) over s in (0, 1), rho = d_next / d.

        rho / z (1 - log(rho) / z),  z = rho - 1;   a power series in z near 0.

    >>> _mean_share(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0])).round(4)
    array([0.5   , 0.6137, 0.3863])
    """
    # Swapping the ends turns the mean m into 1 - m: keep rho at most 1.
    swapped = d_next > d
    rho = np.where(swapped, d, d_next) / np.where(swapped, d_next, d)
    z = rho - 1.0
    near = np.abs(z) < 0.05
    # 1 - log(1 + z) / z = z/2 - z^2/3 + z^3/4 - ...: twelve terms leave 0.05^12.
    series = np.polynomial.polynomial.polyval(z, [(-1) ** k / (k + 2) for k in range(12)])
    apart = np.where(near, -1.0, z)
    share = rho * np.where(near, series, (1.0 - np.log(np.where(near, 1.0, rho)) / apart) / apart)
    return np.where(swapped, 1.0 - share, share)


# --- Simulation 2: quadratic boundaries --------------------------------------------------------


@dataclass(frozen=True)
class Simulation2:
    """Two Gaussians with unequal covariances; optimal boundaries are hyperbolas.

        x | y = 1 ~ N((1, 0), diag(1, 2)),    x | y = 0 ~ N((0, 1), diag(2, 1)),

    the diagonals being variances [Karapanagiotis2021]. The determinants are equal and the squares
    complete each other, so the log likelihood ratio is

        log f1(x) / f0(x) = ((x2 - 2)^2 - (x1 - 2)^2) / 4 = (x2 - x1) (x1 + x2 - 4) / 4,

    and, with c = logit t - logit pi, the oracle treats where (x2 - 2)^2 >= (x1 - 2)^2 + 4c. Given
    x1 that is two normal tails, so

        P(oracle treats | y) = integral of phi_1(z) [Phi_2(2 - r) + 1 - Phi_2(2 + r)] dz,
        r = sqrt((z - 2)^2 + 4c),

    phi_1 the density of x1 | y and Phi_2 the distribution function of x2 | y. For c < 0 exchange
    x1 and x2, and treated and untreated. The root bends sharply near z = 2 when c is small, so the
    quadrature's panels shrink towards 2.

    Under a linear rule c0 + b' x is normal within each class: NB is two normal probabilities.

    Parameters
    ----------
    prevalence
        pi = P(y = 1); the paper takes 0.1, 0.3 and 0.5.

    Examples
    --------
    >>> simulation = Simulation2(prevalence=0.5)
    >>> simulation.boundary(0.5, [0.0, 1.0])
    array([[0., 1.],
           [4., 3.]])
    >>> round(simulation.oracle_net_benefit(0.5), 6)
    0.222847
    """

    prevalence: float = 0.5

    _MEANS: ClassVar[FloatArray] = np.array([[0.0, 1.0], [1.0, 0.0]])  # rows: y = 0, y = 1
    _VARIANCES: ClassVar[FloatArray] = np.array([[2.0, 1.0], [1.0, 2.0]])

    def __post_init__(self) -> None:
        check_number(
            self.prevalence, "prevalence", above=0, below=1, advice="the paper takes 0.1, 0.3, 0.5"
        )

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n independent rows: covariates (n, 2) and outcomes 0 or 1."""
        n, rng = _check_draw(n, rng)
        y = _outcomes(np.full(n, self.prevalence), rng)
        x = self._MEANS[y] + np.sqrt(self._VARIANCES[y]) * rng.standard_normal((n, 2))
        return x, y

    def sample_test(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n rows to judge a fit by: as `sample`."""
        return self.sample(n, rng)

    def risk(self, X: ArrayLike) -> FloatArray:
        """Return theta = expit(logit pi + (x2 - x1) (x1 + x2 - 4) / 4)."""
        x1, x2 = _check_rows(X).T
        return expit(_logit(self.prevalence) + 0.25 * (x2 - x1) * (x1 + x2 - 4.0))

    def boundary(self, threshold: float, x1: ArrayLike) -> FloatArray:
        """Return x2 = 2 -+ sqrt((x1 - 2)^2 + 4c), lower branch and upper, (2, n)."""
        c = _logit(check_threshold(threshold)) - _logit(self.prevalence)
        square = np.square(check_array(x1, "x1") - 2.0) + 4.0 * c
        root = np.sqrt(np.where(square >= 0, square, np.nan))
        return np.stack([2.0 - root, 2.0 + root])

    def oracle_net_benefit(self, threshold: ScalarOrCurve) -> ScalarOrCurve:
        """Return NB of treating where theta >= t, by quadrature."""
        threshold = check_thresholds(threshold)
        t = np.atleast_1d(threshold)
        return _as_given(np.array([self._oracle(float(one)) for one in t]), threshold)

    def linear_net_benefit(
        self, intercept: ScalarOrCurve, slopes: ArrayLike, threshold: float
    ) -> ScalarOrCurve:
        """Return NB of treating where expit(intercept + slopes' x) >= t, in closed form."""
        rules, t = _check_rules(intercept, slopes, threshold)
        rates = []
        for mean, variance in zip(self._MEANS, self._VARIANCES, strict=True):
            level = rules[:, 0] + rules[:, 1:] @ mean
            sd = np.hypot(*(rules[:, 1:] * np.sqrt(variance)).T)
            flat = sd == 0
            with np.errstate(over="ignore"):  # a line far away: probability 0 or 1
                tail = ndtr(level / np.where(flat, 1.0, sd))
            rates.append(np.where(flat, level >= 0, tail))
        return _as_given(self._net_benefit(rates[1], rates[0], t), intercept)

    def surface_net_benefit(
        self, risk_function: RiskFunction, threshold: float, *, cells: int = 96
    ) -> SurfaceNetBenefit:
        """Return NB of treating where risk_function(X) >= t; see `Simulation`.

        Over the square from -8.5 to 9.5, outside of which 1e-9 of the population lies.
        """
        t = check_threshold(threshold)
        pi = self.prevalence

        def gain_below(x1: FloatArray, x2: FloatArray) -> FloatArray:
            # (theta - t) f = (1 - t) pi f1 - t (1 - pi) f0
            density0, density1 = (self._density(x1, y, 0) * self._cdf(x2, y, 1) for y in (0, 1))
            return np.asarray((1 - t) * pi * density1 - t * (1 - pi) * density0)

        return _surface(risk_function, t, gain_below, ((-8.5, 9.5), (-8.5, 9.5)), cells)

    def _oracle(self, t: float) -> float:
        """Return NB of treating where theta >= t."""
        c = _logit(t) - _logit(self.prevalence)
        # Across the axis x2 for c >= 0, x1 for c < 0; z runs along the other one.
        across = 1 if c >= 0 else 0
        # 14 is nine standard deviations from both means.
        z, weights = (a[0] for a in _graded_rule(np.array([2.0]), -14.0, 14.0))
        root = np.hypot(z - 2.0, 2.0 * math.sqrt(abs(c)))
        rates = []
        for y in (0, 1):
            tails = self._cdf(2.0 - root, y, across) + self._upper(2.0 + root, y, across)
            far = float(weights @ (self._density(z, y, 1 - across) * tails))
            rates.append(far if c >= 0 else 1.0 - far)
        return float(self._net_benefit(np.array(rates[1]), np.array(rates[0]), t))

    def _net_benefit(self, tpr: FloatArray, fpr: FloatArray, t: float) -> FloatArray:
        pi = self.prevalence
        return np.asarray(pi * tpr - (1 - pi) * fpr * (t / (1 - t)))

    def _density(self, x: FloatArray, y: int, axis: int) -> FloatArray:
        """Density at x of covariate `axis` in class y."""
        sd = math.sqrt(self._VARIANCES[y, axis])
        return _normal_density((x - self._MEANS[y, axis]) / sd) / sd

    def _cdf(self, x: FloatArray, y: int, axis: int) -> FloatArray:
        """P(covariate `axis` <= x | y)."""
        return np.asarray(ndtr((x - self._MEANS[y, axis]) / math.sqrt(self._VARIANCES[y, axis])))

    def _upper(self, x: FloatArray, y: int, axis: int) -> FloatArray:
        """P(covariate `axis` > x | y)."""
        return np.asarray(ndtr((self._MEANS[y, axis] - x) / math.sqrt(self._VARIANCES[y, axis])))


# --- Simulation 3: contaminated training data --------------------------------------------------


@dataclass(frozen=True)
class Simulation3:
    """A logistic model whose training data are contaminated; the population is not.

        x1, x2 ~ N(0, 1),    theta = expit(2 x1 + 3 x2).

    Of n training rows round(psi n), at random places, are replaced: covariates around (1.5, 1.5),
    y = 0. All else here (risk, boundary, net benefit, test rows) is of the clean population,
    whose optimal boundaries are parallel lines.

    With beta = (2, 3) and v = beta' x / |beta| ~ N(0, 1), theta = expit(|beta| v). Given v, a
    linear rule's c + b' x is normal: with rho the cosine of the angle between b and beta,
    s = sqrt(1 - rho^2) and kappa = -c / |b|,

        NB = 1 / (1 - t) integral of phi(v) (expit(|beta| v) - t) Phi((rho v - kappa) / s) dv.

    As s -> 0 the last factor becomes a step at v = kappa / rho, so the quadrature's panels shrink
    towards it; at s = 0, where the oracle is, it is one.

    Parameters
    ----------
    contamination
        psi, the contaminated fraction of the training rows, at least 0 and below 1. The paper
        takes 0, 0.05, 0.1, 0.15, 0.2, 0.3.
    contamination_variance
        Variance of the contaminated covariates. The paper writes N(1.5, 0.5), and in its N the
        second argument is a variance everywhere else, so 0.5; if a standard deviation is meant,
        pass 0.25.

    Examples
    --------
    >>> simulation = Simulation3(contamination=0.1)
    >>> X, y = simulation.sample(1000, np.random.default_rng(0))
    >>> simulation.prevalence, float(y.mean())
    (0.5, 0.44)
    >>> simulation.boundary(0.5, [0.0, 3.0])
    array([[ 0., -2.]])
    >>> round(simulation.oracle_net_benefit(0.5), 6)
    0.359143
    """

    contamination: float = 0.1
    contamination_variance: float = 0.5

    _SLOPES: ClassVar[FloatArray] = np.array([2.0, 3.0])
    _CENTRE: ClassVar[float] = 1.5

    def __post_init__(self) -> None:
        check_number(
            self.contamination,
            "contamination",
            at_least=0,
            below=1,
            advice="it is a fraction of the rows: 0.1 for 10%",
        )
        check_number(
            self.contamination_variance,
            "contamination_variance",
            at_least=0,
            advice="the paper's is 0.5",
        )

    @property
    def prevalence(self) -> float:
        """E[theta] = 1/2, by symmetry; training rows have (1 - psi) / 2."""
        return 0.5

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n training rows, round(psi n) of them contaminated.

        The clean rows are drawn first: with one seed, every psi shares those that it leaves.
        """
        X, y = self.sample_test(n, rng)
        replaced = rng.permutation(n)[: round(self.contamination * n)]
        sd = math.sqrt(self.contamination_variance)
        X[replaced] = self._CENTRE + sd * rng.standard_normal((len(replaced), 2))
        y[replaced] = 0
        return X, y

    def sample_test(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n rows of the clean population."""
        n, rng = _check_draw(n, rng)
        x = rng.standard_normal((n, 2))
        return x, _outcomes(self.risk(x), rng)

    def risk(self, X: ArrayLike) -> FloatArray:
        """Return theta = expit(2 x1 + 3 x2)."""
        return expit(_check_rows(X) @ self._SLOPES)

    def boundary(self, threshold: float, x1: ArrayLike) -> FloatArray:
        """Return x2 = (logit t - 2 x1) / 3, one branch."""
        cut = _logit(check_threshold(threshold))
        x2 = (cut - self._SLOPES[0] * check_array(x1, "x1")) / self._SLOPES[1]
        return np.asarray(x2[None, :])

    def oracle_net_benefit(self, threshold: ScalarOrCurve) -> ScalarOrCurve:
        """Return NB of treating where theta >= t: the linear rule with the true coefficients."""
        threshold = check_thresholds(threshold)
        t = np.atleast_1d(threshold)
        values = [self.linear_net_benefit(0.0, self._SLOPES, float(one)) for one in t]
        return _as_given(np.array(values), threshold)

    def linear_net_benefit(
        self, intercept: ScalarOrCurve, slopes: ArrayLike, threshold: float
    ) -> ScalarOrCurve:
        """Return NB of treating where expit(intercept + slopes' x) >= t, by quadrature."""
        rules, t = _check_rules(intercept, slopes, threshold)
        some = 64  # rules at a time: 0.5 MB an array
        blocks = [self._half_planes(rules[i : i + some], t) for i in range(0, len(rules), some)]
        return _as_given(np.concatenate(blocks), intercept)

    def surface_net_benefit(
        self, risk_function: RiskFunction, threshold: float, *, cells: int = 96
    ) -> SurfaceNetBenefit:
        """Return NB of treating where risk_function(X) >= t; see `Simulation`.

        Over the square from -6.5 to 6.5, outside of which 2e-10 of the population lies.
        """
        t = check_threshold(threshold)
        nodes, weights = np.polynomial.legendre.leggauss(10)
        panels = 16
        # Shares of the way from the bottom to x2, in 16 panels.
        shares = ((np.arange(panels)[:, None] + 0.5 * (nodes + 1.0)) / panels).ravel()
        share_weights = np.tile(0.5 * weights / panels, panels)
        low, high = -6.5, 6.5

        def gain_below(x1: FloatArray, x2: FloatArray) -> FloatArray:
            total = np.zeros_like(x2)
            for share, weight in zip(shares, share_weights, strict=True):
                z = low + (x2 - low) * share
                theta = expit(self._SLOPES[0] * x1 + self._SLOPES[1] * z)
                total += weight * (theta - t) * _normal_density(z)
            return total * (x2 - low) * _normal_density(x1)

        return _surface(risk_function, t, gain_below, ((low, high), (low, high)), cells)

    def _half_planes(self, rules: FloatArray, t: float) -> FloatArray:
        """Return NB of treating where c + b' x >= 0, one row (c, b1, b2) a rule."""
        size = float(np.hypot(*self._SLOPES))
        along = self._SLOPES / size
        c, b1, b2 = rules.T
        norm = np.hypot(b1, b2)
        flat = norm == 0
        length = np.where(flat, 1.0, norm)
        rho = (b1 * along[0] + b2 * along[1]) / length
        s = np.abs(b1 * along[1] - b2 * along[0]) / length
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            kappa = -c / length
            step = kappa / rho  # infinite where no v is special
        kappa[flat] = np.where(c[flat] >= 0, -np.inf, np.inf)
        step[np.isnan(step) | flat] = 0.0
        v, weights = _graded_rule(step, -9.0, 9.0)
        with np.errstate(over="ignore"):
            # s = 0 gives a step: the tiny number keeps 0/0 out of panels of width 0.
            argument = (rho[:, None] * v - kappa[:, None]) / np.maximum(s, 1e-300)[:, None]
        gain = _normal_density(v) * (expit(size * v) - t) * ndtr(argument)
        return np.asarray((weights * gain).sum(axis=1) / (1 - t))


SIMULATIONS: dict[str, type[Simulation]] = {
    "sim1": Simulation1,
    "sim2": Simulation2,
    "sim3": Simulation3,
}
"""The simulations known by name."""


# --- What they share ---------------------------------------------------------------------------


def _surface(
    risk_function: RiskFunction, t: float, gain_below: Primitive, box: Box, cells: int
) -> SurfaceNetBenefit:
    """Integrate theta - t over the region where a risk function reaches t, on two grids."""
    cells = _check_count(cells, "cells", 6, "96 is fine enough for a smooth risk")

    def treats(points: FloatArray) -> NDArray[np.bool_]:
        risk = check_risk(risk_function(points), "risk_function(X)")
        check_same_length(**{"X": points, "risk_function(X)": risk})
        return risk >= t

    fine, coarse = (
        integrate_region(treats, gain_below, box, k) / (1 - t) for k in (cells, 2 * cells // 3)
    )
    return SurfaceNetBenefit(fine, abs(fine - coarse))


def _graded_rule(centre: FloatArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on (low, high), one row a centre, for what bends or steps at the centre.

    Gauss-Legendre on panels no wider than 1, cut again at centre -+ 2^-k: a function as smooth as
    its distance from the centre is resolved at every scale down to 2^-28, and one that steps
    there at all. On panels of width 1 an integrand with poles 0.8 from the real axis, such as
    expit(4 v), leaves 1e-12.
    """
    x, w = np.polynomial.legendre.leggauss(12)
    halvings = 0.5 ** np.arange(29)
    offsets = np.concatenate([-halvings, [0.0], halvings])
    even = np.linspace(low, high, math.ceil(high - low) + 1)
    edges = np.concatenate(
        [np.broadcast_to(even, (len(centre), len(even))), centre[:, None] + offsets], axis=1
    )
    edges = np.sort(np.clip(edges, low, high), axis=1)
    half = 0.5 * np.diff(edges, axis=1)[..., None]
    middle = 0.5 * (edges[:, 1:] + edges[:, :-1])[..., None]
    return (middle + half * x).reshape(len(centre), -1), (half * w).reshape(len(centre), -1)


def _normal_density(z: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))


def _logit(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def _outcomes(risk: FloatArray, rng: np.random.Generator) -> NDArray[np.int64]:
    return (rng.random(len(risk)) < risk).astype(np.int64)


def _as_given(values: FloatArray, given: ScalarOrCurve) -> ScalarOrCurve:
    """One value for a number, an array for an array."""
    return float(values[0]) if np.ndim(given) == 0 else values  # type: ignore[return-value]  # as given


def _rescaled(rules: FloatArray) -> FloatArray:
    """Rules (c, b1, b2), each divided by its largest entry: the half-plane stays the same."""
    size = np.abs(rules).max(axis=1, keepdims=True)
    return np.asarray(rules / np.where(size == 0, 1.0, size))


def _check_rules(
    intercept: ArrayLike, slopes: ArrayLike, threshold: float
) -> tuple[FloatArray, float]:
    """Return rows (c, b1, b2) of half-planes c + b' x >= 0, and t."""
    t = check_threshold(threshold)
    a = check_array(intercept, "intercept", ndim=(0, 1), advice="pass one number a rule")
    b = check_array(slopes, "slopes", ndim=(1, 2), advice="pass two numbers a rule")
    if b.shape != (*a.shape, 2):
        raise ValueError(
            f"slopes must have shape {(*a.shape, 2)} where intercept has shape {a.shape}, got "
            f"{b.shape}; pass one number and two slopes, or m numbers and slopes (m, 2)"
        )
    for values, name in ((a, "intercept"), (b, "slopes")):
        check_finite(values, name, advice="check the fit")
    return _rescaled(np.column_stack([np.atleast_1d(a) - _logit(t), np.atleast_2d(b)])), t


def _check_rows(X: ArrayLike) -> FloatArray:
    """Return covariates as (n, 2)."""
    x = check_array(X, "X", ndim=(2,), advice="pass one row a point and two columns")
    if x.shape[1] != 2:
        raise ValueError(f"X must have two columns, x1 and x2, got shape {x.shape}; drop the rest")
    return x


def _check_draw(n: object, rng: object) -> tuple[int, np.random.Generator]:
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a numpy.random.Generator, got {type(rng).__name__}; "
            "pass numpy.random.default_rng(seed)"
        )
    return _check_count(n, "n", 1, "pass the number of rows"), rng


def _check_count(value: object, name: str, at_least: int, advice: str) -> int:
    number = check_number(value, name, at_least=at_least, advice=advice)
    if number != int(number):
        raise ValueError(f"{name} must be a whole number, got {number:g}; {advice}")
    return int(number)
