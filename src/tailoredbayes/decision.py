"""Decisions: utilities, the threshold they imply, the rule, and the net benefit of following it.

A decision maker treats when a predicted risk reaches a threshold t. With utilities U of the four
outcomes, the benefit of treating a case is B = U_tp - U_fn, the harm of treating a non-case is
H = U_tn - U_fp, and the threshold at which the two balance is

    t = H / (H + B),    odds(t) = t / (1 - t) = H / B.

Net benefit counts true positives and charges each false positive odds(t) of one:

    NB(t) = TP / n - FP / n * odds(t).

Everything here is a sum of four counts, taken once in `treated_counts`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from tailoredbayes.checks import (
    BoolArray,
    FloatArray,
    ScalarOrCurve,
    check_both_classes,
    check_number,
    check_outcome,
    check_risk,
    check_same_length,
    check_sample_weight,
    check_threshold,
    check_thresholds,
)

__all__ = [
    "TreatedCounts",
    "harm_to_benefit",
    "interventions_avoided",
    "net_benefit",
    "net_benefit_scorer",
    "net_benefit_treat_all",
    "net_benefit_treat_none",
    "standardized_net_benefit",
    "target_threshold",
    "target_threshold_from_utilities",
    "treated_counts",
]


# --- The threshold ----------------------------------------------------------------------------


def target_threshold(*, benefit: float, harm: float) -> float:
    """Return the risk at which treating and not treating are worth the same.

    With B the benefit of treating a patient who has the event and H the harm of treating one who
    has not,

        t = H / (H + B) = 1 / (1 + B / H).

    Only the ratio matters: a harm-to-benefit ratio of 1:9 is t = 0.1. As the harm vanishes t goes
    to 0 (treat everyone); as the benefit vanishes t goes to 1 (treat no one). [PaukerKassirer1980]

    Parameters
    ----------
    benefit
        B > 0: what treating a case gains over leaving it untreated.
    harm
        H > 0: what treating a non-case costs, in the same units.

    Returns
    -------
    float
        The threshold, strictly between 0 and 1.

    See Also
    --------
    harm_to_benefit : The way back, from t to H / B.

    Examples
    --------
    Nine false alarms are worth one missed case:

    >>> target_threshold(benefit=9, harm=1)
    0.1
    """
    advice = "only the ratio of benefit to harm matters, so any positive units will do"
    benefit = check_number(benefit, "benefit", above=0, advice=advice)
    harm = check_number(harm, "harm", above=0, advice=advice)
    threshold = harm / (harm + benefit)
    if not 0 < threshold < 1:
        raise ValueError(
            "benefit and harm must give a threshold strictly between 0 and 1, got "
            f"{threshold:g} from benefit={benefit:g} and harm={harm:g}; bring them nearer together"
        )
    return threshold


def target_threshold_from_utilities(*, tp: float, fp: float, fn: float, tn: float) -> float:
    """Return the threshold implied by the utilities of the four outcomes.

        B = U_tp - U_fn,    H = U_tn - U_fp,    t = H / (H + B).

    Adding a constant to all four, or multiplying all four by a positive one, changes nothing.
    [PaukerKassirer1980]

    Parameters
    ----------
    tp
        Utility of treating a patient who has the event.
    fp
        Utility of treating a patient who has not; below `tn`.
    fn
        Utility of not treating a patient who has the event; below `tp`.
    tn
        Utility of not treating a patient who has not.

    Returns
    -------
    float
        The threshold, strictly between 0 and 1.

    Examples
    --------
    >>> target_threshold_from_utilities(tp=1.0, fp=0.75, fn=0.25, tn=1.0)
    0.25
    """
    advice = "give each outcome a utility on one scale, such as 0 for the worst and 1 for the best"
    tp = check_number(tp, "tp", advice=advice)
    fp = check_number(fp, "fp", advice=advice)
    fn = check_number(fn, "fn", advice=advice)
    tn = check_number(tn, "tn", advice=advice)
    if not tp > fn:
        raise ValueError(
            f"tp must exceed fn (treating a case must help), got tp={tp:g} and fn={fn:g}; "
            "check the order of the utilities"
        )
    if not tn > fp:
        raise ValueError(
            f"tn must exceed fp (treating a non-case must cost), got tn={tn:g} and fp={fp:g}; "
            "check the order of the utilities"
        )
    return target_threshold(benefit=tp - fn, harm=tn - fp)


def harm_to_benefit(threshold: ScalarOrCurve) -> ScalarOrCurve:
    """Return the odds of a threshold, which are its harm-to-benefit ratio.

        H / B = odds(t) = t / (1 - t)

    Parameters
    ----------
    threshold
        t strictly between 0 and 1, or a 1-D array of them.

    Returns
    -------
    float or ndarray
        As `threshold` is.

    Examples
    --------
    At t = 0.2 one missed case weighs as much as four false alarms:

    >>> harm_to_benefit(0.2)
    0.25
    """
    threshold = check_thresholds(threshold)
    return threshold / (1 - threshold)


# --- The rule, counted ------------------------------------------------------------------------


@dataclass(frozen=True)
class TreatedCounts(Generic[ScalarOrCurve]):
    """What the rule "treat when risk >= t" does, in (weighted) counts of rows.

    The two counts of treated rows follow the threshold: a number for one, an array for many.
    """

    true_positives: ScalarOrCurve
    """TP(t): treated rows with the event."""
    false_positives: ScalarOrCurve
    """FP(t): treated rows without it."""
    events: float
    """All rows with the event; their share of the rows is the sample's prevalence."""
    nonevents: float
    """All rows without it."""

    @property
    def true_positive_rate(self) -> ScalarOrCurve:
        """TPR(t) = TP(t) / events; nan where there are no events."""
        return self.true_positives / (self.events or math.nan)

    @property
    def false_positive_rate(self) -> ScalarOrCurve:
        """FPR(t) = FP(t) / nonevents; nan where there are no non-events."""
        return self.false_positives / (self.nonevents or math.nan)


