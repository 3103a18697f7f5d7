"""Draw the gallery: every figure of the paper and the field's own, each from a few lines of code.

``make gallery`` writes docs/gallery: README.md and a picture a figure. The lines beside a picture
are those that made it: they are kept here as text, run, and printed.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

import tailoredbayes as tb

__all__ = ["SECTIONS", "Picture", "Section", "page", "write"]

FOLDER = Path(__file__).parent.parent / "docs" / "gallery"
_DPI = 105


@dataclass(frozen=True)
class Picture:
    """One figure: its file's name, what it is, and all the lines from data to picture."""

    name: str
    title: str
    about: str
    code: str


@dataclass(frozen=True)
class Section:
    """Figures that answer like questions."""

    title: str
    about: str
    pictures: tuple[Picture, ...]


IMPORTS = """\
import numpy as np
from sklearn.linear_model import LogisticRegression
from stochtree import StochTreeBARTBinaryClassifier as BART

import tailoredbayes as tb"""

SECTIONS = (
    Section(
        "What the decisions are worth",
        "Women of the Rotterdam cohort to learn from, those of the GBSG trial to judge by; the "
        "event is recurrence or death within three years. A family is a model a threshold (TB), "
        "with standard Bayes (SB) beside them. At the lower thresholds here the search chooses the "
        "discount 0, and TB is SB: tailoring does not always help.",
        (
            Picture(
                "decision-curve",
                "Decision curve",
                "Net benefit with 95% bands, at each threshold of the model made for it.",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
family = tb.TailoredFamily(np.arange(2, 11) / 20, random_state=0).fit(X, y)
tb.plots.decision_curve(tb.decision_curve(y_test, family, X=X_test))
""",
            ),
            Picture(
                "decision-curve-display",
                "Decision curve of any classifier, in scikit-learn's manner",
                "",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
model = LogisticRegression().fit(X, y)
tb.plots.DecisionCurveDisplay.from_estimator(model, X_test, y_test, name="logistic")
""",
            ),
            Picture(
                "interventions-avoided",
                "Interventions avoided",
                "How many treatments each model spares against treating all, net of what the cases "
                "that it misses are worth.",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
family = tb.TailoredFamily(np.arange(2, 11) / 20, random_state=0).fit(X, y)
tb.plots.interventions_avoided(tb.decision_curve(y_test, family, X=X_test))
""",
            ),
            Picture(
                "probability-useful",
                "Probability of being useful",
                "From the paired Bayesian decision curve.",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
family = tb.TailoredFamily(np.arange(2, 11) / 20, random_state=0).fit(X, y)
tb.plots.probability_useful(tb.bayesian_decision_curve(y_test, family, X=X_test, random_state=0))
""",
            ),
            Picture(
                "probability-better",
                "Probability that one model is better than another",
                "",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
family = tb.TailoredFamily(np.arange(2, 11) / 20, random_state=0).fit(X, y)
tb.plots.probability_better(tb.bayesian_decision_curve(y_test, family, X=X_test, random_state=0))
""",
            ),
            Picture(
                "figure-7",
                "Figure 7: difference in net benefit",
                "The paper's procedure: five splits into design and development rows; SB learns "
                "from both. Thick: one standard error over the splits, as in the paper. Thin: the "
                "test rows' own, which the paper leaves out. Shaded: the range that the paper "
                "discusses, of another outcome.",
                """\
family = tb.TailoredFamily(np.arange(2, 11) / 20, design="split", selection="max")
found = tb.experiment(family, *tb.datasets.load_breast_prognosis(), random_state=0)
tb.plots.net_benefit_difference(found, shade=(0.14, 0.23))
""",
            ),
            Picture(
                "figure-9",
                "Figure 9: against a published score and standard Bayes",
                "The paper's cohort (cardiac surgery) is private. Here a model made in Rotterdam "
                "is the score: its risks, recalibrated, are the reference risks, as EuroSCORE's "
                "are there, and the trial's women are split into training and test rows, five "
                "times.",
                """\
X0, y0, X, y = tb.datasets.load_breast_prognosis()
at = dict(reference_risk=LogisticRegression().fit(X0, y0).predict_proba(X)[:, 1], random_state=0)
tb.plots.net_benefit_difference(tb.experiment(tb.TailoredFamily(), X, y, recalibrate=True, **at))
""",
            ),
        ),
    ),
    Section(
        "Coefficients and patients",
        "The same women. Age and the heavy-tailed covariates are in standard deviations.",
        (
            Picture(
                "figure-8",
                "Figure 8 and Table 1: posteriors and their overlap",
                "",
                """\
family = tb.TailoredFamily([0.4], random_state=0).fit(*tb.datasets.load_breast_prognosis()[:2])
both = tb.posterior_overlap(family.standard_, family.models_[0.4])
tb.plots.posterior_densities(both, coefficients=["age", "meno", "size", "nodes", "pgr", "hormon"])
""",
            ),
            Picture(
                "figure-10",
                "Figure 10: highest density intervals",
                "Dots: medians; thick and thin: 90% and 95%; dashed: the medians of SB.",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
family = tb.TailoredFamily([0.25, 0.4], selection="max", random_state=0).fit(X, y)
tb.plots.posterior_intervals(tb.posterior_intervals(family), coefficients=X.columns)
""",
            ),
            Picture(
                "figure-s7",
                "Figure S7: width of the intervals",
                "",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
family = tb.TailoredFamily([0.25, 0.4], selection="max", random_state=0).fit(X, y)
tb.plots.interval_widths(tb.posterior_intervals(family, [0.9]))
""",
            ),
            Picture(
                "figure-11",
                "Figure 11: two patients",
                "Under standard Bayes, as in the paper. Their mean risks are alike; one is known "
                "twice as well.",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
model = tb.TailoredLogisticRegression(0.3, discount=0, random_state=0).fit(X, y)
tb.plots.patients(tb.patients(model, X_test, predictive=[434, 534]))
""",
            ),
            Picture(
                "risk-distribution",
                "Risks by outcome",
                "",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
model = tb.TailoredLogisticRegression(0.4, random_state=0).fit(X, y)
tb.plots.risk_distribution(tb.calibration(y_test, {"TB": model}, X=X_test, threshold=0.4))
""",
            ),
        ),
    ),
    Section(
        "Inside a fit",
        "The same women.",
        (
            Picture(
                "figure-s1",
                "Figure S1: data splitting",
                "The paper's design: 20% of the training rows for stage 1.",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
model = tb.TailoredLogisticRegression(0.4, design="split", random_state=0).fit(X, y)
tb.plots.data_splitting(tb.data_splitting(model, len(y_test), external=True))
""",
            ),
            Picture(
                "figure-s6",
                "Figure S6: weights",
                "",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
model = tb.TailoredLogisticRegression(0.4, random_state=0).fit(X, y)
tb.plots.weights(tb.prospects(model, discounts=[0, 1, 5, 25, 100]))
""",
            ),
            Picture(
                "figure-s8",
                "Figure S8: effective sample size",
                "",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
model = tb.TailoredLogisticRegression(0.4, random_state=0).fit(X, y)
tb.plots.effective_sample(tb.prospects(model.reference_risk_, [0.1, 0.15, 0.2, 0.3, 0.5]))
""",
            ),
            Picture(
                "figure-s9",
                "Figure S9: net benefit along the discount",
                "A diamond is the discount chosen, by the default rule the smallest within a "
                "standard error of the best; the paper's rule, `max`, takes the highest point.",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
family = tb.TailoredFamily([0.1, 0.15, 0.2, 0.3, 0.4, 0.5], random_state=0).fit(X, y)
tb.plots.discount_search(tb.prospects(family))
""",
            ),
            Picture(
                "figure-s10a",
                "Figure S10a: calibration of the reference risk",
                "",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
model = tb.TailoredLogisticRegression(0.4, random_state=0).fit(X, y)
tb.plots.calibration(tb.calibration(y, {"reference risk": model.reference_risk_}, threshold=0.4))
""",
            ),
            Picture(
                "figure-s10b",
                "Figure S10b: deliberate miscalibration",
                "Of the reference risks of a fit.",
                """\
X, y, X_test, y_test = tb.datasets.load_breast_prognosis()
model = tb.TailoredLogisticRegression(0.4, random_state=0).fit(X, y)
tb.plots.miscalibration_shapes(tb.miscalibration_shapes(np.sort(model.reference_risk_)))
""",
            ),
            Picture(
                "figure-s11",
                "Figure S11: what a miscalibrated reference risk costs",
                "Above 0 the calibrated one is better. Mean and standard error over three "
                "repetitions.",
                """\
data = tb.datasets.load_breast_prognosis()
cost = tb.miscalibration_cost(tb.TailoredFamily(), *data, repetitions=3, random_state=0)
tb.plots.grid(cost)
""",
            ),
            Picture(
                "figure-s12",
                "Figure S12: difference in net benefit by weighting function",
                "TB less SB, by the squared distance and by the absolute one, insensitive up to ε. "
                "Mean and standard error over five foldings of the search.",
                """\
data, plain = tb.datasets.load_breast_prognosis(), {"squared": tb.TailoredFamily()}
ways = {f"ε = {e}": tb.TailoredFamily(distance="absolute", epsilon=e) for e in (0, 0.05, 0.1)}
tb.plots.grid(tb.difference_grid(tb.experiment({**plain, **ways}, *data, random_state=0)))
""",
            ),
        ),
    ),
    Section(
        "Boundaries in the plane of two covariates",
        "Where the paper simulates, and the optimal boundary is known, this page takes the "
        "Rotterdam women, their progesterone receptors (fmol/l) and positive lymph nodes. Nobody "
        "knows their optimal boundary; the black line is where the smoothed share of events "
        "equals the threshold. The discount is chosen by the paper's rule. The paper's own "
        "figures, with the truth: [sim1](../studies/sim1.md), [sim2](../studies/sim2.md), "
        "[sim3](../studies/sim3.md).",
        (
            Picture(
                "figure-1a",
                "Figure 1a: boundaries when targeting 0.5",
                "Bands hold 90% of the draws.",
                """\
X, y = tb.datasets.load_rotterdam(columns=["pgr", "nodes"], return_X_y=True)
family = tb.TailoredFamily([0.5], selection="max", random_state=0).fit(X, y)
tb.plots.boundaries(tb.decision_boundaries(family, 0.5, X, y))
""",
            ),
            Picture(
                "figure-1b",
                "Figure 1b: boundaries when targeting 0.3",
                "",
                """\
X, y = tb.datasets.load_rotterdam(columns=["pgr", "nodes"], return_X_y=True)
family = tb.TailoredFamily([0.3], selection="max", random_state=0).fit(X, y)
tb.plots.boundaries(tb.decision_boundaries(family, 0.3, X, y))
""",
            ),
            Picture(
                "figure-3a",
                "Figure 3a: observed boundaries",
                "",
                """\
X, y = tb.datasets.load_rotterdam(columns=["pgr", "nodes"], return_X_y=True)
tb.plots.boundaries(tb.observed_boundaries(X, y, [0.2, 0.3, 0.4, 0.5]))
""",
            ),
            Picture(
                "figure-3b",
                "Figure 3b: standard boundaries",
                "",
                """\
X, y = tb.datasets.load_rotterdam(columns=["pgr", "nodes"], return_X_y=True)
model = tb.TailoredLogisticRegression(discount=0, random_state=0).fit(X, y)
tb.plots.boundaries(tb.decision_boundaries({"SB": model}, [0.2, 0.3, 0.4, 0.5], X))
""",
            ),
            Picture(
                "figure-3c",
                "Figure 3c: tailored boundaries",
                "",
                """\
X, y = tb.datasets.load_rotterdam(columns=["pgr", "nodes"], return_X_y=True)
family = tb.TailoredFamily([0.2, 0.3, 0.4, 0.5], selection="max", random_state=0).fit(X, y)
tb.plots.boundaries(tb.decision_boundaries({"TB": family}, [0.2, 0.3, 0.4, 0.5], X))
""",
            ),
            Picture(
                "figure-s2",
                "Figure S2: boundaries under class imbalance",
                "The trial's women within one year of surgery, when few have had the event. Points "
                "outside the middle 98% of either covariate are not in view.",
                """\
X, y = tb.datasets.load_gbsg(1, columns=["age", "nodes"], return_X_y=True)
family = tb.TailoredFamily([0.2], selection="max", random_state=0).fit(X, y)
tb.plots.points(X, y, tb.plots.boundaries(tb.decision_boundaries(family, 0.2, X)))
""",
            ),
            Picture(
                "figure-5",
                "Figure 5: a contaminated sample",
                "Triangles: three in ten of the trial's women with the event, recorded as without "
                "it. The models learnt from what was recorded. Women with as many nodes at one age "
                "lie on top of each other.",
                """\
X, y = tb.datasets.load_gbsg(columns=["age", "nodes"], return_X_y=True)
fit = tb.TailoredFamily([0.3], random_state=0).fit(X, rec := tb.mislabel(y, 0.3, random_state=0))
tb.plots.points(X, rec, tb.plots.boundaries(tb.decision_boundaries(fit, 0.3, X)), marked=rec != y)
""",
            ),
        ),
    ),
    Section(
        "Other samples: size, prevalence, wrong labels, a flexible model",
        "An experiment fits whole procedures anew to samples drawn from the Rotterdam women, and "
        "judges them on the trial's. Where it asks for a prevalence, these stand for a population "
        "of that prevalence. Means and standard errors over five repetitions. The paper's own "
        "figures are simulations, and stand in the [studies](../studies/README.md).",
        (
            Picture(
                "figure-2",
                "Figure 2: difference in net benefit by sample size and prevalence",
                "",
                """\
at = {"n": [500, 1500], "prevalence": [0.1, 0.3, 0.5], "random_state": 0}
found = tb.experiment(tb.TailoredFamily(), *tb.datasets.load_breast_prognosis(), **at)
tb.plots.grid(tb.difference_grid(found))
""",
            ),
            Picture(
                "figure-4",
                "Figure 4: the same with logarithms of the heavy-tailed covariates",
                "",
                """\
at = {"n": [500, 1500], "prevalence": [0.1, 0.3, 0.5], "random_state": 0}
found = tb.experiment(tb.TailoredFamily(), *tb.datasets.load_breast_prognosis(features="log"), **at)
tb.plots.grid(tb.difference_grid(found))
""",
            ),
            Picture(
                "figure-s3",
                "Figure S3: against BART",
                "",
                """\
data, at = tb.datasets.load_breast_prognosis(), {"n": [500, 1500], "prevalence": [0.1, 0.3, 0.5]}
two = {"TB": tb.TailoredFamily(), "BART": BART(general_params={"random_seed": 0})}
tb.plots.grid(tb.difference_grid(tb.experiment(two, *data, **at, random_state=0), against="BART"))
""",
            ),
            Picture(
                "figure-6",
                "Figure 6: net benefit by contamination",
                "None, a tenth and three tenths of the events are recorded as non-events. BART, a "
                "flexible model, learns from right labels throughout; it stands where the paper "
                "has the optimum, which nobody knows of patients, and is no upper bound.",
                """\
data, at = tb.datasets.load_breast_prognosis(), {"mislabelled": [0, 0.1, 0.3], "spared": "BART"}
two = {"TB": tb.TailoredFamily(), "BART": BART(general_params={"random_seed": 0})}
tb.plots.grid(tb.net_benefit_grid(tb.experiment(two, *data, **at, random_state=0)))
""",
            ),
        ),
    ),
    Section(
        "Breast tumours: Wisconsin, with flipped labels",
        "As in the paper, 29% of the malignant biopsies to learn from are called benign.",
        (
            Picture(
                "figure-s4",
                "Figure S4: difference in net benefit",
                "As Figure 7; in each of the five repetitions 30% of the rows, others each time, "
                "are kept to judge by, and other labels are flipped.",
                """\
X, y = tb.datasets.load_wisconsin(dropna=True, return_X_y=True)
family = tb.TailoredFamily(np.arange(2, 11) / 20, design="split", selection="max")
tb.plots.net_benefit_difference(tb.experiment(family, X, y, mislabelled=0.29, random_state=0))
""",
            ),
            Picture(
                "figure-s5",
                "Figure S5: highest density intervals",
                "Fitted to all biopsies.",
                """\
X, y = tb.datasets.load_wisconsin(dropna=True, return_X_y=True)
family = tb.TailoredFamily([0.3, 0.5], random_state=0).fit(X, tb.mislabel(y, 0.29, random_state=0))
tb.plots.posterior_intervals(tb.posterior_intervals(family), coefficients=X.columns)
""",
            ),
        ),
    ),
)


