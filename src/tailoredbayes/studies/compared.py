"""What the pages of Simulations 1 to 3 have in common: gains, their tables and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tailoredbayes.evaluation.boundaries import Boundaries, Boundary
from tailoredbayes.evaluation.grids import Grid, difference_grid
from tailoredbayes.evaluation.posteriors import PosteriorIntervals
from tailoredbayes.selection import DEFAULT_RULE
from tailoredbayes.studies.contract import Exhibit, Results
from tailoredbayes.studies.simulated import BAND, SimulationSettings, procedures

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "boundaries_of",
    "closed_table",
    "count_signs",
    "draw_boundaries",
    "draw_grid",
    "draw_sample",
    "draw_widths",
    "gains",
    "grid_exhibits",
    "if_known",
    "intervals_of",
    "only",
    "said_of_procedures",
    "worst_setting",
]

# A gap between standard Bayes and the oracle below this, per 1000, is nothing to share out.
_LEAST_GAP = 0.1
# A gain or a loss is counted from half a net true positive per 1000.
_MATTERS = 0.5
_EXACT, _COUNTED = ("tailored", "standard"), ("tailored_test", "standard_test")


def gains(results: Results, by: Sequence[str]) -> pd.DataFrame:
    """Return what tailoring gained, one row a setting, per 1000 patients.

    Parameters
    ----------
    results
        With a table "net_benefit", the rows of :func:`judge`.
    by
        The columns that make a setting.

    Returns
    -------
    DataFrame
        ``gain`` and ``se``: tailored less standard, exact, its mean and standard error over the
        repetitions; ``gain_test`` and ``se_test`` the same on the test sets; ``gap``: oracle less
        standard, exact; ``closed``: gain / gap, nan where the gap is below 0.1 per 1000.
    """
    import pandas as pd

    table = results["net_benefit"]
    table = table.assign(
        gain=1000 * (table["tailored"] - table["standard"]),
        gain_test=1000 * (table["tailored_test"] - table["standard_test"]),
        gap=1000 * (table["oracle"] - table["standard"]),
    )
    groups = table.groupby(list(by), sort=False)
    found = pd.DataFrame(
        {
            "gain": groups["gain"].mean(),
            "se": groups["gain"].sem(),
            "gain_test": groups["gain_test"].mean(),
            "se_test": groups["gain_test"].sem(),
            "gap": groups["gap"].mean(),
        }
    ).reset_index()
    found["closed"] = (found["gain"] / found["gap"]).where(found["gap"] >= _LEAST_GAP)
    return found


def only(table: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return the rows with these values; numbers agree to rounding.

    >>> import pandas as pd
    >>> only(pd.DataFrame({"q": [0.1, 0.5], "gain": [1, 2]}), q=0.1)["gain"].tolist()
    [1]
    """
    for name, value in values.items():
        column = table[name]
        same = column == value if isinstance(value, str) else np.isclose(column, value)
        table = table[same]
    return table


def count_signs(table: pd.DataFrame) -> tuple[str, int, int]:
    """Count settings where tailoring gains and loses, and say it.

    By two standard errors and half a net true positive per 1000: exact net benefits tell even
    differences that matter to no one.

    >>> import pandas as pd
    >>> count_signs(pd.DataFrame({"gain": [3.0, 0.1, -5.0], "se": [1.0, 0.01, 1.0]}))
    ('TB gains in 1 of 3 settings and loses in 1', 1, 1)
    """
    clear = table["gain"].abs() > np.maximum(2 * table["se"], _MATTERS)
    above, below = (
        int((clear & (table["gain"] > 0)).sum()),
        int((clear & (table["gain"] < 0)).sum()),
    )
    return f"TB gains in {above} of {len(table)} settings and loses in {below}", above, below


def worst_setting(table: pd.DataFrame, names: Sequence[str]) -> str:
    """Name the setting that tailoring does worst at.

    >>> import pandas as pd
    >>> worst_setting(pd.DataFrame({"n": [500, 1000], "gain": [-2.0, 1], "se": [0.5, 1]}), ["n"])
    'the worst is -2.0 ± 0.5 per 1000 at n = 500'
    """
    worst = table.loc[table["gain"].idxmin()]
    where = ", ".join(f"{name} = {worst[name]:g}" for name in names)
    return f"the worst is {worst['gain']:+.1f} ± {worst['se']:.1f} per 1000 at {where}"


def if_known(agrees: bool, table: pd.DataFrame) -> bool | None:
    """Return the answer, or None where one repetition leaves the errors unknown."""
    return None if table["se"].isna().any() else agrees


def said_of_procedures(settings: SimulationSettings) -> str:
    """Say what was fitted, and where that differs from the paper."""
    first, *others = procedures(settings)
    lines = [
        f"Main procedure: *{first}* (stage 1, rule for the discount). "
        f"*crossfit, {DEFAULT_RULE}* is what the library does by default: every row's reference "
        "risk comes from a model of the other rows, and all rows go on; the discount is the "
        "smallest whose net benefit in 5-fold cross-validation is within a standard error of the "
        "highest. *split, max* is the paper's: 20% of the rows give the reference risk, 80% go "
        "on, and the discount has the highest net benefit. Priors are normal, mean 0, sd 100, as "
        "in the paper.",
    ]
    if others:
        lines.append(f"Beside it, on the same samples: *{'*, *'.join(others)}*.")
    sampler = (
        "Posteriors are normal approximations at the mode (the paper samples them: "
        "`--sampler metropolis`)."
        if settings.sampler == "laplace"
        else f"Posteriors are sampled by {settings.sampler}."
    )
    lines.append(
        f"{sampler} A patient is treated where the posterior mean risk reaches the threshold. "
        "*Exact* net benefit is integrated over the population; the paper counts it on a test set "
        f"of {settings.test_rows} rows, which is given beside it. Gains are tailored (TB) less "
        "standard Bayes (SB), in net true positives per 1000 patients. A setting counts as a gain "
        f"or a loss where its exact mean differs from zero by two standard errors and {_MATTERS}."
    )
    return "\n\n".join(lines)


