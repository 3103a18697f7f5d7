"""What the data, the normal approximation and the chains say about themselves: findings.

Each function looks for one thing and returns what it found, or None. Whatever costs more than the
fit itself, a linear programme above all, runs only when cheap symptoms ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.findings import Finding
from tailoredbayes.inference.draws import Chains, Draws
from tailoredbayes.inference.laplace import Approximation
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.rows import BLOCK_NUMBERS, block_rows

__all__ = [
    "Separation",
    "chain_findings",
    "collinearity",
    "few_weights",
    "k_hat_finding",
    "non_normality",
    "prior_share",
    "separation",
    "weak_data",
]

Floats = NDArray[np.float64]

K_HAT_LIMIT = 0.7  # [Vehtari2024]
R_HAT_LIMIT = 1.01  # [Vehtari2021]
ESS_LIMIT = 400.0  # [Vehtari2021]: 100 for each of four chains
_CHAIN_SAMPLERS = ("nuts", "metropolis")
# Weighted events (or non-events) under which a fit is a guess, whatever the number of covariates.
_FEW_EVENTS = 10.0
# Weight a coefficient, under which the rows are few.
_FEW_ROWS = 5.0
# Smallest eigenvalue of the covariates' weighted correlation matrix that passes: beyond, some
# coefficient's variance is inflated some ten-thousandfold.
_COLLINEAR = 1e-4
# A share of the curvature below this is what rounding leaves of it.
_LOST = 1e-12
# A prior that has more than this share of a direction decides it ...
_DECIDES = 0.5
# ... and one that has more than this share of one makes separation worth a linear programme.
_SUSPICIOUS = 1e-3
# Two standard deviations from the mode a normal has dropped by 2; a drop outside these multiples
# of that is no normal's.
_NORMAL_DROP = (0.4, 2.5)
# Rows of the linear programme to begin with, and added to it at a time.
_PROGRAMME_ROWS = 2000
_PROGRAMME_ROUNDS = 50
# Feasibility tolerance of the linear programme solver, and ten times that for what we conclude.
_PROGRAMME_TOLERANCE = 1e-6


def few_weights(posterior: TailoredPosterior, column: int) -> Iterator[Finding]:
    """Find weights that leave too little data: few weighted rows, few weighted events."""
    s, p = posterior.weight_summary, posterior.n_coefficients
    weight, events = float(s.weight[column]), float(s.events_weight[column])
    if weight < _FEW_ROWS * p:
        yield Finding(
            "few-weighted-rows",
            f"the weights sum to {weight:.3g} for {p} coefficients; lower the discount, or expect "
            "the prior to speak",
            weight,
        )
    rarer, kind = min((events, "events"), (weight - events, "non-events"))
    if rarer < _FEW_EVENTS:
        yield Finding(
            "few-weighted-events",
            f"the {kind} have a total weight of {rarer:.3g}; lower the discount or add data",
            rarer,
        )


def prior_share(approximation: Approximation) -> tuple[Floats, Floats]:
    """Return the prior's share of the curvature by direction, ascending, and the directions.

    Directions are columns in the engine's coordinates, one posterior standard deviation long.
    """
    root = approximation.root
    share, vector = np.linalg.eigh(root.T @ approximation.prior_curvature @ root)
    return share, root @ vector


def weak_data(posterior: TailoredPosterior, approximation: Approximation) -> Finding | None:
    """Find a direction of the coefficients that the prior decides, not the data."""
    share, direction = prior_share(approximation)
    if share[-1] <= _DECIDES:
        return None
    weak = direction[:, share > _DECIDES]
    # In units of each coefficient's own sd, so that units of measurement do not matter.
    sd = np.sqrt((approximation.root**2).sum(axis=1))
    part = np.sqrt((weak**2).sum(axis=1)) / sd
    involved = [name for name, x in zip(posterior.names, part, strict=True) if x > 0.5]
    return Finding(
        "weak-data",
        f"the prior has {share[-1]:.0%} of what is known along a direction that involves "
        f"{_listed(involved)}; the data say little there",
        float(share[-1]),
    )


def collinearity(posterior: TailoredPosterior, approximation: Approximation) -> Finding | None:
    """Find covariates that are nearly linear combinations of others (or constant)."""
    information = approximation.curvature - approximation.prior_curvature
    # Beside so strong a prior, or for such small numbers, the rows' part may be rounding error:
    # such a column is passed over (and the prior decides it, says weak_data).
    known = np.diagonal(information) > _LOST * np.diagonal(approximation.curvature)
    covariates = known[-posterior.rows.n_features :]  # a view
    covariates |= posterior.summary.low == posterior.summary.high
    if not covariates.any() or (posterior.fit_intercept and not known[0]):
        return None
    information = information[np.ix_(known, known)]
    names = [name for name, flag in zip(posterior.names, known, strict=True) if flag]
    raw = np.diagonal(information)[-np.count_nonzero(covariates) :]
    if posterior.fit_intercept:
        # What is left of the covariates once the intercept has had its part: their covariance.
        edge, corner = information[1:, 0], information[0, 0]
        information = information[1:, 1:] - np.outer(edge, edge) / corner
        names = names[1:]
    spread = np.diagonal(information)
    constant = spread <= 1e-12 * raw
    if posterior.fit_intercept and constant.any():
        which = [name for name, flag in zip(names, constant, strict=True) if flag]
        return Finding(
            "collinearity",
            f"{_listed(which)} {'is' if len(which) == 1 else 'are'} constant where the weights "
            "are, and cannot be told from the intercept; drop it",
            0.0,
        )
    scale = 1 / np.sqrt(np.maximum(spread, np.finfo(float).tiny))
    eigenvalue, vector = np.linalg.eigh(information * np.outer(scale, scale))
    if eigenvalue[0] >= _COLLINEAR:
        return None
    part = np.abs(vector[:, 0])
    involved = [name for name, x in zip(names, part, strict=True) if x > 0.1 * part.max()]
    return Finding(
        "collinearity",
        f"{_listed(involved)} are nearly linear combinations of each other; their coefficients "
        "can only be read together: drop one, or keep them for prediction alone",
        float(max(eigenvalue[0], 0.0)),
    )


def non_normality(
    posterior: TailoredPosterior, column: int, approximation: Approximation
) -> float | None:
    """Return the worst drop of the log posterior, as a multiple of a normal's, if it is too odd.

    The log posterior is tried two standard deviations from the mode, both ways along each
    direction of :func:`prior_share`, where a normal has dropped by exactly 2.
    """
    _, direction = prior_share(approximation)
    mode = approximation.mode[:, None]
    points = np.concatenate([mode, mode + 2 * direction, mode - 2 * direction], axis=1)
    value = posterior.evaluate(points, column, order=0).value
    drop = (value[0] - value[1:]) / 2
    low, high = _NORMAL_DROP
    oddness = np.maximum(low / np.maximum(drop, 1e-300), drop / high)
    worst = int(np.argmax(oddness))
    return float(drop[worst]) if oddness[worst] > 1 else None


@dataclass(frozen=True)
class Separation:
    """A linear rule that no weighted row contradicts.

    ``complete`` when every such row lies strictly on its side; otherwise some lie on the boundary
    (quasi-complete). ``direction`` is in the engine's coordinates.
    """

    complete: bool
    direction: Floats

    def prior_is_flat(self, posterior: TailoredPosterior, approximation: Approximation) -> bool:
        """Whether the prior does not fall along the direction: then no posterior is proper."""
        # Far along it: the direction moves margins by about 1.
        away = approximation.mode + np.array([[0.0], [1e6]]) * self.direction
        near, far = posterior.prior.value(posterior.coefficients(away.T))
        return bool(far >= near)

    def finding(self, posterior: TailoredPosterior) -> Finding:
        """Say it."""
        kind = "completely" if self.complete else "quasi-completely"
        return Finding(
            "separation",
            f"a linear rule separates the weighted outcomes {kind}, so the size of the "
            "coefficients is the prior's alone; give an informative prior such as Normal(0, 2.5) "
            "on standardised covariates",
            float(self.complete),
        )


def separation(
    posterior: TailoredPosterior,
    column: int,
    approximation: Approximation,
    *,
    suspected: bool = False,
) -> Separation | None:
    """Look for a direction b with s_i x_i' b >= 0 for every weighted row, > 0 for some.

    Such a direction exists exactly when the likelihood has no maximum [AlbertAnderson1984]. It is
    looked for only when the prior has a visible share of the curvature (or ``suspected``): a slow
    convergence alone proves nothing. The linear programmes run over the rows that matter: rows
    that contradict an answer are added until none does, or no answer is left.
    """
    share, _ = prior_share(approximation)
    if not suspected and share[-1] < _SUSPICIOUS:
        return None
    largest, total = _extent(posterior, column)
    unit = np.where(largest > 0, largest, 1.0)
    rows, _ = _hardest(posterior, column, approximation.mode)
    for complete in (True, False):
        for _ in range(_PROGRAMME_ROUNDS):
            direction = _separating(rows / unit, total / unit, complete)
            if direction is None:
                break
            direction /= unit
            hardest, best = _hardest(posterior, column, direction)
            margin = hardest @ direction
            if complete and margin.min() > _PROGRAMME_TOLERANCE:
                return Separation(True, direction)
            if not complete and margin.min() >= -_PROGRAMME_TOLERANCE:
                return Separation(False, direction) if best > _PROGRAMME_TOLERANCE else None
            limit = _PROGRAMME_TOLERANCE if complete else -_PROGRAMME_TOLERANCE
            rows = np.concatenate([rows, hardest[margin <= limit]])
    return None


def _separating(rows: Floats, total: Floats, complete: bool) -> Floats | None:
    """Return b in [-1, 1]^p with rows @ b >= 0, if there is a sensible one.

    ``complete``: the one that maximises the least margin, which must be above 0. Otherwise the one
    that maximises the sum of the margins of all rows, those not among ``rows`` too.
    """
    from scipy.optimize import linprog

    p = rows.shape[1]
    if complete:  # maximise t with rows @ b >= t
        solved = linprog(
            np.append(np.zeros(p), -1.0),
            A_ub=np.column_stack([-rows, np.ones(len(rows))]),
            b_ub=np.zeros(len(rows)),
            bounds=[(-1, 1)] * p + [(0, 1)],
        )
    else:
        objective = total / np.abs(total).max(initial=np.finfo(float).tiny)
        solved = linprog(-objective, A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1))
    if not solved.success or -solved.fun <= _PROGRAMME_TOLERANCE:
        return None
    return np.asarray(solved.x[:p], dtype=np.float64)


def _signed_rows(posterior: TailoredPosterior, column: int) -> Iterator[Floats]:
    """Yield s_i x_i of the rows of positive weight, in blocks."""
    size = block_rows(posterior.n_coefficients, 8 * BLOCK_NUMBERS)
    for shard in range(posterior.rows.n_shards):
        for block in posterior.rows.blocks(shard, size, np.array([column])):
            signed = -posterior.against(block)[block.weights[:, 0] > 0]
            if len(signed):
                yield signed


def _extent(posterior: TailoredPosterior, column: int) -> tuple[Floats, Floats]:
    """Return the largest |x_j| of each coefficient and the sum of all signed rows."""
    largest = total = np.zeros(posterior.n_coefficients)
    for signed in _signed_rows(posterior, column):
        largest = np.maximum(largest, np.abs(signed).max(axis=0))
        total = total + signed.sum(axis=0)
    return largest, total


def _hardest(posterior: TailoredPosterior, column: int, theta: Floats) -> tuple[Floats, float]:
    """Return the signed rows of least margin, at most ``_PROGRAMME_ROWS``, and the best margin."""
    kept, best = np.zeros((0, posterior.n_coefficients)), -np.inf
    for signed in _signed_rows(posterior, column):
        best = max(best, float((signed @ theta).max()))
        kept = np.concatenate([kept, signed])
        if len(kept) > _PROGRAMME_ROWS:
            kept = kept[np.argpartition(kept @ theta, _PROGRAMME_ROWS)[:_PROGRAMME_ROWS]]
    return kept, best


def k_hat_finding(chains: Chains) -> Finding | None:
    """Find importance weights whose tail is too heavy to trust."""
    k_hat = chains.facts.get("k_hat")
    if k_hat is None or k_hat <= K_HAT_LIMIT:
        return None
    return Finding(
        "k-hat",
        f"the importance weights have k-hat {k_hat:.2f}, above {K_HAT_LIMIT}, and cannot be "
        "trusted; use sampler='nuts'",
        k_hat,
    )


def chain_findings(draws: Draws) -> Iterator[Finding]:
    """Find chains that disagree, too few effective draws, divergences."""
    if len(draws.flat) <= ESS_LIMIT:
        return  # that few were asked for
    if draws.sampler not in _CHAIN_SAMPLERS:
        # Independent draws have no chains to disagree; their weights said what they are worth.
        worth = draws.facts.get("importance_ess", np.inf)
        if worth < ESS_LIMIT:
            yield Finding(
                "low-ess",
                f"the importance weights are worth {worth:.0f} draws, below {ESS_LIMIT:.0f}: ask "
                "for more draws, or use sampler='nuts'",
                worth,
            )
        return
    stuck = np.ptp(draws.flat, axis=0) == 0
    if stuck.any():
        which = [name for name, flag in zip(draws.names, stuck, strict=True) if flag]
        yield Finding(
            "r-hat",
            f"all draws of {_listed(which)} are alike: the chains never moved; check the prior's "
            "log-density and the scale of the covariates",
            float(np.inf),
        )
        return
    r_hat, ess = draws.r_hat(), np.minimum(draws.ess("bulk"), draws.ess("tail"))
    worst = int(np.nanargmax(r_hat))
    if r_hat[worst] > R_HAT_LIMIT:
        yield Finding(
            "r-hat",
            f"R-hat of {draws.names[worst]} is {r_hat[worst]:.3f}, above {R_HAT_LIMIT}: the "
            "chains disagree; ask for more draws",
            float(r_hat[worst]),
        )
    worst = int(np.nanargmin(ess))
    if ess[worst] < ESS_LIMIT:
        yield Finding(
            "low-ess",
            f"{draws.names[worst]} has {ess[worst]:.0f} effective draws, below "
            f"{ESS_LIMIT:.0f}: ask for more draws",
            float(ess[worst]),
        )
    diverging = draws.facts.get("divergences", 0.0)
    if diverging:
        yield Finding(
            "divergences",
            f"{diverging:.0f} NUTS transitions diverged; a tighter prior makes the posterior "
            "easier to follow",
            diverging,
        )


def _listed(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
