"""The threshold explorer: the decision curve with a mark that a slider moves, numbers beside it.

The chart is declared with Altair; its JavaScript comes from the package vl-convert and stands in
the page. The numbers that change with the slider are those of the table below it, written once
here: the script only shows another row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from markupsafe import Markup

from tailoredbayes.plots.style import styles
from tailoredbayes.report.evidence import Evidence
from tailoredbayes.report.subject import Subject
from tailoredbayes.report.tables import (
    Table,
    accepted_text,
    number,
    per_1000,
    percent,
    threshold_text,
)

__all__ = ["Explorer", "explorer", "javascript", "script_json"]

_NAMES = {"all": "treat all", "none": "treat none"}
_MEASURES = (
    "Treated",
    "True positives",
    "False positives",
    "Missed cases",
    "Net benefit",
    "Treatments avoided",
)


@dataclass(frozen=True)
class Explorer:
    """What the panel shows: the whole table for every reader, and the same for the script."""

    label: str
    models: tuple[str, ...]
    measures: tuple[str, ...]
    start: int
    """Place of the target threshold."""
    thresholds: tuple[str, ...]
    accepted: tuple[str, ...]
    """Unnecessary treatments that each threshold accepts for one that is needed."""
    values: tuple[tuple[tuple[str, ...], ...], ...]
    """Text by threshold, model and measure."""
    uncertain: tuple[str, ...]
    table: Table
    data: Markup
    """For the script, as JSON that may stand in a script element."""


def explorer(subject: Subject, found: Evidence) -> Explorer | None:
    """Return the panel for one kind of rows; None where there is one threshold only."""
    curve = found.curve
    if len(curve.thresholds) < 2:
        return None
    models = tuple(_NAMES.get(name, name) for name in curve.models)
    tp, fp, avoided = curve.tp_rate, curve.fp_rate, curve.interventions_avoided
    values = tuple(
        tuple(
            (
                per_1000(tp[m, i] + fp[m, i]),
                per_1000(tp[m, i]),
                per_1000(fp[m, i]),
                per_1000(curve.prevalence - tp[m, i]),
                per_1000(curve.net_benefit[m, i]),
                "–" if models[m] == "treat none" else number(1)(10 * avoided[m, i]),
            )
            for m in range(len(models))
        )
        for i in range(len(curve.thresholds))
    )
    thresholds = tuple(map(threshold_text, curve.thresholds.tolist()))
    accepted = tuple(map(accepted_text, curve.thresholds.tolist()))
    shares = found.uncertain
    uncertain = (
        ("not supplied",) * len(thresholds)
        if shares is None
        else tuple(map(percent, shares.tolist()))
    )
    start = found.place(subject.threshold)
    shown = {
        "start": start,
        "t": curve.thresholds.tolist(),
        "thresholds": thresholds,
        "accepted": accepted,
        "values": values,
        "uncertain": uncertain,
        "chart": _chart(found, models, float(curve.thresholds[start])),
    }
    return Explorer(
        label=found.label,
        models=models,
        measures=_MEASURES,
        start=start,
        thresholds=thresholds,
        accepted=accepted,
        values=values,
        uncertain=uncertain,
        table=_table(found, thresholds, accepted, values, models, uncertain),
        data=script_json(shown),
    )


def _table(
    found: Evidence,
    thresholds: tuple[str, ...],
    accepted: tuple[str, ...],
    values: tuple[tuple[tuple[str, ...], ...], ...],
    models: tuple[str, ...],
    uncertain: tuple[str, ...],
) -> Table:
    head = ("Threshold", "Accepted per needed", "Policy", *_MEASURES, "Uncertain decisions")
    rows = tuple(
        (t, accepted[i], name, *values[i][m], uncertain[i] if m == 0 else "–")
        for i, t in enumerate(thresholds)
        for m, name in enumerate(models)
        if name != "treat none"
    )
    caption = (
        f"All thresholds ({found.label}), per 1000 patients. Treating no one treats none, misses "
        "all and has a net benefit of 0."
    )
    return Table(caption, head, rows)


def _chart(found: Evidence, models: tuple[str, ...], start: float) -> dict[str, Any]:
    """Return the decision curve with a mark at the threshold ``t``, as Vega-Lite."""
    import altair as alt

    curve = found.curve
    looks = styles(curve.models)
    top = 1000 * float(np.nanmax(curve.high))
    rows = [
        {
            "t": float(t),
            "model": name,
            "nb": 1000 * float(curve.net_benefit[m, i]),
            "low": 1000 * float(curve.low[m, i]),
            "high": 1000 * float(curve.high[m, i]),
        }
        for m, name in enumerate(models)
        for i, t in enumerate(curve.thresholds)
    ]
    colors = alt.Scale(domain=list(models), range=[looks[name].color for name in curve.models])
    dashes = alt.Scale(domain=list(models), range=[_dashes(looks[n]) for n in curve.models])
    nb = alt.Scale(domain=[-0.16 * top, 1.05 * top], nice=False)
    x = alt.X("t:Q", title="Threshold risk", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False))
    legend = alt.Legend(title=None, orient="top", columns=2, symbolType="stroke")
    color = alt.Color("model:N", scale=colors, legend=legend)
    y = alt.Y("nb:Q", title="Net true positives per 1000", scale=nb)
    dash = alt.StrokeDash("model:N", scale=dashes, legend=legend)
    tips = [
        alt.Tooltip("model:N", title="policy"),
        alt.Tooltip("t:Q", title="threshold", format=".3~p"),
        alt.Tooltip("nb:Q", title="net benefit per 1000", format=".1f"),
    ]
    base = alt.Chart(alt.InlineData(values=rows))
    own = base.transform_filter(alt.datum.model == models[0])
    band = own.mark_area(opacity=0.15, clip=True, color=looks[curve.models[0]].color).encode(
        x=x, y=alt.Y("low:Q", title="Net true positives per 1000", scale=nb), y2="high:Q"
    )
    lines = base.mark_line(clip=True).encode(x=x, y=y, color=color, strokeDash=dash)
    at = base.transform_filter("abs(datum.t - t) < 1e-9")
    dots = at.mark_point(filled=True, size=70, opacity=1, clip=True).encode(
        x=x, y=y, color=color, tooltip=tips
    )
    rule = at.mark_rule(color="#444", strokeDash=[2, 2]).encode(x=x)
    whole = alt.layer(band, rule, lines, dots).add_params(alt.param(name="t", value=start))
    whole = whole.properties(
        width="container",
        height=260,
        name="explorer",
        description="Net benefit of each policy by threshold, a mark at the threshold chosen.",
    ).configure(background="transparent")
    whole = whole.configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
    whole = whole.configure_legend(labelFontSize=12)
    return dict(whole.to_dict())


def _dashes(look: Any) -> list[float]:
    return [1, 0] if look.linestyle == "-" else [2 * length for length in look.linestyle[1]]


@cache
def javascript() -> Markup:
    """Return Vega, Vega-Lite and Vega-Embed as one script, from the installed package."""
    import altair as alt
    import vl_convert

    version = "_".join(alt.SCHEMA_VERSION.split(".")[:2])
    bundle = vl_convert.javascript_bundle(None, vl_version=version)  # type: ignore[arg-type]  # any version
    return Markup(bundle.replace("</script", "<\\/script"))


def script_json(value: Any) -> Markup:
    r"""Return JSON that may stand inside a script element, whatever text is in it.

    >>> print(script_json({"name": "</script><b>"}))
    {"name": "\u003c/script\u003e\u003cb\u003e"}
    """
    written = json.dumps(value, ensure_ascii=True, allow_nan=False)
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(written)
