"""Time of constructing the posterior and finding its modes as rows, covariates, columns grow."""

from __future__ import annotations

from functools import partial

import numpy as np
from harness import Claim, Result, Runs, interleave
from simulate import Problem, fold_weights, problem

import tailoredbayes as tb

BAR = 1.05
_FOLDS = 5
# The slope in n is fitted from here on: below, fixed costs flatten it.
_SLOPE_FROM = 100_000


def run(quick: bool = False) -> Result:
    """Time all sizes in turn; fit the slope of log time on log n."""
    if quick:
        repeats, most, most_wide, rows, columns_rows = 1, 1e4, 3e3, 1000, 500
        covariates, columns = [3, 10], [1, 5, 10]
    else:
        repeats, most, most_wide, rows, columns_rows = 5, 1e7, 1e6, 50_000, 5000
        covariates, columns = [3, 6, 12, 25, 50, 100], [1, 5, 20, 50, 100, 200, 500]
    sizes = [int(n) for n in (1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7)]
    jobs: dict[tuple[str, int], partial[tb.find_modes]] = {}
    for d, top in ((3, most), (20, most_wide)):
        data = problem(int(top), d)
        for n in sizes:
            if n <= top:
                jobs[f"rows, d = {d}", n] = partial(_fit, data, n)
    for d in covariates:
        jobs[f"covariates, n = {rows:,}", d] = partial(_fit, problem(rows, d), rows)
    few = problem(columns_rows, 3)
    for m in columns:
        weights = few.weights if m == 1 else fold_weights(few.risk, max(m // _FOLDS, 2), _FOLDS)
        jobs[f"columns, n = {columns_rows:,}, d = 3", m] = partial(
            _fit, few, columns_rows, weights[:, :m] if m > 1 else weights
        )
    runs = interleave({key: job for key, job in jobs.items()}, repeats)

    series: dict[str, list[dict[str, float]]] = {}
    for (panel, size), one in runs.items():
        series.setdefault(panel, []).append({"size": size, "best": one.best, "median": one.median})
    claims = []
    for panel in [name for name in series if name.startswith("rows")]:
        sized = {size: one for (name, size), one in runs.items() if name == panel}
        wanted = {n: one for n, one in sized.items() if n >= _SLOPE_FROM}
        fitted = wanted if len(wanted) > 2 else sized
        claims.append(
            Claim(
                f"slope of log time on log n, {panel.split(', ')[1]}, n from {min(fitted):,} to "
                f"{max(fitted):,}",
                _slope(fitted, "best"),
                unit="",
                by_median=_slope(fitted, "median"),
                bar=BAR,
            )
        )
    for panel in [name for name in series if not name.startswith("rows")]:
        sized = {size: one for (name, size), one in runs.items() if name == panel}
        low, high = min(sized), max(sized)
        claims.append(
            Claim(
                f"time for {high} {panel.split(',')[0]} against {low}",
                sized[high].best / sized[low].best,
                by_median=sized[high].median / sized[low].median,
            )
        )
    return Result(
        title="Growth",
        claims=claims,
        rows=[
            {
                "what grows": panel,
                "to": int(point["size"]),
                "best, ms": 1e3 * point["best"],
                "median, ms": 1e3 * point["median"],
            }
            for panel, points in series.items()
            for point in points
        ],
        remarks=[
            "A slope of 1 is time in proportion to n; the bar leaves 0.05 for noise. From "
            f"{_SLOPE_FROM:,} rows on, because fixed costs flatten what lies below."
        ],
        raw={"series": series},
    )


def _fit(data: Problem, n: int, weights: np.ndarray | None = None) -> None:
    some = data.weights[:n] if weights is None else weights
    tb.find_modes(tb.TailoredPosterior(data.x[:n], data.y[:n], weights=some))


def _slope(runs: dict[int, Runs], which: str) -> float:
    log_time = np.log([getattr(one, which) for one in runs.values()])
    return float(np.polyfit(np.log(list(runs)), log_time, 1)[0])
