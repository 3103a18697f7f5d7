"""Before fitting: whether there is something for tailoring to gain, and how much data it leaves.

Reference risks alone say what a discount costs: ESS_T / n of each, and how many rows lie near the
threshold. The table of a search says what it brings: net benefit against the discount
(section S9.1 of the supplement of [Karapanagiotis2021]).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import (
    check_array,
    check_number,
    check_risk,
    check_same_length,
    check_sample_weight,
    check_thresholds,
    check_within,
)
from tailoredbayes.evaluation.models import SAME_THRESHOLD
from tailoredbayes.weighting import Distance, distance_to_threshold

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Outlook", "Prospects", "SearchPath", "prospects"]

Floats = NDArray[np.float64]

# A verdict of "likely" asks for a gain of so many standard errors.
_CLEAR = 2.0
# Fewer rows than this share near the threshold leave tailoring nothing to learn from: the limit of
# the finding no-mass-near-threshold.
_FEW = 0.01
_DISCOUNTS = (0.0, *np.geomspace(1.0, 100.0, 25))
_POINTS = 101


@dataclass(frozen=True)
class SearchPath:
    """Cross-validated net benefit along the discounts, for one threshold.

    ``se`` is that of each mean over folds (nan for one fold); ``gain`` is what the chosen discount
    gained over 0, with its paired standard error.
    """

    discounts: Floats
    net_benefit: Floats
    se: Floats
    chosen: float
    gain: float
    gain_se: float


@dataclass(frozen=True)
class Outlook:
    """What to expect at one threshold: "unlikely", "possible", "likely" or "unknown", and why."""

    threshold: float
    verdict: str
    near: float
    gain: float
    gain_se: float
    words: str


@dataclass(frozen=True)
class Prospects:
    """What is known before fitting; see `prospects`.

    ``ess_fraction`` and ``kish_fraction`` are (thresholds, discounts); ``near`` (thresholds,) is
    the share of rows within ``near_width`` of each. ``reference_risk`` (thresholds, points) are
    percentiles of pi_u, ``weights`` (thresholds, points, discounts) those of rows there.
    """

    thresholds: Floats
    discounts: Floats
    ess_fraction: Floats
    kish_fraction: Floats
    near: Floats
    near_width: float
    reference_risk: Floats
    weights: Floats
    searches: Mapping[float, SearchPath]
    outlooks: tuple[Outlook, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a row a threshold: share near it, gain of the search, verdict, words."""
        import pandas as pd

        return pd.DataFrame([vars(outlook) for outlook in self.outlooks])

    def ess_frame(self) -> pd.DataFrame:
        """Return ESS_T / n and Kish's (Figure S8): a row a threshold and discount."""
        import pandas as pd

        return pd.DataFrame(
            {
                "threshold": np.repeat(self.thresholds, len(self.discounts)),
                "discount": np.tile(self.discounts, len(self.thresholds)),
                "ess_fraction": self.ess_fraction.ravel(),
                "kish_fraction": self.kish_fraction.ravel(),
            }
        )

    def weight_frame(self) -> pd.DataFrame:
        """Return the weights against pi_u (Figure S6): a row a threshold, discount and pi_u.

        pi_u runs over percentiles of the rows, so that points lie as densely as rows do.
        """
        import pandas as pd

        k, points, m = self.weights.shape
        return pd.DataFrame(
            {
                "threshold": np.repeat(self.thresholds, points * m),
                "discount": np.tile(self.discounts, k * points),
                "reference_risk": np.repeat(self.reference_risk, m, axis=1).ravel(),
                "weight": self.weights.ravel(),
            }
        )

    def search_frame(self) -> pd.DataFrame:
        """Return net benefit against the discount (Figure S9): a row a threshold and discount."""
        import pandas as pd

        columns = ["threshold", "discount", "net_benefit", "se", "chosen"]
        rows = [
            (t, discount, benefit, se, discount == path.chosen)
            for t, path in self.searches.items()
            for discount, benefit, se in zip(path.discounts, path.net_benefit, path.se, strict=True)
        ]
        return pd.DataFrame(rows, columns=columns)


