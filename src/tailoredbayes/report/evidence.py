"""What the rows say of the model: one bundle of evaluation records for each kind of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing as take_rows

from tailoredbayes.checks import FloatArray
from tailoredbayes.evaluation.bayesian import (
    BayesianDecisionCurve,
    BayesianDifference,
    bayesian_decision_curve,
)
from tailoredbayes.evaluation.calibration import Calibration, calibration
from tailoredbayes.evaluation.cells import at_threshold, suggested_thresholds
from tailoredbayes.evaluation.certainty import uncertain_shares
from tailoredbayes.evaluation.curves import DecisionCurve, decision_curve
from tailoredbayes.evaluation.differences import NetBenefitDifference, net_benefit_difference
from tailoredbayes.evaluation.discrimination import Discrimination, discrimination
from tailoredbayes.evaluation.held_out import held_out_curve, held_out_difference
from tailoredbayes.evaluation.patients import Patients, patients
from tailoredbayes.report.sample import Sample
from tailoredbayes.report.subject import STANDARD, Subject

__all__ = ["LEVEL", "Evidence", "gather"]

Floats = NDArray[np.float64]

LEVEL = 0.9
"""A decision less certain than this is called uncertain."""

# Thresholds that a single model is judged at, and rows whose draws are looked at one by one.
_MOST_THRESHOLDS, _MOST_ROWS = 40, 10_000


@dataclass(frozen=True)
class Evidence:
    """Records of one kind of rows; what cannot be had from them is None."""

    label: str
    """"external", "cross-validated" or "apparent"."""
    curve: DecisionCurve
    difference: NetBenefitDifference | None = None
    """The model less standard Bayes."""
    bayesian: BayesianDecisionCurve | None = None
    better: BayesianDifference | None = None
    calibration: Calibration | None = None
    discrimination: Discrimination | None = None
    uncertain: FloatArray | None = None
    """Share of uncertain decisions at each threshold of the curve."""
    patients: Patients | None = None
    sample: Sample | None = None
    events: int = 0

    @property
    def rows(self) -> int:
        """How many rows there were."""
        return self.curve.n if self.sample is None else self.sample.rows

    def place(self, threshold: float) -> int:
        """Return the place of a threshold in the curve."""
        return at_threshold(self.curve.thresholds, threshold)


def gather(
    subject: Subject, train: Sample | None, test: Sample | None, random_state: int
) -> tuple[Evidence, ...]:
    """Return what can be said of the model, the most telling kind of rows first."""
    found = []
    if test is not None:
        found.append(_with_decisions(subject, _by_rows(subject, test, "external", random_state)))
    searched = _by_search(subject)
    if searched is not None:
        found.append(searched)
    if train is not None:
        apparent = _by_rows(subject, train, "apparent", random_state)
        found.append(apparent if test is not None else _with_decisions(subject, apparent))
    return tuple(found)


def _by_search(subject: Subject) -> Evidence | None:
    names = (subject.name, STANDARD)
    if subject.name == STANDARD:
        return None
    curve = held_out_curve(subject.judged, names=names)
    if curve is None:
        return None
    difference = held_out_difference(subject.judged, names=names)
    share = subject.target.fit_.search.tallies[0]
    return Evidence(
        "cross-validated", curve, difference, events=int(np.count_nonzero(share.gain > 0))
    )


def _by_rows(subject: Subject, sample: Sample, label: str, random_state: int) -> Evidence:
    event = sample.event(subject.target.classes_, subject.target._positive)
    weight = sample.sample_weight
    rest: dict[str, Any] = {"sample_weight": weight}
    if subject.is_family:
        thresholds = subject.thresholds
        risks = {subject.name: np.asarray(subject.model.risks(sample.X))}
        place = int(np.flatnonzero(thresholds == subject.threshold)[0])
        at_target = {subject.name: risks[subject.name][:, place]}
    else:
        risks = {subject.name: subject.target.risk(sample.X)}
        thresholds = _grid(subject.threshold, risks, float(event.mean()))
        at_target = dict(risks)
    if subject.against is not None:
        risks[STANDARD] = at_target[STANDARD] = subject.against.risk(sample.X)
    curve = decision_curve(event, risks, thresholds, **rest)
    bayesian = bayesian_decision_curve(event, risks, thresholds, random_state=random_state, **rest)
    difference = better = None
    if STANDARD in risks and len(risks) > 1:
        # By the same seed as `evaluate`, so that the two name the same interval.
        difference = net_benefit_difference(
            event, risks, thresholds, against=STANDARD, random_state=random_state, **rest
        )
        better = bayesian.difference(subject.name, STANDARD)
    both = bool(event.any()) and not bool(event.all())
    return Evidence(
        label=label,
        curve=curve,
        difference=difference,
        bayesian=bayesian,
        better=better,
        calibration=calibration(event, at_target, threshold=subject.threshold, **rest)
        if both
        else None,
        discrimination=discrimination(event, at_target, **rest) if both else None,
        sample=sample,
        events=int(event.sum()),
    )


def _with_decisions(subject: Subject, found: Evidence) -> Evidence:
    """Add how certain the decisions on the rows are, at all thresholds and row by row."""
    sample = found.sample
    assert sample is not None
    rows = np.arange(sample.rows)
    if sample.rows > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(sample.rows, _MOST_ROWS, replace=False))
    inside, weight = take_rows(sample.X, rows), sample.sample_weight
    shares = uncertain_shares(
        subject.judged,
        inside,
        found.curve.thresholds,
        uncertain=LEVEL,
        sample_weight=None if weight is None else np.asarray(weight)[rows],
    )
    return replace(found, uncertain=shares, patients=_patients(subject, sample, inside, rows))


def _grid(threshold: float, risks: dict[str, Any], prevalence: float) -> Floats:
    """Return thresholds for one model's curve: those suggested, thinned out, and its own."""
    found, _ = suggested_thresholds(risks, prevalence)
    every = math.ceil(len(found) / _MOST_THRESHOLDS)
    kept = found[every - 1 :: every]
    return np.sort(np.append(kept[np.abs(kept - threshold) > 1e-9], threshold))


def _patients(subject: Subject, sample: Sample, inside: Any, rows: NDArray[np.intp]) -> Patients:
    """Return the rows' decisions, with the draws of three: of low and high risk, and in doubt."""
    found = patients(subject.target, inside, subject.threshold, uncertain=LEVEL)
    order = np.argsort(found.risk, kind="stable")
    doubtful = int(np.argmin(found.certainty_of_decision))
    shown = dict.fromkeys(
        [int(order[len(order) // 10]), doubtful, int(order[-1 - len(order) // 10])]
    )
    labels = _labels(sample)
    draws = np.asarray(subject.target.risk_draws(take_rows(inside, np.array(list(shown)))))
    kept = {labels[rows[row]]: draw for row, draw in zip(shown, draws, strict=True)}
    return replace(found, index=labels[rows], predictive=kept)


def _labels(sample: Sample) -> NDArray[Any]:
    """Return what to call each row, no two alike."""
    numbers = np.arange(1, sample.rows + 1)
    if sample.ids is None:
        return numbers
    names = [str(name) for name in sample.ids]
    if len(set(names)) < len(names):
        names = [f"{name} (row {row})" for name, row in zip(names, numbers, strict=True)]
    return np.array(names, dtype=object)