def treated_counts(
    y_true: ArrayLike,
    risk: ArrayLike,
    threshold: ScalarOrCurve,
    *,
    sample_weight: ArrayLike | None = None,
) -> TreatedCounts[ScalarOrCurve]:
    """Count true and false positives of the rule "treat when risk >= t".

    Ties treat. Risks and thresholds are compared exactly, in double precision: the 32-bit number
    nearest to 0.7 lies below the 64-bit one and does not reach it. One threshold costs one
    comparison per row. A curve costs one binary search per row among the sorted thresholds,
    however many they are; every other step works on the thresholds alone.

    Parameters
    ----------
    y_true
        Outcome per row: 0 and 1, or False and True.
    risk
        Predicted risk per row, in [0, 1].
    threshold
        t strictly between 0 and 1, or a 1-D array of them in any order.
    sample_weight
        Weight per row, 0 or more. None counts each row once.

    Returns
    -------
    TreatedCounts

    Examples
    --------
    >>> counts = treated_counts([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1], np.array([0.2, 0.5, 0.6]))
    >>> counts.true_positives, counts.false_positives
    (array([2., 2., 1.]), array([1., 1., 0.]))
    >>> counts.true_positive_rate
    array([1. , 1. , 0.5])
    """
    event, risk, threshold, weight = _checked(y_true, risk, threshold, sample_weight)
    return _count(event, risk, threshold, weight)


def _count(
    event: BoolArray, risk: FloatArray, threshold: ScalarOrCurve, weight: FloatArray | None
) -> TreatedCounts[ScalarOrCurve]:
    """Count, input checked."""
    if weight is None:
        events = float(np.count_nonzero(event))
        nonevents = len(event) - events
    else:
        events = float(weight[event].sum())
        nonevents = float(weight[~event].sum())
    if isinstance(threshold, np.ndarray):
        treated_events, treated_nonevents = _count_curve(event, risk, threshold, weight)
    else:
        treated_events, treated_nonevents = _count_one(event, risk, threshold, weight)
    return TreatedCounts(treated_events, treated_nonevents, events, nonevents)


def _count_one(
    event: BoolArray, risk: FloatArray, threshold: float, weight: FloatArray | None
) -> tuple[float, float]:
    """Count (TP, FP) at one threshold."""
    treated = risk >= threshold
    if weight is None:
        tp = float(np.count_nonzero(treated & event))
        return tp, float(np.count_nonzero(treated)) - tp
    return float(weight[treated & event].sum()), float(weight[treated & ~event].sum())


