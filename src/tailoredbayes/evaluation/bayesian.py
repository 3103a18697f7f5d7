"""Bayesian decision curves: how sure it is that a model is worth using, or better than another.

At a threshold t every row falls into one of the joint cells "who of the models treats it" by
outcome. Rows are a sample of a population with cell probabilities theta; with a Dirichlet prior
the posterior is Dirichlet too, and every net benefit is linear in theta. Models are judged on the
same draws of theta, so that their comparison is paired.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import FloatArray, check_number, check_risk_columns, check_whole_number
from tailoredbayes.evaluation.cells import (
    ALL,
    NONE,
    Patterns,
    Validation,
    at_threshold,
    check_models_named,
    check_prob,
    enter,
    occupied,
    patterns,
)
from tailoredbayes.evaluation.models import named_models
from tailoredbayes.evaluation.words import choice_in_words, difference_in_words
from tailoredbayes.weighting import kish_effective_sample_size

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BayesianDecisionCurve", "BayesianDifference", "bayesian_decision_curve"]

_MOST_MODELS = 8  # 2^models joint cells


@dataclass(frozen=True, repr=False)
class BayesianDecisionCurve:
    """Posterior of the net benefit of models, of treating all and of treating no one.

    Arrays are (strategies, thresholds), the strategies being the models, "all" and "none".
    """

    models: tuple[str, ...]
    """Names; the last two are "all" and "none"."""
    thresholds: FloatArray
    """t, in the order given."""
    n: int
    """Rows (of weight above 0)."""
    prevalence: float
    """pi: the share of events, the sample's or the one given."""
    prior: float
    """The prior's weight, in patients."""
    draws: FloatArray
    """Posterior draws of NB(t), (strategies, thresholds, draws), paired across strategies."""
    net_benefit: FloatArray
    """Posterior mean of NB(t)."""
    standard_deviation: FloatArray
    """Posterior standard deviation."""
    low: FloatArray
    """Lower end of the equal-tailed posterior interval."""
    high: FloatArray
    """Upper end."""
    prob: float
    """Probability of the interval."""
    p_useful: FloatArray
    """P(better than treating all and than treating no one); nan for these two."""
    p_best: FloatArray
    """P(no strategy is better)."""
    expected_loss: FloatArray
    """E[max over strategies of NB - NB]: what choosing the strategy is expected to forgo."""
    note: str
    """How the thresholds were chosen, where the user gave none; else empty."""

    @property
    def evpi(self) -> FloatArray:
        """Expected value of perfect information, E[max NB] - max E[NB], (thresholds,).

        The expected loss of the strategy that now looks best: what knowing the truth about these
        strategies would be worth, in net true positives per patient.
        """
        return np.asarray(self.expected_loss.min(axis=0))

    def difference(self, model: str, against: str) -> BayesianDifference:
        """Return the posterior of the difference between two strategies."""
        check_models_named([model, against], self.models, "model and against")
        draws = self.draws[self.models.index(model)] - self.draws[self.models.index(against)]
        tail = (1 - self.prob) / 2
        low, high = np.quantile(draws, [tail, 1 - tail], axis=1)
        return BayesianDifference(
            model=model,
            against=against,
            thresholds=self.thresholds,
            difference=draws.mean(axis=1),
            standard_deviation=draws.std(axis=1),
            low=low,
            high=high,
            prob=self.prob,
            p_better=(draws > 0).mean(axis=1),
            expected_loss=np.maximum(-draws, 0).mean(axis=1),
            expected_loss_against=np.maximum(draws, 0).mean(axis=1),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per strategy and threshold."""
        import pandas as pd

        strategies, count = self.net_benefit.shape
        frame = pd.DataFrame(
            {
                "model": np.repeat(self.models, count),
                "threshold": np.tile(self.thresholds, strategies),
                "n": self.n,
                "prevalence": self.prevalence,
                "net_benefit": self.net_benefit.ravel(),
                "standard_deviation": self.standard_deviation.ravel(),
                "low": self.low.ravel(),
                "high": self.high.ravel(),
                "p_useful": self.p_useful.ravel(),
                "p_best": self.p_best.ravel(),
                "expected_loss": self.expected_loss.ravel(),
                "evpi": np.tile(self.evpi, strategies),
            }
        )
        frame.attrs["note"] = self.note
        return frame

    def __repr__(self) -> str:
        return (
            f"BayesianDecisionCurve of {', '.join(self.models)} at {len(self.thresholds)} "
            f"thresholds from {self.thresholds.min():g} to {self.thresholds.max():g}; "
            f"n = {self.n}, {self.draws.shape[2]} draws. {self.note}"
        ).strip()


@dataclass(frozen=True)
class BayesianDifference:
    """Posterior of the difference in net benefit between two strategies; arrays (thresholds,)."""

    model: str
    """The one."""
    against: str
    """The other."""
    thresholds: FloatArray
    """t."""
    difference: FloatArray
    """Posterior mean of D(t) = NB(t) - NB of the other."""
    standard_deviation: FloatArray
    """Posterior standard deviation."""
    low: FloatArray
    """Lower end of the equal-tailed posterior interval."""
    high: FloatArray
    """Upper end."""
    prob: float
    """Probability of the interval."""
    p_better: FloatArray
    """P(D(t) > 0)."""
    expected_loss: FloatArray
    """E[max(-D, 0)]: what choosing ``model`` loses on average, 0 where it is better."""
    expected_loss_against: FloatArray
    """E[max(D, 0)]: what choosing ``against`` loses on average."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per threshold."""
        import pandas as pd

        return pd.DataFrame(
            {
                "model": self.model,
                "against": self.against,
                "threshold": self.thresholds,
                "difference": self.difference,
                "standard_deviation": self.standard_deviation,
                "low": self.low,
                "high": self.high,
                "p_better": self.p_better,
                "expected_loss": self.expected_loss,
                "expected_loss_against": self.expected_loss_against,
            }
        )

    def in_words(self, t: float) -> str:
        """Say what the difference at one of the thresholds is worth, and how sure that is."""
        place = at_threshold(self.thresholds, t)
        sentence = difference_in_words(
            float(self.difference[place]),
            (float(self.low[place]), float(self.high[place])),
            model=self.model,
            against=self.against,
            threshold=t,
            interval_name=f"{100 * self.prob:g}% posterior interval",
        )
        choice = choice_in_words(float(self.p_better[place]), float(self.expected_loss[place]))
        return f"{sentence} {choice}"


def bayesian_decision_curve(
    y_true: ArrayLike,
    models: Any,
    thresholds: ArrayLike | None = None,
    *,
    X: Any = None,
    risk_draws: Mapping[str, ArrayLike] | None = None,
    sample_weight: ArrayLike | None = None,
    prevalence: float | None = None,
    harm: float | Mapping[str, float] = 0.0,
    prior: float = 2.0,
    draws: int = 4000,
    prob: float = 0.95,
    random_state: Any = None,
) -> BayesianDecisionCurve:
    r"""Return the posterior of net benefit: P(useful), P(better), expected loss and EVPI.

    With K models a row at threshold t falls into one of m = 2^(K+1) joint cells (each model
    treats it or not, event or not). With n_c rows in cell c,

        theta ~ Dirichlet(prior / m, ...),
        theta | rows ~ Dirichlet(prior / m + n_c),
        NB_k(t) = theta(k treats, event) - odds(t) theta(k treats, no event) - harm_k,
        NB_all(t) = theta(event) - odds(t) theta(no event),  NB_none = 0.

    The prior weighs as much as ``prior`` patients in all. Sums of Dirichlet cells are Dirichlet:
    with ``prior`` = 2, the default, and any number of models, the prevalence has a uniform prior,
    each model's sensitivity and specificity have Jeffreys's Beta(1/2, 1/2), and the posterior of
    one model does not depend on which others it is compared with. [Jeffreys1961]

    Given the prevalence pi (case-control data), it is taken as known and the cells of each class
    are a posterior of their own: NB_k = pi P(k treats | event) - (1 - pi) odds P(k treats | no
    event) - harm_k.

    Weighted rows count as Kish's effective number of rows, shared out by weight (within each
    class when pi is given): exact where all weights are alike, an approximation otherwise.

    With posterior draws of the risks the models' own uncertainty joins in. Each draw of theta is
    then that of the rule which one draw of the risks makes, so the posterior is that of the net
    benefit of acting on the model's parameters, themselves uncertain. It is commonly below the net
    benefit of acting on the posterior mean risk, which averages the draws before it decides. Each
    draw costs a pass over the rows.

    Parameters
    ----------
    y_true, models, thresholds, X, sample_weight, prevalence, harm
        As in :func:`decision_curve`; ``models`` may be empty when ``risk_draws`` is given.
    risk_draws
        Further models, by name, as posterior draws of each row's risk (n, draws), such as
        ``model.risk_draws(X)``. They are used in turn; the first with the first, and so on, where
        several models have them. Of a family, pass the draws of the member for one threshold.
    prior
        The prior's weight in patients, above 0.
    draws
        Posterior draws.
    prob
        Probability of the intervals.
    random_state
        None, a seed or a NumPy Generator. Thresholds have draws of their own.

    Returns
    -------
    BayesianDecisionCurve

    See Also
    --------
    net_benefit_difference : The same comparison by sampling error.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.random(2000)
    >>> y = rng.random(2000) < risk
    >>> found = bayesian_decision_curve(y, {"TB": risk, "noise": rng.random(2000)}, [0.2, 0.4],
    ...                                 random_state=0)
    >>> found.p_useful[:2].round(2)
    array([[1., 1.],
           [0., 0.]])
    >>> found.difference("TB", "noise").p_better
    array([1., 1.])
    """
    prob = check_prob(prob)
    prior = check_number(prior, "prior", above=0, advice="pass its weight in patients, such as 2")
    advice = "4000 give stable probabilities"
    size = check_whole_number(draws, "draws", at_least=2, advice=advice)
    drawn = _check_risk_draws(risk_draws)
    validation, drawn = _enter(
        y_true, models, thresholds, X, sample_weight, prevalence, harm, drawn
    )
    names = (*validation.risks, *drawn, ALL, NONE)
    rng = np.random.default_rng(random_state)
    values = _net_benefit_draws(validation, drawn, prior, size, rng)
    values -= np.array([validation.harm[name] for name in names])[:, None, None]
    return _summarize(validation, names, values, prior, prob)


# --- The door ---------------------------------------------------------------------------------


def _check_risk_draws(risk_draws: Mapping[str, ArrayLike] | None) -> dict[str, FloatArray]:
    found = {}
    for name, given in (risk_draws or {}).items():
        label = f"risk_draws[{name!r}]"
        advice = "pass (n, draws), as risk_draws(X)"
        found[str(name)] = check_risk_columns(given, label, advice=advice)
    return found


def _enter(
    y_true: ArrayLike,
    models: Any,
    thresholds: ArrayLike | None,
    X: Any,
    sample_weight: ArrayLike | None,
    prevalence: float | None,
    harm: float | Mapping[str, float],
    drawn: dict[str, FloatArray],
) -> tuple[Validation, dict[str, FloatArray]]:
    """Check as other evaluations do: there a model with draws is its mean risk."""
    named = named_models(models, "models")
    both = sorted(set(map(str, named)) & set(drawn))
    if both:
        raise ValueError(
            f"a model must be in models or in risk_draws, got {both[0]!r} in both; give it once"
        )
    most = len(named) + len(drawn)
    if most > _MOST_MODELS:
        raise ValueError(
            f"models must be at most {_MOST_MODELS}, whose joint decisions are 2^{_MOST_MODELS}, "
            f"got {most}; compare fewer at a time"
        )
    means = {name: risk.mean(axis=1) for name, risk in drawn.items()}
    validation = enter(
        y_true,
        {**named, **means},
        thresholds,
        X=X,
        sample_weight=sample_weight,
        prevalence=prevalence,
        harm=harm,
    )
    if sample_weight is not None:
        kept = np.asarray(sample_weight) > 0
        drawn = {name: risk[kept] for name, risk in drawn.items()}
    risks = {name: risk for name, risk in validation.risks.items() if name not in drawn}
    return replace(validation, risks=risks), drawn


# --- The posterior ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cells:
    """Rows of the same outcome that the same models treat at each threshold."""

    of_row: NDArray[np.intp]
    event: NDArray[np.intp]
    """1 for the cells of events, (cells,)."""
    who: NDArray[np.intp]
    """Who treats: bit k for the k-th model, (cells, thresholds)."""
    models: int = 0

    def split(self, rule: Patterns) -> _Cells:
        """Split the cells by one more model."""
        kinds = len(rule.treats)
        code, of_row = occupied(self.of_row * kinds + rule.of_row, len(self.event) * kinds)
        cell, kind = np.divmod(code, kinds)
        who = self.who[cell] | rule.treats[kind].astype(np.intp) << self.models
        return _Cells(of_row, self.event[cell], who, self.models + 1)

    def counts(self, weight: FloatArray | None) -> FloatArray:
        """Sum weights (None: ones) by threshold, outcome and who treats: (thresholds, 2, 2^K)."""
        joint = 1 << self.models
        sums = np.bincount(self.of_row, weights=weight, minlength=len(self.event))
        counts = [
            np.bincount(self.event * joint + who, weights=sums, minlength=2 * joint)
            for who in self.who.T
        ]
        return np.array(counts, dtype=np.float64).reshape(-1, 2, joint)


def _net_benefit_draws(
    validation: Validation,
    drawn: Mapping[str, FloatArray],
    prior: float,
    size: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw net benefit, before harms: (models, then all and none; thresholds; draws)."""
    counts = _posterior_counts(validation, drawn, size)
    joint = counts.shape[-1]
    models = len(validation.risks) + len(drawn)
    treats = (np.arange(joint)[:, None] >> np.arange(models) & 1).astype(np.float64)
    treats = np.column_stack([treats, np.ones(joint), np.zeros(joint)])  # all and none
    pi = validation.given_prevalence
    values = np.empty((models + 2, len(validation.thresholds), size))
    for place, odds in enumerate(validation.odds):
        shape = counts[:, place] + prior / (2 * joint)
        theta = rng.standard_gamma(shape, size=(size, 2, joint))
        if pi is None:
            theta /= theta.sum(axis=(1, 2), keepdims=True)
        else:
            theta *= np.array([1 - pi, pi])[:, None] / theta.sum(axis=2, keepdims=True)
        values[:, place] = ((theta[:, 1] - odds * theta[:, 0]) @ treats).T
    return values


def _posterior_counts(
    validation: Validation, drawn: Mapping[str, FloatArray], size: int
) -> FloatArray:
    """Count the rows in the joint cells, (1 or draws, thresholds, 2, 2^K)."""
    weight = _effective_weight(validation)
    outcome = validation.event.astype(np.intp)
    cells = _Cells(outcome, np.arange(2), np.zeros((2, len(validation.thresholds)), dtype=np.intp))
    for risk in validation.risks.values():
        cells = cells.split(patterns(risk, validation.thresholds))
    if not drawn:
        return cells.counts(weight)[None]
    rounds = min(size, max(risk.shape[1] for risk in drawn.values()))
    counts = []
    for turn in range(rounds):
        each = cells
        for risk in drawn.values():
            each = each.split(patterns(risk[:, turn % risk.shape[1]], validation.thresholds))
        counts.append(each.counts(weight))
    turns: FloatArray = np.stack(counts)[np.arange(size) % rounds]
    return turns


def _effective_weight(validation: Validation) -> FloatArray | None:
    """Scale weights so that they add up to Kish's effective number of rows."""
    weight = validation.weight
    if weight is None:
        return None
    scaled = weight.copy()
    event = validation.event
    every = np.ones(len(event), dtype=bool)
    for rows in [every] if validation.given_prevalence is None else [event, ~event]:
        scaled[rows] *= kish_effective_sample_size(weight[rows]) / weight[rows].sum()
    return scaled


def _summarize(
    validation: Validation,
    names: tuple[str, ...],
    draws: FloatArray,
    prior: float,
    prob: float,
) -> BayesianDecisionCurve:
    best = draws.max(axis=0)
    p_useful = (draws > draws[-2:].max(axis=0)).mean(axis=2)
    p_useful[-2:] = np.nan
    tail = (1 - prob) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=2)
    return BayesianDecisionCurve(
        models=names,
        thresholds=validation.thresholds,
        n=validation.n,
        prevalence=validation.prevalence,
        prior=prior,
        draws=draws,
        net_benefit=draws.mean(axis=2),
        standard_deviation=draws.std(axis=2),
        low=low,
        high=high,
        prob=prob,
        p_useful=p_useful,
        p_best=(draws == best).mean(axis=2),
        expected_loss=(best - draws).mean(axis=2),
        note=validation.note,
    )
