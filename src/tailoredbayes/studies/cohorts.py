"""What the studies on patients have in common: fits judged on a test set, split by split.

A cell keeps rows; the figures draw records. Here rows become the records that evaluations made.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import check_number, check_thresholds
from tailoredbayes.decision import net_benefit
from tailoredbayes.evaluation.differences import (
    ResplitDifference,
    net_benefit_difference,
    resplit_difference,
)
from tailoredbayes.evaluation.posteriors import PosteriorIntervals
from tailoredbayes.evaluation.prospects import Prospects, SearchPath, prospects
from tailoredbayes.evaluation.splitting import Part, Splitting
from tailoredbayes.findings import TailoringWarning
from tailoredbayes.inference.sampling import check_sampler
from tailoredbayes.reference import check_design
from tailoredbayes.selection import check_rule

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "check_common",
    "difference_rows",
    "fit_quietly",
    "intervals_from",
    "prospects_from",
    "resplit_from",
    "search_rows",
    "settled",
    "signed",
    "splitting_from",
    "tailored_name",
]

Floats = NDArray[np.float64]
Model = TypeVar("Model")


def check_common(
    thresholds: Sequence[float],
    design: Sequence[str],
    selection: Sequence[str],
    sampler: str,
    **counts: int,
) -> None:
    """Check the settings that these studies share: 2 splits or more, of other ``counts`` 1."""
    check_thresholds(np.array(thresholds))
    check_sampler(sampler)
    if len(design) != len(selection) or not design:
        raise ValueError(
            "design and selection must be given in pairs, one of each a procedure, got "
            f"{','.join(design)} and {','.join(selection)}; the paper's procedure is "
            "--design split --selection max"
        )
    for one in design:
        check_design(one)
    for one in selection:
        check_rule(one)
    for name, count in counts.items():
        least = 2 if name == "splits" else 1
        check_number(count, name, at_least=least, advice="the paper's number is the default")


def tailored_name(design: str, selection: str) -> str:
    """Return the name of a procedure's models.

    >>> tailored_name("split", "max")
    'TB (split, max)'
    """
    return f"TB ({design}, {selection})"


def fit_quietly(model: Model, X: Any, y: Any, **options: Any) -> Model:
    """Fit a model that tells its findings to no one: it keeps them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TailoringWarning)
        model.fit(X, y, **options)  # type: ignore[attr-defined]  # scikit-learn is untyped
    return model


# --- Net benefit on a test set ----------------------------------------------------------------


def difference_rows(
    y: ArrayLike, models: Mapping[str, Floats], thresholds: Sequence[float], against: str
) -> list[dict[str, Any]]:
    """Return what each model gains over another on one test set, a row a model and threshold.

    ``models`` maps names to risks, (n,) or (n, thresholds). ``net_benefit`` is the model's,
    ``other`` that of the one it is compared with, ``difference`` what is between them and
    ``sampling_error`` the test rows' own standard error of that.

    >>> rows = difference_rows([1, 0], {"SB": np.array([0.1, 0.1]), "TB": np.array([0.9, 0.1])},
    ...                        [0.5], "SB")
    >>> rows[0]["model"], rows[0]["net_benefit"], rows[0]["difference"]
    ('TB', 0.5, 0.5)
    """
    found = net_benefit_difference(
        y, dict(models), thresholds, against=against, replicates=2, random_state=0
    )
    rows = []
    for i, name in enumerate(found.models):
        for j, t in enumerate(thresholds):
            rows.append(
                {
                    "model": name,
                    "threshold": float(t),
                    "net_benefit": float(net_benefit(y, _at(models[name], j), t)),
                    "other": float(net_benefit(y, _at(models[against], j), t)),
                    "difference": float(found.difference[i, j]),
                    "sampling_error": float(found.standard_error[i, j]),
                }
            )
    return rows


def _at(risk: Floats, threshold: int) -> Floats:
    return risk if risk.ndim == 1 else risk[:, threshold]


def resplit_from(table: pd.DataFrame, model: str, against: str) -> ResplitDifference:
    """Return a model's differences over the splits, from rows of :func:`difference_rows`."""
    rows = table[table["model"] == model]
    wide = rows.pivot(index="split", columns="threshold", values=["difference", "sampling_error"])
    return resplit_difference(
        wide["difference"].to_numpy(),
        wide["difference"].columns.to_numpy(dtype=np.float64),
        sampling_error=wide["sampling_error"].to_numpy(),
        model=model,
        against=against,
    )


def settled(difference: float, error: float) -> bool | None:
    """Say whether a gain is there: no where it is not above 0, None within two errors of 0.

    >>> settled(3.0, 1.0), settled(1.0, 1.0), settled(-1.0, 1.0)
    (True, None, False)
    """
    if difference <= 0:
        return False
    return True if difference > 2 * error else None


def signed(share: float) -> str:
    """Write a difference in net benefit per 1000.

    >>> signed(0.0036)
    '+3.6'
    """
    return f"{1000 * share:+.1f}"


# --- Records kept as rows ---------------------------------------------------------------------


def intervals_from(table: pd.DataFrame) -> PosteriorIntervals:
    """Return the intervals that a ``PosteriorIntervals.to_frame()`` was made of."""
    first = table[table["prob"] == table["prob"].iloc[0]]
    models = list(dict.fromkeys(table["model"]))
    return PosteriorIntervals(
        tuple(first.loc[first["model"] == models[0], "coefficient"]),
        tuple(dict.fromkeys(table["prob"].tolist())),
        {m: first.loc[first["model"] == m, "mean"].to_numpy() for m in models},
        {m: first.loc[first["model"] == m, "median"].to_numpy() for m in models},
        {
            (str(m), float(prob)): part[["low", "high"]].to_numpy()
            for (m, prob), part in table.groupby(["model", "prob"], sort=False)
        },
    )


def search_rows(found: Prospects) -> list[dict[str, Any]]:
    """Return the net benefit of every discount tried, a row a threshold and discount."""
    return [
        {
            "threshold": float(t),
            "discount": float(discount),
            "net_benefit": float(benefit),
            "se": float(se),
            "chosen": float(path.chosen),
            "gain": float(path.gain),
            "gain_se": float(path.gain_se),
        }
        for t, path in found.searches.items()
        for discount, benefit, se in zip(path.discounts, path.net_benefit, path.se, strict=True)
    ]


def prospects_from(
    risk: ArrayLike, thresholds: Sequence[float], searches: pd.DataFrame | None = None
) -> Prospects:
    """Return the prospects of some reference risks, with the searches of :func:`search_rows`."""
    found = prospects(risk, thresholds)
    if searches is None:
        return found
    paths = {
        float(t): SearchPath(
            *(part[name].to_numpy() for name in ("discount", "net_benefit", "se")),
            *(float(part[name].iloc[0]) for name in ("chosen", "gain", "gain_se")),
        )
        for t, part in searches.groupby("threshold")
    }
    return replace(found, searches=paths)


def splitting_from(table: pd.DataFrame) -> Splitting:
    """Return the splitting that a ``Splitting.to_frame()`` was made of."""
    return Splitting(
        tuple(
            Part(row.part, int(row.rows), row.use, row.within or None)
            for row in table.fillna({"within": ""}).itertuples()
        )
    )
