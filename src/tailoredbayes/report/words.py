"""What the page says in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tailoredbayes.evaluation.words import (
    difference_in_words,
    more_or_fewer,
    probability_in_words,
)
from tailoredbayes.report.evidence import LEVEL, Evidence
from tailoredbayes.report.sample import Sample
from tailoredbayes.report.subject import STANDARD, Subject
from tailoredbayes.report.tables import (
    accepted_text,
    interval,
    number,
    percent,
    threshold_text,
)

__all__ = ["LABELS", "limitations", "summary", "threshold_meaning"]

LABELS = {
    "external": "external: on patients whom the fit has not seen",
    "cross-validated": "cross-validated: on parts of the training patients held out in turn",
    "apparent": "apparent: on the very patients that the model was fitted to",
}
"""What each label means."""

# Under so many events (or non-events) an external validation leaves much open [Vergouwe2005].
_VALIDATION_EVENTS = 100
# Events of the rarer kind per coefficient under which a fit is likely to promise too much.
_EVENTS_PER_COEFFICIENT = 10
# P(useful) from which the page draws a conclusion, as 95% intervals do.
_SETTLED = 0.95


def threshold_meaning(t: float) -> str:
    """Say what a threshold means in treatments.

    >>> print(threshold_meaning(0.1))
    A threshold of 10% says that one missed case weighs as much as 9 unnecessary treatments: to \
treat one patient who needs it, up to 9 unnecessary treatments are acceptable.
    >>> print(threshold_meaning(0.8))
    A threshold of 80% says that one unnecessary treatment weighs as much as 4 missed cases: \
