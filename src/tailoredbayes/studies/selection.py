"""Which rule should choose the discount? Rules, designs, rounds and repeats, on known ground.

Every combination searches the same data: Simulations 1 and 2 of the paper, where the net benefit
of a linear rule is known exactly, and the bundled data sets, cut again and again into training and
test rows. What counts is the gain over standard Bayes at the threshold, per 1000 patients, of the
rule at the posterior mode.

Run it with ``python -m tailoredbayes.studies.selection``; it writes ``docs/studies/selection.md``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils.parallel import Parallel, delayed

from tailoredbayes import datasets
from tailoredbayes.decision import net_benefit
from tailoredbayes.fitting import Settings, Training, search_discounts, stage_1, tailored_weights
from tailoredbayes.inference import find_modes
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.predictive import normal_risk
from tailoredbayes.reference import check_design
from tailoredbayes.selection import RULES, held_out_by_posterior
from tailoredbayes.studies.generators import Simulation1, Simulation2

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SelectionStudy", "page", "real_data", "run", "summarise"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SelectionStudy:
    """The study's settings."""

    sizes: tuple[int, ...] = (500, 1000, 5000)
    thresholds: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    real_thresholds: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5)
    repetitions: int = 20
    rules: tuple[str, ...] = tuple(RULES)
    designs: tuple[str, ...] = ("crossfit", "split")
    rounds: tuple[int, ...] = (0, 1, 2)
    cv_repeats: tuple[int, ...] = (1, 4)
    test_share: float = 1 / 3
    seed: int = 2021


@dataclass(frozen=True)
class _Ground:
    """One data set to fit on, and how to judge a fit: the net benefit of theta (p,) at t."""

    x: Floats
    y: NDArray[np.bool_]
    thresholds: tuple[float, ...]
    judge: Callable[[Floats, float], float]


_SIMULATIONS: dict[str, Any] = {
    "sim1, q = 1": Simulation1(1.0),
    "sim2, prevalence .3": Simulation2(0.3),
}


def _simulated(study: SelectionStudy, name: str, n: int, rng: np.random.Generator) -> _Ground:
    simulation = _SIMULATIONS[name]
    x, y = simulation.sample(n, rng)

    def judge(beta: Floats, threshold: float) -> float:
        return float(simulation.linear_net_benefit(beta[0], beta[1:], threshold))

    return _Ground(x, y.astype(bool), study.thresholds, judge)


