"""Posteriors side by side: intervals, densities, how far two of them overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter1d

from tailoredbayes.checks import check_array, check_finite
from tailoredbayes.evaluation.estimates import check_prob

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "PosteriorComparison",
    "PosteriorDensities",
    "PosteriorIntervals",
    "hdi",
    "posterior_densities",
    "posterior_intervals",
    "posterior_overlap",
]

Floats = NDArray[np.float64]

# Of each density: points evenly spaced, and as many again at the draws' quantiles.
_POINTS = 256
# Bins of the histogram behind it: at least so many, and so many to a kernel's width.
_BINS, _BINS_PER_WIDTH, _MOST_BINS = 4096, 8, 1 << 21
# A normal density beyond this many widths is nothing, to ten digits.
_REACH = 6.5


def hdi(draws: Any, prob: float = 0.9) -> Floats:
    """Return the highest density interval: the shortest that holds this share of the draws.

    Of all pairs with P(low <= beta <= high | D) = prob, the one of the least high - low. From
    arviz-stats, for one mode; draws of several modes get one interval over them all [Hyndman1996].

    Parameters
    ----------
    draws
        (S,) draws, or (S, d), a column a coefficient; a fitted model or its ``Draws`` will do.
    prob
        Share of the draws, strictly between 0 and 1.

    Returns
    -------
    ndarray of shape (2,) or (d, 2)

    Examples
    --------
    Half of these lie densest between 0 and 1:

    >>> hdi([0.0, 0.2, 0.5, 0.6, 1.0, 4.0, 7.0, 9.0, 12.0], prob=0.5)
    array([0., 1.])
    """
    from arviz_stats.base import array_stats

    prob = check_prob(prob)
    values = _flat(draws) if _has_draws(draws) else _checked(draws, "draws")
    return np.asarray(array_stats.hdi(values, prob=prob, axis=0))


# --- Intervals of several models --------------------------------------------------------------


@dataclass(frozen=True)
class PosteriorIntervals:
    """Median and highest density intervals of each coefficient under each model.

    ``median`` is {model: (d,)}, ``intervals`` {(model, prob): (d, 2)}.
    """

    names: tuple[str, ...]
    probs: tuple[float, ...]
    mean: Mapping[str, Floats]
    median: Mapping[str, Floats]
    intervals: Mapping[tuple[str, float], Floats]

    def to_frame(self) -> pd.DataFrame:
        """Return a row a model, coefficient and prob: mean, median, low, high, width."""
        import pandas as pd

        return pd.concat(
            [
                pd.DataFrame(
                    {
                        "model": model,
                        "coefficient": self.names,
                        "prob": prob,
                        "mean": self.mean[model],
                        "median": self.median[model],
                        "low": ends[:, 0],
                        "high": ends[:, 1],
                        "width": ends[:, 1] - ends[:, 0],
                    }
                )
                for (model, prob), ends in self.intervals.items()
            ],
            ignore_index=True,
        )


def posterior_intervals(
    posteriors: Any,
    probs: Sequence[float] = (0.9, 0.95),
    *,
    names: Sequence[str] | None = None,
) -> PosteriorIntervals:
    """Return highest density intervals of all coefficients, model beside model.

    Parameters
    ----------
    posteriors
        {name: fitted model, ``Draws`` or array of draws (S, d)}, all of the same coefficients; or
        a fitted :class:`TailoredFamily`, which is "SB" and "TB, t = ..." at each threshold.
    probs
        Of the intervals; the paper draws 90% and 95%.
    names
        Of the coefficients, where arrays do not say.

    Examples
    --------
    >>> draws = np.arange(101.0)[:, None]
    >>> found = posterior_intervals({"SB": draws, "TB": 2 * draws}, probs=[0.9], names=["age"])
    >>> found.to_frame()[["model", "coefficient", "median", "width"]]
      model coefficient  median  width
    0    SB         age    50.0   90.0
    1    TB         age   100.0  180.0
    """
    found, labels = _posteriors(posteriors, names)
    checked = tuple(check_prob(prob) for prob in probs)
    return PosteriorIntervals(
        labels,
        checked,
        {model: draws.mean(axis=0) for model, draws in found.items()},
        {model: np.median(draws, axis=0) for model, draws in found.items()},
        {(model, prob): hdi(draws, prob) for model, draws in found.items() for prob in checked},
    )


# --- Densities --------------------------------------------------------------------------------


@dataclass(frozen=True)
class PosteriorDensities:
    """Gaussian kernel densities: a grid (d, points) that models share, {model: (d, points)}.

    The grid is dense where any of the models has its draws, and not evenly spaced.
    """

    names: tuple[str, ...]
    grid: Floats
    density: Mapping[str, Floats]

    def to_frame(self) -> pd.DataFrame:
        """Return a row a model, coefficient and point: value, density."""
        import pandas as pd

        points = self.grid.shape[1]
        return pd.concat(
            [
                pd.DataFrame(
                    {
                        "model": model,
                        "coefficient": np.repeat(self.names, points),
                        "value": self.grid.ravel(),
                        "density": density.ravel(),
                    }
                )
                for model, density in self.density.items()
            ],
            ignore_index=True,
        )


def posterior_densities(
    posteriors: Any, *, names: Sequence[str] | None = None
) -> PosteriorDensities:
    """Return each coefficient's marginal posterior density under each model, on one grid.

    A Gaussian kernel density: the mean over draws b_s of a normal density about b_s, its width

        h = 0.9 min(sd, IQR / 1.34) S^(-1/5)

    ([Silverman1986]; R's ``density``). Draws are counted in bins that are narrower than h by a
    factor of 8 or more, which changes no digit that shows.

    Parameters
    ----------
    posteriors, names
        As in `posterior_intervals`.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4000, 1))
    >>> found = posterior_densities({"SB": draws}, names=["age"])
    >>> peak = found.grid[0, found.density["SB"][0].argmax()]
    >>> bool(abs(peak) < 0.3)                              # a standard normal's mode is at 0
    True
    """
    found, labels = _posteriors(posteriors, names)
    d = len(labels)
    grid = np.empty((d, 2 * _POINTS * len(found)))
    density = {model: np.empty_like(grid) for model in found}
    for j in range(d):
        columns = {model: draws[:, j] for model, draws in found.items()}
        widths = {model: _kernel_width(draws) for model, draws in columns.items()}
        _refuse_constant(widths, labels[j])
        # Each model's own points: another's may be a thousand times as far apart.
        points = [_points(draws, widths[model]) for model, draws in columns.items()]
        grid[j] = np.sort(np.concatenate(points))
        for model, draws in columns.items():
            density[model][j] = _kernel_density(draws, widths[model], grid[j])
    return PosteriorDensities(labels, grid, density)


def _kernel_width(draws: Floats) -> float:
    spread = float(draws.std(ddof=1))
    quarter, three = np.quantile(draws, [0.25, 0.75])
    middle = float(three - quarter) / 1.34
    return float(0.9 * (min(spread, middle) or spread) * len(draws) ** -0.2)


def _points(draws: Floats, width: float) -> Floats:
    """Return where a density is to be known: evenly to beyond all draws, and where they lie."""
    reach = _REACH * width
    even = np.linspace(draws.min() - reach, draws.max() + reach, _POINTS)
    return np.concatenate([even, np.quantile(draws, np.linspace(0.0, 1.0, _POINTS))])


def _kernel_density(draws: Floats, width: float, at: Floats) -> Floats:
    """Smooth a fine histogram by the kernel; return the density at some points."""
    low, high = draws.min() - _REACH * width, draws.max() + _REACH * width
    wanted = int(min(_BINS_PER_WIDTH * (high - low) / width, _MOST_BINS))
    bins = max(_BINS, wanted) + 1  # bin k is centred at low + k step
    step = (high - low) / (bins - 1)
    place = (draws - low) / step
    first = np.floor(place).astype(np.intp)
    share = place - first
    # Linear binning: a draw is shared by its two neighbours, which keeps its mean.
    count = np.bincount(first, 1 - share, bins + 1) + np.bincount(first + 1, share, bins + 1)
    smooth = gaussian_filter1d(count[:bins], width / step, mode="constant", truncate=_REACH)
    centres = low + step * np.arange(bins)
    return np.asarray(np.interp(at, centres, smooth / (len(draws) * step), left=0.0, right=0.0))


def _refuse_constant(widths: Mapping[str, float], name: str) -> None:
    for model, width in widths.items():
        if not width > 0:
            raise ValueError(
                f"the draws of {name} under {model} must differ to have a density, got one value "
                "only; leave the coefficient out"
            )


# --- Overlap ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class PosteriorComparison:
    """Two posteriors, coefficient by coefficient: what tailoring moved and what it widened.

    ``shift`` is the tailored median less the standard one; ``shift_in_sd`` the same in standard
    deviations of the standard posterior.
    """

    names: tuple[str, ...]
    overlap: Floats
    median: Floats
    other_median: Floats
    shift: Floats
    shift_in_sd: Floats
    width: Floats
    other_width: Floats
    prob: float
    densities: PosteriorDensities

    def to_frame(self) -> pd.DataFrame:
        """Return a row a coefficient, the least overlap first, as the paper's Table 1."""
        import pandas as pd

        frame = pd.DataFrame(
            {
                "coefficient": self.names,
                "overlap": self.overlap,
                "standard_median": self.median,
                "tailored_median": self.other_median,
                "shift": self.shift,
                "shift_in_sd": self.shift_in_sd,
                "standard_width": self.width,
                "tailored_width": self.other_width,
                "width_ratio": self.other_width / self.width,
            }
        )
        return frame.sort_values("overlap", kind="stable", ignore_index=True)


