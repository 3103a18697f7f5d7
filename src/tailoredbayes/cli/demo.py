"""``tailoredbayes demo``: the whole way on bundled data, each step the command that does it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailoredbayes.cli import evaluate, fit, predict, report

__all__ = ["EXAMPLE", "command"]

EXAMPLE = "Example: tailoredbayes demo --out demo"
_TARGET, _THRESHOLDS, _COLUMNS = 0.3, "0.1:0.5:0.1", "age,meno,grade,nodes,pgr,er,hormon"


def command(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="the folder to write into")] = Path(
        "tailoredbayes-demo"
    ),
) -> None:
    """Fit, predict, evaluate and report: which women to treat after breast cancer surgery.

    The model learns from the Rotterdam tumour bank and is judged on the German trial GBSG. The
    tables, the model and the report stay in the folder.
    """
    from tailoredbayes.datasets import load_gbsg, load_rotterdam

    out.mkdir(parents=True, exist_ok=True)
    train, test = out / "rotterdam.csv", out / "gbsg.csv"
    columns = ["pid", *_COLUMNS.split(","), "event"]
    load_rotterdam().frame[columns].to_csv(train, index=False)
    load_gbsg().frame[columns].to_csv(test, index=False)
    model, risks, page = out / "model.nc", out / "risks.csv", out / "report.html"

    _step(
        f"fit {train} --outcome event --id pid --threshold {_TARGET} --thresholds {_THRESHOLDS} "
        f"--out {model}"
    )
    fit.command(context, train, model, "event", _TARGET, thresholds=_THRESHOLDS, ids=["pid"])
    _step(f"predict {model} {test} --out {risks}")
    predict.command(model, test, risks)
    _step(f"evaluate {model} {test}")
    evaluate.command(model, test)
    _step(f"report {model} {test} --train {train} --out {page}")
    report.command(model, test, page, train)


def _step(words: str) -> None:
    typer.echo(f"\n$ tailoredbayes {words}")
