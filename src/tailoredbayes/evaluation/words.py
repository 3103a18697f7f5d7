"""Results in plain words, in the units that a clinician counts in."""

from __future__ import annotations

__all__ = [
    "choice_in_words",
    "difference_in_words",
    "error_in_words",
    "more_or_fewer",
    "net_benefit_in_words",
    "probability_in_words",
]

_PER = 1000
_DECIMALS = 1


def more_or_fewer(value: float, *, per: int = _PER) -> str:
    """Return a difference of shares as more or fewer of so many.

    Examples
    --------
    >>> more_or_fewer(0.0036), more_or_fewer(-0.002), more_or_fewer(0.00001)
    ('3.6 more', '2 fewer', 'no more')
    """
    shown = round(per * value, _DECIMALS)
    if shown == 0:
        return "no more"
    return f"{abs(shown):.10g} {'more' if shown > 0 else 'fewer'}"


def difference_in_words(
    difference: float,
    interval: tuple[float, float],
    *,
    model: str,
    against: str,
    threshold: float,
    interval_name: str,
) -> str:
    """Return a difference in net benefit as true positives per 1000 patients.

    Net benefit counts true positives net of false ones at their exchange rate, so a difference of
    0.0036 is worth 3.6 more true positives per 1000 patients at unchanged false positives.

    Examples
    --------
    >>> print(difference_in_words(0.0036, (-0.001, 0.0081), model="TB", against="SB",
    ...                           threshold=0.1, interval_name="95% interval"))
    At a threshold of 10%, TB instead of SB is worth 3.6 more true positives per 1000 patients for \
the same number of unnecessary treatments (95% interval: 1 fewer to 8.1 more).
    """
    names = {"all": "treating everyone", "none": "treating no one"}
    low, high = map(more_or_fewer, interval)
    if low == high == more_or_fewer(difference) == more_or_fewer(0.0):
        return (
            f"At a threshold of {_percent(threshold)}, {names.get(model, model)} and "
            f"{names.get(against, against)} are worth the same, to within {10**-_DECIMALS:g} true "
            f"positives per {_PER} patients."
        )
    return (
        f"At a threshold of {_percent(threshold)}, {names.get(model, model)} instead of "
        f"{names.get(against, against)} is worth {more_or_fewer(difference)} true positives per "
        f"{_PER} patients for the same number of unnecessary treatments "
        f"({interval_name}: {low} to {high})."
    )


def error_in_words(error: float) -> str:
    """Return a standard error of a net benefit.

    >>> error_in_words(0.00481)
    '4.8 true positives per 1000 patients'
    """
    return f"{round(_PER * error, _DECIMALS):.10g} true positives per {_PER} patients"


def choice_in_words(p_better: float, expected_loss: float) -> str:
    """Return how sure a choice is, and what it loses where it is wrong.

    Examples
    --------
    >>> print(choice_in_words(0.934, 0.0004))
    It is better with probability 0.93; choosing it loses 0.4 true positives per 1000 patients on \
average, counting no loss where it is better.
    """
    return (
        f"It is better with probability {probability_in_words(p_better)}; choosing it loses "
        f"{round(_PER * expected_loss, _DECIMALS):.10g} true positives per {_PER} patients on "
        "average, counting no loss where it is better."
    )


def probability_in_words(p: float) -> str:
    """Return a probability to two decimals; draws cannot tell one near 0 or 1 from it.

    Examples
    --------
    >>> probability_in_words(0.5), probability_in_words(1.0), probability_in_words(0.001)
    ('0.50', 'above 0.99', 'below 0.01')
    """
    if p > 0.99:
        return "above 0.99"
    return "below 0.01" if p < 0.01 else f"{p:.2f}"


def net_benefit_in_words(net_benefit: float, threshold: float) -> str:
    """Return a net benefit as what it is worth against treating no one.

    Examples
    --------
    >>> print(net_benefit_in_words(0.05, 0.2))
    At a threshold of 20%, 50 more true positives per 1000 patients than treating no one, without \
one unnecessary treatment, would be worth as much.
    """
    return (
        f"At a threshold of {_percent(threshold)}, {more_or_fewer(net_benefit)} true positives per "
        f"{_PER} patients than treating no one, without one unnecessary treatment, would be worth "
        "as much."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.6g}%"