def posterior_overlap(
    standard: Any, tailored: Any, *, prob: float = 0.9, names: Sequence[str] | None = None
) -> PosteriorComparison:
    """Return how far two posteriors of the same coefficients overlap, shift and widen.

    For each coefficient, with f and g the Gaussian kernel densities of its draws
    (`posterior_densities`),

        overlap = integral of min(f(b), g(b)) db    (the paper's Table 1) [Pastore2019].

    1 for equal posteriors, 0 for posteriors apart. The kernel widens both densities a little: two
    normals of one sd, d sd apart, overlap by 2 Phi(-d / 2), and 4000 draws give about
    2 Phi(-0.986 d / 2).

    Parameters
    ----------
    standard, tailored
        Fitted models (anything with ``draws_``), ``Draws`` records, or arrays of draws (S, d) or
        (S,). The two may have different numbers of draws.
    prob
        Of the highest density intervals whose widths are compared.
    names
        Of the coefficients, where arrays do not say.

    Returns
    -------
    PosteriorComparison

    Examples
    --------
    >>> from scipy.special import ndtri
    >>> draws = ndtri((np.arange(4000) + 0.5) / 4000)  # a normal's quantiles
    >>> found = posterior_overlap(draws, draws + 1.0)
    >>> found.overlap.round(1), found.shift.round(6)  # 2 Phi(-1/2) is 0.617
    (array([0.6]), array([1.]))
    """
    prob = check_prob(prob)
    both = {"standard": standard, "tailored": tailored}
    found, labels = _posteriors(both, names)
    densities = posterior_densities(found, names=labels)
    smaller = np.minimum(densities.density["standard"], densities.density["tailored"])
    overlap = np.clip(np.trapezoid(smaller, densities.grid, axis=1), 0.0, 1.0)
    one, other = found["standard"], found["tailored"]
    median, other_median = np.median(one, axis=0), np.median(other, axis=0)
    shift = other_median - median
    return PosteriorComparison(
        labels,
        overlap,
        median,
        other_median,
        shift,
        shift / one.std(axis=0, ddof=1),
        np.diff(hdi(one, prob), axis=1)[:, 0],
        np.diff(hdi(other, prob), axis=1)[:, 0],
        prob,
        densities,
    )


