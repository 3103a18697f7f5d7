"""The figures and tables of performance, for each kind of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tailoredbayes import plots
from tailoredbayes.evaluation.differences import NetBenefitDifference
from tailoredbayes.evaluation.words import probability_in_words
from tailoredbayes.report.evidence import Evidence
from tailoredbayes.report.figures import Figure, figure
from tailoredbayes.report.subject import STANDARD, Subject
from tailoredbayes.report.tables import (
    Table,
    frame_table,
    interval,
    number,
    per_1000,
    percent,
    text,
    threshold_text,
)

__all__ = ["Performance", "performance"]

_NAMES = {"all": "treat all", "none": "treat none"}
# With more thresholds than this the target's is shown, and the rest stands behind the figure.
_MOST_SHOWN = 9


@dataclass(frozen=True)
class Performance:
    """All that is shown of one kind of rows."""

    label: str
    rows: int
    events: int
    weighted: bool
    at_threshold: Table
    difference: Table | None
    discrimination: Table | None
    calibration: Table | None
    figures: tuple[Figure, ...]
    absent: tuple[str, ...]
    """What could not be worked out, and why."""


def performance(subject: Subject, found: Evidence, *, brief: bool = False) -> Performance:
    """Return the figures and tables of one kind of rows; ``brief`` draws the main curve alone."""
    return Performance(
        label=found.label,
        rows=found.rows,
        events=found.events,
        weighted=_weighted(subject, found),
        at_threshold=_at_threshold(subject, found),
        difference=_difference(found, subject.threshold),
        discrimination=_discrimination(found),
        calibration=_calibration(found),
        figures=tuple(_figures(subject, found, brief)),
        absent=tuple(_absent(subject, found)),
    )


def _weighted(subject: Subject, found: Evidence) -> bool:
    """Tell whether rows count by weights of the user's; the search has those of the fit."""
    if found.sample is not None:
        return found.sample.sample_weight is not None
    return bool(subject.recipe.get("weights"))


def _at_threshold(subject: Subject, found: Evidence) -> Table:
    """Return the decision table at the target threshold."""
    curve, place = found.curve, found.place(subject.threshold)
    useful = found.bayesian
    rows = []
    for m, name in enumerate(curve.models):
        tp, fp = curve.tp_rate[m, place], curve.fp_rate[m, place]
        value, low, high = (v[m, place] for v in (curve.net_benefit, curve.low, curve.high))
        p = "–" if useful is None or name in _NAMES else _probability(useful.p_useful[m, place])
        rows.append(
            (
                _NAMES.get(name, name),
                per_1000(tp + fp),
                per_1000(tp),
                per_1000(fp),
                per_1000(curve.prevalence - tp),
                interval(value, low, high, per_1000),
                "–" if name == "none" else number(1)(10 * curve.interventions_avoided[m, place]),
                p,
            )
        )
    head = (
        "Policy",
        "Treated",
        "True positives",
        "False positives",
        "Missed cases",
        f"Net benefit ({100 * curve.prob:g}% interval)",
        "Treatments avoided, net",
        "P(useful)",
    )
    caption = f"Decisions at {threshold_text(subject.threshold)}, per 1000 patients ({found.label})"
    note = (
        "Treatments avoided: against treating all, each missed case counted at its exchange rate. "
        "P(useful): the probability of being better than treating all and than treating none"
        + ("." if useful is not None else "; the search does not tell it.")
    )
    return Table(caption, head, tuple(rows), note)


def _probability(p: float) -> str:
    return probability_in_words(float(p))


def _difference(found: Evidence, target: float | None = None) -> Table | None:
    """Return the differences to standard Bayes; where they are many, the target's alone."""
    record, better = found.difference, found.better
    if record is None:
        return None
    # Where both treat the same patients there is nothing to be sure of.
    differ = record.standard_error[0] > 0
    rows = tuple(
        (
            threshold_text(t),
            interval(record.difference[0, i], record.low[0, i], record.high[0, i], per_1000),
            per_1000(record.standard_error[0, i]),
            "–" if better is None or not differ[i] else _probability(better.p_better[i]),
            "–" if better is None or not differ[i] else per_1000(better.expected_loss[i]),
        )
        for i, t in enumerate(record.thresholds.tolist())
    )
    if target is not None and _many(record):
        place = found.place(target)
        rows, differ = rows[place : place + 1], differ[place : place + 1]
    by = "bootstrap" if record.replicates else "normal"
    head = (
        "Threshold",
        f"Difference ({100 * record.prob:g}% {by} interval)",
        "Standard error",
        "P(better)",
        "Expected loss",
    )
    caption = (
        f"Net benefit of the {record.models[0]} less that of {record.against}, per 1000 patients "
        f"({found.label})"
    )
    note = (
        "Expected loss: what choosing the "
        f"{record.models[0]} loses on average, counting no loss where it is better."
        if better is not None
        else "The search does not tell P(better)."
    )
    if not differ.all():
        note += " Where the standard error is 0 both treat the same patients."
    return Table(caption, head, rows, note)


def _many(record: NetBenefitDifference) -> bool:
    return len(record.thresholds) > _MOST_SHOWN


_SCORES = {
    "auc": "AUC (higher is better)",
    "brier": "Brier score (lower is better)",
    "log": "Log score (lower is better)",
}


def _discrimination(found: Evidence) -> Table | None:
    record = found.discrimination
    if record is None:
        return None
    write = number(4)
    columns = {**record.scores}
    columns |= {f"{one} less {other}": d for (one, other), d in record.differences.items()}
    rows = tuple(
        (name, *(interval(s[key].value, s[key].low, s[key].high, write) for s in columns.values()))
        for key, name in _SCORES.items()
    )
    caption = (
        f"Discrimination and overall accuracy, {100 * record.prob:g}% intervals ({found.label})"
    )
    return Table(caption, ("Score", *columns), rows)


