"""Net benefit over a study's repetitions: its mean and standard error, panel by panel.

A study repeats an experiment at several settings and keeps a row for each repetition and
threshold. What its figures show is the mean over the repetitions and how well that is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailoredbayes.evaluation.experiments import Experiment

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Grid", "difference_grid", "net_benefit_grid"]


@dataclass(frozen=True)
class Grid:
    """Means over repetitions by panel, line and threshold.

    Parameters
    ----------
    frame
        Columns panel, line, threshold, mean, standard_error (nan for one repetition) and
        repetitions; panels and lines in the order of their first rows in the study.
    quantity
        "net benefit" or "difference in net benefit".
    panel, line
        What tells the panels and the lines apart: a setting's name, or "model".
    compared
        For a difference, the two columns it was taken between.
    """

    frame: pd.DataFrame
    quantity: str
    panel: str
    line: str
    compared: tuple[str, str] | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.frame.copy()


def difference_grid(
    cells: Experiment | pd.DataFrame,
    model: str | Sequence[str] | None = None,
    against: str | None = None,
    *,
    panel: str | None = None,
    line: str | None = None,
) -> Grid:
    """Return a difference in net benefit, averaged over repetitions.

    With D_i the difference of the two columns in repetition i = 1, ..., m of one panel, line and
    threshold: mean D, and SE_D = sqrt(sum (D_i - mean D)^2 / (m (m - 1))). [Karapanagiotis2021]

    Parameters
    ----------
    cells
        An :class:`~tailoredbayes.evaluation.experiments.Experiment`, or a DataFrame: a row a
        repetition and threshold, with the columns threshold, those of the two net benefits, and
        those of the settings.
    model, against
        Columns of the net benefit of a model and of the one it is compared with. By default
        "tailored" and "standard", of an experiment its first model and "SB".
    panel
        The column that tells the panels apart, such as q, prevalence or distance; or "model": a
        panel for each of several models, of an experiment all but ``against`` by default. An
        experiment's is what varied in it.
    line
        The column that tells the lines of a panel apart, such as n; None where there is one. An
        experiment's is what else varied in it.

    Returns
    -------
    Grid

    Examples
    --------
    >>> import pandas as pd
    >>> cells = pd.DataFrame({"threshold": 0.1, "q": 1.0, "n": 500,
    ...                       "tailored": [0.43, 0.45], "standard": [0.42, 0.42]})
    >>> found = difference_grid(cells, panel="q", line="n").to_frame()
    >>> found[["mean", "standard_error"]].round(3).to_numpy().tolist()
    [[0.02, 0.01]]
    """
    import pandas as pd

    several = panel == "model" and "model" not in getattr(cells, "columns", ())
    if isinstance(cells, Experiment):
        against = "SB" if against is None else against
        if against not in cells.models:
            raise ValueError(
                f"against must name a model of the experiment, got {against!r}; they are "
                f"{', '.join(map(repr, cells.models))}"
            )
        others = [name for name in cells.models if name != against]
        panel, line = _told_apart(cells, panel, line, most=2)
        panel = panel or "model"
        several = panel == "model"
        model = (others if several else others[:1]) if model is None else model
        cells = cells.to_frame()
    if panel is None:
        raise ValueError("panel must name the column that tells the panels apart, got None")
    models = ["tailored"] if model is None else [model] if isinstance(model, str) else list(model)
    against = "standard" if against is None else against
    if not models or (len(models) > 1 and not several):
        raise ValueError(
            f"model must be one column where panels tell {panel} apart, got {len(models)}; with "
            "panel='model' each has a panel"
        )
    settings = [name for name in (None if several else panel, line) if name is not None]
    _check(cells, [*models, against, *settings])
    parts = pd.concat(
        [
            cells.assign(
                panel=name if several else cells[panel],
                line="difference" if line is None else cells[line],
                value=cells[name] - cells[against],
            )
            for name in models
        ],
        ignore_index=True,
    )
    quantity = "difference in net benefit"
    compared = None if several else (models[0], against)
    return Grid(_averaged(parts), quantity, panel, line or "difference", compared)


def net_benefit_grid(
    cells: Experiment | pd.DataFrame,
    models: Mapping[str, str] | Sequence[str] | None = None,
    *,
    panel: str | None = None,
) -> Grid:
    """Return the net benefit of several models, averaged over repetitions.

    Parameters
    ----------
    cells
        As in `difference_grid`.
    models
        {name: column of its net benefit}; the lines, in this order; or the columns alone. None
        takes all models of an experiment.
    panel
        The column that tells the panels apart, such as contamination; an experiment's is what
        varied in it.

    Returns
    -------
    Grid

    Examples
    --------
    >>> import pandas as pd
    >>> cells = pd.DataFrame({"threshold": 0.1, "contamination": 0.0, "tailored": [0.4, 0.5]})
    >>> found = net_benefit_grid(cells, {"TB": "tailored"}, panel="contamination").to_frame()
    >>> found[["line", "mean"]].to_numpy().tolist()
    [['TB', 0.45]]
    """
    import pandas as pd

    if isinstance(cells, Experiment):
        models = cells.models if models is None else models
        panel, _ = _told_apart(cells, panel or (None if cells.varied else "n"), None, most=1)
        cells = cells.to_frame()
    if not models:
        raise ValueError("models must map names to columns of net benefits, got none")
    if panel is None:
        raise ValueError("panel must name the column that tells the panels apart, got None")
    columns = models if isinstance(models, Mapping) else {name: name for name in models}
    _check(cells, [*columns.values(), panel])
    parts = [
        cells.assign(panel=cells[panel], line=name, value=cells[column])
        for name, column in columns.items()
    ]
    return Grid(_averaged(pd.concat(parts, ignore_index=True)), "net benefit", panel, "model")


def _told_apart(
    found: Experiment, panel: str | None, line: str | None, *, most: int
) -> tuple[str | None, str | None]:
    """Return what an experiment's panels and lines tell apart: all that varied in it."""
    left = [name for name in found.varied if name not in (panel, line)]
    if panel is None and left:
        panel = left.pop(0)
    if line is None and left and most > 1:
        line = left.pop(0)
    if left:
        raise ValueError(
            f"panel{' and line' * (most > 1)} must tell apart all that varied in the experiment, "
            f"{', '.join(found.varied)}; make one of fewer settings, or take a part of its "
            "to_frame()"
        )
    return panel, line


def _averaged(parts: pd.DataFrame) -> pd.DataFrame:
    groups = parts.groupby(["panel", "line", "threshold"], sort=False, dropna=False)["value"]
    found = groups.agg(mean="mean", standard_error="sem", repetitions="count").reset_index()
    # Thresholds ascend within each line; panels and lines stay in the study's order.
    for name in ("threshold", "line", "panel"):
        values = parts[name].unique()
        ordered = sorted(values) if name == "threshold" else values
        place = {value: i for i, value in enumerate(ordered)}
        found = found.sort_values(name, key=lambda column, at=place: column.map(at), kind="stable")
    return found.reset_index(drop=True)


def _check(cells: pd.DataFrame, columns: list[str]) -> None:
    missing = [
        name for name in ["threshold", *columns] if name not in getattr(cells, "columns", ())
    ]
    if missing:
        raise ValueError(
            f"cells must be a DataFrame with the column {missing[0]!r}, got "
            f"{', '.join(map(str, getattr(cells, 'columns', []))) or type(cells).__name__}"
        )
    if not len(cells):
        raise ValueError("cells must have at least one row, got none; run the study first")
