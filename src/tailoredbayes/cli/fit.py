"""``tailoredbayes fit``: a tailored model, and the standard one beside it, from a table."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailoredbayes.cli.manners import busy, console, note, print_json, table
from tailoredbayes.cli.options import (
    Decimal,
    Delimiter,
    Encoding,
    Json,
    TablePath,
    read_thresholds,
    words,
)

if TYPE_CHECKING:
    from tailoredbayes.estimators import TailoredFamily
    from tailoredbayes.tables.training import Plan, Training

__all__ = ["EXAMPLE", "command"]

EXAMPLE = (
    "Example: tailoredbayes fit patients.csv --outcome died --threshold 0.15 --id patient "
    "--out model.nc"
)
# More columns than this are told in a line rather than one by one.
_SHOWN_COLUMNS = 40
_SEVERAL = "several times, or with commas between"


def command(
    context: typer.Context,
    path: TablePath,
    out: Annotated[Path, typer.Option(help="the model file to write, as model.nc")],
    outcome: Annotated[str | None, typer.Option(help="the column to predict")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="treat at this risk; see `tailoredbayes threshold`")
    ] = None,
    thresholds: Annotated[
        str | None, typer.Option(help="further thresholds: 0.1:0.5:0.05 or 0.1,0.2")
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="the outcome's label of the event; 1 or yes if not given")
    ] = None,
    features: Annotated[
        list[str] | None, typer.Option(help=f"columns to predict with, {_SEVERAL}; default: all")
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help=f"columns whose numbers are categories, {_SEVERAL}")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help=f"columns to leave out, {_SEVERAL}")
    ] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--id", help=f"columns that name the rows, {_SEVERAL}")
    ] = None,
    formula: Annotated[
        str | None,
        typer.Option(help='as "died ~ bs(age, df=4) + log(nodes + 1) + C(grade)"'),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(help="values that are missing: refuse, drop (the rows), or impute (medians)"),
    ] = "refuse",
    scale: Annotated[
        bool, typer.Option("--scale", help="centre number columns and divide them by their sd")
    ] = False,
    weights: Annotated[str | None, typer.Option(help="a column of row weights")] = None,
    reference_risk: Annotated[
        str | None, typer.Option(help="a column of risks from a published score, for stage 1")
    ] = None,
    recalibrate: Annotated[
        bool, typer.Option("--recalibrate", help="recalibrate the reference risks first")
    ] = False,
    discount: Annotated[
        str, typer.Option(help="lambda: a number, 0 for standard Bayes, or cv to choose it")
    ] = "cv",
    selection: Annotated[
        str, typer.Option(help="the rule that chooses it: one_se, max, smooth or guarded")
    ] = "one_se",
    cv: Annotated[int, typer.Option(help="folds of that search")] = 5,
    cv_repeats: Annotated[int, typer.Option(help="how often the folds are drawn anew")] = 1,
    rounds: Annotated[int, typer.Option(help="refinement rounds of the search")] = 0,
    prior_sd: Annotated[
        float, typer.Option(help="standard deviation of the normal prior on each coefficient")
    ] = 100.0,
    sampler: Annotated[
        str, typer.Option(help="auto, laplace, importance, nuts or metropolis")
    ] = "auto",
    draws: Annotated[int, typer.Option(help="posterior draws")] = 4000,
    seed: Annotated[int, typer.Option(min=0, help="the same seed, the same model")] = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    as_json: Json = False,
) -> None:
    """Fit a model tailored to a threshold, and save it.

    The columns are shown as they were understood; what cannot be used as it stands is refused with
    its place. The standard model is fitted beside the tailored one, to compare with.
    """
    targets, primary = _targets(threshold, thresholds)

    from tailoredbayes.tables import open_table
    from tailoredbayes.tables.output import check_not_input, check_target
    from tailoredbayes.tables.training import Choices, plan, read_training

    check_target(out)
    check_not_input(out, path)
    source = open_table(path, delimiter=delimiter, encoding=encoding, decimal=decimal)
    choices = Choices(
        outcome=outcome,
        positive=positive,
        features=words(features, source.columns),
        categorical=words(categorical, source.columns),
        drop=words(drop, source.columns),
        ids=words(ids, source.columns),
        weights=weights,
        reference_risk=reference_risk,
        formula=formula,
        missing=missing,
        scale=scale,
    )
    with busy(f"reading {path}") as progress:
        planned = plan(source, choices, progress=progress)
    for message in source.notes:
        note(f"note: {message}")
    if not as_json:
        _show_plan(planned)
    with busy(f"reading {path}") as progress:
        training = read_training(planned, progress=progress)
    for message in training.recipe.notes[len(source.notes) :]:
        note(f"warning: {message}")

    from tailoredbayes.estimators import TailoredFamily
    from tailoredbayes.priors import Normal

    family = TailoredFamily(
        targets,
        discount="cv" if discount == "cv" else _number(discount),
        selection=selection,
        cv=cv,
        cv_repeats=cv_repeats,
        rounds=rounds,
        prior=Normal(0, prior_sd),
        sampler=sampler,
        draws=draws,
        random_state=seed,
        verbose=1,
    )
    family.fit(
        training.frame,
        training.y.astype(int),
        reference_risk=training.reference_risk,
        sample_weight=training.weights,
        recalibrate=recalibrate,
    )
    call = shlex.join(context.find_root().obj)
    family.recipe_ = replace(training.recipe, threshold=primary, call=call).to_json()
    family.save(out)
    if as_json:
        print_json(_record(family, training, out))
    else:
        _show_fit(family, training, out)


def _targets(threshold: float | None, thresholds: str | None) -> tuple[list[float], float | None]:
    """Return all thresholds, and the one that decisions are made at."""
    more = [] if thresholds is None else read_thresholds(thresholds)
    from tailoredbayes.checks import check_threshold

    targets = sorted({*more, *([] if threshold is None else [threshold])})
    for target in targets:  # before a large table is read
        check_threshold(target)
    if not targets:
        raise typer.BadParameter(
            "give --threshold, the risk at which to treat (tailoredbayes threshold helps), or "
            "--thresholds"
        )
    return targets, threshold if threshold is not None or len(targets) > 1 else targets[0]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"--discount is a number or cv, got {text!r}") from None


# --- What is shown ------------------------------------------------------------------------------


def _show_plan(planned: Plan) -> None:
    from tailoredbayes.tables.recipe import Number

    recipe, surveys = planned.recipe, planned.surveys
    rows = []
    for column in recipe.columns[:_SHOWN_COLUMNS]:
        if isinstance(column, Number):
            kind, about = "number", f"{column.low:.6g} to {column.high:.6g}"
        else:
            kind = "category"
            about = f"{column.levels[0]} (baseline), " + ", ".join(column.levels[1:6])
            about += f" and {len(column.levels) - 6} more" if len(column.levels) > 6 else ""
        rows.append([column.name, kind, about, str(column.missing or "")])
    found = surveys[recipe.outcome]
    screen = console()
    screen.print(
        f"{planned.table.path}: {found.rows:,} rows; outcome {recipe.outcome}, event "
        f"{recipe.labels[1]!r}"
    )
    screen.print(table("", ["column ", "type ", "values ", "missing"], rows))
    more = len(recipe.columns) - len(rows)
    if more > 0:
        screen.print(f"and {more} more columns")
    if recipe.formula is not None:
        screen.print(f"formula: {recipe.formula.text}")


def _show_fit(family: TailoredFamily, training: Training, out: Path) -> None:
    screen = console()
    events = int(training.y.sum())
    screen.print(f"fitted to {len(training.y):,} rows, {events:,} with the event")
    for message in _missing_in_words(training):
        screen.print(message)
    rows = [
        [
            f"{t:g}",
            f"{model.discount_:.3g}",
            f"{model.effective_sample_size_:.0f}",
            model.draws_.sampler,
            ", ".join(sorted({finding.code for finding in model.findings_})),
        ]
        for t, model in family.models_.items()
    ]
    columns = ["threshold", "discount", "effective rows", "sampler ", "findings "]
    screen.print(table("", columns, rows))
    for finding in family.findings_:
        screen.print(f"- {finding.code}: {finding.message}")
    screen.print(f"saved {out}")


def _missing_in_words(training: Training) -> list[str]:
    said = []
    if training.left_out:
        said.append(f"{training.left_out:,} rows that miss a value were left out")
    if training.imputed:
        said.append(
            f"{training.imputed:,} missing values were filled in with medians and most frequent "
            "levels, without their uncertainty"
        )
    return said


def _record(family: TailoredFamily, training: Training, out: Path) -> dict[str, Any]:
    assert training.recipe.data is not None
    return {
        "model": str(out),
        "file": training.recipe.data.file,
        "sha256": training.recipe.data.sha256,
        "rows": len(training.y),
        "events": int(training.y.sum()),
        "left_out": training.left_out,
        "imputed": training.imputed,
        "columns": family.recipe_["columns"],
        "design": list(training.names),
        "thresholds": [
            {
                "threshold": t,
                "discount": model.discount_,
                "effective_sample_size": model.effective_sample_size_,
                "sampler": model.draws_.sampler,
                "findings": [
                    {"code": one.code, "message": one.message, "value": one.value}
                    for one in model.findings_
                ],
            }
            for t, model in family.models_.items()
        ],
        "notes": list(training.recipe.notes),
    }
