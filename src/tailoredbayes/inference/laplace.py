"""Laplace's approximation: the mode of the posterior and the normal that fits it there.

:func:`find_modes` is damped Newton on all weight columns together. Each pass over the rows gives
value, gradient and curvature of every column still moving; columns that have arrived drop out.
With decrement d^2 = g' H^-1 g (H the curvature), d is how far the mode is, in posterior standard
deviations, for a quadratic; Newton stops once the step just taken had d below the tolerance, and
as convergence is quadratic the point it leaves is then exact to rounding [BoydVandenberghe2004].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.inference.draws import Chains, chain_count
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.priors import Prior
from tailoredbayes.rows import one_blas_thread

__all__ = ["Approximation", "CollinearityError", "Modes", "draw", "find_modes"]

Floats = NDArray[np.float64]

# The Newton decrement under which the last step is taken: its error is of the order of its square.
_TOLERANCE = 1e-6
# Over many rows, within a standard deviation of the mode, the curvature changes as little as the
# posterior differs from a normal: the next step is taken by the curvature at hand, from a pass that
# gives the gradient alone. Decrements d, d' of two full steps foretell the next, d' (d'/d) or less;
# where d'/d is so small that it is below 1e-6, the pass that would confirm it is spared, too.
_MANY_ROWS, _NEAR, _FORESEEN = 100_000, 1.0, 1e-3
_MOST_ITERATIONS = 100
# The share of the predicted gain that a step must bring [BoydVandenberghe2004, 9.2].
_ARMIJO = 1e-4
# A pivot of the curvature, scaled to unit diagonal, below this is rounding error.
_SINGULAR = 1e-13
# From this many rows on, the first steps are taken on a thinned sample of about this size ...
_PILOT_FROM, _PILOT_ROWS = 100_000, 25_000
# ... unless it would hold fewer events (or non-events) than this per coefficient.
_PILOT_EVENTS = 10
# Rounds of fitting the width over which a prior's kink is smoothed to the posterior's sd.
_SMOOTHING_ROUNDS = 4


class CollinearityError(ValueError):
    """Columns are linear combinations of others, to working precision."""


@dataclass(frozen=True)
class Approximation:
    """The normal approximation of one weight column's posterior, in the engine's coordinates.

    ``theta = mode + root @ z`` with z standard normal; ``root @ root.T`` is the covariance, the
    inverse of ``curvature``, in which the prior has the part ``prior_curvature``. When the
    posterior was found to be ``far_from_normal``, ``root`` is no more than a first guess at scale.
    """

    mode: Floats
    root: Floats
    curvature: Floats
    prior_curvature: Floats
    value: float
    converged: bool
    far_from_normal: bool = False

    @property
    def covariance(self) -> Floats:
        """Inverse of the curvature at the mode."""
        return np.asarray(self.root @ self.root.T)


@dataclass(frozen=True)
class Modes:
    """Where Newton came to rest, for k weight columns, in the engine's coordinates.

    ``theta`` (p, k); ``curvature`` (k, p, p), minus the Hessian there, and the prior's part in it;
    ``value`` (k,), the log posterior; ``decrement`` (k,), of the last step; ``iterations`` (k,);
    ``converged`` (k,).
    """

    theta: Floats
    curvature: Floats
    prior_curvature: Floats
    value: Floats
    decrement: Floats
    iterations: NDArray[np.intp]
    converged: NDArray[np.bool_]

    def roots(self) -> Floats:
        """Return R (k, p, p) with R R' the inverse curvature."""
        return _roots(self.curvature)

    def approximation(self, column: int = 0) -> Approximation:
        """Return the normal approximation of one column."""
        return Approximation(
            mode=self.theta[:, column],
            root=_roots(self.curvature[column : column + 1])[0],
            curvature=self.curvature[column],
            prior_curvature=self.prior_curvature[column],
            value=float(self.value[column]),
            converged=bool(self.converged[column]),
        )


