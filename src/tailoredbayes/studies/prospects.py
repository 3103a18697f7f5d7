"""How much does the verdict of `prospects` know? Verdicts against the gain that came of them.

Families are fitted on Simulations 1 to 3, where the net benefit of a linear rule is known exactly,
and on thirds of the bundled data, judged on the last. The gain is the net benefit of the tailored
model less that of standard Bayes at the threshold, by their posterior means, per 1000 patients.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tailoredbayes.decision import net_benefit
from tailoredbayes.estimators import TailoredFamily
from tailoredbayes.evaluation.prospects import prospects
from tailoredbayes.findings import TailoringWarning
from tailoredbayes.selection import DEFAULT_RULE, check_rule
from tailoredbayes.studies.contract import (
    Claim,
    Coordinates,
    Exhibit,
    Results,
    Study,
    Tables,
    setting,
    stream,
)
from tailoredbayes.studies.generators import Simulation1, Simulation2, Simulation3
from tailoredbayes.studies.grounds import GroundSettings, ground_cells, split_real

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STUDY", "ProspectsSettings", "summarise"]

VERDICTS = ("likely", "possible", "unlikely")
# A gain or a loss counts from half a net true positive per 1000.
_MATTERS = 0.5
# Draws of each posterior, whose means decide.
_DRAWS = 1000

_SIMULATIONS: dict[str, Any] = {
    **{f"simulation 1, q = {q:g}": Simulation1(q) for q in (0.1, 0.5, 1.0)},
    **{f"simulation 2, prevalence {p:g}": Simulation2(p) for p in (0.1, 0.3, 0.5)},
    **{f"simulation 3, contamination {c:g}": Simulation3(c) for c in (0.0, 0.1)},
}


@dataclass(frozen=True)
class ProspectsSettings(GroundSettings):
    """The study's settings."""

    selection: str = setting(DEFAULT_RULE, "rule for the discount")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rule(self.selection)


def cells(settings: ProspectsSettings) -> Iterator[Coordinates]:
    """Give every data set and repetition."""
    return ground_cells(settings, _SIMULATIONS)


def cell(settings: ProspectsSettings, at: Coordinates) -> Tables:
    """Fit one data set's family; put its verdicts beside its gains."""
    rng = stream(settings.seed, at)
    simulation = _SIMULATIONS.get(at["data"])
    judge: Callable[[Any, float], float]
    if simulation is not None:
        x, y = simulation.sample(at["n"], rng)
        thresholds = settings.thresholds

        def judge(model: Any, t: float) -> float:
            intercept, slopes = float(model.intercept_[0]), model.coef_[0]
            return float(simulation.linear_net_benefit(intercept, slopes, t))

    else:
        rows = split_real(at["data"], settings.test_share, rng)
        x, y = rows.x, rows.y
        thresholds = settings.real_thresholds

        def judge(model: Any, t: float) -> float:
            return float(net_benefit(rows.test_y, model.risk(rows.test_x), t))

    family = TailoredFamily(
        thresholds, selection=settings.selection, draws=_DRAWS, n_jobs=1, random_state=rng
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TailoringWarning)
        family.fit(x, y)
    found = []
    for outlook in prospects(family).outlooks:
        t = outlook.threshold
        found.append(
            {
                "n": len(y),
                "threshold": t,
                "verdict": outlook.verdict,
                "near": outlook.near,
                "promised": 1000 * outlook.gain,
                "promised_se": 1000 * outlook.gain_se,
                "gain": 1000 * (judge(family.models_[t], t) - judge(family.standard_, t)),
            }
        )
    return {"verdict": found}


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row a kind of data and verdict: how often it came true, and what it promised."""
    import pandas as pd

    kind = (
        frame["data"]
        .str.partition(",")[0]
        .where(frame["data"].str.startswith("simulation"), "bundled data")
    )
    rows = []
    for (name, verdict), part in frame.groupby([kind, "verdict"]):
        gain = part["gain"]
        rows.append(
            {
                "data": name,
                "verdict": verdict,
                "fits": len(part),
                "promised": part["promised"].mean(),
                "gain": gain.mean(),
                "gained": (gain > _MATTERS).mean(),
                "lost": (gain < -_MATTERS).mean(),
                "worst 5%": gain.quantile(0.05),
            }
        )
    table = pd.DataFrame(rows)
    order = table["verdict"].map(VERDICTS.index)
    return table.iloc[np.lexsort((order, table["data"]))].reset_index(drop=True)


def about(results: Results) -> str:
    """Say what the verdict is, and what it is held against."""
    settings = results.settings
    return (
        "`prospects` says of each threshold whether tailoring is likely to help: *likely* where "
        "the search's net benefit rose by two standard errors or more, *possible* where it rose "
        "by less, *unlikely* where it did not or hardly a row lies near the threshold. Here "
        "verdicts stand beside what came of them, in net true positives per 1000 patients at the "
        "threshold.\n\n"
        f"{settings.told(_SIMULATIONS)}\n"
        f"- {settings.repetitions} repetitions; the rule for the discount is "
        f"*{settings.selection}*.\n\n"
        "The promise is that of the best of several discounts on the rows it was chosen by, and "
        "flatters. In Simulation 3 the rows that judge the search are contaminated like those "
        "that are fitted, so neither the search nor its verdict can see what is done to the "
        "clean population. Gains in bundled data carry the test set's own error."
    )


def claims(results: Results) -> Iterator[Claim]:
    """Give what section S9.1 says of a curve that does not rise."""
    frame = results["verdict"]
    flat = frame[frame["verdict"] == "unlikely"]["gain"]
    if not len(flat):
        return
    gained = (flat > _MATTERS).mean()
    yield Claim(
        "section S9.1",
        "Where net benefit does not rise with the discount, TB will probably not improve on SB.",
        f"Of {len(flat)} fits called unlikely {gained:.0%} gained, by {_MATTERS} or more; the "
        f"mean is {flat.mean():+.1f} per 1000.",
        bool(gained < 0.5),
    )


def exhibits(results: Results) -> Iterator[Exhibit]:
    """Give how often each verdict came true."""
    table = summarise(results["verdict"])
    for column in ("promised", "gain", "worst 5%"):
        table[column] = table[column].map("{:+.1f}".format)
    for column in ("gained", "lost"):
        table[column] = table[column].map("{:.0%}".format)
    yield Exhibit(
        "verdicts",
        "*Promised* is the search's own gain, *gain* the exact one in simulations and the test "
        "set's in bundled data; *gained* and *lost* are how often it was above "
        f"{_MATTERS} or below -{_MATTERS}.",
        table,
    )


STUDY = Study(
    name="prospects",
    title="What the verdict before a fit knows",
    settings=ProspectsSettings,
    cells=cells,
    cell=cell,
    claims=claims,
    exhibits=exhibits,
    about=about,
)
