"""Findings in plain words: what each means for the reader, and what to do."""

from __future__ import annotations

from tailoredbayes.findings import CODES

__all__ = ["ADVICE"]

ADVICE: dict[str, tuple[str, str]] = {
    "discount-at-edge": (
        "The strongest tailoring that was tried was chosen; a stronger one may do better.",
        "Try larger discounts (--discount with a number; in Python discount_grid), unless the grid "
        "was cut because too few weighted events would remain.",
    ),
    "fewer-folds": (
        "There are so few events that the cross-validation used fewer parts than asked for.",
        "Read cross-validated numbers with caution; repeat the cross-validation.",
    ),
    "no-mass-near-threshold": (
        "Hardly any patient has a risk near the threshold, so the data say little about decisions "
        "there.",
        "Check that the threshold suits these patients.",
    ),
    "orientation-reversal": (
        "The tailored model orders patients against the standard one: near the threshold the data "
        "cannot tell high risk from low.",
        "Do not use this model; lower the discount or use standard Bayes.",
    ),
    "rare-events": (
        "Few patients have the rarer outcome, so how strongly to tailor was chosen mostly by "
        "chance.",
        "Repeat the cross-validation (--cv-repeats 10; in Python cv_repeats=10), give the "
        "discount, or collect more events.",
    ),
    "reference-miscalibrated": (
        "The risks that were given to start from do not fit these data.",
        "Recalibrate them (--recalibrate; in Python recalibrate=True), or let the fit "
        "estimate its own.",
    ),
    "saturated-reference": (
        "Some starting risks are 0 or 1: their model is too sure of itself.",
        "Use a starting model with more caution, such as the default one.",
    ),
    "small-effective-sample": (
        "Tailoring leaves the weight of few patients, so the model is less certain.",
        "Lower the discount if the intervals are too wide to decide by.",
    ),
    "tailoring-did-not-help": (
        "In cross-validation no tailoring did clearly better than the standard model, so the "
        "standard one is used.",
        "Nothing needs to be done: at this threshold use the model as a standard one.",
    ),
    "separation": (
        "A simple rule tells all weighted events from the others, so the data do not say how large "
        "the coefficients are.",
        "Trust decisions, not coefficients; give a more informative prior or lower the discount.",
    ),
    "collinearity": (
        "Some predictors nearly repeat others, so their coefficients cannot be told apart.",
        "Read them together, or leave one of them out; risks are sound.",
    ),
    "weak-data": (
        "Some coefficients are decided by the prior rather than by the data.",
        "Use fewer predictors, or more patients.",
    ),
    "few-weighted-rows": (
        "The weights add up to few patients for so many coefficients.",
        "Lower the discount, or use fewer predictors.",
    ),
    "few-weighted-events": (
        "Few events (or few patients without the event) carry the weight.",
        "Lower the discount, or collect more events.",
    ),
    "k-hat": (
        "The fast way of sampling the posterior is not reliable here.",
        "Fit again with --sampler nuts (in Python sampler='nuts').",
    ),
    "r-hat": (
        "The sampler's chains disagree, so the posterior is not yet known well.",
        "Fit again with more draws, or with --sampler nuts (in Python sampler='nuts').",
    ),
    "low-ess": (
        "The posterior is known from few effective draws.",
        "Fit again with more draws.",
    ),
    "divergences": (
        "The sampler met regions of the posterior that it could not follow.",
        "Give a tighter prior; a few are common with separated data.",
    ),
    "not-converged": (
        "The search for the most likely coefficients did not end.",
        "Do not rely on this fit; check the prior and the data.",
    ),
    "laplace-refused": (
        "The posterior is far from a normal one, so it was sampled by the slower method.",
        "Nothing needs to be done.",
    ),
}
"""What each code means and what to do about it, in words for someone who did not fit the model."""

assert ADVICE.keys() == CODES.keys()