# --- Draws, whoever holds them ----------------------------------------------------------------


def _has_draws(posterior: Any) -> bool:
    is_record = hasattr(posterior, "flat") and hasattr(posterior, "names")
    return hasattr(posterior, "draws_") or is_record


def _flat(posterior: Any) -> Floats:
    record = getattr(posterior, "draws_", posterior)
    return np.asarray(record.flat, dtype=np.float64)


def _posteriors(
    posteriors: Any, names: Sequence[str] | None
) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Return {model: draws (S, d)} and the names of the coefficients, which all must share."""
    if hasattr(posteriors, "models_") and hasattr(posteriors, "standard_"):
        tailored = {f"TB, t = {t:g}": model for t, model in posteriors.models_.items()}
        named: Mapping[str, Any] = {"SB": posteriors.standard_, **tailored}
    elif isinstance(posteriors, Mapping) and posteriors:
        named = posteriors
    else:
        raise TypeError(
            "posteriors must map names to models or draws, as in {'SB': standard, 'TB': tailored}, "
            f"got {type(posteriors).__name__}{'; fit it first' * hasattr(posteriors, 'fit')}"
        )
    found: dict[str, Floats] = {}
    labels: tuple[str, ...] | None = None if names is None else tuple(names)
    for model, posterior in named.items():
        if _has_draws(posterior):
            own = tuple(getattr(posterior, "draws_", posterior).names)
            if names is None and labels is not None and own != labels:
                raise ValueError(
                    f"{model} must have the coefficients {', '.join(labels)}, got "
                    f"{', '.join(own)}; compare models of the same covariates"
                )
            labels = labels or own
            found[str(model)] = _flat(posterior)
        else:
            values = _checked(posterior, str(model))
            found[str(model)] = values[:, None] if values.ndim == 1 else values
    d = {values.shape[1] for values in found.values()}
    expected = next(iter(d)) if labels is None else len(labels)
    if d != {expected}:
        raise ValueError(
            f"all posteriors must have {expected} coefficients, got {sorted(d)}; compare models "
            "of the same covariates"
        )
    return found, labels or tuple(f"coefficient {j}" for j in range(expected))


def _checked(draws: ArrayLike, name: str) -> Floats:
    advice = "pass draws (S,) or (S, coefficients)"
    values = check_array(draws, name, ndim=(1, 2), advice=advice)
    check_finite(values, name, advice="drop the draw")
    if len(values) < 2:
        raise ValueError(f"{name} must hold at least 2 draws, got {len(values)}; {advice}")
    return values
