"""A number and how far it may be off: value, standard error, interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from tailoredbayes.checks import check_number

__all__ = ["Estimate", "check_prob", "normal_quantile"]


@dataclass(frozen=True)
class Estimate:
    """A value, its standard error and an interval; nan where there is none.

    Examples
    --------
    >>> round(Estimate.normal(1.0, 0.5, 0.95).low, 2)
    0.02
    """

    value: float
    se: float
    low: float
    high: float

    @classmethod
    def normal(cls, value: float, se: float, prob: float) -> Estimate:
        """Return value -+ z se."""
        z = normal_quantile(prob)
        return cls(value, se, value - z * se, value + z * se)

    @classmethod
    def log_normal(cls, value: float, log_se: float, prob: float) -> Estimate:
        """Return an interval of a positive value, symmetric about its logarithm."""
        z = normal_quantile(prob)
        return cls(
            value, value * log_se, value * math.exp(-z * log_se), value * math.exp(z * log_se)
        )

    @classmethod
    def logit_normal(cls, value: float, se: float, prob: float) -> Estimate:
        """Return an interval of a share, symmetric about its logit; ``se`` is the share's own.

        At 0 and at 1 there is no logit, and no interval.
        """
        if not 0 < value < 1 or math.isnan(se):
            return cls(value, math.nan, math.nan, math.nan)
        centre, half = math.log(value / (1 - value)), normal_quantile(prob) * se
        half /= value * (1 - value)
        return cls(
            value,
            se,
            1 / (1 + math.exp(half - centre)),
            1 / (1 + math.exp(-half - centre)),
        )


def check_prob(prob: object) -> float:
    """Return the probability an interval is to hold, strictly between 0 and 1."""
    return check_number(prob, "prob", above=0, below=1, advice="0.95 asks for 95% intervals")


def normal_quantile(prob: float) -> float:
    """Return z such that a standard normal lies within -+ z with this probability.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return float(ndtri(0.5 + prob / 2))
