"""What a fit's own cross-validation says of its decisions, read off the search for the discount.

The search tried every discount on rows that its models had not seen, and kept whom each would
treat. So the decisions of the chosen discount, and those of the discount 0, standard Bayes, can be
counted without the covariates and without another fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tailoredbayes.checks import FloatArray
from tailoredbayes.decision import harm_to_benefit
from tailoredbayes.evaluation.cells import ALL, NONE, check_prob
from tailoredbayes.evaluation.curves import DecisionCurve
from tailoredbayes.evaluation.differences import NetBenefitDifference
from tailoredbayes.evaluation.estimates import normal_quantile

__all__ = ["held_out_curve", "held_out_difference"]


def held_out_curve(
    model: Any, *, names: tuple[str, str] = ("TB", "SB"), prob: float = 0.95
) -> DecisionCurve | None:
    r"""Return the cross-validated decision curve of a fit that chose its discount.

    With d_ir = 1 if row i, held out, was treated in the r-th of R cuts into folds, and weights w,

        NB(t) = sum_i w_i z_i / sum_i w_i,   z_i = (y_i - (1 - y_i) odds(t)) mean_r d_ir,

    at the chosen discount and at 0 (standard Bayes). All folds are taken together, so it differs
    from the mean over folds by what the folds' sizes do. The standard error is that of a mean over
    rows, as in :func:`decision_curve`.

    The discount was chosen by these very rows: at each threshold the tailored curve is the best of
    several, and flatters.

    Parameters
    ----------
    model
        A fitted tailored model or family.
    names
        What to call the tailored and the standard model.
    prob
        Probability of the intervals.

    Returns
    -------
    DecisionCurve or None
        None where some discount was given, so that there was no search.

    Examples
    --------
    >>> from tailoredbayes.estimators import TailoredLogisticRegression
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(size=(300, 2))
    >>> y = rng.random(300) < x[:, 1] / x.sum(axis=1)
    >>> model = TailoredLogisticRegression(0.3, selection="max", random_state=0)
    >>> found = held_out_curve(model.fit(x, y))
    >>> dict(zip(found.models, found.net_benefit[:, 0].round(3).tolist(), strict=True))
    {'TB': 0.309, 'SB': 0.296, 'all': 0.243, 'none': 0.0}
    """
    reach = normal_quantile(check_prob(prob))
    models = list(getattr(model, "models_", {0: model}).values())
    searches = [one.fit_.search for one in models]
    if any(search.choice is None for search in searches):
        return None
    parts = [_Counts(search) for search in searches]
    tp, fp, error = (
        np.stack(part, axis=1) for part in zip(*map(_Counts.rates, parts), strict=True)
    )
    thresholds = np.array([search.threshold for search in searches])
    net_benefit = tp - fp * harm_to_benefit(thresholds)
    return DecisionCurve(
        models=(*names, ALL, NONE),
        thresholds=thresholds,
        n=len(parts[0].event),
        prevalence=float(np.average(parts[0].event, weights=parts[0].weight)),
        harm=np.zeros(4),
        tp_rate=tp,
        fp_rate=fp,
        net_benefit=net_benefit,
        standard_error=error,
        low=net_benefit - reach * error,
        high=net_benefit + reach * error,
        prob=prob,
        note="Cross-validated in the search for the discount; the thresholds are the fit's.",
    )


def held_out_difference(
    model: Any, *, names: tuple[str, str] = ("TB", "SB"), prob: float = 0.95
) -> NetBenefitDifference | None:
    """Return what the chosen discount gained over standard Bayes in the search for it.

    Paired over rows, as the rules of the search compare discounts; the interval is the normal one,
    and there is no bootstrap. The gain is that of the best of several discounts on the rows it was
    chosen by: it flatters.

    Parameters
    ----------
    model, names, prob
        As in :func:`held_out_curve`.

    Returns
    -------
    NetBenefitDifference or None
        None where some discount was given, so that there was no search.
    """
    reach = normal_quantile(check_prob(prob))
    curve = held_out_curve(model, names=names, prob=prob)
    if curve is None:
        return None
    choices = [one.fit_.search.choice for one in getattr(model, "models_", {0: model}).values()]
    found = [choice.candidates.deficit(choice.index) for choice in choices]
    gain = np.array([[mean[0] for mean, _ in found]])
    error = np.array([[error[0] for _, error in found]])
    return NetBenefitDifference(
        models=names[:1],
        against=names[1],
        thresholds=curve.thresholds,
        n=curve.n,
        prevalence=curve.prevalence,
        difference=gain,
        standard_error=error,
        bootstrap_standard_error=np.full_like(error, np.nan),
        low=gain - reach * error,
        high=gain + reach * error,
        prob=prob,
        replicates=0,
        note=curve.note,
    )


class _Counts:
    """The rows of one search: outcome, weight, and how often each strategy treated them."""

    def __init__(self, search: Any) -> None:
        self.odds = harm_to_benefit(float(search.threshold))
        table = search.tallies[search.choice.round]
        used = table.gain != 0  # what treating the row is worth: 0 for rows left out
        gain = table.gain[used]
        self.event = gain > 0
        self.weight = np.where(self.event, gain, -gain / self.odds)
        chosen = int(np.flatnonzero(table.discounts == search.choice.discount)[0])
        first = search.tallies[0]
        self.share = np.stack(
            [
                table.treated[used, chosen] / table.repeats,
                first.treated[used, 0] / first.repeats,
                np.ones(len(gain)),
                np.zeros(len(gain)),
            ]
        )

    def rates(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the shares of true and of false positives, and the standard error of NB."""
        total = self.weight.sum()
        tp = self.share @ (self.weight * self.event) / total
        fp = self.share @ (self.weight * ~self.event) / total
        value = np.where(self.event, 1.0, -self.odds) * self.share
        spread = (value - (tp - fp * self.odds)[:, None]) ** 2 @ self.weight**2
        return tp, fp, np.sqrt(spread) / total
