"""Patients whose decision is uncertain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes import plots
from tailoredbayes.report.evidence import LEVEL, Evidence
from tailoredbayes.report.figures import Figure, figure
from tailoredbayes.report.subject import Subject
from tailoredbayes.report.tables import Table, interval, percent, threshold_text

__all__ = ["Decisions", "decisions"]

_MOST = 20


@dataclass(frozen=True)
class Decisions:
    """How many decisions are uncertain, and the least certain of them."""

    label: str
    looked_at: int
    uncertain: int
    level: str
    table: Table
    figure: Figure


def decisions(subject: Subject, found: Evidence) -> Decisions:
    """Return the patients whose decision is least certain."""
    record = found.patients
    assert record is not None
    sure = record.certainty_of_decision
    order = np.argsort(sure, kind="stable")[:_MOST]
    rows = tuple(
        (
            str(record.index[i]),
            interval(record.risk[i], record.low[i], record.high[i], percent),
            percent(record.certainty[i]),
            "treat" if record.treat[i] else "do not treat",
            percent(sure[i]),
        )
        for i in order[sure[order] < record.level]
    )
    t = threshold_text(subject.threshold)
    head = (
        "Patient",
        f"Risk ({100 * record.prob:g}% interval)",
        f"P(risk ≥ {t})",
        "Decision",
        "Certainty",
    )
    count = int(record.uncertain.sum())
    note = f"The {_MOST} least certain of {count}." if count > _MOST else ""
    table = Table(f"Patients whose decision is uncertain ({found.label})", head, rows, note)
    picture = figure(
        "f-patients",
        lambda: plots.patients(record),
        "Three patients",
        "The posterior distribution of the risk of three patients: one of low risk, one of high "
        "risk and the one whose decision is least certain. The dotted line is the threshold.",
        Table(
            "The three patients",
            head[:3],
            tuple(
                (str(name), interval(record.risk[i], record.low[i], record.high[i], percent),
                 percent(record.certainty[i]))
                for name, i in zip(record.predictive, _rows(record.index, record.predictive),
                                   strict=True)
            ),
        ),
    )  # fmt: skip
    level = f"{100 * LEVEL:g}%"
    return Decisions(found.label, len(record.risk), count, level, table, picture)


def _rows(index: NDArray[Any], names: Iterable[Any]) -> list[int]:
    places = {name: i for i, name in enumerate(index.tolist())}
    return [places[name] for name in names]
