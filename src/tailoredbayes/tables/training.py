"""From a table and what the user says of it to a design matrix, outcomes and a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.tables.chunks import Chunk, Table, TableError, listed
from tailoredbayes.tables.columns import ColumnSurvey, refuse_number, survey, texts
from tailoredbayes.tables.files import sha256
from tailoredbayes.tables.formula import Formula, parse_formula
from tailoredbayes.tables.recipe import (
    Category,
    Number,
    Raw,
    Recipe,
    TrainingData,
    encode_category,
    encode_number,
    refuse_large,
)

__all__ = [
    "Choices",
    "Labelled",
    "Plan",
    "Training",
    "missing_rows",
    "plan",
    "read_labelled",
    "read_training",
    "refuse_missing",
]

Floats = NDArray[np.float64]

# Labels whose event is plain; of others the user says which it is.
_YES_NO = (("0", "1"), ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"))
# A column that separates fewer rows of a class than this may do so by chance.
_LEAKING_ROWS = 5
# Rows of one kind alone that are as likely as this by chance are no chance.
_CHANCE = 1e-3


@dataclass(frozen=True)
class Choices:
    """What the user says of the table's columns; the rest is inferred."""

    outcome: str | None = None
    positive: str | None = None
    features: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    weights: str | None = None
    reference_risk: str | None = None
    formula: str | None = None
    missing: str = "refuse"
    scale: bool = False


@dataclass(frozen=True)
class Plan:
    """What a fit will use of a table: shown before it begins."""

    table: Table
    choices: Choices
    recipe: Recipe
    """Complete but for what the rows themselves decide (means, medians, splines)."""
    surveys: Mapping[str, ColumnSurvey]

    @property
    def rows(self) -> int:
        """Rows in the table."""
        return self.surveys[self.recipe.outcome].rows


@dataclass(frozen=True)
class Labelled:
    """Rows whose outcome is known, as a model wants them."""

    x: Floats
    names: tuple[str, ...]
    y: NDArray[np.bool_]
    weights: Floats | None
    reference_risk: Floats | None
    left_out: int
    """Rows left out as they miss a value."""
    imputed: int
    """Values that were missing and were filled in."""
    missing: Mapping[str, int]
    """Missing values by column, of all rows."""
    ids: tuple[str, ...] | None = None
    """What names each row, if a column does."""

    @property
    def frame(self) -> Any:
        """The design with its names, sharing memory with ``x``."""
        import pandas as pd

        return pd.DataFrame(self.x, columns=list(self.names), copy=False)


@dataclass(frozen=True)
class Training(Labelled):
    """Rows to fit a model to, and the recipe that made them."""

    recipe: Recipe = field(kw_only=True)


# --- The plan: one pass ------------------------------------------------------------------------


def plan(
    table: Table, choices: Choices, *, progress: Callable[[int], None] = lambda rows: None
) -> Plan:
    """Learn what the columns are and what they will be used for, or say what stands against it."""
    formula = None
    outcome = choices.outcome
    if choices.formula is not None:
        left, formula = parse_formula(choices.formula)
        if left is not None and outcome not in (None, left):
            raise TableError(f"the formula's outcome is {left!r}, but --outcome says {outcome!r}")
        outcome = left or outcome
    if outcome is None:
        raise TableError("say which column is the outcome: --outcome COLUMN")
    table.require([outcome], "to be the outcome")
    covariates = _covariates(table, choices, outcome, formula)
    others = [name for name in (choices.weights, choices.reference_risk) if name is not None]
    categorical = {*choices.categorical, *(formula.categories if formula else ())}
    surveys = survey(
        table,
        list(dict.fromkeys([outcome, *covariates, *others])),
        categorical=[*categorical, outcome],
        progress=progress,
    )
    labels = _labels(surveys[outcome], choices.positive)
    columns = tuple(_column(surveys[name], name in categorical) for name in covariates)
    for name in others:
        _check_number_column(surveys[name])
    recipe = Recipe(
        outcome=outcome,
        labels=labels,
        columns=columns,
        missing=choices.missing,
        scale=choices.scale,
        formula=formula,
        ids=choices.ids,
        weights=choices.weights,
        reference_risk=choices.reference_risk,
    )
    _check_missing(table, choices, recipe, surveys)
    return Plan(table, choices, recipe, surveys)


