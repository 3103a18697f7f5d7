"""Simulation 2 of [Karapanagiotis2021]: two Gaussians, whose optimal boundaries are quadratic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from tailoredbayes.checks import check_number
from tailoredbayes.evaluation.boundaries import optimal_boundaries
from tailoredbayes.evaluation.posteriors import posterior_intervals
from tailoredbayes.studies.compared import (
    boundaries_of,
    closed_table,
    count_signs,
    draw_boundaries,
    draw_widths,
    gains,
    grid_exhibits,
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
    Study,
    Tables,
    setting,
)
from tailoredbayes.studies.generators import Simulation2
from tailoredbayes.studies.simulated import (
    BAND,
    SimulationSettings,
    boundary_rows,
    is_pictured,
    judge,
    procedures,
)

__all__ = ["STUDY", "Sim2Settings"]

_X1 = np.linspace(-4.0, 5.0, 91)
# The paper's pictures are of equal classes.
_PICTURED = 0.5
# "Closely matched": mean gains within this of zero, per 1000.
_CLOSE = 1.0


@dataclass(frozen=True)
class Sim2Settings(SimulationSettings):
    """Settings of Simulation 2."""

    prevalence: tuple[float, ...] = setting((0.1, 0.3, 0.5), "P(y = 1)")

    def __post_init__(self) -> None:
        super().__post_init__()
        for prevalence in self.prevalence:
            check_number(prevalence, "prevalence", above=0, below=1, advice="the paper takes 0.3")


def cells(settings: Sim2Settings) -> Iterator[Coordinates]:
    """Give every prevalence, n and repetition."""
    every = product(range(settings.repetitions), settings.prevalence, settings.n)
    for repetition, prevalence, n in every:
        yield {"prevalence": prevalence, "n": n, "repetition": repetition}


def cell(settings: Sim2Settings, at: Coordinates) -> Tables:
    """Fit one sample."""
    judged = judge(Simulation2(at["prevalence"]), settings, at["n"], at)
    tables = {"net_benefit": judged.rows}
    if not is_pictured(settings, at):
        return tables
    fits = judged.fits[procedures(settings)[0]]
    models = {f"TB, t = {fit.search.threshold:g}": fit.draws for fit in fits}
    intervals = posterior_intervals({"SB": judged.standard, **models}, [BAND])
    return {
        **tables,
        "boundaries": boundary_rows(judged, settings, _X1),
        "intervals": intervals.to_frame(),
    }


def about(results: Results) -> str:
    """Say what was done."""
    return (
        "Two Gaussians, x | y = 1 about (1, 0) with variances (1, 2) and x | y = 0 about (0, 1) "
        "with variances (2, 1): the best rule at any threshold is bounded by a hyperbola, which "
        "no straight line follows. A line can still turn towards the part of it that matters.\n\n"
        + said_of_procedures(results.settings)
    )


def claims(results: Results) -> Iterator[Claim]:
    """Give what section 3.2 and section S9.1 say of Figures 3, 4 and S7."""
    yield from _boundary_claims(results)
    found = gains(results, ["procedure", "prevalence", "n", "threshold"])
    for procedure in procedures(results.settings):
        part = only(found, procedure=procedure)
        most = part[part["prevalence"] > 0.2]
        if len(most):
            words, _, below = count_signs(most)
            yield Claim(
                "Figure 4",
                "Tailoring performs similarly or better at all thresholds for prevalences 0.3 "
                "and 0.5.",
                f"*{procedure}*: {words}; {worst_setting(most, ['prevalence', 'n', 'threshold'])}.",
                if_known(below == 0, most),
            )
        rare = only(part, prevalence=0.1)
        if len(rare):
            yield Claim(
                "Figure 4",
                "At prevalence 0.1 the two models are closely matched.",
                f"*{procedure}*: mean gains from {rare['gain'].min():+.1f} to "
                f"{rare['gain'].max():+.1f} per 1000; {count_signs(rare)[0]}.",
                bool((rare["gain"].abs() < _CLOSE).all()),
            )
    widths = only(results["intervals"], prevalence=_PICTURED)
    if len(widths):
        wide = widths.pivot_table(index="coefficient", columns="model", values="width")
        ratio = wide.drop(columns="SB").div(wide["SB"], axis=0).to_numpy()
        yield Claim(
            "Figure S7",
            "The intervals are wider under tailoring.",
            f"{int((ratio > 1).sum())} of {ratio.size} are (threshold and coefficient); widths "
            f"are {ratio.min():.2f} to {ratio.max():.2f} times those of SB.",
            bool((ratio > 1).mean() > 0.5),
        )


def _boundary_claims(results: Results) -> Iterator[Claim]:
    """Compare the rules at equal classes by how far they stay behind the oracle."""
    table = only(results["net_benefit"], procedure=procedures(results.settings)[0])
    largest = table["n"].max()
    table = only(table, prevalence=_PICTURED, n=largest)
    if not len(table):
        return
    behind = table.assign(
        SB=1000 * (table["oracle"] - table["standard"]),
        TB=1000 * (table["oracle"] - table["tailored"]),
    )
    means = behind.groupby("threshold")[["SB", "TB"]].mean()
    apart = means[~np.isclose(means.index, 0.5)]
    if len(apart):
        said = "; ".join(f"t = {t:g}: {row.SB:.1f}, {row.TB:.1f}" for t, row in apart.iterrows())
        yield Claim(
            "Figure 3",
            "Tailoring turns its boundaries to approximate the optimal curves better.",
            f"Behind the oracle per 1000 (SB, TB; n = {largest}): {said}.",
            bool((apart["TB"] < apart["SB"]).all()),
        )
    half = means[np.isclose(means.index, 0.5)]
    if len(half):
        standard, tailored = half.iloc[0]
        yield Claim(
            "Figure 3",
            "At t = 0.5 both models estimate the boundary perfectly.",
            f"Behind the oracle per 1000: SB {standard:.1f}, TB {tailored:.1f}. The optimal "
            "boundary is two lines that cross, of which a linear model has one.",
            bool(max(standard, tailored) < _CLOSE),
        )


def exhibits(results: Results) -> Iterator[Exhibit]:
    """Give Figures 3, 4 and S7 and the share of the gap that tailoring closes."""
    pictured = only(results["boundaries"], prevalence=_PICTURED)
    if len(pictured):
        yield from _pictures(results, _PICTURED)
    yield from grid_exhibits(results, "prevalence", "Figure 4")
    widths = only(results["intervals"], prevalence=_PICTURED)
    if len(widths):
        yield Exhibit(
            "widths",
            f"Width of the 90% highest density intervals (prevalence {_PICTURED:g}, one sample of "
            f"{widths['n'].iloc[0]}).",
            widths,
            partial(draw_widths, widths),
            "Figure S7",
        )
    for procedure in procedures(results.settings):
        yield closed_table(results, "prevalence", procedure)


def _pictures(results: Results, prevalence: float) -> Iterator[Exhibit]:
    simulation = Simulation2(prevalence)
    optimal = optimal_boundaries(simulation, results.settings.thresholds, _X1)
    rows = only(results["boundaries"], prevalence=prevalence)
    sample = f"one sample of {rows['n'].iloc[0]}"
    yield Exhibit(
        "boundaries-a",
        f"Optimal boundaries (prevalence {prevalence:g}).",
        optimal.to_frame(),
        partial(draw_boundaries, optimal, None),
        "Figure 3",
    )
    for letter, model in (("b", "SB"), ("c", "TB")):
        part = only(rows, model=model)
        yield Exhibit(
            f"boundaries-{letter}",
            f"Median boundaries of {model} with pointwise 90% highest density bands, over the "
            f"optimal ones ({sample}).",
            part,
            partial(draw_boundaries, optimal, boundaries_of(part)),
            "Figure 3",
        )


STUDY = Study(
    name="sim2",
    title="Simulation 2: quadratic boundaries",
    settings=Sim2Settings,
    cells=cells,
    cell=cell,
    claims=claims,
    exhibits=exhibits,
    about=about,
    shows=("Figure 3", "Figure 4", "Figure S7"),
)
