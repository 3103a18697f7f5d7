"""Simulation 3 of [Karapanagiotis2021]: training data of which a part is mislabelled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from tailoredbayes.checks import check_number
from tailoredbayes.evaluation.boundaries import optimal_boundaries
from tailoredbayes.evaluation.grids import net_benefit_grid
from tailoredbayes.studies.compared import (
    closed_table,
    count_signs,
    draw_grid,
    draw_sample,
    gains,
    if_known,
    only,
    said_of_procedures,
    worst_setting,
)
from tailoredbayes.studies.contract import (
    Claim,
    Coordinates,
    Exhibit,
    Results,
    Rows,
    Study,
    Tables,
    setting,
    stream,
)
from tailoredbayes.studies.generators import Simulation3
from tailoredbayes.studies.simulated import Judged, SimulationSettings, judge, procedures

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STUDY", "Sim3Settings"]

# The paper's picture has this contamination and these lines.
_PICTURED, _LINES = 0.1, (0.1, 0.5, 0.9)
_X1 = np.linspace(-4.0, 4.0, 81)
# What is lost, per 1000, before performance is called poor, and close to the optimum.
_POOR, _CLOSE = 5.0, 5.0


@dataclass(frozen=True)
class Sim3Settings(SimulationSettings):
    """Settings of Simulation 3."""

    n: tuple[int, ...] = setting((1000,), "training rows")
    contamination: tuple[float, ...] = setting(
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.3), "mislabelled share of the training rows"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for share in self.contamination:
            advice = "0.1 contaminates a tenth of the rows"
            check_number(share, "contamination", at_least=0, below=1, advice=advice)


def cells(settings: Sim3Settings) -> Iterator[Coordinates]:
    """Give every contamination, n and repetition."""
    every = product(range(settings.repetitions), settings.contamination, settings.n)
    for repetition, contamination, n in every:
        yield {"contamination": contamination, "n": n, "repetition": repetition}


def cell(settings: Sim3Settings, at: Coordinates) -> Tables:
    """Fit one sample; all contaminations of a repetition share their clean rows and test set."""
    simulation = Simulation3(at["contamination"])
    sampled = {"n": at["n"], "repetition": at["repetition"]}
    judged = judge(simulation, settings, at["n"], at, sampled)
    tables = {"net_benefit": judged.rows}
    if at["repetition"] == 0 and np.isclose(at["contamination"], _PICTURED):
        return {**tables, "sample": _sample(judged, settings, sampled)}
    return tables


def _sample(judged: Judged, settings: Sim3Settings, sampled: Coordinates) -> Rows:
    """Return the rows of a sample; those that no clean sample has are contaminated."""
    rng = stream(settings.seed, sampled).spawn(2)[0]
    clean, _ = Simulation3(0.0).sample(len(judged.y), rng)
    marked = (clean != judged.X).any(axis=1)
    return [
        {"x1": x1, "x2": x2, "y": outcome, "contaminated": mark}
        for (x1, x2), outcome, mark in zip(judged.X, judged.y, marked, strict=True)
    ]


def about(results: Results) -> str:
    """Say what was done."""
    return (
        "x1 and x2 are standard normal and the risk is expit(2 x1 + 3 x2), a logistic model. Of "
        "the training rows a share is replaced by rows around (1.5, 1.5) that all have y = 0. "
        "Fits are judged on the clean population; the search for the discount sees contaminated "
        "rows only, as it would in practice.\n\n" + said_of_procedures(results.settings)
    )


def claims(results: Results) -> Iterator[Claim]:
    """Give what section 3.3 says of Figure 6."""
    main, *others = procedures(results.settings)
    table = only(results["net_benefit"], procedure=main)
    table = table.assign(
        SB=1000 * (table["oracle"] - table["standard"]),
        TB=1000 * (table["oracle"] - table["tailored"]),
    )
    behind = table.groupby(["contamination", "threshold"])[["SB", "TB"]].mean().reset_index()
    yield from _loss_claims(behind)
    found = gains(results, ["procedure", "contamination", "n", "threshold"])
    dirty = only(found[found["contamination"] > 0], procedure=main)
    if len(dirty):
        mean = dirty.groupby("contamination")["gain"].mean()
        said = ", ".join(f"{gain:+.1f} at {psi:.0%}" for psi, gain in mean.items())
        yield Claim(
            "Figure 6",
            "For most fractions tailoring outperforms standard Bayes.",
            f"Mean gain over the thresholds: {said}.",
            bool((mean > 0).mean() > 0.5),
        )
    for procedure in (main, *others):
        part = only(found, procedure=procedure)
        words, _, below = count_signs(part)
        yield Claim(
            "Figure 6",
            "Tailoring generally never results in poorer performance.",
            f"*{procedure}*: {words}; {worst_setting(part, ['contamination', 'threshold'])}.",
            if_known(below == 0, part),
        )


def _loss_claims(behind: pd.DataFrame) -> Iterator[Claim]:
    """Compare how far SB and TB stay behind the oracle, per 1000."""
    clean = only(behind, contamination=0.0)
    if len(clean):
        most = clean["SB"].max()
        yield Claim(
            "Figure 6",
            "Without contamination standard Bayes is an optimal classifier.",
            f"SB stays at most {most:.1f} per 1000 behind the oracle.",
            bool(most < _CLOSE),
        )
    some = only(behind[behind["threshold"] > 0.55], contamination=0.05)
    if len(some):
        said = ", ".join(
            f"{loss:.1f} at t = {t:g}"
            for t, loss in zip(some["threshold"], some["SB"], strict=True)
        )
        yield Claim(
            "Figure 6",
            "With 5% contamination standard Bayes performs poorly at t > 0.5.",
            f"SB is behind the oracle by {said} per 1000.",
            bool((some["SB"] > _POOR).all()),
        )
    little = behind[(behind["threshold"] < 0.45) & (behind["contamination"] < 0.16)]
    if len(little):
        most = little.loc[little["TB"].idxmax()]
        yield Claim(
            "Figure 6",
            "For t < 0.5 tailoring stays close to the optimum up to 15% contamination.",
            f"TB is behind the oracle by at most {most['TB']:.1f} per 1000 (SB there: "
            f"{most['SB']:.1f}), at {most['contamination']:.0%} and t = {most['threshold']:g}.",
            bool(most["TB"] < _CLOSE),
        )
    by_share = behind.groupby("contamination")[["SB", "TB"]].mean()
    if len(by_share) > 1:
        more = by_share.iloc[-1] - by_share.iloc[0]
        yield Claim(
            "Figure 6",
            "Standard Bayes degrades faster as contamination grows.",
            f"From {by_share.index[0]:.0%} to {by_share.index[-1]:.0%} the mean loss over the "
            f"thresholds grows by {more['SB']:.1f} per 1000 for SB, {more['TB']:.1f} for TB.",
            bool(more["SB"] > more["TB"]),
        )


def exhibits(results: Results) -> Iterator[Exhibit]:
    """Give Figures 5 and 6 and the share of the gap that tailoring closes."""
    if "sample" in results.tables:
        sample = results["sample"]
        optimal = optimal_boundaries(Simulation3(_PICTURED), _LINES, _X1)
        yield Exhibit(
            "sample",
            f"One sample of {len(sample)} with {_PICTURED:.0%} contamination (triangles), and the "
            "clean population's optimal boundaries.",
            sample,
            partial(draw_sample, optimal, sample),
            "Figure 5",
        )
    exact = {"TB": "tailored", "SB": "standard", "optimal": "oracle"}
    counted = {name: f"{column}_test" for name, column in exact.items()}
    main, *others = procedures(results.settings)
    ways = [("", main, "exact", exact), ("-test", main, "on the test sets", counted)]
    ways += [(f"-{k}", name, "on the test sets", counted) for k, name in enumerate(others, 2)]
    for ending, procedure, how, columns in ways:
        cells = only(results["net_benefit"], procedure=procedure)
        record = net_benefit_grid(cells, columns, panel="contamination")
        yield Exhibit(
            f"net-benefit{ending}",
            f"Net benefit of TB, SB and the optimal rule, *{procedure}*, {how}: means over "
            f"{results.settings.repetitions} repetitions with one standard error.",
            record.to_frame(),
            partial(draw_grid, record),
            "Figure 6",
        )
    for procedure in (main, *others):
        yield closed_table(results, "contamination", procedure)


STUDY = Study(
    name="sim3",
    title="Simulation 3: contaminated training data",
    settings=Sim3Settings,
    cells=cells,
    cell=cell,
    claims=claims,
    exhibits=exhibits,
    about=about,
    shows=("Figure 5", "Figure 6"),
)
