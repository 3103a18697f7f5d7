"""Decision boundaries in the plane of two covariates: optimal, observed, and fitted with bands.

A logistic model of two covariates treats where expit(a + b1 x1 + b2 x2) >= t. For one draw of its
coefficients the boundary is the line

    x2 = (logit t - a - b1 x1) / b2,

and the draws together say, at each x1, where the boundary may lie. Any other model's boundary is
where its risk, known on a grid, crosses t. Where the best boundary would be is known of a
simulation; of patients the smoothed share of events is the nearest there is to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import (
    BoolArray,
    check_array,
    check_both_classes,
    check_finite,
    check_number,
    check_outcome,
    check_same_length,
    check_thresholds,
)
from tailoredbayes.evaluation.models import model_risks, named_models, threshold_places
from tailoredbayes.evaluation.smoothing import smoothed_share

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Boundaries",
    "Boundary",
    "decision_boundaries",
    "observed_boundaries",
    "optimal_boundaries",
]

Floats = NDArray[np.float64]

# The plane of some rows holds this share of the values of each covariate, the middle ones.
_IN_VIEW = 0.98
# Points a side of the grid on which a model's risk, and that on which the rows are smoothed.
_GRID, _COARSE = 201, 61
_SPAN = 0.3
_FEWEST = 10  # rows to smooth over
_OBSERVED = "observed"


@dataclass(frozen=True)
class Boundary:
    """The boundary of one model at one threshold.

    Parameters
    ----------
    model, threshold
        Whose boundary, and at which risk.
    x1
        Where it was asked for, (n,); of a boundary that was traced, (branches, n).
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

    def branches(self) -> Iterator[tuple[Floats, Floats]]:
        """Give the path of each branch, (x1, x2)."""
        for branch, x2 in enumerate(self.x2):
            if self.x1.ndim == 1:
                yield self.x1, x2
            else:  # of its own length, filled up with nan
                there = np.isfinite(x2)
                yield self.x1[branch, there], x2[there]


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
    x1_range, x2_range
        Ends of the plane.
    """

    curves: tuple[Boundary, ...]
    names: tuple[str, str]
    prob: float | None = None
    x1_range: tuple[float, float] | None = None
    x2_range: tuple[float, float] | None = None

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
                    "x1": x1,
                    "x2": x2,
                    "low": nothing if curve.low is None else curve.low,
                    "high": nothing if curve.high is None else curve.high,
                }
            )
            for curve in self.curves
            for branch, (x1, x2) in enumerate(curve.branches())
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


def observed_boundaries(
    X: Any,
    y: ArrayLike,
    thresholds: ArrayLike,
    *,
    span: float = _SPAN,
    names: tuple[str, str] | None = None,
) -> Boundaries:
    """Return where the smoothed share of events equals each threshold.

    Nobody knows the optimal boundary of patients. This is what their rows say of it, without a
    model: at each point of the plane a local linear regression of the outcome, each covariate in
    units of its standard deviation, over the nearest rows that make up the share ``span``, with
    Cleveland's tricube weights (1 - (distance / largest)^3)^3 [ClevelandDevlin1988]. Boundaries
    near the edge of the rows, or with few of them, are as uncertain as they look.

    Parameters
    ----------
    X
        Rows of the two covariates (n, 2); the plane holds the middle 98% of each.
    y
        Outcomes (n,), 0 or 1.
    thresholds
        One or several, strictly between 0 and 1.
    span
        Share of the rows that each point is smoothed over.
    names
        Of the two covariates; by default the columns' names.

    Returns
    -------
    Boundaries
        One called "observed" a threshold.

    Examples
    --------
    The outcome depends on x2 alone, and is as likely as not at 0:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(2000, 2))
    >>> y = rng.uniform(size=2000) < 0.5 + X[:, 1] / 2
    >>> (curve,) = observed_boundaries(X, y, 0.5).curves
    >>> bool(np.nanmax(np.abs(curve.x2)) < 0.2)
    True
    """
    plane = _plane(X, None, names, "X")
    event = _outcome_of_rows(y, plane, "X")
    advice = "0.3 smooths over the nearest 30% of the rows"
    span = check_number(span, "span", above=0, at_most=1, advice=advice)
    _check_enough(len(event), span)
    return Boundaries(
        tuple(_observed(plane, event, _several(thresholds), span)),
        plane.names,
        x1_range=plane.x1_range,
        x2_range=plane.x2_range,
    )


def decision_boundaries(
    models: Any,
    thresholds: ArrayLike,
    x1: Any,
    y: ArrayLike | None = None,
    *,
    x2_range: tuple[float, float] | None = None,
    prob: float = 0.9,
    names: tuple[str, str] | None = None,
) -> Boundaries:
    """Return where fitted models of two covariates change their decision, with bands.

    The boundary is the median of the draws' lines at each x1. The band is where the decision is
    uncertain: with C(x) the share of the draws under which a patient at x is treated,

        (1 - prob) / 2 < C(x) < (1 + prob) / 2,

    at each x1 from the lowest such x2 of the plane to the highest. Where all draws agree on the
    sign of b2 these are the quantiles of their lines; a steep boundary, on the sign of whose b2
    they do not agree, still has a narrow band.

    A model without draws has a boundary where its risk, known on a grid of 201 x 201 points of the
    plane, crosses t, and no band.

    Parameters
    ----------
    models
        One model or a mapping from names to models. A model is a fitted estimator with draws, a
        ``Draws`` record, a ``TailoredFamily``, whose model of each threshold is taken, or any
        fitted classifier. A family alone is "TB", with its standard Bayes "SB" beside it.
    thresholds
        One or several, strictly between 0 and 1.
    x1
        Where to follow the boundaries, (n,); or rows of the two covariates (n, 2), whose middle
        98% of each are the plane.
    y
        Outcomes of these rows: their :func:`observed_boundaries` are added.
    x2_range
        Bottom and top of the plane, where bands end; by default those of the rows, or of ``x1``.
    prob
        Of the bands, as above.
    names
        Of the two covariates; by default the columns' names.

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
    named = named_models(models, "models")
    if not named:
        raise ValueError("models must name at least one model, got none")
    plane = _plane(x1, x2_range, names, "x1")
    prob = check_number(prob, "prob", above=0, below=1, advice="0.9 asks for 90% bands")
    ts = _several(thresholds)
    curves: list[Boundary] = []
    surfaces: dict[str, Floats] = {}
    for t, (name, model) in product(ts, ((str(name), model) for name, model in named.items())):
        drawn = _lines_at(model, t, name, plane)
        if drawn is not None:
            curves.append(_fitted(name, *drawn, t, plane.x1, prob, plane.x2_range))
            continue
        if name not in surfaces:  # one for all thresholds
            surfaces[name] = _risk_surface(name, model, plane)
        curves.append(_crossing(name, t, *plane.grid(_GRID), surfaces[name]))
    if y is not None:
        event = _outcome_of_rows(y, plane, "x1")
        _check_enough(len(event), _SPAN)
        if _OBSERVED in map(str, named):
            raise ValueError(
                f"models may not be named {_OBSERVED!r} where y is given, which stands for its "
                "smoothed share of events; choose another name"
            )
        curves = [*_observed(plane, event, ts, _SPAN), *curves]
    return Boundaries(tuple(curves), plane.names, prob, plane.x1_range, plane.x2_range)


