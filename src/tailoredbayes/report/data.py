"""The data: how many patients, how many events, what is missing, what the columns are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tailoredbayes.report.evidence import Evidence
from tailoredbayes.report.sample import Sample
from tailoredbayes.report.subject import Subject
from tailoredbayes.report.tables import Table, number, percent

__all__ = ["columns_table", "samples_table"]

_MOST_COLUMNS, _MOST_LEVELS = 100, 8
_UNKNOWN = "not supplied"


def samples_table(
    subject: Subject, evidence: tuple[Evidence, ...], train: Sample | None, test: Sample | None
) -> Table:
    """Return a row for the training patients and one for the external ones, if there are any."""
    by_label = {found.label: found for found in evidence}
    recorded: Mapping[str, Any] = subject.recipe.get("data") or {}
    fitted = by_label.get("apparent") or by_label.get("cross-validated")
    rows = len(subject.target.weights_)
    events = recorded.get("events", fitted.events if fitted else None)
    name = (train.name if train else "") or recorded.get("file") or _UNKNOWN
    left_out = train.left_out if train else recorded.get("left_out")
    out = [("Training", name, rows, events, left_out, _imputed(subject, train))]
    if test is not None:
        external = by_label["external"]
        imputed = str(test.imputed)
        out.append(
            ("External", test.name or _UNKNOWN, test.rows, external.events, test.left_out, imputed)
        )
    return Table(
        "Patients",
        (
            "Data",
            "Source",
            "Patients",
            "With the event",
            "Left out for missing values",
            "Values filled in",
        ),
        tuple(
            (kind, str(source), str(n), _share(k, n), _or_unknown(left), filled)
            for kind, source, n, k, left, filled in out
        ),
    )


def _imputed(subject: Subject, train: Sample | None) -> str:
    if train is not None:
        return str(train.imputed)
    if not subject.recipe:
        return _UNKNOWN
    missing = sum(column.get("missing", 0) for column in subject.recipe.get("columns", ()))
    return str(missing if subject.recipe.get("missing") == "impute" else 0)


def _share(events: int | None, rows: int) -> str:
    return _UNKNOWN if events is None else f"{events} ({percent(events / rows)})"


def _or_unknown(value: int | None) -> str:
    return _UNKNOWN if value is None else str(value)


def columns_table(subject: Subject, train: Sample | None, test: Sample | None) -> Table | None:
    """Return what each predictor was in training: from the recipe, or else from the rows.

    Missing values are those before anything was left out or filled in.
    """
    columns = subject.recipe.get("columns")
    head: tuple[str, ...] = ("Predictor", "Kind", "Values in training", "Missing")
    rows: list[tuple[str, ...]]
    if columns:
        rows = [
            (str(c["name"]), str(c["kind"]), _values(c), str(c.get("missing", 0))) for c in columns
        ]
    elif train is not None:
        X = np.asarray(train.X, dtype=np.float64)
        names = getattr(train.X, "columns", range(1, X.shape[1] + 1))
        short = number(3)
        rows = [
            (
                str(name),
                "number",
                f"{short(column.min())} to {short(column.max())}, mean {short(column.mean())}, "
                f"SD {short(column.std())}",
                _or_unknown(train.missing.get(str(name))) if train.missing else "0",
            )
            for name, column in zip(names, X.T, strict=True)
        ]
    else:
        return None
    if test is not None and test.missing:
        head = (*head, "Missing in the external data")
        rows = [(*row, str(test.missing.get(row[0], 0))) for row in rows]
    left = len(rows) - _MOST_COLUMNS
    note = f"{left} more predictors are not shown." if left > 0 else ""
    return Table("Predictors", head, tuple(rows[:_MOST_COLUMNS]), note, prose=True)


def _values(column: Mapping[str, Any]) -> str:
    if column["kind"] == "number":
        low, high, mean, sd = (f"{column[name]:.4g}" for name in ("low", "high", "mean", "sd"))
        return f"{low} to {high}, mean {mean}, SD {sd}"
    levels = [
        f"{level} ({count})"
        for level, count in zip(column["levels"], column["counts"], strict=True)
    ]
    more = f" and {len(levels) - _MOST_LEVELS} more" if len(levels) > _MOST_LEVELS else ""
    return ", ".join(levels[:_MOST_LEVELS]) + more