def _covariates(
    table: Table, choices: Choices, outcome: str, formula: Formula | None
) -> tuple[str, ...]:
    """Return the columns to predict with."""
    roles = {
        "to be --id": choices.ids,
        "to --drop": choices.drop,
        "to be --categorical": choices.categorical,
        "to be one of --features": choices.features,
        "to be --weights": [choices.weights] if choices.weights else [],
        "to be --reference-risk": [choices.reference_risk] if choices.reference_risk else [],
    }
    for purpose, names in roles.items():
        table.require(names, purpose)
    taken = {outcome, *choices.drop, *choices.ids, choices.weights, choices.reference_risk}
    named = choices.features
    if formula is not None:
        if choices.features or choices.scale:
            raise TableError(
                "a formula says which columns go in and how (scale(age), too); leave --features "
                "and --scale out, or the formula"
            )
        table.require(formula.columns, "which the formula names")
        named = formula.columns
    if outcome in named:
        raise TableError(f"the outcome {outcome!r} cannot be one of the columns to predict it with")
    twice = [name for name in named if name in taken]
    if twice:
        raise TableError(f"{listed(twice)} has two roles; name it once")
    covariates = named or tuple(name for name in table.columns if name not in taken)
    if not covariates:
        raise TableError(f"{table.path} leaves no column to predict {outcome!r} with")
    unused = [name for name in choices.categorical if name not in covariates]
    if unused:
        raise TableError(f"--categorical names {listed(unused)}, which is no covariate")
    return covariates


def _labels(found: ColumnSurvey, positive: str | None) -> tuple[str, str]:
    """Return the two labels of the outcome, the event's last."""
    name = found.name
    if found.kind == "empty":
        raise TableError(f"the outcome {name!r} is empty in all {found.rows} rows")
    levels = () if found.levels is None else found.category_levels()
    if len(levels) < 2 and found.levels is not None:
        raise TableError(
            f"the outcome {name!r} is {levels[0]!r} in all rows; rows with and without the event "
            "are needed"
        )
    if len(levels) != 2:
        number = "very many" if found.levels is None else str(len(levels))
        raise TableError(
            f"the outcome {name!r} has {number} different values"
            + (f" ({listed(levels, 4)})" if levels else "")
            + "; it must have two, with and without the event"
        )
    if positive is None:
        known = [pair for pair in _YES_NO if sorted(map(str.lower, levels)) == list(pair)]
        if not known:
            raise TableError(
                f"the outcome {name!r} is {levels[0]!r} or {levels[1]!r}; say which is the event, "
                f"as --positive {levels[1]}"
            )
        return (
            (levels[0], levels[1]) if levels[0].lower() == known[0][0] else (levels[1], levels[0])
        )
    if positive not in levels:
        raise TableError(
            f"--positive {positive!r} is not a value of the outcome {name!r}, which is "
            f"{levels[0]!r} or {levels[1]!r}"
        )
    return (levels[1], levels[0]) if positive == levels[0] else (levels[0], levels[1])


def _column(found: ColumnSurvey, categorical: bool) -> Number | Category:
    """Return what a covariate is; the means and medians of a number come with its rows."""
    if categorical or found.kind == "category":
        levels = found.category_levels()
        if len(levels) < 2:
            _refuse_constant(found.name, levels[0] if levels else "missing")
        assert found.levels is not None
        baseline = max(levels, key=found.levels.__getitem__)
        ordered = (baseline, *(level for level in levels if level != baseline))
        counts = tuple(found.levels[level] for level in ordered)
        return Category(found.name, ordered, counts, found.missing)
    found.check_usable()
    _check_number_column(found)
    if found.low == found.high:
        _refuse_constant(found.name, f"{found.low:g}")
    return Number(found.name, found.low, found.high, 0.0, 1.0, 0.0, found.missing)