def find_modes(
    posterior: TailoredPosterior,
    columns: NDArray[np.intp] | None = None,
    *,
    start: Floats | None = None,
) -> Modes:
    """Find the mode of each weight column's posterior.

    Parameters
    ----------
    columns
        The weight columns wanted; all by default.
    start
        (p,) or (p, k): where to start, in the engine's coordinates. By default a quick fit on a
        thinned sample of many rows, and one column's mode for all the others.

    Raises
    ------
    CollinearityError
        If the curvature is singular to working precision, so that no sensible answer exists.

    Notes
    -----
    A prior with a kink (the Laplace prior) has no curvature there; its kink is rounded off over
    one posterior standard deviation, which is what a normal approximation can see.

    Examples
    --------
    Three events among ten rows and a column of ones: the mode is the logit of 0.3, nearly, as the
    prior is wide.

    >>> import numpy as np
    >>> y = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    >>> posterior = TailoredPosterior(np.ones((10, 1)), y, fit_intercept=False)
    >>> mode = posterior.coefficients(find_modes(posterior).theta)
    >>> mode.round(3), float(np.log(0.3 / 0.7).round(3))
    (array([[-0.847]]), -0.847)
    """
    indices = np.arange(posterior.n_columns) if columns is None else np.asarray(columns)
    with one_blas_thread:  # the solves, too, are too small for threads
        return _find_modes(posterior, indices, start)


def _find_modes(
    posterior: TailoredPosterior, indices: NDArray[np.intp], start: Floats | None
) -> Modes:
    p, k = posterior.n_coefficients, len(indices)
    if start is None:
        start = _start(posterior, indices)
    theta = np.array(np.broadcast_to(start.reshape(p, -1), (p, k)), dtype=np.float64)
    smooth = posterior.prior.smoothed(np.ones((p, 1)))
    if smooth is posterior.prior:
        return _newton(posterior, indices, theta, width=None)
    width = np.full((p, k), np.inf)
    modes = None
    for round_ in range(_SMOOTHING_ROUNDS):
        if round_ == 0:
            width = _coefficient_sd(posterior, theta, indices)
        modes = _newton(posterior, indices, theta, width=width)
        theta = modes.theta
        width = np.sqrt(_variances(posterior, modes.roots()))
    assert modes is not None
    return modes


def _start(posterior: TailoredPosterior, indices: NDArray[np.intp]) -> Floats:
    zero = np.zeros((posterior.n_coefficients, 1))
    if len(indices) > 1:
        # The column with the most weight is the least tailored: all others set out from its mode.
        heaviest = indices[[int(np.argmax(posterior.weight_summary.weight[indices]))]]
        return find_modes(posterior, heaviest).theta
    if posterior.rows.n_rows >= _PILOT_FROM:
        step = posterior.rows.n_rows // _PILOT_ROWS
        used = posterior.weight_summary
        events = used.events_used[indices[0]]
        rarer = min(events, used.rows_used[indices[0]] - events)
        if rarer / step >= _PILOT_EVENTS * posterior.n_coefficients:
            try:
                return _newton(posterior.thinned(step), indices, zero, width=None).theta
            except CollinearityError:  # of the sample only, perhaps
                return zero
    return zero


def _coefficient_sd(
    posterior: TailoredPosterior, theta: Floats, indices: NDArray[np.intp]
) -> Floats:
    """Standard deviation of each coefficient from the likelihood's curvature alone, about."""
    curvature = posterior.evaluate(theta, indices).curvature
    diagonal = np.diagonal(curvature, axis1=1, axis2=2).T
    return 1 / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))


def _variances(posterior: TailoredPosterior, roots: Floats) -> Floats:
    mapped = posterior.coefficient_map() @ roots
    return np.asarray((mapped**2).sum(axis=2).T)