def _calibration(found: Evidence) -> Table | None:
    record = found.calibration
    if record is None:
        return None
    write = number(3)
    frame = record.to_frame()
    frame["shown"] = [interval(r.value, r.low, r.high, write) for r in frame.itertuples()]
    rows = []
    for _, of_one in frame.groupby("statistic", sort=False):
        values = dict(zip(of_one["model"], of_one["shown"], strict=True))
        rows.append((of_one["label"].iloc[0], *(values[name] for name in record.models)))
    caption = (
        f"Calibration, overall and near the threshold, {100 * record.prob:g}% intervals "
        f"({found.label})"
    )
    return Table(caption, ("Measure", *record.models), tuple(rows))


def _absent(subject: Subject, found: Evidence) -> Iterator[str]:
    if found.sample is None:
        yield (
            "The search that held these patients out kept no risk of each, so there is no "
            "calibration, discrimination or distribution of risks here."
        )
    elif found.calibration is None:
        yield "All patients have the same outcome: there is no calibration or discrimination."
    if found.difference is None and subject.name != STANDARD:
        yield f"There is no {STANDARD} model to compare with: not supplied."


# --- Figures ----------------------------------------------------------------------------------


def _figures(subject: Subject, found: Evidence, brief: bool) -> Iterator[Figure]:
    key, label = f"f-{found.label}", found.label
    curve = found.curve
    if len(curve.thresholds) > 1:
        yield figure(
            f"{key}-curve",
            lambda: plots.decision_curve(curve),
            f"Decision curve ({label})",
            _curve_words(subject, found),
            _curve_table(found),
        )
    if brief:
        return
    if found.difference is not None and len(curve.thresholds) > 1:
        difference = found.difference
        yield figure(
            f"{key}-difference",
            lambda: plots.net_benefit_difference(difference),
            f"Gain over {STANDARD} ({label})",
            f"Difference in net benefit between the {difference.models[0]} and {STANDARD}, with "
            f"{100 * difference.prob:g}% intervals. Above 0 the {difference.models[0]} is better."
            + ("" if _many(difference) else " The numbers are in the table above."),
            _difference(found) if _many(difference) else None,
        )
    if found.bayesian is not None and len(curve.thresholds) > 1:
        bayesian = found.bayesian
        yield figure(
            f"{key}-useful",
            lambda: plots.probability_useful(bayesian),
            f"P(useful) ({label})",
            "Probability, by threshold, that each model is better than treating everyone and than "
            "treating no one.",
            frame_table(
                bayesian.to_frame().query("model not in ('all', 'none')"),
                f"P(useful) by threshold ({label})",
                {
                    "model": ("Model", text),
                    "threshold": ("Threshold", threshold_text),
                    "p_useful": ("P(useful)", percent),
                    "expected_loss": ("Expected loss per 1000", per_1000),
                },
            ),
        )
    if found.calibration is not None:
        yield from _calibration_figures(key, found)


def _curve_words(subject: Subject, found: Evidence) -> str:
    curve = found.curve
    at = threshold_text(subject.threshold)
    place = found.place(subject.threshold)
    values = ", ".join(
        f"{_NAMES.get(name, name)} {per_1000(curve.net_benefit[m, place])}"
        for m, name in enumerate(curve.models)
    )
    return (
        "Net benefit, in net true positives per 1000 patients, by threshold; the higher the "
        f"better. At {at}: {values}. Bands are {100 * curve.prob:g}% intervals."
    )


def _curve_table(found: Evidence) -> Table:
    frame = found.curve.to_frame()
    frame = frame[~frame["model"].isin(["none"])].replace({"model": _NAMES})
    return frame_table(
        frame,
        f"Net benefit by threshold, per 1000 patients ({found.label})",
        {
            "model": ("Policy", text),
            "threshold": ("Threshold", threshold_text),
            "net_benefit": ("Net benefit", per_1000),
            "low": ("Low", per_1000),
            "high": ("High", per_1000),
        },
    )


def _calibration_figures(key: str, found: Evidence) -> Iterator[Figure]:
    record = found.calibration
    assert record is not None
    curves = record.curve_frame()
    curves = curves[curves.groupby("model").cumcount() % 10 == 0]
    yield figure(
        f"{key}-calibration",
        lambda: plots.calibration(record),
        f"Calibration ({found.label})",
        "Smoothed share of patients with the event among those given each risk. On the diagonal "
        "risks are right; above it they are too low. The dotted line is the threshold.",
        frame_table(
            curves,
            f"Points of the curve, one of ten ({found.label})",
            {
                "model": ("Model", text),
                "risk": ("Predicted risk", percent),
                "observed": ("Observed share", percent),
                "low": ("Low", percent),
                "high": ("High", percent),
            },
        ),
    )
    counts = record.histogram_frame()
    counts = counts[(counts["events"] > 0) | (counts["nonevents"] > 0)]
    yield figure(
        f"{key}-risks",
        lambda: plots.risk_distribution(record),
        f"Risks by outcome ({found.label})",
        "How predicted risks spread among patients with and without the event. The further apart, "
        "the better the model tells them from each other.",
        frame_table(
            counts,
            f"Patients by predicted risk ({found.label})",
            {
                "model": ("Model", text),
                "risk_low": ("Risk from", percent),
                "risk_high": ("to", percent),
                "events": ("With the event", number(0)),
                "nonevents": ("Without", number(0)),
            },
        ),
    )
