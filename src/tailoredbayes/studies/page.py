"""A study's page: what was done, whether the paper's claims hold, figures, tables, how it ran."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailoredbayes.studies.contract import Claim, Exhibit, Results, Study
from tailoredbayes.studies.paper import ITEMS
from tailoredbayes.studies.store import StudyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["index", "markdown_table", "page", "verdict", "write_index", "write_page"]

_FIGURES = "figures"
_DPI = 130


def write_page(study: Study, results: Results, folder: str | Path) -> Path:
    """Write a study's page, its figures with the tables behind them, and return the page's path.

    ``<folder>/<name>.md``, ``<folder>/figures/<name>-<exhibit>.png`` and ``.csv``.
    """
    if results.missing:
        raise StudyError(
            f"{results.missing} of the {results.cells + results.missing} cells of {study.name} "
            "are missing; run the study again to finish it"
        )
    folder = Path(folder)
    exhibits = list(study.exhibits(results))
    target = folder / f"{study.name}.md"
    try:
        (folder / _FIGURES).mkdir(parents=True, exist_ok=True)
        for exhibit in exhibits:
            if exhibit.draw is not None:
                _write_figure(exhibit, folder / _figure_file(study, exhibit))
        _write(target, page(study, results, exhibits).encode())
    except OSError as error:
        raise StudyError(
            f"cannot write the page of {study.name} to {folder} ({error.strerror or error}); the "
            "results are kept: make room there, or the folder writable, and run again"
        ) from error
    return target


def write_index(studies: Mapping[str, Study], folder: str | Path) -> Path:
    """Write the index of all pages in a folder."""
    folder = Path(folder)
    target = folder / "README.md"
    there = [name for name in studies if (folder / f"{name}.md").is_file()]
    try:
        _write(target, index(studies, there).encode())
    except OSError as error:
        raise StudyError(f"cannot write {target} ({error.strerror or error})") from error
    return target


def page(study: Study, results: Results, exhibits: Iterable[Exhibit]) -> str:
    """Return a study's page as Markdown."""
    claims = list(study.claims(results))
    parts = [f"# {study.title}", study.about(results)]
    if claims:
        parts += ["## What the paper says", _claims(claims)]
    last = ""
    for exhibit in exhibits:
        heading = f"## {exhibit.shows or exhibit.name.replace('-', ' ').capitalize()}"
        # Several exhibits may show one figure of the paper: its parts, or versions of it.
        parts += [heading] * (heading != last) + [_exhibit(study, exhibit)]
        last = heading
    parts += ["## How it was run", _run(study, results)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def index(studies: Mapping[str, Study], there: Sequence[str]) -> str:
    """Return the index: every figure and table of the paper, and every study; ``there`` has pages.

    Examples
    --------
    >>> print(index({}, []).splitlines()[6])
    | Figure 1 | Simulation 1: boundaries when targeting 0.3 and 0.5 | not yet |
    """
    shown: dict[str, list[str]] = {}
    for study in studies.values():
        for label in study.shows:
            shown.setdefault(label, []).append(study.name)

    def where(name: str) -> str:
        return f"[{name}]({name}.md)" if name in there else f"`tailoredbayes study run {name}`"

    items = [
        f"| {label} | {subject} | {', '.join(map(where, shown.get(label, []))) or 'not yet'} |"
        for label, subject in ITEMS.items()
    ]
    pages = [f"| {where(name)} | {study.title} |" for name, study in studies.items()]
    return "\n".join(
        [
            "# The paper's experiments",
            "",
            "Every figure and table of [Karapanagiotis2021] and its supplement, and its page.",
            "",
            "| in the paper | subject | page |",
            "| --- | --- | --- |",
            *items,
            "",
            "| study | subject |",
            "| --- | --- |",
            *pages,
            "",
        ]
    )


def verdict(claim: Claim) -> str:
    """Say whether a claim holds.

    >>> verdict(Claim("Figure 2", "TB gains.", "It loses 1 per 1000.", False))
    '**no**'
    """
    return {True: "yes", False: "**no**", None: "cannot tell"}[claim.agrees]


def markdown_table(table: pd.DataFrame) -> str:
    """Return a frame as a Markdown table; numbers to four digits.

    >>> import pandas as pd
    >>> print(markdown_table(pd.DataFrame({"n": [500], "gain": [0.123456]})))
    | n | gain |
    | --- | --- |
    | 500 | 0.1235 |
    """
    lines = ["| " + " | ".join(map(str, table.columns)) + " |"]
    lines.append("|" + " --- |" * len(table.columns))
    lines += ["| " + " | ".join(map(_shown, row)) + " |" for row in table.itertuples(index=False)]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def _claims(claims: Sequence[Claim]) -> str:
    lines = ["| where | paper | ours | agree? |", "| --- | --- | --- | --- |"]
    lines += [f"| {c.where} | {c.paper} | {c.ours} | {verdict(c)} |" for c in claims]
    return "\n".join(lines)


def _exhibit(study: Study, exhibit: Exhibit) -> str:
    if exhibit.draw is None:
        return f"{exhibit.caption}\n\n{markdown_table(exhibit.table)}"
    file = _figure_file(study, exhibit)
    alt = f"{exhibit.shows or study.title}: {exhibit.name.replace('-', ' ')}"
    numbers = file.with_suffix(".csv").as_posix()
    return f"![{alt}]({file.as_posix()})\n\n{exhibit.caption} ([numbers]({numbers}))"


def _figure_file(study: Study, exhibit: Exhibit) -> Path:
    return Path(_FIGURES) / f"{study.name}-{exhibit.name}.png"


def _write_figure(exhibit: Exhibit, path: Path) -> None:
    """Draw to a PNG, and write the table behind it."""
    import io

    import matplotlib.pyplot as plt
    import numpy as np

    assert exhibit.draw is not None
    drawn = exhibit.draw()
    first = drawn if hasattr(drawn, "savefig") else np.atleast_1d(drawn).flat[0].figure
    picture = io.BytesIO()
    first.savefig(picture, format="png", dpi=_DPI, bbox_inches="tight", metadata={"Software": None})
    plt.close(first)
    _write(path, picture.getvalue())
    _write(
        path.with_suffix(".csv"), exhibit.table.to_csv(index=False, float_format="%.6g").encode()
    )


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    half = path.with_name(f".{path.name}.part")
    try:
        half.write_bytes(content)
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)


def _run(study: Study, results: Results) -> str:
    settings = {one.name: getattr(results.settings, one.name) for one in fields(results.settings)}
    flags = [
        f"| `--{name.replace('_', '-')}` | {_words(value)} |" for name, value in settings.items()
    ]
    versions = {
        f"{name} {number}": None for run in results.runs for name, number in run.versions.items()
    }
    how = {f"{run.backend}, {run.workers} at a time": None for run in results.runs}
    started = results.runs[0].started[:10] if results.runs else "never"
    return "\n".join(
        [
            f"`tailoredbayes study run {study.name}`: {results.cells} cells in "
            f"{results.seconds:.0f} s ({'; '.join(how)}; {results.processor_seconds:.0f} s of "
            f"processor time in all), {started}; {', '.join(versions)}.",
            "",
            "| flag | value |",
            "| --- | --- |",
            *flags,
        ]
    )


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
