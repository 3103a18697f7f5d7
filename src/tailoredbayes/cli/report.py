"""``tailoredbayes report``: a page on a model that a clinician can read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailoredbayes.cli.manners import busy, note
from tailoredbayes.cli.options import Decimal, Delimiter, Encoding, ModelPath

if TYPE_CHECKING:
    from tailoredbayes.cli.saved import SavedModel
    from tailoredbayes.report import Sample

__all__ = ["EXAMPLE", "command"]

EXAMPLE = "Example: tailoredbayes report model.nc test.csv --train patients.csv --out report.html"


def command(
    model: ModelPath,
    test: Annotated[
        Path | None,
        typer.Argument(
            help="rows that the fit has not seen: external results", metavar="TABLE", readable=False
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="the HTML file to write")] = Path("report.html"),
    train: Annotated[
        Path | None, typer.Option(help="the table of the fit: apparent results", readable=False)
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="the target; default: the fit's")] = None,
    title: Annotated[str | None, typer.Option(help="the page's heading")] = None,
    fact: Annotated[
        list[str] | None,
        typer.Option(
            help='what only you can say, as "setting=Two hospitals, 2019"; several times. Of: '
            "setting, population, outcome, action, rationale, predictors, analysis, missing, "
            "sample_size, fairness, users, authors, ethics, funding, registration, availability, "
            "involvement"
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(help="a column of row weights in TABLE; --train has those of the fit"),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(help="refuse, drop or impute; default: impute if the fit did, else refuse"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="of the bootstrap")] = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
) -> None:
    """Write one self-contained HTML page: what the model decides, how well, and how it was made."""
    from tailoredbayes.cli.saved import load_model
    from tailoredbayes.report import write_report
    from tailoredbayes.tables.output import check_not_input, check_target

    check_target(out)
    for source in (model, test, train):
        if source is not None:
            check_not_input(out, source)
    facts = dict(_fact(text) for text in fact or [])
    saved = load_model(model)
    target = saved.threshold(threshold)
    form = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
    if weights is not None and test is None:
        raise typer.BadParameter("--weights names a column of TABLE, and there is none")
    samples = {
        role: None if path is None else read_sample(saved, path, weight, missing, form)
        for role, path, weight in (
            ("train", train, saved.recipe.weights),
            ("test", test, weights),
        )
    }
    apparent, recorded = samples["train"], saved.recipe.data
    if apparent is not None and recorded is not None and apparent.sha256 != recorded.sha256:
        note(f"note: {train} is not the file that the model was fitted to, or it has changed since")
    with busy("writing the report"):
        write_report(
            saved.family,
            out,
            train=apparent,
            test=samples["test"],
            threshold=target,
            title=title,
            facts=facts,
            model_file=model,
            random_state=seed,
        )
    typer.echo(str(out))


def read_sample(
    saved: SavedModel,
    path: Path,
    weights: str | None,
    missing: str | None,
    form: dict[str, str | None],
) -> Sample:
    """Return the rows of a table with their outcomes, as the report takes them."""
    from tailoredbayes.report import Sample
    from tailoredbayes.tables import open_table
    from tailoredbayes.tables.files import sha256
    from tailoredbayes.tables.training import read_labelled

    source = open_table(path, **form)
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
    return Sample(
        X=rows.frame,
        y=rows.y,
        sample_weight=rows.weights,
        name=path.name,
        sha256=sha256(path),
        ids=rows.ids,
        left_out=rows.left_out,
        imputed=rows.imputed,
        missing=rows.missing,
    )


def _fact(text: str) -> tuple[str, str]:
    key, equals, said = text.partition("=")
    if not equals:
        raise typer.BadParameter(f'--fact is written as "setting=Two hospitals", got {text!r}')
    return key.strip(), said.strip()