def page() -> str:
    """Return the gallery as Markdown."""
    parts = [
        "# Gallery",
        "Every figure of the paper [Karapanagiotis2021] and its supplement, and the field's own, "
        "from fits on bundled data. The lines above a picture are all there is to it: data, fit, "
        "picture. Fits that warn say, among others, where tailoring did not help: see "
        "[findings](../findings.md). `make gallery` draws all anew. Every picture has a table "
        "behind it: `record.to_frame()`.",
        f"```python\n{IMPORTS}\n```",
    ]
    for section in SECTIONS:
        parts += [f"## {section.title}", section.about]
        for picture in section.pictures:
            parts += [f"### {picture.title}", *([picture.about] if picture.about else [])]
            parts += [f"```python\n{picture.code}```", f"![{picture.title}]({picture.name}.png)"]
    return "\n\n".join(parts) + "\n"


def draw(picture: Picture) -> Any:
    """Run the lines of a picture, and nothing before them but the imports."""
    names: dict[str, Any] = {}
    exec(IMPORTS, names)
    lines = ast.parse(picture.code)
    last = lines.body.pop()
    assert isinstance(last, ast.Expr), picture.name
    exec(compile(lines, picture.name, "exec"), names)
    return eval(compile(ast.Expression(last.value), picture.name, "eval"), names)


def write(folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Draw the pictures into a folder, write the page beside them, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.TailoringWarning)
        for picture in (one for section in SECTIONS for one in section.pictures):
            if only and picture.name not in only:
                continue
            shown = draw(picture)
            target = getattr(shown, "figure_", shown)
            files.append(tb.plots.save(target, folder / f"{picture.name}.png", dpi=_DPI))
            plt.close("all")
    files.append(folder / "README.md")
    files[-1].write_text(page(), encoding="utf-8")
    return files


def main() -> None:
    """Write the gallery."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=FOLDER, help="where to write")
    parser.add_argument("only", nargs="*", help="names of pictures; all by default")
    given = parser.parse_args()
    began = time.perf_counter()
    files = write(given.out, given.only)
    seconds = time.perf_counter() - began
    print(f"{len(files) - 1} pictures in {files[0].parent} after {seconds:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