# --- Tables and figures -----------------------------------------------------------------------


def grid_exhibits(results: Results, panel: str, shows: str) -> Iterator[Exhibit]:
    """Give a figure of gains by threshold, a panel a setting and a line a size, in three ways."""
    settings = results.settings
    first, *others = procedures(settings)
    m = f"means over {settings.repetitions} repetitions with one standard error"
    ways = [
        ("", first, "exact", _EXACT, shows),
        ("-test", first, "on the test sets, as in the paper", _COUNTED, shows),
    ]
    ways += [
        (f"-{k}", name, "on the test sets, as in the paper", _COUNTED, shows)
        for k, name in enumerate(others, start=2)
    ]
    for ending, procedure, how, columns, label in ways:
        cells = only(results["net_benefit"], procedure=procedure)
        record = difference_grid(cells, *columns, panel=panel, line="n")
        yield Exhibit(
            f"gain{ending}",
            f"Gain of TB over SB, *{procedure}*, {how}: {m}.",
            record.to_frame(),
            partial(draw_grid, record),
            label,
        )


def closed_table(results: Results, by: str, procedure: str) -> Exhibit:
    """Give the share of the gap between standard Bayes and the oracle that tailoring closes."""
    found = only(gains(results, ["procedure", by, "n", "threshold"]), procedure=procedure)
    rows = []
    for (value, threshold), part in found.groupby([by, "threshold"], sort=False):
        gap, closed = part["gap"], part["closed"]
        row = {by: value, "t": threshold, "gap per 1000": _range(gap)}
        for n, gain, error, share in zip(part["n"], part["gain"], part["se"], closed, strict=True):
            said = "" if np.isnan(share) else f" ({share:.0%})"
            row[f"n = {n}"] = f"{gain:+.2f} ± {error:.2f}{said}"
        rows.append(row)
    import pandas as pd

    ending = procedure.replace(", ", "-")
    return Exhibit(
        f"gap-closed-{ending}",
        f"Exact gain ± its standard error per 1000, *{procedure}*, and in brackets the share it "
        "closes of the gap between SB and the oracle, the best of all rules (no share where the "
        f"gap is below {_LEAST_GAP} per 1000).",
        pd.DataFrame(rows),
    )


def _range(values: pd.Series) -> str:
    low, high = f"{values.min():.1f}", f"{values.max():.1f}"
    return low if low == high else f"{low} to {high}"


def boundaries_of(rows: pd.DataFrame) -> Boundaries:
    """Return the record that was kept as rows of a table."""
    curves = [
        Boundary(
            model,
            threshold,
            part["x1"].to_numpy(),
            part["x2"].to_numpy()[None, :],
            part["low"].to_numpy(),
            part["high"].to_numpy(),
        )
        for (model, threshold), part in rows.groupby(["model", "threshold"], sort=False)
    ]
    return Boundaries(tuple(curves), ("x1", "x2"), BAND)


def draw_boundaries(optimal: Boundaries, fitted: Boundaries | None) -> Any:
    """Draw fitted boundaries over optimal ones."""
    axes = _plots().boundaries(optimal)
    return axes if fitted is None else _plots().boundaries(fitted, axes)


def draw_grid(record: Grid) -> Any:
    """Draw net benefits, or differences, by threshold."""
    return _plots().grid(record)


def draw_sample(optimal: Boundaries, sample: pd.DataFrame) -> Any:
    """Draw the rows of a sample, contaminated ones marked, and optimal boundaries."""
    axes = _plots().boundaries(optimal)
    X = sample[["x1", "x2"]].to_numpy()
    return _plots().points(X, sample["y"], axes, marked=sample["contaminated"])


def draw_widths(rows: pd.DataFrame) -> Any:
    """Draw how wide intervals are, from the rows that were kept of them."""
    return _plots().interval_widths(intervals_of(rows))


def intervals_of(rows: pd.DataFrame) -> PosteriorIntervals:
    """Return the record that was kept as rows of a table."""
    parts = dict(tuple(rows.groupby(["model", "prob"], sort=False)))
    models = {model: part for (model, _), part in parts.items()}
    return PosteriorIntervals(
        tuple(next(iter(parts.values()))["coefficient"]),
        tuple(dict.fromkeys(prob for _, prob in parts)),
        {model: part["mean"].to_numpy() for model, part in models.items()},
        {model: part["median"].to_numpy() for model, part in models.items()},
        {key: part[["low", "high"]].to_numpy() for key, part in parts.items()},
    )


def _plots() -> Any:
    """Pictures, imported when one is drawn: the processes that fit need none."""
    from tailoredbayes import plots

    return plots
