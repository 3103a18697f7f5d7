"""``tailoredbayes predict``: a risk, its interval and a decision for every row of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailoredbayes.cli.manners import busy, note
from tailoredbayes.cli.options import (
    Decimal,
    Delimiter,
    Encoding,
    ModelPath,
    TablePath,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailoredbayes.cli.saved import SavedModel
    from tailoredbayes.tables import Chunk, Table

__all__ = ["COLUMNS", "EXAMPLE", "command"]

EXAMPLE = "Example: tailoredbayes predict model.nc new.csv --out risks.csv"
# A decision less certain than this is uncertain, as `patients` and the report have it.
_LEVEL = 0.9
COLUMNS = ("risk", "risk_low", "risk_high", "decision_certainty", "decision", "uncertain")


def command(
    model: ModelPath,
    path: TablePath,
    out: Annotated[
        Path | None, typer.Option(help="the CSV file to write (.csv or .csv.gz); default: print")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="decide at this one; default: the fit's")
    ] = None,
    prob: Annotated[float, typer.Option(help="probability of the interval")] = 0.9,
    ids: Annotated[
        list[str] | None, typer.Option("--id", help="columns to keep beside the fit's --id")
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(help="refuse, drop or impute; default: impute if the fit did, else refuse"),
    ] = None,
    verbatim: Annotated[
        bool,
        typer.Option(
            "--verbatim", help="keep ids that a spreadsheet would run as formulas as they are"
        ),
    ] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
) -> None:
    """Predict the risk of every row and decide.

    The columns written: the ids (or the row's number), the risk, its interval, the certainty
    P(risk >= threshold), the decision, and whether it is uncertain: whether less than 90% of the
    posterior stands behind it.
    """
    from tailoredbayes.checks import check_number
    from tailoredbayes.cli.saved import load_model
    from tailoredbayes.tables import open_table
    from tailoredbayes.tables.output import check_not_input, check_target

    check_number(prob, "--prob", above=0, below=1, advice="0.9 asks for 90% intervals")
    if out is not None:
        check_target(out)
        check_not_input(out, path)
        check_not_input(out, model)
    saved = load_model(model)
    t = saved.threshold(threshold)
    source = open_table(path, delimiter=delimiter, encoding=encoding, decimal=decimal)
    source.require(saved.recipe.names, "which the model needs")
    more = words(ids, source.columns)
    source.require(more, "to be --id")
    kept = list(dict.fromkeys([*(n for n in saved.recipe.ids if n in source.columns), *more]))
    for message in source.notes:
        note(f"note: {message}")
    run = _Prediction(saved, source, t, prob, kept, saved.missing(missing), verbatim)
    with busy(f"predicting {path}") as progress, _output(out) as file:
        run.write(file, progress)
    run.tell(out)


@contextmanager
def _output(out: Path | None) -> Iterator[Any]:
    """Give the file to write, or standard output once all went well."""
    from tailoredbayes.tables.output import whole_file

    if out is not None:
        with whole_file(out) as file:
            yield file
        return
    import shutil
    import sys
    import tempfile

    with tempfile.SpooledTemporaryFile(2**26, "w+", newline="", encoding="utf-8") as spool:
        yield spool
        spool.seek(0)
        shutil.copyfileobj(spool, sys.stdout)


class _Prediction:
    """One pass over a table, a chunk at a time, and what there is to say about it."""

    def __init__(
        self,
        saved: SavedModel,
        source: Table,
        threshold: float,
        prob: float,
        ids: Sequence[str],
        missing: str,
        verbatim: bool,
    ) -> None:
        from tailoredbayes.tables.output import SafeCells

        self.recipe, self.names = saved.recipe, saved.names
        self.draws = saved.at(threshold).draws_.flat
        self.source, self.threshold, self.prob = source, threshold, prob
        self.ids, self.missing = ids, missing
        self.safe = SafeCells(verbatim)
        self.counts = dict.fromkeys(self.recipe.names, 0)
        self.rows = self.treated = self.uncertain = self.left_out = self.beyond = 0

    def write(self, file: Any, progress: Any) -> None:
        """Write the header and the rows."""
        from tailoredbayes.tables.output import csv_writer
        from tailoredbayes.tables.training import refuse_missing

        writer = csv_writer(file)
        writer.writerow([*(self.safe(self.ids) or ["row"]), *COLUMNS])
        wanted = list(dict.fromkeys([*self.ids, *self.recipe.names]))
        refused = False
        for chunk in self.source.chunks(wanted):
            lines = self._lines(chunk)
            refused = refused or (self.missing == "refuse" and any(self.counts.values()))
            if not refused:  # else go on to count
                writer.writerows(lines)
            self.rows += len(chunk)
            progress(self.rows)
        if refused:
            refuse_missing(
                self.source,
                self.counts,
                self.rows,
                "--missing drop leaves these rows out, --missing impute fills in what the fit "
                "learned",
            )

    def _lines(self, chunk: Chunk) -> Iterator[tuple[Any, ...]]:
        import numpy as np

        from tailoredbayes.predictive import risk_summary
        from tailoredbayes.tables.training import missing_rows

        raw = self.recipe.encode(self.source, chunk)
        gone = np.zeros(len(chunk), dtype=np.bool_)
        for name, missing in missing_rows(raw).items():
            self.counts[name] += int(missing.sum())
            gone |= missing
        rows = np.arange(len(chunk))
        if gone.any():
            if self.missing == "refuse":
                return iter(())
            if self.missing == "impute":
                raw = self.recipe.fill(raw)
            else:
                rows = rows[~gone]
                raw = {name: values[rows] for name, values in raw.items()}
                self.left_out += int(gone.sum())
        if not len(rows):
            return iter(())
        self.beyond += int(self.recipe.beyond(raw).sum())
        found = risk_summary(self.recipe.design(raw), self.draws, self.threshold, self.prob)
        risk, low, high, certainty = found.T
        treat = risk >= self.threshold
        uncertain = np.where(treat, certainty, 1 - certainty) < _LEVEL
        self.treated += int(treat.sum())
        self.uncertain += int(uncertain.sum())
        ids: list[Any] = [self._names(chunk, name, rows) for name in self.ids]
        return zip(
            *(ids or [(chunk.start + 1 + rows).tolist()]),
            *(column.tolist() for column in (risk, low, high, certainty)),
            np.where(treat, "treat", "do not treat").tolist(),
            np.where(uncertain, "true", "false").tolist(),
            strict=True,
        )

    def _names(self, chunk: Chunk, name: str, rows: Any) -> list[str]:
        """Return the cells of an id column, as they stand in the table."""
        from tailoredbayes.tables.columns import texts

        cells = texts(chunk.columns[name])
        return self.safe([cells[row] for row in rows.tolist()])

    def tell(self, out: Path | None) -> None:
        """Say what was done, on standard error: the rows may go to standard output."""
        done = self.rows - self.left_out
        note(
            f"{done:,} rows at the threshold {self.threshold:g}: treat {self.treated:,}, uncertain "
            f"{self.uncertain:,}" + (f"; wrote {out}" if out else "")
        )
        if self.left_out:
            note(f"note: {self.left_out:,} rows that miss a value were left out")
        if self.missing == "impute" and any(self.counts.values()):
            note(f"note: {sum(self.counts.values()):,} missing values were filled in")
        if self.beyond:
            note(f"note: {self.beyond:,} rows have a number outside the range of the training data")
        if self.safe.changed:
            note(
                f"note: {self.safe.changed:,} ids that a spreadsheet would run as formulas got an "
                "apostrophe in front; --verbatim keeps them"
            )
