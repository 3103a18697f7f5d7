"""How much does the verdict of `prospects` know? Verdicts against the gain that came of them.

Families are fitted on Simulations 1 to 3, where the net benefit of a linear rule is known exactly,
and on thirds of the bundled data, judged on the last. The gain is the net benefit of the tailored
model less that of standard Bayes at the threshold, by their posterior means, per 1000 patients.

Run it with ``python -m tailoredbayes.studies.prospects``; it writes ``docs/studies/prospects.md``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils.parallel import Parallel, delayed

from tailoredbayes.decision import net_benefit
from tailoredbayes.estimators import TailoredFamily
from tailoredbayes.evaluation.prospects import prospects
from tailoredbayes.findings import TailoringWarning
from tailoredbayes.studies.generators import Simulation1, Simulation2, Simulation3
from tailoredbayes.studies.selection import real_data

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ProspectsStudy", "page", "run", "summarise"]

VERDICTS = ("likely", "possible", "unlikely")
# A gain or a loss counts from half a net true positive per 1000.
_MATTERS = 0.5

_SIMULATIONS: dict[str, Any] = {
    **{f"simulation 1, q = {q:g}": Simulation1(q) for q in (0.1, 0.5, 1.0)},
    **{f"simulation 2, prevalence {p:g}": Simulation2(p) for p in (0.1, 0.3, 0.5)},
    **{f"simulation 3, contamination {c:g}": Simulation3(c) for c in (0.0, 0.1)},
}
_REAL = ("wisconsin", "rotterdam", "gbsg")


@dataclass(frozen=True)
class ProspectsStudy:
    """The study's settings."""

    sizes: tuple[int, ...] = (500, 1000, 5000)
    thresholds: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    real_thresholds: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5)
    repetitions: int = 20
    selection: str = "smooth"
    test_share: float = 1 / 3
    seed: int = 2021


def _cells(study: ProspectsStudy) -> Iterator[tuple[str, int, int]]:
    """Name, size (0: as it is) and repetition of every data set."""
    for repetition in range(study.repetitions):
        yield from ((name, n, repetition) for name in _SIMULATIONS for n in study.sizes)
        yield from ((name, 0, repetition) for name in _REAL)


def _one(study: ProspectsStudy, name: str, n: int, repetition: int) -> list[dict[str, Any]]:
    """Fit one data set's family; put its verdicts beside its gains."""
    rng = np.random.default_rng([study.seed, sum(name.encode()), n, repetition])
    simulation = _SIMULATIONS.get(name)
    if simulation is not None:
        x, y = simulation.sample(n, rng)
        ts = study.thresholds
    else:
        x, y = real_data(name)
        ts = study.real_thresholds
        seed = int(rng.integers(2**31))
        x, test_x, y, test_y = train_test_split(
            x, y, test_size=study.test_share, stratify=y, random_state=seed
        )
    family = TailoredFamily(ts, selection=study.selection, draws=1000, random_state=repetition)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TailoringWarning)
        family.fit(x, y)

    def judge(model: Any, t: float) -> float:
        if simulation is not None:
            intercept, slopes = float(model.intercept_[0]), model.coef_[0]
            return float(simulation.linear_net_benefit(intercept, slopes, t))
        return float(net_benefit(test_y, model.risk(test_x), t))

    return [
        {
            "data": name,
            "n": len(y),
            "threshold": outlook.threshold,
            "repetition": repetition,
            "verdict": outlook.verdict,
            "near": outlook.near,
            "promised": 1000 * outlook.gain,
            "promised_se": 1000 * outlook.gain_se,
            "gain": 1000
            * (
                judge(family.models_[outlook.threshold], outlook.threshold)
                - judge(family.standard_, outlook.threshold)
            ),
        }
        for outlook in prospects(family).outlooks
    ]


def run(study: ProspectsStudy, n_jobs: int | None = None) -> pd.DataFrame:
    """Return one row a data set, threshold and repetition: verdict, promised gain, gain."""
    import pandas as pd

    found = Parallel(n_jobs=n_jobs)(delayed(_one)(study, *cell) for cell in _cells(study))
    return pd.DataFrame([row for rows in found for row in rows])


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


def page(study: ProspectsStudy, table: pd.DataFrame, seconds: float) -> str:
    """Return the study's page."""
    shown = table.copy()
    for column in ("promised", "gain", "worst 5%"):
        shown[column] = shown[column].map("{:+.1f}".format)
    for column in ("gained", "lost"):
        shown[column] = shown[column].map("{:.0%}".format)
    lines = ["| " + " | ".join(shown.columns) + " |", "|" + " --- |" * len(shown.columns)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in shown.itertuples(index=False)]
    return "\n".join(
        [
            "# What the verdict before a fit knows",
            "",
            "`prospects` says of each threshold whether tailoring is likely to help: *likely*",
            "where the search's net benefit rose by two standard errors or more, *possible* where",
            "it rose by less, *unlikely* where it did not or hardly a row lies near the threshold.",
            "Here verdicts stand beside what came of them, in net true positives per 1000 patients",
            "at the threshold: *promised* is the search's own gain, *gain* the exact one in",
            "simulations and the test set's in bundled data, *gained* and *lost* how often it was",
            f"above {_MATTERS} or below {-_MATTERS}.",
            "",
            *(f"- {name}" for name in _SIMULATIONS),
            "",
            f"each with n = {', '.join(map(str, study.sizes))} and",
            f"t = {', '.join(map(str, study.thresholds))};",
            "",
            f"- {', '.join(_REAL)}: two thirds to fit on, one to judge by;",
            f"  t = {', '.join(map(str, study.real_thresholds))}.",
            "",
            f"{study.repetitions} repetitions, seed {study.seed}; {seconds:.0f} s.",
            "",
            *lines,
            "",
            "The promise is that of the best of several discounts on the rows it was chosen by,",
            "and flatters. In Simulation 3 the rows that judge the search are contaminated like",
            "those that are fitted, so neither the search nor its verdict can see what is done to",
            "the clean population. Gains in bundled data carry the test set's own error.",
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and write its page and its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/studies"))
    parser.add_argument("--repetitions", type=int, default=ProspectsStudy.repetitions)
    parser.add_argument("--n-jobs", type=int, default=-1)
    given = parser.parse_args(arguments)
    study = ProspectsStudy(repetitions=given.repetitions)
    started = time.perf_counter()
    frame = run(study, given.n_jobs)
    table = summarise(frame)
    given.out.mkdir(parents=True, exist_ok=True)
    text = page(study, table, time.perf_counter() - started)
    (given.out / "prospects.md").write_text(text, encoding="utf-8")
    table.to_csv(given.out / "prospects.csv", index=False)
    print(text)


if __name__ == "__main__":
    main()
