"""The model in full: how it was made, its formula, its posterior beside the standard one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailoredbayes import plots
from tailoredbayes.evaluation.posteriors import posterior_intervals, posterior_overlap
from tailoredbayes.evaluation.prospects import Prospects, prospects
from tailoredbayes.evaluation.splitting import data_splitting
from tailoredbayes.priors import Normal
from tailoredbayes.report.figures import Figure, figure
from tailoredbayes.report.subject import STANDARD, Subject
from tailoredbayes.report.tables import (
    Table,
    frame_table,
    number,
    pairs,
    per_1000,
    percent,
    text,
    threshold_text,
)

__all__ = ["ModelPart", "model_part"]

_PROB = 0.9
# Coefficients drawn; tables hold all of them up to _MOST_ROWS.
_MOST_DRAWN, _MOST_ROWS, _MOST_LETTERS = 12, 200, 48

_DESIGNS = {
    "crossfit": "for each patient by a fit that did not see them (cross-fitting)",
    "split": "by a fit to a part of the patients that serves nothing else (design split)",
}
_RULES = {
    "max": "the highest net benefit",
    "smooth": "the highest net benefit once decisions near the threshold are smoothed, which is "
    "less at the mercy of single patients, so it need not be the highest point drawn",
    "one_se": "the smallest discount within one standard error of the best",
    "guarded": "the best of the smoothed net benefits if it beats λ = 0 by more than its error, "
    "else 0",
}
"""What the rules of the search take."""


@dataclass(frozen=True)
class Formula:
    """The scoring formula of one threshold: coefficients in full precision, to copy."""

    threshold: str
    is_target: bool
    table: Table
    copy: str


@dataclass(frozen=True)
class ModelPart:
    """What the section on the model shows."""

    settings: Table
    discounts: Table
    formulas: tuple[Formula, ...]
    terms: Table | None
    """What each coefficient is multiplied with; None where the model came from arrays."""
    figures: tuple[Figure, ...]


def model_part(subject: Subject, n_test: int) -> ModelPart:
    """Return what the section on the model shows."""
    known = _prospects(subject)
    return ModelPart(
        settings=_settings(subject),
        discounts=_discounts(subject, known),
        formulas=tuple(_formula(subject, t) for t in subject.models),
        terms=_terms(subject),
        figures=(
            _splitting(subject, n_test),
            *_search_figures(known, subject.target.selection),
            *_posterior_figures(subject),
        ),
    )


def _splitting(subject: Subject, n_test: int) -> Figure:
    record = data_splitting(subject.target, n_test, external=True)
    return figure(
        "f-splitting",
        lambda: plots.data_splitting(record),
        "Which patients did what",
        "How the patients were shared out to the steps of the fit and to testing.",
        frame_table(
            record.to_frame().fillna(""),
            "Parts of the data",
            {
                "part": ("Part", text),
                "within": ("Taken from", text),
                "rows": ("Patients", number(0)),
                "use": ("Used for", text),
            },
        ),
    )


def _settings(subject: Subject) -> Table:
    model, recipe = subject.target, subject.recipe
    fit, draws = model.fit_, model.draws_
    reference = fit.reference
    if reference is None:
        source = "none is used: the discount is 0"
    elif reference.design == "outside":
        column = recipe.get("reference_risk")
        source = f"given from outside{f': column “{column}”' if column else ''}"
        source += ", recalibrated" if reference.recalibrated else ""
    else:
        source = f"{reference.source}, {_DESIGNS.get(reference.design, reference.design)}"
    chosen = (
        f"chosen by {model.cv_repeats} x {model.cv}-fold cross-validated net benefit, rule "
        f"“{model.selection}”"
        if fit.search.choice is not None
        else "given"
    )
    facts = ", ".join(f"{name} {value:.6g}" for name, value in draws.facts.items()) or "none"
    rows: list[tuple[str, Any]] = [
        ("Likelihood", "logistic, each patient's term multiplied by a weight"),
        ("Weights", f"exp(−λ h), h the {model.distance} distance of the reference risk to the "
         "threshold" + (f", up to {model.epsilon:g} counted as 0" if model.epsilon else "")),
        ("Class imbalance", "not corrected"),
        ("Reference risk", source),
        ("Prior of every coefficient", model.prior or Normal()),
        ("Discount λ", f"{model.discount_:.4g}, {chosen}"),
        ("Intercept", "yes" if model.fit_intercept else "no"),
        *([("Formula", recipe["formula"]["text"])] if recipe.get("formula") else []),
        *([("Row weights", f"column “{recipe['weights']}”, times the tailoring weights")]
          if recipe.get("weights") else []),
        ("Posterior", f"{len(draws.flat)} draws by {draws.sampler} (asked for: "
         f"{draws.requested})"),
        ("Sampler's own numbers", facts),
        ("Risk", "posterior mean of the risk; treated where it is at least the threshold"),
        ("Seed", model.random_state),
    ]  # fmt: skip
    return pairs("How the model was made", ("Setting", "Value"), rows)


def _discounts(subject: Subject, known: Prospects | None) -> Table:
    paths = {} if known is None else known.searches
    rows = []
    for t, model in subject.models.items():
        path = paths.get(t)
        used = int(np.count_nonzero(model.weights_))
        gain = "–" if path is None else f"{per_1000(path.gain)} ({per_1000(path.gain_se)})"
        codes = ", ".join(sorted({finding.code for finding in model.findings_})) or "none"
        rows.append(
            (
                threshold_text(t),
                number(3)(model.discount_),
                f"{number(0)(model.effective_sample_size_)} of {used}",
                gain,
                codes,
            )
        )
    head = (
        "Threshold",
        "Discount λ",
        "Effective sample size",
        "Gain over λ = 0 per 1000 (SE), cross-validated",
        "Findings",
    )
    return Table("The strength of tailoring at each threshold", head, tuple(rows))


def _formula(subject: Subject, t: float) -> Formula:
    model = subject.models[t]
    draws = model.draws_
    note = ""
    if len(draws.names) > _MOST_ROWS:
        note = f"{_MOST_ROWS} of {len(draws.names)} coefficients are shown; all can be copied."
    summary = draws.summary(_PROB).reset_index()
    table = frame_table(
        summary,
        f"Coefficients at {threshold_text(t)}: log-odds per unit of the predictor",
        {
            "coefficient": ("Predictor", text),
            "mean": ("Coefficient", number(4)),
            "hdi_low": (f"{100 * _PROB:g}% from", number(4)),
            "hdi_high": ("to", number(4)),
            "sd": ("SD", number(4)),
            "r_hat": ("R-hat", number(3)),
            "ess_bulk": ("Effective draws", number(0)),
            "mcse": ("MCSE", number(5)),
        },
        most=_MOST_ROWS,
    )
    terms = [
        f"{name}\t{value!r}" for name, value in zip(draws.names, draws.mean.tolist(), strict=True)
    ]
    return Formula(
        threshold_text(t),
        t == subject.threshold,
        Table(table.caption, table.head, table.rows, note),
        "\n".join(terms),
    )


def _terms(subject: Subject) -> Table | None:
    """Return what each coefficient is multiplied with, so that a risk can be worked out by hand."""
    columns = subject.recipe.get("columns")
    if not columns:
        return None
    head, caption = ("Term", "What it is"), "What each coefficient is multiplied with"
    baselines = ", ".join(f"{c['name']} {c['levels'][0]}" for c in columns if "levels" in c)
    note = f"Left out, as the levels that others are compared with: {baselines}." * bool(baselines)
    formula = subject.recipe.get("formula")
    if formula:
        rows = [
            ("formula", formula["text"]),
            ("name[T.level], name[level]", "1 for patients at this level, else 0"),
            ("a:b", "the product of a and b"),
            (
                "bs, cs, cr, cc, poly, scale, center",
                "computed with numbers of the training data, which the model file keeps: "
                "`tailoredbayes predict` does it",
            ),
            ("all others", "as they are written"),
        ]
        return Table(caption, head, tuple(rows), note, prose=True)
    rows = [("intercept", "1")]
    for column in columns:
        name = column["name"]
        if "levels" in column:
            rows += [
                (f"{name}[{level}]", f"1 if {name} is {level}, else 0")
                for level in column["levels"][1:]
            ]
        elif subject.recipe.get("scale"):
            rows.append((f"scale({name})", f"({name} − {column['mean']!r}) / {column['sd']!r}"))
        else:
            rows.append((name, f"{name}, as it stands in the data"))
    left = len(rows) - _MOST_ROWS
    note = f"{note} {left} more terms are not shown, built alike." if left > 0 else note
    return Table(caption, head, tuple(rows[:_MOST_ROWS]), note.strip(), prose=True)


# --- The search -------------------------------------------------------------------------------


def _prospects(subject: Subject) -> Prospects | None:
    """Return what the reference risks and the search tell; None where there are none."""
    tailored = [model for model in subject.models.values() if model.reference_risk_ is not None]
    known = all(isinstance(model.distance, str) for model in tailored)
    return prospects(subject.judged) if tailored and known else None


def _search_figures(known: Prospects | None, rule: str) -> Iterator[Figure]:
    if known is None:
        return
    if known.searches:
        yield figure(
            "f-search",
            lambda: plots.discount_search(known),
            "How strongly to tailor (cross-validated)",
            "Cross-validated net benefit of each discount tried, a panel a threshold; the diamond "
            f"is the one chosen: {_RULES.get(rule, rule)}. Where the curve is flat, tailoring "
            "makes little difference.",
            frame_table(
                known.search_frame(),
                "Cross-validated net benefit by discount, per 1000 patients",
                {
                    "threshold": ("Threshold", threshold_text),
                    "discount": ("Discount λ", number(3)),
                    "net_benefit": ("Net benefit", per_1000),
                    "se": ("Standard error over folds", per_1000),
                    "chosen": ("Chosen", lambda chosen: "yes" if chosen else "no"),
                },
            ),
            mathematics=True,
            wide=True,
        )
    yield figure(
        "f-effective",
        lambda: plots.effective_sample(known),
        "What tailoring leaves of the data",
        "Effective share of the patients that each discount leaves, a line a threshold.",
        frame_table(
            known.ess_frame().iloc[::5],
            "Effective share of the patients, one of five discounts",
            {
                "threshold": ("Threshold", threshold_text),
                "discount": ("Discount λ", number(2)),
                "ess_fraction": ("ESS / n", percent),
                "kish_fraction": ("Kish's", percent),
            },
        ),
        mathematics=True,
    )


# --- Posteriors -------------------------------------------------------------------------------


def short_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names that fit into a figure, still different from each other.

    >>> short_names(("age", "x" * 99))[1][-4:]
    'xxx…'
    """
    short = [" ".join(name.split()) or "(blank)" for name in names]
    short = [name if len(name) <= _MOST_LETTERS else name[:_MOST_LETTERS] + "…" for name in short]
    if len(set(short)) < len(short):
        short = [f"{name} ({place})" for place, name in enumerate(short, 1)]
    return tuple(short)