treatment is for patients who are very likely to need it.
    """
    ratio = (1 - t) / t
    if ratio >= 1:
        few = accepted_text(t)
        many = "treatment" if few == "1" else "treatments"
        verb = "is" if few == "1" else "are"
        return (
            f"A threshold of {threshold_text(t)} says that one missed case weighs as much as {few} "
            f"unnecessary {many}: to treat one patient who needs it, up to {few} unnecessary "
            f"{many} {verb} acceptable."
        )
    return (
        f"A threshold of {threshold_text(t)} says that one unnecessary treatment weighs as much as "
        f"{1 / ratio:.3g} missed cases: treatment is for patients who are very likely to need it."
    )


def summary(subject: Subject, found: Evidence) -> list[str]:
    """Say what changes for the patients, in a few sentences."""
    curve, place = found.curve, found.place(subject.threshold)
    own = curve.models.index(subject.name)
    everyone, no_one = curve.models.index("all"), curve.models.index("none")
    tp, fp = (1000 * float(rate[own, place]) for rate in (curve.tp_rate, curve.fp_rate))
    whole = number(0)
    # Whole patients that add up: none is lost between what is told of those treated and of all.
    events, treated, caught = (round(x) for x in (1000 * curve.prevalence, tp + fp, tp))
    said = [
        f"Of 1000 patients like these, {events} have the event. Treating those whose predicted "
        f"risk is at least {threshold_text(subject.threshold)} treats {treated}: {caught} of them "
        f"have the event and {treated - caught} have not. {events - caught} with the event are "
        "missed."
    ]
    best = (
        everyone
        if curve.net_benefit[everyone, place] > curve.net_benefit[no_one, place]
        else (no_one)
    )
    gain = float(curve.net_benefit[own, place] - curve.net_benefit[best, place])
    simple = "treating everyone" if best == everyone else "treating no one"
    said.append(
        f"Against {simple}, the better of the two simple policies, this is worth "
        f"{more_or_fewer(gain)} true positives per 1000 patients for the same number of "
        "unnecessary treatments." + (" The model gains nothing over it." if gain <= 0 else "")
    )
    avoided = 10 * float(curve.interventions_avoided[own, place])
    if best == everyone and avoided > 0:
        said.append(
            f"Counted in treatments, it is worth as much as sparing {whole(avoided)} of 1000 "
            "patients an unnecessary treatment without missing one more case."
        )
    if found.bayesian is not None:
        useful = float(found.bayesian.p_useful[found.bayesian.models.index(subject.name), place])
        said.append(
            "The probability that the model is better than both treating everyone and treating no "
            f"one is {probability_in_words(useful)}: {_verdict(useful)}."
        )
    said += list(_compared(subject, found))
    if found.uncertain is not None:
        share = float(found.uncertain[place])
        said.append(
            f"For {number(1)(100 * share)}% of the patients the decision is uncertain: the model "
            f"is less than {100 * LEVEL:g}% sure on which side of the threshold they are."
        )
    return said


def _verdict(useful: float) -> str:
    """Say what a probability of being useful lets one conclude.

    >>> _verdict(0.99), _verdict(0.46), _verdict(0.02)
    ('these patients speak for the model', 'these patients do not settle whether it is', \
'these patients speak against the model at this threshold')
    """
    if useful >= _SETTLED:
        return "these patients speak for the model"
    if useful <= 1 - _SETTLED:
        return "these patients speak against the model at this threshold"
    return "these patients do not settle whether it is"


def _compared(subject: Subject, found: Evidence) -> Iterator[str]:
    if not subject.is_tailored:
        yield (
            f"At {threshold_text(subject.threshold)} the model is not tailored: it is {STANDARD}, "
            "in which no patient counts for more by being near the threshold, so nothing is gained "
            "or lost against it."
        )
        return
    if found.difference is None:
        return
    place = found.place(subject.threshold)
    record = found.difference
    by = "bootstrap" if record.replicates else "cross-validation"
    sentence = difference_in_words(
        float(record.difference[0, place]),
        (float(record.low[0, place]), float(record.high[0, place])),
        model=f"the {subject.name}",
        against=f"{STANDARD} (the same model without tailoring)",
        threshold=subject.threshold,
        interval_name=f"{100 * record.prob:g}% {by} interval",
    )
    if found.better is not None:
        sentence += (
            " The probability that it is better is "
            f"{probability_in_words(float(found.better.p_better[place]))}."
        )
    yield sentence


def limitations(
    subject: Subject, evidence: tuple[Evidence, ...], train: Sample | None = None
) -> Iterator[str]:
    """Say what this page cannot show, as far as the numbers tell."""
    recorded = (subject.recipe.get("data") or {}).get("sha256")
    if train is not None and recorded and train.sha256 and train.sha256 != recorded:
        yield (
            "The table given as training data is not the file that the model was fitted to, or it "
            "has changed since: what is called apparent here may not be."
        )
    labels = {found.label for found in evidence}
    if "external" not in labels:
        yield (
            "There are no external data: how the model does on other patients, elsewhere or later, "
            "is not known."
        )
    if "cross-validated" in labels:
        yield (
            "Cross-validated numbers come from the search that chose how strongly to tailor. The "
            "best of several was chosen on the same patients, so they flatter the tailored model "
            "somewhat."
        )
    if "apparent" in labels:
        yield (
            "Apparent numbers are of the very patients that the model was fitted to. They are too "
            "good."
        )
    if not labels:
        yield (
            "Neither the training patients nor others were supplied, and the discount was given: "
            "nothing can be said of the model's performance."
        )
    yield from _few_events(subject, evidence)
    yield from _of_the_fit(subject)
    for found in evidence[:1]:
        yield from _of_the_curve(subject, found)
        yield from _of_calibration(subject, found)


def _of_calibration(subject: Subject, found: Evidence) -> Iterator[str]:
    """Say where the risks do not fit the rows, overall and at the threshold."""
    if found.calibration is None:
        return
    of_model = found.calibration.models[subject.name]
    ratio, near = of_model.observed_expected, of_model.near
    write = number(2)
    if ratio.low > 1 or ratio.high < 1:
        yield (
            f"Overall {write(ratio.value)} times as many events were seen as predicted "
            f"({write(ratio.low)} to {write(ratio.high)}, {found.label}): the risks are too "
            f"{'low' if ratio.value > 1 else 'high'} for these patients."
        )
    t = threshold_text(subject.threshold)
    # An interval that is not known (NaN) excludes nothing.
    if near is not None and (
        near.observed.low > subject.threshold or near.observed.high < subject.threshold
    ):
        share = interval(near.observed.value, near.observed.low, near.observed.high, percent)
        yield (
            f"Of patients given a risk of {t}, {share} had the event ({found.label}): decisions at "
            "the threshold rest on risks that do not fit."
        )


def _few_events(subject: Subject, evidence: tuple[Evidence, ...]) -> Iterator[str]:
    rarer = {found.label: _rarer(found) for found in evidence}
    if "external" in rarer and rarer["external"][0] < _VALIDATION_EVENTS:
        number_, kind = rarer["external"]
        yield (
            f"The external data hold {number_} {kind}; fewer than {_VALIDATION_EVENTS} leave "
            "performance wide open."
        )
    fitted = rarer.get("apparent") or rarer.get("cross-validated")
    coefficients = len(subject.coefficients)
    if fitted and fitted[0] < _EVENTS_PER_COEFFICIENT * coefficients:
        yield (
            f"The model was fitted to {fitted[0]} {fitted[1]} for {coefficients} coefficients, "
            f"fewer than {_EVENTS_PER_COEFFICIENT} each: it may promise too much."
        )


def _rarer(found: Evidence) -> tuple[int, str]:
    """Return how many rows have the rarer outcome, and which it is."""
    others = found.rows - found.events
    if found.events <= others:
        return found.events, "events"
    return others, "patients without the event"


def _of_the_fit(subject: Subject) -> Iterator[str]:
    edge = [t for t, model in subject.models.items() if _has(model, "discount-at-edge")]
    if edge:
        yield (
            "The strongest tailoring tried was chosen at the thresholds "
            f"{', '.join(map(threshold_text, edge))}: the best may lie beyond."
        )
    for t, model in subject.models.items():
        if t == subject.threshold and _has(model, "no-mass-near-threshold"):
            yield "Hardly any training patient has a risk near the threshold."
    if subject.against is None and subject.name != STANDARD:
        yield "The model file holds no standard Bayesian model, so there is none to compare with."
    if not subject.is_tailored:
        yield (
            f"At {threshold_text(subject.threshold)} the discount is 0: the model there is "
            "standard Bayes, not a tailored one."
        )
    if subject.recipe.get("missing", "refuse") != "refuse":
        done = {"drop": "left out", "impute": "filled in with medians and most frequent levels"}
        yield (
            f"Patients with missing values were {done.get(str(subject.recipe['missing']))}; that "
            "is sound only if values are missing for reasons that do not matter."
            if subject.recipe["missing"] == "drop"
            else f"Missing values were {done.get(str(subject.recipe['missing']))}; the intervals "
            "do not allow for that."
        )


def _has(model: object, code: str) -> bool:
    return any(finding.code == code for finding in getattr(model, "findings_", ()))


def _of_the_curve(subject: Subject, found: Evidence) -> Iterator[str]:
    place = found.place(subject.threshold)
    record = found.difference
    if (
        subject.is_tailored
        and record is not None
        and record.low[0, place] <= 0 <= record.high[0, place]
    ):
        yield (
            f"At {threshold_text(subject.threshold)} the interval of the difference to {STANDARD} "
            f"({found.label}) holds 0: either may be the better model."
        )
    curve = found.curve
    own = curve.net_benefit[curve.models.index(subject.name)]
    simple = np.maximum(
        curve.net_benefit[curve.models.index("all")], curve.net_benefit[curve.models.index("none")]
    )
    worse = curve.thresholds[own < simple]
    if len(worse):
        yield (
            f"At {len(worse)} of {len(curve.thresholds)} thresholds "
            f"({threshold_text(worse.min())} to {threshold_text(worse.max())}) treating everyone "
            f"or no one did better than the model ({found.label})."
        )
    if subject.is_tailored and not subject.is_family and len(curve.thresholds) > 1:
        yield (
            f"The model was tailored to {threshold_text(subject.threshold)}; its results at other "
            "thresholds show it away from its purpose."
        )