def _newton(
    posterior: TailoredPosterior,
    indices: NDArray[np.intp],
    start: Floats,
    width: Floats | None,
) -> Modes:
    p, k = start.shape
    # A wild step may meet extreme margins; the damping below is what answers it.
    here = start.copy()  # the last point accepted, of every column
    trial = start.copy()
    direction = np.zeros((p, k))
    share = np.ones(k)  # of the Newton step that the trial takes
    value, gain = np.full(k, -np.inf), np.zeros(k)
    curvature = np.zeros((k, p, p))
    decrement, iterations = np.full(k, np.inf), np.zeros(k, dtype=np.intp)
    converged = np.zeros(k, dtype=bool)
    active = np.arange(k)
    many = posterior.rows.n_rows >= _MANY_ROWS
    near = np.zeros(k, dtype=bool)  # the curvature at hand will do for the next step
    for _ in range(_MOST_ITERATIONS):
        prior: Prior | None = None
        if width is not None:
            prior = posterior.prior.smoothed(width[:, active])
        order = 1 if near[active].all() else 2
        found = posterior.evaluate(trial[:, active], indices[active], order=order, prior=prior)
        iterations[active] += 1
        rounding = 1e-10 * (1 + np.abs(value[active]))
        enough = found.value >= value[active] + _ARMIJO * share[active] * gain[active] - rounding
        enough |= np.isneginf(value[active])
        # A trial that fell short is halved; it keeps its direction.
        short = active[~enough]
        share[short] /= 2
        trial[:, short] = here[:, short] + share[short] * direction[:, short]
        near[active] = False
        moved = active[enough]
        if len(moved):
            here[:, moved] = trial[:, moved]
            value[moved] = found.value[enough]
            if order == 2:
                curvature[moved] = found.curvature[enough]
            gradient = found.gradient[:, enough]
            step = _newton_step(curvature[moved], gradient)
            direction[:, moved] = step
            gain[moved] = np.maximum((gradient * step).sum(axis=0), 0.0)
            last, full = decrement[moved], share[moved] == 1.0
            decrement[moved] = now = np.sqrt(gain[moved])
            share[moved] = 1.0
            trial[:, moved] = here[:, moved] + step
            foreseen = many & full & (last <= _NEAR) & (now <= _FORESEEN * last)
            near[moved] = many & (order == 2) & (now <= _NEAR)
            converged[moved] = (now <= _TOLERANCE) | foreseen
            arrived = moved[converged[moved]]
            here[:, arrived] = trial[:, arrived]  # the last step, exact to rounding
        active = active[~converged[active] & (share[active] > 1e-10)]
        if not len(active):
            break
    _refuse_singular(posterior, curvature)
    smooth = posterior.prior if width is None else posterior.prior.smoothed(width)
    prior_part = posterior.pull_curvature(smooth.curvature(posterior.coefficients(here)))
    return Modes(here, curvature, prior_part, value, decrement, iterations, converged)


def _newton_step(curvature: Floats, gradient: Floats) -> Floats:
    """Solve H step = gradient for each column, whatever the units of the coefficients."""
    scale = _unit_scale(curvature)
    unit = curvature * scale[:, :, None] * scale[:, None, :]
    right = (gradient.T * scale)[:, :, None]
    try:
        np.linalg.cholesky(unit)
        step = np.linalg.solve(unit, right)
    except np.linalg.LinAlgError:
        # Not positive definite: a log-density that is not concave here, or collinear columns.
        # Turn the offending directions around, as the trust they deserve is set by damping.
        eigenvalue, vector = np.linalg.eigh(unit)
        eigenvalue = np.maximum(np.abs(eigenvalue), 1e-10)
        step = vector @ ((vector.transpose(0, 2, 1) @ right) / eigenvalue[:, :, None])
    return np.asarray((step[:, :, 0] * scale).T)


def _unit_scale(curvature: Floats) -> Floats:
    diagonal = np.abs(np.diagonal(curvature, axis1=1, axis2=2))
    return np.asarray(1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)))


def _roots(curvature: Floats) -> Floats:
    scale = _unit_scale(curvature)
    lower = np.linalg.cholesky(curvature * scale[:, :, None] * scale[:, None, :])
    return np.asarray(scale[:, :, None] * np.linalg.inv(lower).transpose(0, 2, 1))


def _refuse_singular(posterior: TailoredPosterior, curvature: Floats) -> None:
    scale = _unit_scale(curvature)
    unit = curvature * scale[:, :, None] * scale[:, None, :]
    try:
        lower = np.linalg.cholesky(unit)
        if (np.diagonal(lower, axis1=1, axis2=2) ** 2).min() > _SINGULAR:
            return
    except np.linalg.LinAlgError:
        pass
    eigenvalue, vector = np.linalg.eigh(unit)
    worst = int(np.argmin(eigenvalue[:, 0]))
    part = np.abs(vector[worst, :, 0])
    involved = [posterior.names[j] for j in np.flatnonzero(part > 0.1 * part.max())]
    # One alone is constant (a far column has had its constant taken off) or nothing but zeros.
    alone = f"column {involved[0]} is constant or collinear"
    several = f"columns {', '.join(involved)} are collinear"
    raise CollinearityError(
        f"{several if len(involved) > 1 else alone} to working precision and the prior does not "
        "tell them apart (smallest eigenvalue of the scaled curvature "
        f"{eigenvalue[worst, 0]:.1e}); drop one of them, rescale them, or give a tighter prior"
    )


def draw(
    posterior: TailoredPosterior,
    column: int,
    approximation: Approximation,
    *,
    draws: int,
    rng: np.random.Generator,
) -> Chains:
    """Draw independently from the normal approximation."""
    chains = chain_count(draws)
    z = rng.standard_normal((draws, posterior.n_coefficients))
    theta = approximation.mode + z @ approximation.root.T
    return Chains(theta.reshape(chains, draws // chains, -1))