def _check_number_column(found: ColumnSurvey) -> None:
    if found.first_text is not None:
        raise refuse_number(*found.first_text)
    if found.unusable is not None:
        raise refuse_large(*found.unusable)
    if found.kind == "empty":
        found.check_usable()


def _refuse_constant(name: str, value: str) -> None:
    raise TableError(
        f"column {name!r} is {value!r} in all rows and can predict nothing; say --drop {name}"
    )


def _check_missing(
    table: Table, choices: Choices, recipe: Recipe, surveys: Mapping[str, ColumnSurvey]
) -> None:
    if choices.missing not in ("refuse", "drop", "impute"):
        raise TableError(f"--missing is refuse, drop or impute, got {choices.missing!r}")
    for name in (recipe.weights, recipe.reference_risk):
        if name is not None and surveys[name].missing:
            raise TableError(
                f"column {name!r} misses {surveys[name].missing} values; it must have one a row"
            )
    if choices.missing == "refuse":
        refuse_missing(
            table,
            {name: one.missing for name, one in surveys.items()},
            surveys[recipe.outcome].rows,
            "--missing drop leaves these rows out, --missing impute fills in medians and the most "
            "frequent levels",
        )


def refuse_missing(table: Table, counts: Mapping[str, int], rows: int, advice: str) -> None:
    """Raise if values are missing, with how many in each column."""
    missing = {name: count for name, count in counts.items() if count}
    if not missing:
        return
    most = sorted(missing, key=missing.__getitem__, reverse=True)
    told = ", ".join(f"{name} {missing[name]}" for name in most[:12])
    rest = f" and {len(most) - 12} more columns" if len(most) > 12 else ""
    raise TableError(
        f"{table.path} misses values in some of its {rows} rows: {told}{rest}\n{advice}"
    )


# --- The rows: a second pass --------------------------------------------------------------------


def read_training(
    planned: Plan, *, progress: Callable[[int], None] = lambda rows: None
) -> Training:
    """Read the rows that the plan asks for, and complete its recipe."""
    recipe = planned.recipe
    rows = _read(planned.table, replace(recipe, ids=()), progress)
    raw, kept = rows.raw, rows.kept(recipe.missing)
    left_out = int(len(kept) - kept.sum())
    y = rows.outcome[kept] == 1
    if left_out:
        raw = {name: values[kept] for name, values in raw.items()}
    _check_both(recipe, y, left_out)
    recipe = replace(recipe, columns=tuple(_described(c, raw[c.name]) for c in recipe.columns))
    notes = tuple(_leakage(recipe, raw, y, planned.choices))
    imputed = _missing_cells(raw)
    if imputed:
        raw = recipe.fill(raw)
    if recipe.formula is not None:
        formula, x, names = recipe.formula.fit(recipe.frame(raw))
        recipe = replace(recipe, formula=formula)
    else:
        x, names = recipe.design(raw), recipe.design_names
    data = TrainingData(
        file=planned.table.path.name,
        sha256=sha256(planned.table.path),
        rows=len(y),
        events=int(y.sum()),
        left_out=left_out,
    )
    return Training(
        x=x,
        names=names,
        y=y,
        weights=None if rows.weights is None else rows.weights[kept],
        reference_risk=None if rows.reference_risk is None else rows.reference_risk[kept],
        left_out=left_out,
        imputed=imputed,
        missing={name: one.missing for name, one in planned.surveys.items() if one.missing},
        recipe=replace(recipe, data=data, notes=(*planned.table.notes, *notes)),
    )


