"""``tailoredbayes evaluate``: what the decisions of a model are worth on a table of outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailoredbayes.cli.manners import busy, console, note, plain_json, print_json, table
from tailoredbayes.cli.options import Decimal, Delimiter, Encoding, Json, ModelPath, TablePath

if TYPE_CHECKING:
    from tailoredbayes.cli.saved import SavedModel
    from tailoredbayes.evaluation.calibration import Calibration
    from tailoredbayes.evaluation.curves import DecisionCurve
    from tailoredbayes.evaluation.differences import NetBenefitDifference
    from tailoredbayes.evaluation.discrimination import Discrimination
    from tailoredbayes.tables.training import Labelled

__all__ = ["EXAMPLE", "STANDARD", "TAILORED", "Evaluation", "command", "evaluation_of"]

EXAMPLE = "Example: tailoredbayes evaluate model.nc test.csv --out evaluation.csv"
TAILORED, STANDARD = "tailored Bayes", "standard Bayes"
_SHOWN_NAMES = {"all": "treat all", "none": "treat none"}
_COLUMNS = ("part", "model", "against", "threshold", "statistic", "value", "low", "high")


def command(
    model: ModelPath,
    path: TablePath,
    out: Annotated[
        Path | None, typer.Option(help="write the whole evaluation: .csv (or .csv.gz) or .json")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="at this one alone; default: all of the fit's")
    ] = None,
    prevalence: Annotated[
        float | None, typer.Option(help="the population's share of events, for case-control data")
    ] = None,
    weights: Annotated[str | None, typer.Option(help="a column of row weights")] = None,
    prob: Annotated[float, typer.Option(help="probability of the intervals")] = 0.95,
    missing: Annotated[
        str | None,
        typer.Option(help="refuse, drop or impute; default: impute if the fit did, else refuse"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="of the bootstrap")] = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    as_json: Json = False,
) -> None:
    """Judge the decisions on rows whose outcome is known.

    Told are net benefit against treating all, none, and by standard Bayes, with what the rows leave
    open; calibration overall and near the threshold; discrimination.
    """
    from tailoredbayes.cli.saved import load_model
    from tailoredbayes.tables import open_table
    from tailoredbayes.tables.output import check_not_input, check_target, whole_file
    from tailoredbayes.tables.training import read_labelled

    if out is not None:
        if not out.name.lower().endswith((".csv", ".csv.gz", ".json")):
            raise typer.BadParameter(f"--out ends in .csv, .csv.gz or .json, got {str(out)!r}")
        check_target(out)
        check_not_input(out, path)
        check_not_input(out, model)
    saved = load_model(model)
    source = open_table(path, delimiter=delimiter, encoding=encoding, decimal=decimal)
    thresholds = saved.thresholds if threshold is None else [saved.threshold(threshold)]
    with busy(f"reading {path}") as progress:
        rows = read_labelled(
            source,
            saved.recipe,
            saved.names,
            missing=saved.missing(missing),
            weights=weights,
            progress=progress,
        )
    for message in source.notes:
        note(f"note: {message}")
    with busy("evaluating"):
        found = evaluation_of(
            saved, rows, thresholds, prevalence=prevalence, prob=prob, random_state=seed
        )
    if out is not None:
        with whole_file(out) as file:
            if out.suffix.lower() == ".json":
                file.write(plain_json(found.record(saved, path)) + "\n")
            else:
                _write_csv(file, found)
    if as_json:
        print_json(found.record(saved, path))
        return
    _show(found, rows, path)
    if out is not None:
        note(f"wrote {out}")


@dataclass(frozen=True)
class Evaluation:
    """Records of a tailored model and the standard one on the same rows."""

    curve: DecisionCurve
    difference: NetBenefitDifference
    calibration: dict[float, Calibration]
    """By threshold: each tailored model is calibrated near its own."""
    discrimination: dict[float, Discrimination]

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield every number with what it is: a line of the CSV file."""
        for row in self.curve.to_frame().to_dict("records"):
            shares = {
                "treated_per_1000": row["test_pos_rate"],
                "true_positives_per_1000": row["tp_rate"],
                "false_positives_per_1000": row["fp_rate"],
            }
            for statistic, share in shares.items():
                yield _line("decision", row, statistic, 1000 * share)
            yield _line("decision", row, "net_benefit", row["net_benefit"], row)
        for row in self.difference.to_frame().to_dict("records"):
            yield _line("difference", row, "net_benefit_difference", row["difference"], row)
        for t, calibration in self.calibration.items():
            for row in calibration.to_frame().to_dict("records"):
                at = {**row, "threshold": t}
                yield _line("calibration", at, row["statistic"], row["value"], row)
        for t, discrimination in self.discrimination.items():
            for row in discrimination.to_frame().to_dict("records"):
                at = {**row, "threshold": t}
                yield _line("discrimination", at, row["score"], row["value"], row)

    def record(self, saved: SavedModel, path: Path) -> dict[str, Any]:
        """Return the evaluation in JSON's terms."""
        return {
            "model": str(saved.path),
            "table": str(path),
            "rows": self.curve.n,
            "prevalence": self.curve.prevalence,
            "prob": self.curve.prob,
            "statistics": list(self.lines()),
        }


