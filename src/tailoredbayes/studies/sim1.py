"""Simulation 1 of [Karapanagiotis2021]: optimal boundaries that are straight but not parallel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from tailoredbayes.checks import check_number
from tailoredbayes.evaluation.boundaries import optimal_boundaries
from tailoredbayes.studies.compared import (
    boundaries_of,
    closed_table,
    count_signs,
    draw_boundaries,
    gains,
    grid_exhibits,
    if_known,
    only,
    said_of_procedures,
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
from tailoredbayes.studies.generators import Simulation1
from tailoredbayes.studies.simulated import (
    SimulationSettings,
    boundary_rows,
    is_pictured,
    judge,
    procedures,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STUDY", "Sim1Settings"]

_X1 = np.linspace(0.0, 1.0, 51)
# Figure, q, target threshold; as the paper has them.
_PICTURES = (
    ("boundaries-a", "Figure 1", 1.0, 0.3),
    ("boundaries-b", "Figure 1", 1.0, 0.5),
    ("boundaries-imbalance", "Figure S2", 0.1, 0.5),
)


@dataclass(frozen=True)
class Sim1Settings(SimulationSettings):
    """Settings of Simulation 1."""

    q: tuple[float, ...] = setting((0.1, 0.5, 1.0), "odds of an event on the diagonal")

    def __post_init__(self) -> None:
        super().__post_init__()
        for q in self.q:
            check_number(q, "q", above=0, advice="the paper takes 0.1, 0.5 and 1")


def cells(settings: Sim1Settings) -> Iterator[Coordinates]:
    """Give every q, n and repetition."""
    for repetition, q, n in product(range(settings.repetitions), settings.q, settings.n):
        yield {"q": q, "n": n, "repetition": repetition}


def cell(settings: Sim1Settings, at: Coordinates) -> Tables:
    """Fit one sample."""
    judged = judge(Simulation1(at["q"]), settings, at["n"], at)
    tables = {"net_benefit": judged.rows}
    if is_pictured(settings, at):
        return {**tables, "boundaries": boundary_rows(judged, settings, _X1)}
    return tables


def about(results: Results) -> str:
    """Say what was done."""
    prevalences = ", ".join(f"{Simulation1(q).prevalence:.3f}" for q in results.settings.q)
    return (
        "x1 and x2 are uniform on the unit square and the risk is q x2 / (x1 + q x2): the best "
        "rule at any threshold is a straight line through the origin, a different one at each. A "
        "logistic model, whose lines are parallel, can follow any one of them but not all. With q "
        f"= {', '.join(map(str, results.settings.q))} the prevalence is {prevalences}.\n\n"
        + said_of_procedures(results.settings)
    )


def claims(results: Results) -> Iterator[Claim]:
    """Give what section 3.1 says of Figures 1, 2 and S2."""
    yield from _boundary_claims(results["boundaries"])
    found = gains(results, ["procedure", "q", "n", "threshold"])
    for procedure in procedures(results.settings):
        part = only(found, procedure=procedure)
        words, above, below = count_signs(part)
        yield Claim(
            "Figure 2",
            "Under most scenarios tailoring outperforms standard Bayes.",
            f"*{procedure}*: {words}.",
            if_known(above > len(part) / 2 and above > below, part),
        )
    main = only(found, procedure=procedures(results.settings)[0])
    yield from _size_claims(main)
    by_q = main.groupby("q")["gain"].mean()
    yield Claim(
        "Figure 2",
        "The advantage persists when the prevalence varies.",
        "Mean gain " + ", ".join(f"{gain:+.1f} at q = {q:g}" for q, gain in by_q.items()) + ".",
        bool((by_q > 0).all()),
    )
    half = only(main, q=0.1, threshold=0.5)
    if len(half):
        gained = ", ".join(
            f"{g:+.1f} at n = {n}" for g, n in zip(half["gain"], half["n"], strict=True)
        )
        yield Claim(
            "Figure S2",
            "At q = 0.1 tailoring is superior even at t = 0.5.",
            f"Gain {gained}.",
            if_known(bool((half["gain"] > 2 * half["se"]).all()), half),
        )


def _boundary_claims(rows: pd.DataFrame) -> Iterator[Claim]:
    """Compare boundaries at q = 1: how far from the optimum, how wide their bands."""
    rows = rows.assign(width=rows["high"] - rows["low"])
    for target, far in ((0.3, True), (0.5, False)):
        part = only(rows, q=1.0, threshold=target)
        if not len(part):
            continue
        optimal = Simulation1(1.0).boundary(target, part["x1"])[0]
        part = part.assign(off=(part["x2"] - optimal).abs())
        off = part.groupby("model")["off"].mean()
        if far:
            yield Claim(
                "Figure 1a",
                "At t = 0.3 the boundary of TB is far closer to the optimum than that of SB.",
                f"Mean distance in x2: SB {off['SB']:.3f}, TB {off['TB']:.3f}.",
                bool(off["TB"] < off["SB"] / 2),
            )
            width = part.groupby("model")["width"].mean()
            yield Claim(
                "Figure 1a",
                "Tailoring has the wider bands.",
                f"Mean width in x2: SB {width['SB']:.3f}, TB {width['TB']:.3f}.",
                bool(width["TB"] > width["SB"]),
            )
        else:
            models = part.pivot_table(index="x1", columns="model", values="x2")
            apart = float((models["TB"] - models["SB"]).abs().mean())
            width = part.groupby("model")["width"].mean()
            yield Claim(
                "Figure 1b",
                "At t = 0.5 the two models are almost indistinguishable.",
                f"Mean distance between them in x2: {apart:.3f}, within SB's band "
                f"({width['SB']:.3f} wide).",
                bool(apart < width["SB"]),
            )


def _size_claims(main: pd.DataFrame) -> Iterator[Claim]:
    smallest, largest = main["n"].min(), main["n"].max()
    words, above, below = count_signs(main[main["n"] == smallest])
    yield Claim(
        "Figure 2",
        "The gains are evident even for small samples.",
        f"n = {smallest}: {words}.",
        if_known(above > below, main),
    )
    if smallest == largest:
        return
    kept = {}
    for name, part in (
        ("t <= 0.5", main["threshold"] < 0.6),
        ("t >= 0.7", main["threshold"] > 0.6),
    ):
        of = main[part].groupby("n")["gain"].sum()
        kept[name] = float(of.get(smallest, np.nan) / of.get(largest, np.nan))
    yield Claim(
        "Figure 2",
        "Except at t = 0.7 and 0.9 the advantage is relatively stable across sample sizes.",
        f"The gain at n = {smallest} is {kept['t <= 0.5']:.0%} of that at n = {largest} for "
        f"t <= 0.5, {kept['t >= 0.7']:.0%} for t >= 0.7.",
        bool(kept["t <= 0.5"] > 0.8) if all(map(np.isfinite, kept.values())) else None,
    )


def exhibits(results: Results) -> Iterator[Exhibit]:
    """Give Figures 1, 2 and S2 and the share of the gap that tailoring closes."""
    rows = results["boundaries"]
    pictures = list(_pictures(rows))
    yield from (picture for picture in pictures if picture.shows == "Figure 1")
    yield from grid_exhibits(results, "q", "Figure 2")
    yield from (picture for picture in pictures if picture.shows == "Figure S2")
    for procedure in procedures(results.settings):
        yield closed_table(results, "q", procedure)


def _pictures(rows: pd.DataFrame) -> Iterator[Exhibit]:
    for name, shows, q, target in _PICTURES:
        part = only(rows, q=q, threshold=target)
        if not len(part):
            continue
        fitted = boundaries_of(part)
        optimal = optimal_boundaries(Simulation1(q), [0.1, 0.3, 0.5, 0.7, 0.9], _X1)
        yield Exhibit(
            name,
            f"Boundaries of SB and TB when targeting {target:g}, with pointwise 90% highest "
            f"density bands, over the optimal ones (q = {q:g}, one sample of {part['n'].iloc[0]}).",
            part,
            partial(draw_boundaries, optimal, fitted),
            shows,
        )


STUDY = Study(
    name="sim1",
    title="Simulation 1: linear boundaries that are not parallel",
    settings=Sim1Settings,
    cells=cells,
    cell=cell,
    claims=claims,
    exhibits=exhibits,
    about=about,
    shows=("Figure 1", "Figure 2", "Figure S2"),
)