def _count_curve(
    event: BoolArray, risk: FloatArray, thresholds: FloatArray, weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Count (TP, FP) at every threshold: one sort of the rows, or one search per weighted row."""
    if weight is None:
        return _at_or_above(risk[event], thresholds), _at_or_above(risk[~event], thresholds)
    # A row reaches `reached` = #{j : t_j <= risk} of the sorted thresholds, the first ones, and is
    # treated at exactly those. So TP at the j-th sorted threshold is the weight of the events with
    # reached > j: a histogram of `reached`, summed from its top.
    order = np.argsort(thresholds)
    bins = len(thresholds) + 1
    reached = np.searchsorted(thresholds[order], risk, side="right")
    reached += bins * event  # events take the second half of the histogram
    histogram = np.bincount(reached, weights=weight, minlength=2 * bins).reshape(2, bins)
    counts = np.empty((2, bins - 1))
    counts[:, order] = histogram[:, :0:-1].cumsum(axis=1)[:, ::-1]
    return counts[1], counts[0]


def _at_or_above(risk: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Count the risks at or above each threshold; ``risk`` is sorted in place."""
    risk.sort()
    return (len(risk) - np.searchsorted(risk, thresholds, side="left")).astype(np.float64)


# --- Net benefit ------------------------------------------------------------------------------


def net_benefit(
    y_true: ArrayLike,
    risk: ArrayLike,
    threshold: ScalarOrCurve,
    *,
    sample_weight: ArrayLike | None = None,
    prevalence: float | None = None,
    harm: float = 0.0,
) -> ScalarOrCurve:
    r"""Return the net benefit of treating when risk >= t.

    In a cohort, with n rows (or their total weight),

        NB(t) = TP / n - FP / n * t / (1 - t) - harm.

    In a case-control sample the share of cases is the investigator's choice, not the
    population's; given the population's prevalence pi,

        NB(t) = pi * TPR - (1 - pi) * FPR * t / (1 - t) - harm.

    It is the share of net true positives: 0.05 is worth five true positives per 100 patients with
    no false ones. It is at most pi, and 0 for a model that treats no one. As t goes to 0 false
    alarms cost nothing and it goes to the share of events whose risk is above 0; as t goes to 1
    it has no lower bound.
    [VickersElkin2006], [RoussonZumbrunn2011] for case-control data.

    Parameters
    ----------
    y_true
        Outcome per row: 0 and 1, or False and True.
    risk
        Predicted risk per row, in [0, 1].
    threshold
        t strictly between 0 and 1, or a 1-D array of them. Ties treat.
    sample_weight
        Weight per row, 0 or more. None counts each row once.
    prevalence
        The population's share of events, for case-control data; both classes must then occur.
        None takes the sample's.
    harm
        What obtaining one risk costs, in true positives: a test worth doing on at most 50 patients
        to find one more case has harm 0.02. [VickersElkin2006]

    Returns
    -------
    float or ndarray
        As `threshold` is.

    See Also
    --------
    standardized_net_benefit : The share of the largest possible net benefit.
    interventions_avoided : The same comparison, in treatments spared.

    Examples
    --------
    Ten patients, three events. At t = 0.2 the model treats two events and two non-events:
    NB = 2/10 - 2/10 * 0.25.

    >>> y = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    >>> risk = [0.8, 0.3, 0.1, 0.4, 0.2, 0.1, 0.1, 0.1, 0.0, 0.0]
    >>> round(net_benefit(y, risk, 0.2), 12)
    0.15
    >>> net_benefit(y, risk, np.array([0.2, 0.5])).round(12)
    array([0.15, 0.1 ])
    """
    tp, fp, _ = _treated_shares(y_true, risk, threshold, sample_weight, prevalence)
    return tp - fp * harm_to_benefit(threshold) - _check_harm(harm)


def standardized_net_benefit(
    y_true: ArrayLike,
    risk: ArrayLike,
    threshold: ScalarOrCurve,
    *,
    sample_weight: ArrayLike | None = None,
    prevalence: float | None = None,
    harm: float = 0.0,
) -> ScalarOrCurve:
    """Return net benefit as a share of the largest possible, NB(t) / pi.

    A model that treats all events and no one else has NB = pi, so a perfect model scores 1 at
    every threshold and treating no one scores 0. [Kerr2016]

    Parameters
    ----------
    y_true, risk, threshold, sample_weight, prevalence, harm
        As in `net_benefit`; at least one event must occur.

    Returns
    -------
    float or ndarray
        As `threshold` is.

    Examples
    --------
    >>> standardized_net_benefit([1, 1, 0, 0], [0.9, 0.4, 0.2, 0.1], np.array([0.3, 0.5]))
    array([1. , 0.5])
    """
    tp, fp, pi = _treated_shares(y_true, risk, threshold, sample_weight, prevalence)
    if pi == 0:
        raise ValueError(
            "y_true must hold at least one event (1), got none: net benefit cannot be divided by "
            "a prevalence of 0; use net_benefit, or add rows with the event"
        )
    return (tp - fp * harm_to_benefit(threshold) - _check_harm(harm)) / pi


def interventions_avoided(
    y_true: ArrayLike,
    risk: ArrayLike,
    threshold: ScalarOrCurve,
    *,
    sample_weight: ArrayLike | None = None,
    prevalence: float | None = None,
    harm: float = 0.0,
) -> ScalarOrCurve:
    """Return the net number of treatments spared per 100 patients, against treating all.

        100 * (NB(t) - NB_all(t)) / odds(t)

    Written out, it is the true negatives less the missed cases, each at its exchange rate of
    1 / odds(t) = B / H treatments:

        100 * (TN / n - (FN / n + harm) / odds(t)).

    Negative where treating everyone would be better; 0 for a model that does treat everyone. It
    has no lower bound as t goes to 0. [VickersElkin2006]

    Parameters
    ----------
    y_true, risk, threshold, sample_weight, prevalence, harm
        As in `net_benefit`.

    Returns
    -------
    float or ndarray
        As `threshold` is.

    Examples
    --------
    Ten patients; at t = 0.2 two of the three events and two of the seven others are treated. Five
    are spared, but one of the spared is a case, worth 1 / 0.25 = 4 treatments:

    >>> y = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    >>> risk = [0.8, 0.3, 0.1, 0.4, 0.2, 0.1, 0.1, 0.1, 0.0, 0.0]
    >>> round(interventions_avoided(y, risk, 0.2), 12)
    10.0
    """
    tp, fp, pi = _treated_shares(y_true, risk, threshold, sample_weight, prevalence)
    tn, fn = (1 - pi) - fp, pi - tp
    return 100 * (tn - (fn + _check_harm(harm)) / harm_to_benefit(threshold))


def net_benefit_treat_all(
    y_true: ArrayLike,
    threshold: ScalarOrCurve,
    *,
    sample_weight: ArrayLike | None = None,
    prevalence: float | None = None,
) -> ScalarOrCurve:
    """Return the net benefit of treating everyone.

        NB_all(t) = pi - (1 - pi) * t / (1 - t)

    It is what a model with risk 1 for all reaches, crosses 0 at t = pi, and needs no test, so it
    bears no test harm.

    Parameters
    ----------
    y_true
        Outcome per row: 0 and 1, or False and True.
    threshold
        t strictly between 0 and 1, or a 1-D array of them.
    sample_weight
        Weight per row, 0 or more. None counts each row once.
    prevalence
        pi, for case-control data. None takes the sample's.

    Returns
    -------
    float or ndarray
        As `threshold` is.

    Examples
    --------
    >>> net_benefit_treat_all([1, 0, 0, 0], np.array([0.1, 0.25, 0.5])).round(12)
    array([ 0.16666667,  0.        , -0.5       ])
    """
    event = check_outcome(y_true)
    weight = _check_weight(sample_weight)
    check_same_length(y_true=event, sample_weight=weight)
    sample = float(np.average(event, weights=weight))
    pi = sample if prevalence is None else _check_prevalence(prevalence)
    return pi - (1 - pi) * harm_to_benefit(threshold)


def net_benefit_treat_none(threshold: ScalarOrCurve) -> ScalarOrCurve:
    """Return the net benefit of treating no one, which is 0 at every threshold.

    Examples
    --------
    >>> net_benefit_treat_none(0.1)
    0.0
    >>> net_benefit_treat_none(np.array([0.1, 0.2]))
    array([0., 0.])
    """
    return 0.0 * check_thresholds(threshold)


def _treated_shares(
    y_true: ArrayLike,
    risk: ArrayLike,
    threshold: ScalarOrCurve,
    sample_weight: ArrayLike | None,
    prevalence: float | None,
) -> tuple[ScalarOrCurve, ScalarOrCurve, float]:
    """Return the population's shares of true positives, of false positives and of events."""
    event, risk, threshold, weight = _checked(y_true, risk, threshold, sample_weight)
    if prevalence is None:
        counts = _count(event, risk, threshold, weight)
        n = counts.events + counts.nonevents
        return counts.true_positives / n, counts.false_positives / n, counts.events / n
    pi = _check_prevalence(prevalence)
    check_both_classes(event, sample_weight=weight)
    counts = _count(event, risk, threshold, weight)
    return pi * counts.true_positive_rate, (1 - pi) * counts.false_positive_rate, pi


def _checked(
    y_true: ArrayLike,
    risk: ArrayLike,
    threshold: ScalarOrCurve,
    sample_weight: ArrayLike | None,
) -> tuple[BoolArray, FloatArray, ScalarOrCurve, FloatArray | None]:
    """Check what every count needs."""
    event = check_outcome(y_true)
    risk = check_risk(risk)
    weight = _check_weight(sample_weight)
    check_same_length(y_true=event, risk=risk, sample_weight=weight)
    return event, risk, check_thresholds(threshold), weight


def _check_weight(sample_weight: ArrayLike | None) -> FloatArray | None:
    return None if sample_weight is None else check_sample_weight(sample_weight)


def _check_prevalence(prevalence: float) -> float:
    return check_number(
        prevalence,
        "prevalence",
        above=0,
        below=1,
        advice="pass the population's share of events, such as 0.05",
    )


def _check_harm(harm: float) -> float:
    return check_number(
        harm,
        "harm",
        at_least=0,
        advice="pass the cost of one test in true positives, such as 0.02, or 0 for none",
    )


# --- The scorer -------------------------------------------------------------------------------


def net_benefit_scorer(
    threshold: float,
    *,
    pos_label: str | float | None = None,
    prevalence: float | None = None,
    harm: float = 0.0,
) -> Callable[..., float]:
    """Return a scikit-learn scorer that gives a classifier's net benefit at one threshold.

    It reads `predict_proba`, takes `sample_weight` (with metadata routing on, ask for it with
    `.set_score_request(sample_weight=True)`), and can be pickled, so parallel searches may use it.

    Parameters
    ----------
    threshold
        t strictly between 0 and 1.
    pos_label
        The label of the event. None means 1, and the labels must then be 0 and 1, -1 and 1, or
        False and True: in a fold with one class only, no rule could tell which it is.
    prevalence, harm
        As in `net_benefit`.

    Returns
    -------
    callable
        Called as `scorer(estimator, X, y, sample_weight=None)`; larger is better.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), ["well", "well", "ill", "ill"]
    >>> scorer = net_benefit_scorer(0.2, pos_label="ill")
    >>> scorer(LogisticRegression(C=100).fit(X, y), X, y)
    0.5
    """
    return make_scorer(  # type: ignore[no-any-return]  # scikit-learn ships no types
        net_benefit_of_labels,
        response_method="predict_proba",
        threshold=check_threshold(threshold),
        pos_label=pos_label,
        prevalence=None if prevalence is None else _check_prevalence(prevalence),
        harm=_check_harm(harm),
    )


def net_benefit_of_labels(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    threshold: float,
    pos_label: str | float | None = None,
    prevalence: float | None = None,
    harm: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return net benefit from class labels: the metric inside `net_benefit_scorer`.

    scikit-learn hands over the probability of `pos_label`, or of the last class when that is
    None. `y_proba` keeps scikit-learn's name, by which its metadata routing knows the argument
    for a prediction.
    """
    labels: Any = np.asarray(y_true)
    if pos_label is not None:
        event = labels == pos_label
    elif labels.dtype.kind in "biuf" and any(
        np.isin(labels, pair).all() for pair in ((0, 1), (-1, 1))
    ):
        event = labels == 1
    else:
        raise ValueError(
            "the labels must be 0 and 1, -1 and 1, or False and True when pos_label is None, got "
            f"{', '.join(map(repr, np.unique(labels)[:3].tolist()))}; name the event, as in "
            "net_benefit_scorer(threshold, pos_label=...)"
        )
    return net_benefit(
        event,
        y_proba,
        threshold,
        sample_weight=sample_weight,
        prevalence=prevalence,
        harm=harm,
    )