def prospects(
    source: Any,
    thresholds: ArrayLike | None = None,
    *,
    discounts: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    near: float = 0.05,
    distance: str | Distance = "squared",
    epsilon: float = 0.0,
) -> Prospects:
    """Return what is known of tailoring before (or from the search of) a fit.

    For each threshold t, with pi_u the reference risks:

    - near: the share of rows with |pi_u - t| <= `near`;
    - ESS_T / n = mean of exp(-lambda h(pi_u, t)) for each discount lambda, and Kish's
      (sum w)^2 / (n sum w^2);
    - of a fitted model with a search, the cross-validated net benefit of each discount, the chosen
      one, and its gain over discount 0 with a standard error paired over rows.

    The verdict is

    - "unlikely" where less than 1% of the rows are near t, or the search chose 0 or gained
      nothing: net benefit is stable or falls along lambda, or rises by too little to be taken
      for more than noise [Karapanagiotis2021];
    - "likely" where the gain is two standard errors or more;
    - "possible" where it is less than that;
    - "unknown" from reference risks alone with rows near t: they say what tailoring would cost in
      data, and nothing of what it would bring.

    The gain is that of the best of several discounts, judged on the rows it was chosen by: it
    flatters. docs/studies/prospects.md has how often each verdict came true in simulations and on
    the bundled data.

    Parameters
    ----------
    source
        Reference risks (n,), or a fitted tailored model or family, whose own risks, thresholds,
        weights, distance and search are taken.
    thresholds
        t, one or several; needed with reference risks, and by default the model's own.
    discounts
        lambda; by default 0 and 25 values from 1 to 100, evenly spread on a log scale.
    sample_weight
        Weight per row, with reference risks.
    near
        Half-width, on the scale of risks, of what counts as near.
    distance, epsilon
        As in `tailoring_weights`, with reference risks.

    Returns
    -------
    Prospects

    Examples
    --------
    Half of the rows are at t, half 0.5 away, where a discount of 4 leaves exp(-1) of a row:

    >>> found = prospects([0.1, 0.6], 0.1, discounts=[0, 4])
    >>> found.near, found.ess_fraction.round(4)
    (array([0.5]), array([[1.    , 0.6839]]))
    >>> found.outlooks[0].verdict
    'unknown'
    """
    advice = "pass a distance between risks such as 0.05"
    width = check_number(near, "near", above=0, below=1, advice=advice)
    grid = _discounts(discounts)
    models = _models(source)
    if models is None:
        if thresholds is None:
            raise ValueError("thresholds must be given with reference risks, got none")
        ts = np.atleast_1d(check_thresholds(np.asarray(thresholds)))
        risk = check_risk(source, "source")
        weight = None if sample_weight is None else check_sample_weight(sample_weight)
        check_same_length(source=risk, sample_weight=weight)
        parts = [_Part(t, risk, weight, distance, epsilon) for t in ts.tolist()]
    else:
        parts = _fitted_parts(models, thresholds)
        if sample_weight is not None:
            raise ValueError("sample_weight is for reference risks; a fitted model brings its own")
    costs = [_cost(part, grid, width) for part in parts]
    searches = {part.threshold: part.path for part in parts if part.path is not None}
    return Prospects(
        np.array([part.threshold for part in parts]),
        grid,
        np.stack([cost.ess for cost in costs]),
        np.stack([cost.kish for cost in costs]),
        np.array([cost.near for cost in costs]),
        width,
        np.stack([cost.risk for cost in costs]),
        np.stack([cost.weights for cost in costs]),
        searches,
        tuple(_outlook(part, cost, width) for part, cost in zip(parts, costs, strict=True)),
    )


@dataclass(frozen=True)
class _Part:
    """What is known for one threshold."""

    threshold: float
    risk: Floats
    weight: Floats | None
    distance: str | Distance
    epsilon: float
    path: SearchPath | None = None


@dataclass(frozen=True)
class _Cost:
    ess: Floats
    kish: Floats
    near: float
    risk: Floats
    weights: Floats


def _discounts(discounts: ArrayLike | None) -> Floats:
    if discounts is None:
        return np.array(_DISCOUNTS)
    advice = "pass numbers such as [0, 5, 20]; 0 is standard Bayes"
    values = np.atleast_1d(check_array(discounts, "discounts", ndim=(0, 1), advice=advice))
    check_within(values, "discounts", 0.0, expected="be 0 or more and finite", advice=advice)
    return np.unique(values)


def _models(source: Any) -> list[Any] | None:
    """Return the fitted models behind a source, or None for risks."""
    if hasattr(source, "models_"):
        return list(source.models_.values())
    return [source] if hasattr(source, "reference_risk_") else None


