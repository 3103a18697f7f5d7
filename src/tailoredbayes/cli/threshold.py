"""``tailoredbayes threshold``: from what errors cost to the risk at which to treat."""

from __future__ import annotations

from typing import Annotated

import typer

from tailoredbayes.cli.manners import print_json
from tailoredbayes.cli.options import Json

__all__ = ["EXAMPLE", "command", "meaning"]

EXAMPLE = "Example: tailoredbayes threshold --harm 1 --benefit 9"


def command(
    harm: Annotated[
        float | None, typer.Option(help="what an unnecessary treatment costs, in any unit")
    ] = None,
    benefit: Annotated[
        float | None, typer.Option(help="what treating a patient with the event gains")
    ] = None,
    tp: Annotated[float | None, typer.Option(help="utility of treating a case")] = None,
    fp: Annotated[float | None, typer.Option(help="utility of treating a non-case")] = None,
    fn: Annotated[float | None, typer.Option(help="utility of not treating a case")] = None,
    tn: Annotated[float | None, typer.Option(help="utility of not treating a non-case")] = None,
    as_json: Json = False,
) -> None:
    """Tell the risk at which treating and not treating are worth the same.

    Give --harm and --benefit, or the utilities of the four outcomes: --tp, --fp, --fn and --tn.
    """
    from tailoredbayes.decision import target_threshold, target_threshold_from_utilities

    given = [
        name
        for name, value in dict(harm=harm, benefit=benefit, tp=tp, fp=fp, fn=fn, tn=tn).items()
        if value is not None
    ]
    if given == ["harm", "benefit"]:
        t = target_threshold(benefit=_given(benefit), harm=_given(harm))
    elif given == ["tp", "fp", "fn", "tn"]:
        t = target_threshold_from_utilities(
            tp=_given(tp), fp=_given(fp), fn=_given(fn), tn=_given(tn)
        )
    else:
        raise typer.BadParameter(
            "give --harm and --benefit, or all four of --tp, --fp, --fn and --tn"
        )
    if as_json:
        print_json({"threshold": t, "harm_to_benefit": t / (1 - t), "meaning": meaning(t)})
    else:
        typer.echo(f"threshold {t:.6g}\n{meaning(t)}")


def _given(value: float | None) -> float:
    assert value is not None
    return value


def meaning(threshold: float) -> str:
    """Say in a sentence what a threshold means.

    >>> print(meaning(0.1))
    Treat when the risk is at least 10%: finding one patient who needs treatment is worth 9 \
unnecessary treatments.
    >>> print(meaning(0.75))
    Treat when the risk is at least 75%: one unnecessary treatment is as bad as 3 patients who \
need treatment and go without.
    """
    odds = threshold / (1 - threshold)
    if odds <= 1:
        worth = f"{1 / odds:.3g}"
        plural = "" if worth == "1" else "s"
        exchange = (
            f"finding one patient who needs treatment is worth {worth} unnecessary "
            f"treatment{plural}"
        )
    else:
        exchange = (
            f"one unnecessary treatment is as bad as {odds:.3g} patients who need treatment and "
            "go without"
        )
    return f"Treat when the risk is at least {100 * threshold:.4g}%: {exchange}."
