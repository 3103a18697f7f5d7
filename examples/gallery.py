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
from collections.abc import Iterator
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
    """One figure: its file's name, what it is, and the lines that draw it."""

    name: str
    title: str
    about: str
    code: str


@dataclass(frozen=True)
class Section:
    """Figures of the same data, and the lines that bring the data."""

    title: str
    about: str
    setup: str
    pictures: tuple[Picture, ...]


SECTIONS = (
    Section(
        "Breast cancer: Rotterdam to GBSG",
        "Women of the Rotterdam cohort to learn from, those of the GBSG trial to judge by; the "
        "event is recurrence or death within three years. The paper's own cohort is private.",
        """\
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import tailoredbayes as tb


def covariates(table):
    return pd.DataFrame(
        {
            "age / 10": table["age"] / 10,
            "menopause": table["meno"],
            "grade 3": (table["grade"] == 3).astype(int),
            "log2 nodes": np.log2(table["nodes"] + 1),
            "log2 PgR": np.log2(table["pgr"] + 1),
            "log2 ER": np.log2(table["er"] + 1),
            "hormones": table["hormon"],
        }
    )


train, test = tb.datasets.load_rotterdam(), tb.datasets.load_gbsg()
X, X_test, y, y_test = covariates(train.data), covariates(test.data), train.target, test.target
family = tb.TailoredFamily(np.arange(2, 11) / 20, random_state=0).fit(X, y)
standard, tailored = family.standard_, family.models_[0.15]
models = {"TB": family, "SB": standard}""",
        (
            Picture(
                "decision-curve",
                "Decision curve",
                "Net benefit with 95% bands. TB is a family: at each threshold the model made for "
                "it.",
                """\
curve = tb.decision_curve(y_test, models, X=X_test)
tb.plots.decision_curve(curve, shade=(0.14, 0.23))""",
            ),
            Picture(
                "decision-curve-display",
                "Decision curve of any classifier, in scikit-learn's manner",
                "",
                """\
nodes = LogisticRegression().fit(X[["log2 nodes"]], y)
columns = X_test[["log2 nodes"]]
tb.plots.DecisionCurveDisplay.from_estimator(nodes, columns, y_test, name="nodes only")""",
            ),
            Picture(
                "interventions-avoided",
                "Interventions avoided",
                "How many treatments each model spares, at no case missed, against treating all.",
                """\
tb.plots.interventions_avoided(tb.decision_curve(y_test, models, X=X_test))""",
            ),
            Picture(
                "probability-useful",
                "Probability of being useful",
                "From the paired Bayesian decision curve.",
                """\
bayesian = tb.bayesian_decision_curve(y_test, models, X=X_test, random_state=0)
tb.plots.probability_useful(bayesian)""",
            ),
            Picture(
                "probability-better",
                "Probability that one model is better than another",
                "",
                """\
bayesian = tb.bayesian_decision_curve(y_test, models, X=X_test, random_state=0)
tb.plots.probability_better(bayesian.difference("TB", "SB"))""",
            ),
            Picture(
                "risk-distribution",
                "Risks by outcome",
                "",
                """\
found = tb.calibration(y_test, {"SB": standard, "TB": tailored}, X=X_test, threshold=0.15)
tb.plots.risk_distribution(found)""",
            ),
            Picture(
                "figure-s1",
                "Figure S1: data splitting",
                "The paper's design: 20% of the training rows for stage 1.",
                """\
split = tb.TailoredLogisticRegression(0.15, design="split", random_state=0).fit(X, y)
tb.plots.data_splitting(tb.data_splitting(split, n_test=len(y_test)))""",
            ),
            Picture(
                "figure-8",
                "Figure 8 and Table 1: posteriors and their overlap",
                "",
                """\
overlap = tb.posterior_overlap(standard, tailored)
tb.plots.posterior_densities(overlap, coefficients=X.columns)""",
            ),
            Picture(
                "figure-10",
                "Figure 10: highest density intervals",
                "Dots: medians; thick and thin: 90% and 95%; dashed: the medians of SB.",
                """\
three = {"SB": standard, "TB, t = 0.15": tailored, "TB, t = 0.3": family.models_[0.3]}
tb.plots.posterior_intervals(tb.posterior_intervals(three), coefficients=X.columns)""",
            ),
            Picture(
                "figure-11",
                "Figure 11: two patients",
                "Their mean risks are alike; one is known twice as well.",
                """\
two = tb.patients(family.models_[0.3], X_test.reset_index(drop=True), predictive=[239, 64])
tb.plots.patients(two)""",
            ),
            Picture(
                "figure-s6",
                "Figure S6: weights",
                "",
                """\
tb.plots.weights(tb.prospects(tailored, discounts=[0, 1, 5, 25, 100]))""",
            ),
            Picture(
                "figure-s8",
                "Figure S8: effective sample size",
                "",
                """\
tb.plots.effective_sample(tb.prospects(tailored.reference_risk_, [0.1, 0.15, 0.2, 0.3, 0.5]))""",
            ),
            Picture(
                "figure-s9",
                "Figure S9: net benefit along the discount",
                "A diamond is the discount chosen, by the default rule the smallest within a "
                "standard error of the best; the paper's rule, `max`, takes the highest point.",
                """\
tb.plots.discount_search(tb.prospects(family, [0.1, 0.15, 0.2, 0.3, 0.4, 0.5]))""",
            ),
            Picture(
                "figure-s10a",
                "Figure S10a: calibration of the reference risk",
                "",
                """\
found = tb.calibration(y, {"reference risk": tailored.reference_risk_}, threshold=0.15)
tb.plots.calibration(found)""",
            ),
            Picture(
                "figure-s10b",
                "Figure S10b: deliberate miscalibration",
                "",
                """\
tb.plots.miscalibration_shapes(tb.miscalibration_shapes())""",
            ),
        ),
    ),
    Section(
        "Breast cancer: repeated splits, an outside score, sensitivity",
        "The same data. `table` gives the net benefit of two models on the test rows, a row a "
        "threshold.",
        """\
thresholds = np.arange(2, 11) / 20


def fit(seed, reference_risk=None, **settings):
    family = tb.TailoredFamily(thresholds, random_state=seed, **settings)
    return family.fit(X, y, reference_risk=reference_risk)


def table(one, other, **setting):
    curve = tb.decision_curve(y_test, {"tailored": one, "standard": other}, thresholds, X=X_test)
    found = dict(zip(curve.models, curve.net_benefit))
    return pd.DataFrame({"threshold": thresholds, **found, **setting})


score = LogisticRegression().fit(X[["log2 nodes"]], y)  # stands for a published score
pi_u, pi_test = (score.predict_proba(x[["log2 nodes"]])[:, 1] for x in (X, X_test))
pi = tailored.reference_risk_
kinds = list(tb.miscalibration_shapes().shapes)
distances = {"squared": {}}
for e in (0, 0.05, 0.1):
    distances[f"absolute, ε = {e:g}"] = {"distance": "absolute", "epsilon": e}""",
        (
            Picture(
                "figure-7",
                "Figure 7: difference in net benefit",
                "Five splits into design and development rows; SB learns from both. Thick: one "
                "standard error over the splits, as in the paper. Thin: the test rows' own, which "
                "the paper leaves out.",
                """\
fits = [{"TB": fit(seed, design="split"), "SB": standard} for seed in range(5)]
found = [tb.net_benefit_difference(y_test, models, against="SB", X=X_test) for models in fits]
tb.plots.net_benefit_difference(tb.resplit_difference(found), shade=(0.14, 0.23))""",
            ),
            Picture(
                "figure-9",
                "Figure 9: against a published score and standard Bayes",
                "The paper's cohort (cardiac surgery) is private. Here a score of the number of "
                "nodes is the reference risk, as EuroSCORE is there; bars are 95% intervals.",
                """\
three = {"TB": fit(0, reference_risk=pi_u), "SB": standard, "score": pi_test}
found = tb.bayesian_decision_curve(y_test, three, X=X_test, random_state=0)
tb.plots.net_benefit_difference([found.difference("TB", "score"), found.difference("TB", "SB")])""",
            ),
            Picture(
                "figure-s11",
                "Figure S11: difference in net benefit under miscalibration",
                "Above 0 the calibrated reference risk is better.",
                """\
bent = {kind: fit(0, reference_risk=tb.miscalibrate(pi, *kind)) for kind in kinds}
cells = pd.concat([table(family, bent[kind], kind=kind[0], degree=kind[1]) for kind in kinds])
tb.plots.grid(tb.difference_grid(cells, panel="kind", line="degree"))""",
            ),
            Picture(
                "figure-s12",
                "Figure S12: difference in net benefit by weighting function",
                "Mean and standard error over three foldings of the search.",
                """\
fits = [(name, fit(i, **how)) for name, how in distances.items() for i in range(3)]
cells = pd.concat([table(one, standard, distance=name) for name, one in fits])
tb.plots.grid(tb.difference_grid(cells, panel="distance"))""",
            ),
        ),
    ),
    Section(
        "Simulations",
        "The paper's Simulations 1 to 3, small: three repetitions. `repeat` fits and judges as the "
        "studies do, on a test set of 2000 rows. The full studies are commands: "
        "`tailoredbayes study list`.",
        """\
from sklearn.neighbors import KNeighborsClassifier

from tailoredbayes.studies.generators import Simulation1, Simulation2, Simulation3

odds = np.array([0.1, 0.3, 0.5, 0.7, 0.9])


def repeat(name, simulations, sizes=(500, 2000), repetitions=3):
    rows = []
    for simulation in simulations:
        for n in sizes:
            for seed in range(repetitions):
                rng = np.random.default_rng([seed, n])
                X, y = simulation.sample(n, rng)
                X_test, y_test = simulation.sample_test(2000, rng)
                fit = tb.TailoredFamily(odds, sampler="laplace", random_state=seed).fit(X, y)
                neighbours = KNeighborsClassifier(50).fit(X, y)
                models = {
                    "tailored": fit,
                    "standard": fit.standard_,
                    "oracle": simulation.risk(X_test),
                    "neighbours": neighbours,
                }
                curve = tb.decision_curve(y_test, models, odds, X=X_test)
                found = dict(zip(curve.models, curve.net_benefit))
                cell = {"threshold": odds, "n": n, name: getattr(simulation, name), **found}
                rows.append(pd.DataFrame(cell))
    return pd.concat(rows)


def rows(simulation, n=5000, seed=2):
    return simulation.sample(n, np.random.default_rng(seed))


unit, wide = np.linspace(0, 1, 101), np.linspace(-4, 5, 201)
sim1, sim2, rare = Simulation1(q=1), Simulation2(prevalence=0.5), Simulation1(q=0.1)
fit1, fit2 = (tb.TailoredFamily(odds, random_state=0).fit(*rows(one)) for one in (sim1, sim2))
fit3 = tb.TailoredFamily([0.5], random_state=0).fit(*rows(rare, 1000))
both1, both3 = ({"SB": fit.standard_, "TB": fit} for fit in (fit1, fit3))
by_prevalence = repeat("prevalence", [Simulation2(share) for share in (0.1, 0.3, 0.5)])""",
        (
            Picture(
                "figure-1a",
                "Figure 1a: boundaries when targeting 0.3",
                "Black: optimal, at thresholds from 0.1 to 0.9. Bands hold 90% of the draws.",
                """\
ax = tb.plots.boundaries(tb.optimal_boundaries(sim1, odds, unit))
tb.plots.boundaries(tb.decision_boundaries(both1, 0.3, unit), ax)""",
            ),
            Picture(
                "figure-1b",
                "Figure 1b: boundaries when targeting 0.5",
                "",
                """\
ax = tb.plots.boundaries(tb.optimal_boundaries(sim1, odds, unit))
tb.plots.boundaries(tb.decision_boundaries(both1, 0.5, unit), ax)""",
            ),
            Picture(
                "figure-2",
                "Figure 2: difference in net benefit, Simulation 1",
                "",
                """\
cells = repeat("q", [Simulation1(q) for q in (0.1, 0.5, 1.0)])
tb.plots.grid(tb.difference_grid(cells, panel="q", line="n"))""",
            ),
            Picture(
                "figure-3a",
                "Figure 3a: optimal boundaries, Simulation 2",
                "",
                """\
tb.plots.boundaries(tb.optimal_boundaries(sim2, odds, wide))""",
            ),
            Picture(
                "figure-3b",
                "Figure 3b: standard boundaries",
                "",
                """\
tb.plots.boundaries(tb.decision_boundaries({"SB": fit2.standard_}, odds, wide))""",
            ),
            Picture(
                "figure-3c",
                "Figure 3c: tailored boundaries",
                "",
                """\
tb.plots.boundaries(tb.decision_boundaries({"TB": fit2}, odds, wide))""",
            ),
            Picture(
                "figure-4",
                "Figure 4: difference in net benefit, Simulation 2",
                "",
                """\
tb.plots.grid(tb.difference_grid(by_prevalence, panel="prevalence", line="n"))""",
            ),
            Picture(
                "figure-5",
                "Figure 5: a contaminated sample",
                "10% of the rows, triangles, are contaminated.",
                """\
(clean, _), (X3, y3) = (rows(Simulation3(share), 1000) for share in (0, 0.1))
ax = tb.plots.points(X3, y3, marked=(X3 != clean).any(axis=1))
tb.plots.boundaries(tb.optimal_boundaries(Simulation3(0.1), [0.1, 0.5, 0.9], wide), ax)""",
            ),
            Picture(
                "figure-6",
                "Figure 6: net benefit by contamination",
                "",
                """\
shown = {"TB": "tailored", "SB": "standard", "optimal": "oracle"}
cells = repeat("contamination", [Simulation3(share) for share in (0, 0.1, 0.3)], sizes=(1000,))
tb.plots.grid(tb.net_benefit_grid(cells, shown, panel="contamination"))""",
            ),
            Picture(
                "figure-s2",
                "Figure S2: boundaries under class imbalance",
                "One sample with q = 0.1.",
                """\
ax = tb.plots.points(*rows(rare, 1000))
tb.plots.boundaries(tb.optimal_boundaries(rare, odds, unit), ax)
tb.plots.boundaries(tb.decision_boundaries(both3, 0.5, unit), ax)""",
            ),
            Picture(
                "figure-s3",
                "Figure S3: against a flexible model",
                "The paper's is BART, as in `tailoredbayes study run bart`; here it is the share "
                "of events among 50 nearest neighbours.",
                """\
found = tb.difference_grid(by_prevalence, against="neighbours", panel="prevalence", line="n")
tb.plots.grid(found)""",
            ),
            Picture(
                "figure-s7",
                "Figure S7: width of the intervals",
                "Simulation 2.",
                """\
models2 = {"SB": fit2.standard_, **{f"TB, t = {t}": fit2.models_[t] for t in (0.1, 0.3)}}
tb.plots.interval_widths(tb.posterior_intervals(models2, [0.9]))""",
            ),
        ),
    ),
    Section(
        "Breast tumours: Wisconsin, with flipped labels",
        "As in the paper: 70% of the rows to learn from, of which 49 malignant ones are called "
        "benign.",
        """\
from sklearn.model_selection import train_test_split

biopsies = tb.datasets.load_wisconsin(dropna=True)
parts = train_test_split(
    biopsies.data, biopsies.target, train_size=0.7, stratify=biopsies.target, random_state=0
)
cell, cell_test, label, label_test = parts
flipped = label.to_numpy().copy()
flipped[np.random.default_rng(0).permutation(np.flatnonzero(label == 1))[:49]] = 0
smears = [
    tb.TailoredFamily(np.arange(2, 11) / 20, design="split", random_state=seed).fit(cell, flipped)
    for seed in range(5)
]""",
        (
            Picture(
                "figure-s4",
                "Figure S4: difference in net benefit",
                "As Figure 7.",
                """\
fits = [{"TB": smear, "SB": smears[0].standard_} for smear in smears]
found = [tb.net_benefit_difference(label_test, m, against="SB", X=cell_test) for m in fits]
tb.plots.net_benefit_difference(tb.resplit_difference(found))""",
            ),
            Picture(
                "figure-s5",
                "Figure S5: highest density intervals",
                "",
                """\
three = {f"TB, t = {t}": smears[0].models_[t] for t in (0.3, 0.5)}
found = tb.posterior_intervals({"SB": smears[0].standard_, **three})
tb.plots.posterior_intervals(found, coefficients=cell.columns)""",
            ),
        ),
    ),
)


