"""Which rows did what: the way of the data through a tailored fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tailoredbayes.checks import check_flag, check_whole_number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Part", "Splitting", "data_splitting"]


@dataclass(frozen=True)
class Part:
    """Some of the rows: their name, how many they are, and what they were used for."""

    name: str
    rows: int
    use: str
    within: str | None = None
    """The part that these rows were taken from; None for a cohort."""


@dataclass(frozen=True)
class Splitting:
    """How the rows were split, from all of them to the smallest part."""

    parts: tuple[Part, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return the parts: a row each, with the columns part, within, rows, use."""
        import pandas as pd

        columns = {
            "part": [part.name for part in self.parts],
            "within": [part.within for part in self.parts],
            "rows": [part.rows for part in self.parts],
            "use": [part.use for part in self.parts],
        }
        return pd.DataFrame(columns)


def data_splitting(model: Any, n_test: int = 0, *, external: bool = False) -> Splitting:
    """Return which rows a tailored fit used for what.

    The paper splits the training rows in two: a design part, from which stage 1 learns the
    reference risk, and a development part, on which the discount is chosen and the posterior
    found. With cross-fitting every training row is a development row, whose reference risk comes
    from a model that did not see it. [Karapanagiotis2021], section S4 of the supplement.

    Parameters
    ----------
    model
        A fitted tailored model with its ``fit_``; of a family, one of its ``models_``.
    n_test
        Rows kept for testing, which the fit has not seen.
    external
        Whether those are a cohort of their own, rather than split off from the same rows.

    Returns
    -------
    Splitting

    Examples
    --------
    >>> from tailoredbayes.estimators import TailoredLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(100, 1))
    >>> y = rng.random(100) < 1 / (1 + np.exp(-x[:, 0]))
    >>> model = TailoredLogisticRegression(0.3, discount=5, design=0.2, draws=100, random_state=0)
    >>> data_splitting(model.fit(x, y), n_test=50).to_frame()[["part", "rows"]]
              part  rows
    0     all rows   150
    1        train   100
    2         test    50
    3       design    20
    4  development    80
    """
    if not hasattr(model, "fit_"):
        raise TypeError(
            f"model must be a fitted tailored model, got a {type(model).__name__}; of a family "
            "pass one of its models, as in family.models_[0.3]"
        )
    advice = "pass the number of rows kept for testing"
    n_test = check_whole_number(n_test, "n_test", at_least=0, advice=advice)
    fit = model.fit_
    n_train = len(fit.weights)
    split_off = n_test > 0 and not check_flag(external, "external")
    whole = "all rows" if split_off else None
    everyone = [Part("all rows", n_train + n_test, "")] if split_off else []
    judges = "judges the decisions" if split_off else "another cohort, judges the decisions"
    tested = [Part("test", n_test, judges, whole)] if n_test else []
    stage_2 = _second_stage(fit.search)
    if fit.reference is None:
        return Splitting((*everyone, Part("train", n_train, "posterior", whole), *tested))
    development = int(np.count_nonzero(fit.reference.development))
    if development < n_train:
        design = Part("design", n_train - development, "reference risk (stage 1)", "train")
        inner = [design, Part("development", development, stage_2, "train")]
        return Splitting((*everyone, Part("train", n_train, "", whole), *tested, *inner))
    first = {
        "crossfit": "reference risk by cross-fitting (stage 1)",
        "outside": "reference risk from outside",
    }[fit.reference.design]
    return Splitting((*everyone, Part("train", n_train, f"{first}; {stage_2}", whole), *tested))


def _second_stage(search: Any) -> str:
    """Say what the development rows were used for."""
    if not search.tallies:
        return f"posterior at the given discount {search.discount:g} (stage 2)"
    repeats, folds = search.tallies[0].net_benefit.shape[1:]
    times = f"{repeats} x " if repeats > 1 else ""
    return f"discount by {times}{folds}-fold cross-validation, then the posterior (stage 2)"