# --- The plane --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plane:
    """Where boundaries are looked for."""

    x1: Floats
    x2_range: tuple[float, float]
    names: tuple[str, str]
    rows: Floats | None
    columns: tuple[str, str] | None
    """Of a table, to hand its likes to models that were fitted to one."""

    @property
    def x1_range(self) -> tuple[float, float]:
        """Its ends to the left and to the right."""
        return float(self.x1.min()), float(self.x1.max())

    def grid(self, points: int) -> tuple[Floats, Floats]:
        """Return so many values of each covariate, from end to end."""
        return np.linspace(*self.x1_range, points), np.linspace(*self.x2_range, points)


def _plane(
    given: Any,
    x2_range: tuple[float, float] | None,
    names: tuple[str, str] | None,
    argument: str,
) -> _Plane:
    advice = "pass where to follow the boundary, as np.linspace does, or rows (n, 2)"
    values = check_array(given, argument, ndim=(1, 2), advice=advice)
    check_finite(values, argument, advice="drop the row")
    if x2_range is not None:
        asked = "pass (bottom, top) of the plane"
        ends = check_array(x2_range, "x2_range", advice=asked)
        check_finite(ends, "x2_range", advice=asked)
        if len(ends) != 2 or not ends[0] < ends[1]:
            raise ValueError(
                f"x2_range must be two ends, the lower first, got {ends.tolist()}; {asked}"
            )
        x2_range = float(ends[0]), float(ends[1])
    columns = None
    if values.ndim == 1:
        x1 = values
        if x2_range is None:
            x2_range = float(values.min()), float(values.max())
    else:
        if values.shape[1] != 2:
            raise ValueError(
                f"{argument} must have two columns, for a boundary in their plane, got shape "
                f"{values.shape}"
            )
        if hasattr(given, "columns"):
            columns = str(given.columns[0]), str(given.columns[1])
        low, high = np.quantile(values, [(1 - _IN_VIEW) / 2, (1 + _IN_VIEW) / 2], axis=0)
        for j in range(2):
            if not low[j] < high[j]:
                raise ValueError(
                    f"the middle 98% of column {j} must differ to span a plane, got {low[j]:g} only"
                )
        x1 = np.linspace(low[0], high[0], _GRID)
        if x2_range is None:
            x2_range = float(low[1]), float(high[1])
    rows = values if values.ndim == 2 else None
    return _Plane(x1, x2_range, names or columns or ("x1", "x2"), rows, columns)


def _check_enough(rows: int, span: float) -> None:
    if span * rows < _FEWEST:
        raise ValueError(
            f"span must take in at least {_FEWEST} rows to smooth over, got {span:g} of {rows}; "
            "take a larger span, or more rows"
        )