def page() -> str:
    """Return the gallery as Markdown."""
    parts = [
        "# Gallery",
        "Every figure of the paper [Karapanagiotis2021] and its supplement, and the field's own. "
        "The lines above a picture are those that drew it, after the set-up of its section; "
        "`make gallery` draws all anew. Every picture has a table behind it: `record.to_frame()`.",
    ]
    for section in SECTIONS:
        parts += [f"## {section.title}", section.about, f"```python\n{section.setup}\n```"]
        for picture in section.pictures:
            parts += [f"### {picture.title}", *([picture.about] if picture.about else [])]
            parts += [f"```python\n{picture.code}\n```", f"![{picture.title}]({picture.name}.png)"]
    return "\n\n".join(parts) + "\n"


def draw() -> Iterator[tuple[Picture, Any]]:
    """Run the lines, section by section; give each picture with what its last line returned."""
    names: dict[str, Any] = {}
    for section in SECTIONS:
        exec(compile(section.setup, section.title, "exec"), names)
        for picture in section.pictures:
            lines = ast.parse(picture.code)
            last = lines.body.pop()
            assert isinstance(last, ast.Expr), picture.name
            exec(compile(lines, picture.name, "exec"), names)
            yield picture, eval(compile(ast.Expression(last.value), picture.name, "eval"), names)


def write(folder: Path) -> list[Path]:
    """Draw all pictures into a folder, write the page beside them, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.TailoringWarning)
        for picture, shown in draw():
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
    began = time.perf_counter()
    files = write(parser.parse_args().out)
    seconds = time.perf_counter() - began
    print(f"{len(files) - 1} pictures in {files[0].parent} after {seconds:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
