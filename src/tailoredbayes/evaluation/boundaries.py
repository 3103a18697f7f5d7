"""Decision boundaries in the plane of two covariates: optimal ones, and fitted ones with bands.

A logistic model of two covariates treats where expit(a + b1 x1 + b2 x2) >= t. For one draw of its
coefficients the boundary is the line

    x2 = (logit t - a - b1 x1) / b2,

and the draws together say, at each x1, where the boundary may lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import check_array, check_number, check_thresholds

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Boundaries", "Boundary", "decision_boundaries", "optimal_boundaries"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Boundary:
    """The boundary of one model at one threshold.

    Parameters
    ----------
    model, threshold
        Whose boundary, and at which risk.
    x1
        Where it was asked for, (n,).
    x2
        Where it lies, (branches, n): the median over the draws of a fit. nan where there is none.
    low, high
        Ends of the band at each x1, (n,), within the plane; nan where the draws decide alike
        throughout. None without draws.
    """

    model: str
    threshold: float
    x1: Floats
    x2: Floats
    low: Floats | None = None
    high: Floats | None = None


@dataclass(frozen=True)
class Boundaries:
    """Decision boundaries, one a model and threshold.

    Parameters
    ----------
    curves
        The boundaries.
    names
        Of the two covariates.
    prob
        Outside its bands this share of the draws and half of the rest, or more, decide alike;
        None without bands.
    """

    curves: tuple[Boundary, ...]
    names: tuple[str, str]
    prob: float | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return the boundaries in long form: a row a model, threshold, branch and x1."""
        import pandas as pd

        nothing = np.nan
        parts = [
            pd.DataFrame(
                {
                    "model": curve.model,
                    "threshold": curve.threshold,
                    "branch": branch,
                    "x1": curve.x1,
                    "x2": x2,
                    "low": nothing if curve.low is None else curve.low,
                    "high": nothing if curve.high is None else curve.high,
                }
            )
            for curve in self.curves
            for branch, x2 in enumerate(curve.x2)
        ]
        return pd.concat(parts, ignore_index=True)


def optimal_boundaries(
    simulation: Any,
    thresholds: ArrayLike,
    x1: ArrayLike,
    *,
    names: tuple[str, str] = ("x1", "x2"),
) -> Boundaries:
    """Return where the true risk equals each threshold: no rule decides better.

    Parameters
    ----------
    simulation
        What knows the truth: anything with ``boundary(threshold, x1)``, such as those of
        ``tailoredbayes.studies.generators``.
    thresholds
        One or several, strictly between 0 and 1.
    x1
        Where to follow the boundaries, (n,), in ascending order. Where a branch ends between two
        of them its end is added, so that branches that meet are seen to do so.
    names
        Of the two covariates.

    Returns
    -------
    Boundaries

    Examples
    --------
    >>> from tailoredbayes.studies.generators import Simulation1
    >>> found = optimal_boundaries(Simulation1(q=1), 0.2, [0.0, 0.8])
    >>> found.curves[0].x2
    array([[0. , 0.2]])
    """
    x1 = _checked_x1(x1)
    curves = tuple(_optimal(simulation, t, x1) for t in _several(thresholds))
    return Boundaries(curves, names)


def decision_boundaries(
    models: Any,
    thresholds: ArrayLike,
    x1: ArrayLike,
    *,
    x2_range: tuple[float, float] | None = None,
    prob: float = 0.9,
    names: tuple[str, str] = ("x1", "x2"),
) -> Boundaries:
    """Return where fitted models of two covariates change their decision, with bands.

    The boundary is the median of the draws' lines at each x1. The band is where the decision is
    uncertain: with C(x) the share of the draws under which a patient at x is treated,

        (1 - prob) / 2 < C(x) < (1 + prob) / 2,

    at each x1 from the lowest such x2 of the plane to the highest. Where all draws agree on the
    sign of b2 these are the quantiles of their lines; a steep boundary, on the sign of whose b2
    they do not agree, still has a narrow band.

    Parameters
    ----------
    models
        One model or a mapping from names to models. A model is a fitted estimator with draws, a
        ``Draws`` record, or a ``TailoredFamily``, whose model of each threshold is taken.
    thresholds
        One or several, strictly between 0 and 1.
    x1
        Where to follow the boundaries, (n,).
    x2_range
        Bottom and top of the plane, where bands end; by default those of ``x1``.
    prob
        Of the bands, as above.
    names
        Of the two covariates.

    Returns
    -------
    Boundaries

    Examples
    --------
    >>> from tailoredbayes.inference import Draws
    >>> draws = Draws(np.array([[[-1.0, -2.0, 2.0]] * 3]), ("intercept", "a", "b"), "nuts", "nuts")
    >>> decision_boundaries({"SB": draws}, 0.5, [0.0, 0.25]).curves[0].x2
    array([[0.5 , 0.75]])
    """
    named = models if isinstance(models, Mapping) else {"model": models}
    if not named:
        raise ValueError("models must name at least one model, got none")
    x1 = _checked_x1(x1)
    prob = check_number(prob, "prob", above=0, below=1, advice="0.9 asks for 90% bands")
    advice = "pass (bottom, top) of the plane"
    plane = x1 if x2_range is None else check_array(x2_range, "x2_range", advice=advice)
    ends = float(plane.min()), float(plane.max())
    curves = tuple(
        _fitted(str(name), _draws_at(model, t, str(name)), t, x1, prob, ends)
        for t in _several(thresholds)
        for name, model in named.items()
    )
    return Boundaries(curves, names, prob)