def _outcome_of_rows(y: ArrayLike, plane: _Plane, argument: str) -> BoolArray:
    """Return the checked outcomes of the plane's rows."""
    if plane.rows is None:
        raise ValueError(f"y needs its rows (n, 2) as {argument}, got a line to follow")
    event = check_outcome(y, "y")
    check_same_length(**{argument: plane.rows, "y": event})
    check_both_classes(event, "y")
    return event


# --- Boundaries where a risk crosses t --------------------------------------------------------


def _risk_surface(name: str, model: Any, plane: _Plane) -> Floats:
    """Return a model's risk on the plane's grid, (x1, x2)."""
    x1, x2 = plane.grid(_GRID)
    points: Any = np.column_stack([np.repeat(x1, _GRID), np.tile(x2, _GRID)])
    if plane.columns is not None:
        import pandas as pd

        points = pd.DataFrame(points, columns=list(plane.columns))
        own = list(getattr(model, "feature_names_in_", plane.columns))
        points = points[own] if set(own) == set(plane.columns) else points
    nobody = np.zeros(len(points), dtype=bool)
    risk = model_risks({name: model}, nobody, X=points, name="models")[name]
    return risk.reshape(_GRID, _GRID)


def _crossing(name: str, threshold: float, x1: Floats, x2: Floats, surface: Floats) -> Boundary:
    """Return where a surface, (x1, x2), crosses the threshold: by marching squares."""
    from contourpy import contour_generator

    # Treated where the risk is the threshold or more: a plateau at the threshold is inside.
    level = float(np.nextafter(threshold, 0))
    lines = [_rightwards(line) for line in contour_generator(x1, x2, surface.T).lines(level)]
    longest = max((len(line) for line in lines), default=1)
    paths = np.full((max(len(lines), 1), longest, 2), np.nan)
    for path, line in zip(paths, lines, strict=False):
        path[: len(line)] = line
    return Boundary(name, threshold, paths[..., 0], paths[..., 1])


def _rightwards(line: Any) -> Floats:
    """Turn a path so that it ends to the right of where it starts; a closed one at its rightmost.

    >>> _rightwards(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])).tolist()
    [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    """
    path = np.asarray(line, dtype=np.float64)
    if (path[0] == path[-1]).all():
        turned = np.roll(path[:-1], -int(path[:-1, 0].argmax()), axis=0)
        return np.concatenate([turned, turned[:1]])
    return path if path[0, 0] <= path[-1, 0] else path[::-1]


def _observed(
    plane: _Plane, event: BoolArray, thresholds: list[float], span: float
) -> list[Boundary]:
    """Return where the smoothed share of events crosses each threshold."""
    assert plane.rows is not None
    x1, x2 = plane.grid(_COARSE)
    at = np.column_stack([np.repeat(x1, _COARSE), np.tile(x2, _COARSE)])
    surface = smoothed_share(plane.rows, event, at, span).reshape(_COARSE, _COARSE)
    return [_crossing(_OBSERVED, t, x1, x2, surface) for t in thresholds]


# --- Boundaries in closed form ----------------------------------------------------------------


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
    name: str,
    intercept: Floats,
    slopes: Floats,
    threshold: float,
    x1: Floats,
    prob: float,
    plane: tuple[float, float],
) -> Boundary:
    b1, b2 = slopes.T
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


def _lines_at(
    model: Any, threshold: float, name: str, plane: _Plane
) -> tuple[Floats, Floats] | None:
    """Return draws of a model's intercept (S,) and slopes (S, 2) at a threshold; None without."""
    if hasattr(model, "models_"):
        own = np.array(list(model.models_))
        (place,) = threshold_places(np.array([threshold]), own, f"models[{name!r}]")
        model = model.models_[own[place]]
    draws = getattr(model, "draws_", model)
    if not (hasattr(draws, "flat") and hasattr(draws, "names")):
        if hasattr(model, "predict_proba"):
            return None
        raise TypeError(
            f"models[{name!r}] must be a fitted estimator or a Draws record, got a "
            f"{type(model).__name__}"
        )
    flat, names = np.asarray(draws.flat, dtype=np.float64), list(draws.names)
    slopes = [one for one in names if one != "intercept"]
    if len(slopes) != 2:
        raise ValueError(
            f"models[{name!r}] must have two covariates, for a boundary in their plane, got "
            f"coefficients of {', '.join(names)}"
        )
    if plane.columns is not None and slopes != ["x0", "x1"]:  # those of arrays have no names
        if set(plane.columns) != set(slopes):
            raise ValueError(
                f"models[{name!r}] must be of the plane's covariates, {' and '.join(plane.columns)}"
                f", got one of {' and '.join(slopes)}"
            )
        slopes = list(plane.columns)
    places = [names.index(one) for one in slopes]
    intercept = flat[:, names.index("intercept")] if "intercept" in names else np.zeros(len(flat))
    return intercept, flat[:, places]


def _several(thresholds: ArrayLike) -> list[float]:
    given = check_array(thresholds, "thresholds", ndim=(0, 1))
    return [float(t) for t in check_thresholds(np.atleast_1d(given))]


def _checked_x1(x1: ArrayLike) -> Floats:
    return check_array(x1, "x1", advice="pass where to follow the boundary, as np.linspace does")