def read_labelled(
    table: Table,
    recipe: Recipe,
    names: Sequence[str],
    *,
    missing: str,
    weights: str | None = None,
    progress: Callable[[int], None] = lambda rows: None,
) -> Labelled:
    """Read new rows with their outcomes by the recipe of a fit; ``names`` are its design's."""
    table.require([recipe.outcome, *recipe.names], "which the model needs")
    table.require([weights] if weights else [], "to be --weights")
    ids = tuple(name for name in recipe.ids if name in table.columns)
    wanted = replace(recipe, weights=weights, reference_risk=None, ids=ids)
    rows = _read(table, wanted, progress)
    counts = {recipe.outcome: int((rows.outcome < 0).sum()), **_missing_counts(rows.raw)}
    if missing == "refuse":
        advice = "--missing drop leaves these rows out, --missing impute fills in what the model "
        refuse_missing(table, counts, len(rows.outcome), advice + "learned")
    kept = rows.kept(missing)
    raw = {name: values[kept] for name, values in rows.raw.items()}
    y = rows.outcome[kept] == 1
    left_out = int(len(kept) - kept.sum())
    _check_both(recipe, y, left_out)
    imputed = _missing_cells(raw)
    x = recipe.design(recipe.fill(raw) if imputed else raw)
    return Labelled(
        x=x,
        names=tuple(names),
        y=y,
        weights=None if rows.weights is None else rows.weights[kept],
        reference_risk=None,
        left_out=left_out,
        imputed=imputed,
        missing={name: count for name, count in counts.items() if count},
        ids=None if rows.ids is None else tuple(rows.ids[kept].tolist()),
    )


@dataclass(frozen=True)
class _Rows:
    raw: Raw
    outcome: NDArray[np.int32]
    weights: Floats | None
    reference_risk: Floats | None
    ids: NDArray[np.object_] | None

    def kept(self, missing: str) -> NDArray[np.bool_]:
        """Tell the rows that go on: outcomes are not imputed, and covariates only if asked."""
        kept = self.outcome >= 0
        if missing != "impute":
            for values in self.raw.values():
                kept &= ~_is_missing(values)
        return kept


def _read(table: Table, recipe: Recipe, progress: Callable[[int], None]) -> _Rows:
    parts: dict[str, list[NDArray[Any]]] = {}
    extra = {"weights": recipe.weights, "reference_risk": recipe.reference_risk}
    columns = [recipe.outcome, *recipe.names, *recipe.ids, *filter(None, extra.values())]
    for chunk in table.chunks(list(dict.fromkeys(columns))):
        for name, values in _encoded(table, chunk, recipe, extra):
            parts.setdefault(name, []).append(values)
        progress(chunk.start + len(chunk))
    joined = {}
    for name in list(parts):
        joined[name] = np.concatenate(parts.pop(name))
    return _Rows(
        raw={name: joined[f"x:{name}"] for name in recipe.names},
        outcome=joined["outcome"],
        weights=joined.get("weights"),
        reference_risk=joined.get("reference_risk"),
        ids=joined.get("ids"),
    )


def _encoded(
    table: Table, chunk: Chunk, recipe: Recipe, extra: Mapping[str, str | None]
) -> Iterator[tuple[str, NDArray[Any]]]:
    yield "outcome", encode_category(table, chunk, recipe.outcome, recipe.labels)
    for name, values in recipe.encode(table, chunk).items():
        yield f"x:{name}", values
    if recipe.ids:
        yield "ids", _row_names([texts(chunk.columns[name]) for name in recipe.ids])
    for role, column in extra.items():
        if column is not None:
            values = encode_number(table, chunk, column, known=False)
            limit, said = (1.0, "a risk, between 0 and 1") if role != "weights" else (np.inf, "")
            wrong = (values < 0) | (values > limit)
            if wrong.any():
                row = int(np.argmax(wrong))
                raise TableError(
                    f"{table.place(chunk, row, column)}: {values[row]:g} is not "
                    f"{said or 'a weight, 0 or more'}; correct it"
                )
            yield role, values