def _optimal(simulation: Any, threshold: float, x1: Floats) -> Boundary:
    found = np.isfinite(simulation.boundary(threshold, x1))
    ends = [
        _branch_end(simulation, threshold, branch, x1[i], x1[i + 1], there[i])
        for branch, there in enumerate(found)
        for i in np.flatnonzero(there[:-1] != there[1:])
    ]
    if ends:
        x1 = np.union1d(x1, ends)
    return Boundary("optimal", threshold, x1, simulation.boundary(threshold, x1))


def _branch_end(
    simulation: Any, threshold: float, branch: int, left: float, right: float, on_left: bool
) -> float:
    """Return the last x1 with a point of the branch, by bisection."""
    inside, outside = (left, right) if on_left else (right, left)
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        if np.isfinite(simulation.boundary(threshold, np.array([middle]))[branch, 0]):
            inside = middle
        else:
            outside = middle
    return float(inside)


def _fitted(
    name: str, draws: Any, threshold: float, x1: Floats, prob: float, plane: tuple[float, float]
) -> Boundary:
    flat = np.asarray(draws.flat, dtype=np.float64)
    if flat.shape[1] not in (2, 3):
        raise ValueError(
            f"models[{name!r}] must have two covariates, for a boundary in their plane, got "
            f"coefficients of {', '.join(draws.names)}"
        )
    intercept = flat[:, 0] if flat.shape[1] == 3 else np.zeros(len(flat))
    b1, b2 = flat[:, -2:].T
    cut = np.log(threshold) - np.log1p(-threshold)
    lines = (cut - intercept[:, None] - b1[:, None] * x1) / b2[:, None]
    low, high = _uncertain(lines, np.sign(b2), prob, plane)
    return Boundary(name, threshold, x1, np.median(lines, axis=0)[None, :], low, high)


def _uncertain(
    lines: Floats, sign: Floats, prob: float, plane: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return the lowest and the highest x2 at each x1 where the decision is uncertain.

    Going up along x2, C starts at the share of draws that treat below their line (b2 < 0), gains
    1 / draws at the line of each that treats above it, and loses as much at one of the others.
    """
    order = np.argsort(lines, axis=0)
    ordered = np.clip(np.take_along_axis(lines, order, axis=0), *plane)
    start = np.full((1, lines.shape[1]), np.count_nonzero(sign < 0))
    treated = np.concatenate([start, start + np.cumsum(sign[order], axis=0)]) / len(lines)
    ends = np.full_like(start, plane[0], dtype=float), np.full_like(start, plane[1], dtype=float)
    below = np.concatenate([ends[0], ordered])
    above = np.concatenate([ordered, ends[1]])
    unsure = (np.abs(treated - 0.5) < prob / 2) & (above > below)
    none = ~unsure.any(axis=0)
    low = np.where(unsure, below, np.inf).min(axis=0)
    high = np.where(unsure, above, -np.inf).max(axis=0)
    return np.where(none, np.nan, low), np.where(none, np.nan, high)


def _draws_at(model: Any, threshold: float, name: str) -> Any:
    if hasattr(model, "models_"):
        own = np.array(list(model.models_))
        near = np.flatnonzero(np.abs(own - threshold) <= 1e-9)
        if not len(near):
            raise ValueError(
                f"models[{name!r}] has no model for the threshold {threshold:g}; its thresholds "
                f"are {', '.join(f'{t:g}' for t in own)}"
            )
        model = model.models_[own[near[0]]]
    draws = getattr(model, "draws_", model)
    if not (hasattr(draws, "flat") and hasattr(draws, "names")):
        raise TypeError(
            f"models[{name!r}] must be a fitted estimator with draws or a Draws record, got a "
            f"{type(model).__name__}"
        )
    return draws


def _several(thresholds: ArrayLike) -> list[float]:
    given = check_array(thresholds, "thresholds", ndim=(0, 1))
    return [float(t) for t in check_thresholds(np.atleast_1d(given))]


def _checked_x1(x1: ArrayLike) -> Floats:
    return check_array(x1, "x1", advice="pass where to follow the boundary, as np.linspace does")
