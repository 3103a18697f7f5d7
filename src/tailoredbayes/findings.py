"""Findings: what a fit says about itself.

A finding has a stable code, one sentence and a number. It is kept with what it is about and told
once as a :class:`TailoringWarning`; docs/findings.md says what each code means and what to do.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["CODES", "Finding", "TailoringWarning", "tell"]

CODES = {
    "discount-at-edge": "the chosen discount is its grid's last",
    "fewer-folds": "too few events for the folds asked for",
    "no-mass-near-threshold": "hardly any reference risk lies near the threshold",
    "orientation-reversal": "the tailored model ranks the rows against the standard one",
    "rare-events": "few events to choose the discount by",
    "reference-miscalibrated": "given reference risks do not fit these data",
    "saturated-reference": "some reference risks are 0 or 1",
    "small-effective-sample": "the weights leave a small part of the rows",
    "tailoring-did-not-help": "the discount 0 was chosen",
    "separation": "a linear rule separates the weighted outcomes",
    "collinearity": "some columns are linear combinations of others",
    "weak-data": "the prior decides a direction of the coefficients",
    "few-weighted-rows": "few rows carry the weight",
    "few-weighted-events": "few events (or non-events) carry the weight",
    "k-hat": "importance weights are unreliable",
    "r-hat": "chains disagree",
    "low-ess": "few effective draws",
    "divergences": "NUTS met regions it could not follow",
    "not-converged": "the mode was not reached",
    "laplace-refused": "the posterior is far from normal, so it was sampled by NUTS",
}


class TailoringWarning(UserWarning):
    """A finding, told as a warning.

    Examples
    --------
    To stop at any finding rather than read it later:

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", TailoringWarning)
    ...     tell([Finding("k-hat", "k-hat is 0.9; use sampler='nuts'.", 0.9)])
    Traceback (most recent call last):
        ...
    tailoredbayes.findings.TailoringWarning: k-hat: k-hat is 0.9; use sampler='nuts'. (see \
docs/findings.md#k-hat)
    """


@dataclass(frozen=True)
class Finding:
    """One thing a fit says about itself.

    Parameters
    ----------
    code
        One of :data:`CODES`.
    message
        One sentence: what was found, and what to do about it.
    value
        The number behind it.

    Examples
    --------
    >>> print(Finding("k-hat", "k-hat is 0.9; use sampler='nuts'.", 0.9))
    k-hat: k-hat is 0.9; use sampler='nuts'. (see docs/findings.md#k-hat)
    """

    code: str
    message: str
    value: float

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"unknown finding code {self.code!r}; known: {', '.join(CODES)}")

    @property
    def link(self) -> str:
        """Where the documentation explains the code."""
        return f"docs/findings.md#{self.code}"

    def __str__(self) -> str:
        return f"{self.code}: {self.message} (see {self.link})"


def tell(findings: Iterable[Finding]) -> None:
    """Warn of each finding, on behalf of the caller's caller."""
    for finding in findings:
        warnings.warn(str(finding), TailoringWarning, stacklevel=3)