def _posterior_figures(subject: Subject) -> Iterator[Figure]:
    names = short_names(subject.coefficients)
    own = subject.target.draws_.flat
    posteriors = {subject.name: own}
    if subject.against is not None:
        posteriors = {STANDARD: subject.against.draws_.flat, subject.name: own}
    chosen: list[str] = list(names[:_MOST_DRAWN])
    if subject.against is not None:
        compared = posterior_overlap(subject.against.draws_.flat, own, prob=_PROB, names=names)
        least = compared.to_frame()["coefficient"].head(_MOST_DRAWN)
        chosen = [name for name in names if name in set(least)]
        yield figure(
            "f-densities",
            lambda: plots.posterior_densities(compared, coefficients=chosen),
            "Posterior densities",
            f"What each coefficient may be, under the {subject.name} and {STANDARD}. The less they "
            "overlap, the more tailoring changed." + _left_out(names, chosen),
            frame_table(
                compared.to_frame(),
                f"Posteriors at {threshold_text(subject.threshold)}, least overlap first",
                {
                    "coefficient": ("Predictor", text),
                    "overlap": ("Overlap", percent),
                    "standard_median": ("Standard median", number(4)),
                    "tailored_median": ("Tailored median", number(4)),
                    "shift_in_sd": ("Shift in SD", number(2)),
                    "width_ratio": ("Width ratio", number(2)),
                },
                most=_MOST_ROWS,
            ),
            wide=True,
        )
    found = posterior_intervals(posteriors, names=names)
    # The intercept is far from the others where predictors are far from 0.
    drawn = [name for name in chosen if name != "intercept"] or chosen
    left = "" if len(drawn) == len(chosen) else " The intercept is in the table alone."
    yield figure(
        "f-intervals",
        lambda: plots.posterior_intervals(found, coefficients=drawn),
        "Posterior intervals",
        f"Median and highest density intervals of each coefficient.{left}"
        + _left_out(names, chosen),
        frame_table(
            found.to_frame(),
            "Posterior intervals",
            {
                "model": ("Model", text),
                "coefficient": ("Predictor", text),
                "prob": ("Probability", percent),
                "median": ("Median", number(4)),
                "low": ("Low", number(4)),
                "high": ("High", number(4)),
            },
            most=_MOST_ROWS,
        ),
    )


def _left_out(names: tuple[str, ...], chosen: list[str]) -> str:
    left = len(names) - len(chosen)
    return f" {left} more coefficients are not drawn." if left else ""