def _fitted_parts(models: list[Any], thresholds: ArrayLike | None) -> list[_Part]:
    own = [float(model.threshold) for model in models]
    if thresholds is not None:
        wanted = np.atleast_1d(check_thresholds(np.asarray(thresholds)))
        missing = [t for t in wanted.tolist() if min(abs(t - o) for o in own) > SAME_THRESHOLD]
        if missing:
            raise ValueError(
                f"the search has no threshold {missing[0]:g}, only "
                f"{', '.join(f'{t:g}' for t in own)}; pass reference risks for others"
            )
        models = [
            model
            for model, t in zip(models, own, strict=True)
            if np.abs(wanted - t).min() <= SAME_THRESHOLD
        ]
    parts = []
    for model in models:
        if model.reference_risk_ is None:
            raise ValueError(
                "the model was fitted with discount=0 and has no reference risks; pass some, or "
                "fit with discount='cv'"
            )
        found = ~np.isnan(model.reference_risk_)
        search = model.fit_.search if hasattr(model, "fit_") else model.search_
        parts.append(
            _Part(
                float(model.threshold),
                model.reference_risk_[found],
                _plain_weights(model, search)[found],
                model.distance,
                model.epsilon,
                _path(search),
            )
        )
    return parts


def _plain_weights(model: Any, search: Any) -> Floats:
    """Return the rows' own weights: the final ones with the tailoring taken out of them.

    A row so far from t that its weight underflowed has none to give back and counts 1.
    """
    risk = np.where(np.isnan(model.reference_risk_), model.threshold, model.reference_risk_)
    h = distance_to_threshold(risk, float(model.threshold), model.distance, model.epsilon)
    tailored = np.exp(-float(search.discount) * h)
    lost = tailored < np.finfo(np.float64).tiny
    return np.where(lost, 1.0, model.weights_ / np.where(lost, 1.0, tailored))


def _path(search: Any) -> SearchPath | None:
    """Read a search: the round that was chosen, along its discounts."""
    choice = search.choice
    if choice is None:
        return None
    table = search.tallies[choice.round]
    folds = table.net_benefit.reshape(len(table.discounts), -1)
    number = np.isfinite(folds).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = folds - np.nanmean(folds, axis=1, keepdims=True)
        se = np.sqrt(np.nansum(centred**2, axis=1) / (number - 1) / number)
    gain, gain_se = choice.candidates.deficit(choice.index)
    return SearchPath(
        table.discounts,
        np.nanmean(folds, axis=1),
        se,
        float(choice.discount),
        float(gain[0]),
        float(gain_se[0]),
    )


def _cost(part: _Part, discounts: Floats, width: float) -> _Cost:
    """What each discount leaves."""
    h = distance_to_threshold(part.risk, part.threshold, part.distance, part.epsilon)
    w = np.ones(len(h)) if part.weight is None else part.weight
    total = float(w.sum())
    ess, kish = np.empty(len(discounts)), np.empty(len(discounts))
    for j, discount in enumerate(discounts):
        tailored = np.exp(-discount * h)
        ess[j] = w @ tailored / total
        square = float(w @ tailored**2)
        kish[j] = (w @ tailored) ** 2 / (total * square) if square > 0 else 0.0
    near = float(w @ (np.abs(part.risk - part.threshold) <= width)) / total
    percent = np.linspace(0.0, 1.0, _POINTS)
    risk = np.asarray(np.quantile(part.risk, percent, weights=w, method="inverted_cdf"))
    at = distance_to_threshold(risk, part.threshold, part.distance, part.epsilon)
    return _Cost(ess, kish, near, risk, np.exp(-at[:, None] * discounts))


def _not_taken(path: SearchPath) -> str:
    """Say what the search saw that chose no tailoring, or gained nothing by it."""
    rise = np.nanmax(path.net_benefit - path.net_benefit[0], initial=0.0)
    if path.chosen > 0 or rise <= 0:
        return "net benefit stays as it is or falls as the discount grows"
    return (
        f"the best discount gained {1000 * rise:.1f} net true positives per 1000 in "
        "cross-validation, too little for the rule to take it"
    )


def _outlook(part: _Part, cost: _Cost, width: float) -> Outlook:
    path, t = part.path, part.threshold
    gain, se = (math.nan, math.nan) if path is None else (path.gain, path.gain_se)
    share = f"{cost.near:.1%} of the rows have a reference risk within {width:g} of it"
    if cost.near < _FEW:
        verdict, why = "unlikely", f"only {share}: there is little to learn from"
    elif path is None:
        verdict, why = "unknown", f"{share}, but reference risks alone do not tell what it brings"
    elif path.chosen == 0 or gain <= 0:
        verdict, why = "unlikely", _not_taken(path)
    else:
        per_1000 = f"{1000 * gain:.1f} net true positives per 1000 (standard error {1000 * se:.1f})"
        why = f"in cross-validation the discount {path.chosen:.3g} gained {per_1000}"
        verdict = "likely" if gain >= _CLEAR * se else "possible"
    told = {
        "unlikely": "is unlikely to help",
        "likely": "is likely to help",
        "possible": "may help",
        "unknown": "may or may not help",
    }[verdict]
    return Outlook(t, verdict, cost.near, gain, se, f"At t = {t:g} tailoring {told}: {why}.")