def _row_names(parts: Sequence[Sequence[str]]) -> NDArray[np.object_]:
    return np.array([" ".join(row) for row in zip(*parts, strict=True)], dtype=object)


def _is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isnan(values) if values.dtype.kind == "f" else values < 0


def missing_rows(raw: Raw) -> dict[str, NDArray[np.bool_]]:
    """Tell, for each column, in which rows its value is missing."""
    return {name: _is_missing(values) for name, values in raw.items()}


def _missing_counts(raw: Raw) -> dict[str, int]:
    return {name: int(missing.sum()) for name, missing in missing_rows(raw).items()}


def _missing_cells(raw: Raw) -> int:
    return sum(_missing_counts(raw).values())


def _check_both(recipe: Recipe, y: NDArray[np.bool_], left_out: int) -> None:
    if len(y) and y.any() and not y.all():
        return
    after = f" once the {left_out} rows that miss a value are left out" if left_out else ""
    raise TableError(
        f"the outcome {recipe.outcome!r} must be both {recipe.labels[0]!r} and "
        f"{recipe.labels[1]!r}{after}, got {int(y.sum())} events in {len(y)} rows"
    )


def _described(column: Number | Category, values: NDArray[Any]) -> Number | Category:
    """Return the column with what its rows have shown."""
    if isinstance(column, Category):
        counts = np.bincount(values[values >= 0], minlength=len(column.levels))
        return replace(column, counts=tuple(counts.tolist()))
    seen = values[~np.isnan(values)]
    if not len(seen) or seen.min() == seen.max():
        _refuse_constant(column.name, f"{seen[0]:g}" if len(seen) else "missing")
    return replace(
        column,
        low=float(seen.min()),
        high=float(seen.max()),
        mean=float(seen.mean()),
        sd=float(seen.std()),
        median=float(np.median(seen)),
    )


# --- Leakage ------------------------------------------------------------------------------------


def _leakage(recipe: Recipe, raw: Raw, y: NDArray[np.bool_], choices: Choices) -> Iterator[str]:
    """Refuse columns that give the outcome away; say so of those that the user asked for by name.

    A column that predicts the outcome without an error was most likely written down after it.
    """
    named = {*choices.features, *(recipe.formula.columns if recipe.formula else ())}
    for column in recipe.columns:
        how = _gives_away(raw[column.name], y)
        if how is None:
            continue
        said = f"column {column.name!r} {how} {recipe.outcome!r}: it was probably recorded after it"
        if column.name not in named:
            raise TableError(
                f"{said} (leakage); say --drop {column.name}, or name the columns to use with "
                "--features if it is known when the decision is made"
            )
        yield f"{said} (leakage)"


def _gives_away(values: NDArray[Any], y: NDArray[np.bool_]) -> str | None:
    """Say how a column tells the outcome, if it does."""
    seen = ~_is_missing(values)
    share = float(y.mean())
    values, y = values[seen], y[seen]
    events = int(y.sum())
    # Values in rows of one kind alone: that there is a value gives the outcome away.
    if events == len(y) and share**events < _CHANCE:
        return "has values only in rows with the event of"
    if events == 0 and (1 - share) ** len(y) < _CHANCE:
        return "has values only in rows without the event of"
    if min(events, len(y) - events) < _LEAKING_ROWS:
        return None
    _, place = np.unique(values, return_inverse=True)
    with_event = np.bincount(place, weights=y)
    rows = np.bincount(place)
    if len(rows) == 2 and (with_event * (rows - with_event) == 0).all():
        return "equals the outcome"
    if values.dtype.kind == "f":
        low, high = values[y], values[~y]
        apart = low.min() > high.max() or high.min() > low.max()
    else:
        apart = bool((with_event * (rows - with_event) == 0).all())
    return "separates without an error the two values of the outcome" if apart else None