def evaluation_of(
    saved: SavedModel,
    rows: Labelled,
    thresholds: list[float],
    *,
    prevalence: float | None,
    prob: float,
    random_state: int,
) -> Evaluation:
    """Return what the library says of a saved model on some rows."""
    import numpy as np

    from tailoredbayes.evaluation.calibration import calibration
    from tailoredbayes.evaluation.curves import decision_curve
    from tailoredbayes.evaluation.differences import net_benefit_difference
    from tailoredbayes.evaluation.discrimination import discrimination

    x = rows.frame
    standard = saved.family.standard_.risk(x)
    tailored = {t: saved.at(t).risk(x) for t in thresholds}
    models = {TAILORED: np.stack(list(tailored.values()), axis=1), STANDARD: standard}
    pairs = {t: {TAILORED: risk, STANDARD: standard} for t, risk in tailored.items()}
    y, weight = rows.y, rows.weights
    return Evaluation(
        curve=decision_curve(
            y, models, thresholds, sample_weight=weight, prevalence=prevalence, prob=prob
        ),
        difference=net_benefit_difference(
            y,
            models,
            thresholds,
            against=STANDARD,
            sample_weight=weight,
            prevalence=prevalence,
            prob=prob,
            random_state=random_state,
        ),
        calibration={
            t: calibration(y, pairs[t], sample_weight=weight, threshold=t, prob=prob)
            for t in thresholds
        },
        discrimination={
            t: discrimination(y, pairs[t], sample_weight=weight, prob=prob) for t in thresholds
        },
    )


def _line(
    part: str,
    row: dict[str, Any],
    statistic: str,
    value: float,
    interval: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "part": part,
        "model": _SHOWN_NAMES.get(row["model"], row["model"]),
        "against": row.get("against", ""),
        "threshold": row["threshold"],
        "statistic": statistic,
        "value": value,
        "low": None if interval is None else interval["low"],
        "high": None if interval is None else interval["high"],
    }


def _write_csv(file: Any, found: Evaluation) -> None:
    from tailoredbayes.tables.output import csv_writer

    writer = csv_writer(file)
    writer.writerow(_COLUMNS)
    for line in found.lines():
        cells = (line[name] for name in _COLUMNS)
        writer.writerow(["" if cell is None or cell != cell else cell for cell in cells])


# --- What is shown ------------------------------------------------------------------------------


def _show(found: Evaluation, rows: Labelled, path: Path) -> None:
    screen = console()
    events = int(rows.y.sum())
    screen.print(f"{path}: {len(rows.y):,} rows, {events:,} with the event")
    if rows.left_out:
        screen.print(f"{rows.left_out:,} rows that miss a value were left out")
    if rows.imputed:
        screen.print(f"{rows.imputed:,} missing values were filled in")
    screen.print(_decision_table(found))
    for t in found.difference.thresholds:
        screen.print(f"- {found.difference.in_words(float(t), TAILORED)}")
    screen.print(_calibration_table(found))


def _decision_table(found: Evaluation) -> Any:
    frame = found.curve.to_frame().sort_values("threshold", kind="stable")
    rows = [
        [
            f"{row['threshold']:g}",
            _SHOWN_NAMES.get(row["model"], row["model"]),
            *(f"{1000 * row[name]:.0f}" for name in ("test_pos_rate", "tp_rate", "fp_rate")),
            f"{row['net_benefit']:.4f}",
            f"{row['low']:.4f} to {row['high']:.4f}",
        ]
        for row in frame.to_dict("records")
    ]
    share = f"{100 * found.curve.prob:g}% interval"
    return table(
        "Decisions, per 1000 patients",
        ["threshold", "treat by ", "treated", "with event", "without", "net benefit", share],
        rows,
    )


def _calibration_table(found: Evaluation) -> Any:
    rows = []
    for t, calibration in found.calibration.items():
        for name, one in calibration.models.items():
            auc = found.discrimination[t].scores[name]["auc"]
            assert one.near is not None
            estimates = (one.observed_expected, one.slope, one.near.observed, auc)
            rows.append([f"{t:g}", name, *(_interval(estimate) for estimate in estimates)])
    columns = ["threshold", "risks of ", "observed / expected", "slope", "observed at t", "AUC"]
    return table("Calibration and discrimination", columns, rows)


def _interval(found: Any) -> str:
    if found.value != found.value:
        return "-"
    if found.low != found.low:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"