def real_data(name: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Return a bundled data set as numbers: covariates (n, d) and who has the event."""
    if name == "wisconsin":
        data = datasets.load_wisconsin(dropna=True)
        return data.data.to_numpy(dtype=np.float64), data.target.to_numpy() == 1
    data = {"rotterdam": datasets.load_rotterdam, "gbsg": datasets.load_gbsg}[name]()
    table = data.data
    logs = [np.log1p(table[column]) for column in ("nodes", "pgr", "er")]
    plain = [table["age"] / 10, table["meno"], table["grade"] == 3, table["hormon"]]
    x = np.stack([np.asarray(column, dtype=np.float64) for column in (*plain, *logs)], axis=1)
    return x, data.target.to_numpy() == 1


def _split(study: SelectionStudy, name: str, rng: np.random.Generator) -> _Ground:
    x, y = real_data(name)
    train, test = train_test_split(
        np.arange(len(y)),
        test_size=study.test_share,
        stratify=y,
        random_state=int(rng.integers(2**31)),
    )

    def judge(beta: Floats, threshold: float) -> float:
        root = np.zeros((1, len(beta), len(beta)))
        risk = normal_risk(x[test], beta[:, None], root)[:, 0]
        return float(net_benefit(y[test], risk, threshold))

    return _Ground(x[train], y[train], study.real_thresholds, judge)


def _cells(study: SelectionStudy) -> Iterator[tuple[str, int, int]]:
    """Name, size (0: as it is) and repetition of every data set."""
    for repetition in range(study.repetitions):
        yield from ((name, n, repetition) for name, n in product(_SIMULATIONS, study.sizes))
        yield from ((name, 0, repetition) for name in ("wisconsin", "rotterdam", "gbsg"))


def _one(study: SelectionStudy, name: str, n: int, repetition: int) -> list[dict[str, Any]]:
    """Search one data set by every combination; seeded by its own coordinates."""
    key = [study.seed, sum(name.encode()), n, repetition]
    ground = (
        _simulated(study, name, n, np.random.default_rng(key))
        if n
        else _split(study, name, np.random.default_rng(key))
    )
    base = TailoredPosterior(ground.x, ground.y, threads=1)
    standard = base.coefficients(find_modes(base).theta)[:, 0]
    training = Training(ground.x, ground.y)
    rows = []
    for design, repeats, rule in product(study.designs, study.cv_repeats, study.rules):
        settings = Settings(
            selection=rule,
            design=check_design(design),
            rounds=max(study.rounds),
            cv_repeats=repeats,
            threads=1,
        )
        # The same folds for every rule: only the choice differs.
        reference = stage_1(training, settings, np.random.default_rng([*key, 1]), base)
        searches, _ = search_discounts(
            training,
            reference,
            ground.thresholds,
            settings,
            np.random.default_rng([*key, 2]),
            held_out=lambda problems, folds: held_out_by_posterior(base, problems, folds),
            n_coefficients=base.n_coefficients,
            progress=lambda step: None,
        )
        # Fewer rounds would have seen the same first tables.
        shorter = [
            (rounds, search.limited(rounds)) for search in searches for rounds in study.rounds
        ]
        weights = [tailored_weights(training, reference, settings, s) for _, s in shorter]
        posterior = base.reweighted(np.stack(weights, axis=1))
        beta = posterior.coefficients(find_modes(posterior).theta)
        for column, (rounds, search) in enumerate(shorter):
            t = search.threshold
            gain = ground.judge(beta[:, column], t) - ground.judge(standard, t)
            rows.append(
                {
                    "data": name,
                    "n": n or len(ground.y),
                    "threshold": t,
                    "repetition": repetition,
                    "rule": rule,
                    "design": design,
                    "rounds": rounds,
                    "cv_repeats": repeats,
                    "discount": search.discount,
                    "round": search.round,
                    "gain": 1000 * gain,
                }
            )
    return rows


def run(study: SelectionStudy, n_jobs: int | None = None) -> pd.DataFrame:
    """Return one row a data set, threshold and combination: the gain per 1000."""
    import pandas as pd

    found = Parallel(n_jobs=n_jobs)(delayed(_one)(study, *cell) for cell in _cells(study))
    return pd.DataFrame([row for rows in found for row in rows])


_COMBINATION = ["rule", "design", "rounds", "cv_repeats"]


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row a combination, best first.

    A cell is a data set, size and threshold, averaged over the repetitions; it does *clear harm*
    when its mean gain is below zero by more than two standard errors.
    """
    import pandas as pd

    cell = [*_COMBINATION, "data", "n", "threshold"]
    by_cell = frame.groupby(cell)["gain"].agg(["mean", "sem"]).reset_index()
    by_cell["harm"] = by_cell["mean"] < -2 * by_cell["sem"]
    by_cell["simulated"] = by_cell["data"].str.startswith("sim")
    rows = []
    for combination, part in by_cell.groupby(_COMBINATION):
        worst = part.loc[part["mean"].idxmin()]
        simulated, real = part[part["simulated"]], part[~part["simulated"]]
        rows.append(
            {
                **dict(zip(_COMBINATION, combination, strict=True)),
                "gain": part["mean"].mean(),
                "gain (simulated)": simulated["mean"].mean(),
                "gain (real)": real["mean"].mean(),
                "clear harm": part["harm"].mean(),
                "clear harm (real)": real["harm"].mean(),
                "worst": worst["mean"],
                "worst cell": f"{worst['data']}, n = {worst['n']}, t = {worst['threshold']}",
            }
        )
    return pd.DataFrame(rows).sort_values("gain", ascending=False, ignore_index=True)


def page(study: SelectionStudy, table: pd.DataFrame, frame: pd.DataFrame, seconds: float) -> str:
    """Return the study's page."""
    numbers = ("gain", "gain (simulated)", "gain (real)", "worst")
    shown = table.copy()
    for column in numbers:
        shown[column] = shown[column].map("{:+.2f}".format)
    for column in ("clear harm", "clear harm (real)"):
        shown[column] = shown[column].map("{:.0%}".format)
    return "\n".join(
        [
            "# Which rule chooses the discount",
            "",
            "Gain in net benefit over standard Bayes at the threshold, per 1000 patients, by rule,",
            "design, refinement rounds and repeats of the 5-fold cross-validation. Simulations are",
            "judged by their exact net benefit, real data on held-out thirds.",
            "",
            f"- Simulated: {', '.join(_SIMULATIONS)}; n = {', '.join(map(str, study.sizes))};",
            f"  t = {', '.join(map(str, study.thresholds))}.",
            "- Real: wisconsin, rotterdam, gbsg;",
            f"  t = {', '.join(map(str, study.real_thresholds))}.",
            f"- {study.repetitions} repetitions; a cell is one data set, size and threshold:",
            f"  {frame.groupby(['data', 'n', 'threshold']).ngroups} cells. *Clear harm*: a cell's",
            "  mean gain is more than two standard errors below zero. Simulated and real cells",
            "  count alike.",
            f"- Seed {study.seed}; {seconds:.0f} s.",
            "",
            _markdown(shown),
            "",
            "## By data set, rounds = 0, crossfit",
            "",
            _markdown(_by_data(frame)),
            "",
        ]
    )


def _by_data(frame: pd.DataFrame) -> pd.DataFrame:
    part = frame[(frame["rounds"] == 0) & (frame["design"] == "crossfit")]
    wide = part.pivot_table(
        index=["data", "n", "threshold"], columns=["rule", "cv_repeats"], values="gain"
    )
    wide.columns = [f"{rule}, {repeats} x CV" for rule, repeats in wide.columns]
    return wide.map("{:+.2f}".format).reset_index()


def _markdown(table: pd.DataFrame) -> str:
    lines = ["| " + " | ".join(map(str, table.columns)) + " |"]
    lines.append("|" + " --- |" * len(table.columns))
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in table.itertuples(index=False)]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and write its page and its rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/studies"))
    parser.add_argument("--repetitions", type=int, default=SelectionStudy.repetitions)
    parser.add_argument("--n-jobs", type=int, default=-1)
    given = parser.parse_args(arguments)
    study = SelectionStudy(repetitions=given.repetitions)
    started = time.perf_counter()
    frame = run(study, given.n_jobs)
    table = summarise(frame)
    given.out.mkdir(parents=True, exist_ok=True)
    text = page(study, table, frame, time.perf_counter() - started)
    (given.out / "selection.md").write_text(text, encoding="utf-8")
    table.to_csv(given.out / "selection.csv", index=False)
    print(text)


if __name__ == "__main__":
    main()
