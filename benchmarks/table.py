"""The second stage: from the benchmarks' JSON files to one Markdown table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cases import CASES

__all__ = ["number", "read", "write_table"]

# Cores busy elsewhere, on average, up to which a machine passes for quiet.
_QUIET = 0.1


def read(folder: Path) -> list[dict[str, Any]]:
    """Read the results there are, in the benchmarks' order."""
    paths = (folder / f"{name}.json" for name in CASES)
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]


def write_table(folder: Path) -> Path:
    """Write table.md: the claims against their bars, the machine, each benchmark's contestants."""
    results = read(folder)
    parts = ["# Benchmarks", ""]
    if any(result["quick"] for result in results):
        parts += ["A quick run: small sizes, to see that everything works. No bar applies.", ""]
    parts += [*_claims(results), "", *_machines(results), *_disturbed(results)]
    for result in results:
        parts += ["", f"## {result['title']} (`{result['name']}`)", "", *_lines(result["rows"])]
        for remark in result["remarks"]:
            parts += ["", remark]
    path = folder / "table.md"
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return path


def _claims(results: Iterable[dict[str, Any]]) -> list[str]:
    rows = []
    for result in results:
        for claim in result["claims"]:
            judged = claim["bar"] is not None and not result["quick"]
            bar = f"{claim['sense']} {number(claim['bar'])}{claim['unit']}" if judged else ""
            median = claim["by_median"]
            rows.append(
                {
                    "what": claim["what"],
                    "measured": f"{number(claim['value'])}{claim['unit']}",
                    "by medians": "" if median is None else f"{number(median)}{claim['unit']}",
                    "bar": bar,
                    "met": "" if claim["met"] is None else "yes" if claim["met"] else "**no**",
                }
            )
    return _lines(rows)


def _machines(results: Iterable[dict[str, Any]]) -> list[str]:
    """One paragraph a machine and date; named by benchmark when there is more than one."""
    found: dict[str, list[str]] = {}
    for result in results:
        described = "; ".join(f"{key}: {value}" for key, value in result["machine"].items())
        found.setdefault(described, []).append(result["name"])
    if len(found) == 1:
        return [f"{next(iter(found))}."]
    return [f"{', '.join(names)}: {described}.\n" for described, names in found.items()]


def _disturbed(results: Iterable[dict[str, Any]]) -> list[str]:
    named = [
        f"`{result['name']}` {number(result['cores_busy_elsewhere'])}"
        for result in results
        if (result["cores_busy_elsewhere"] or 0) > _QUIET
    ]
    if not named:
        return []
    return ["", f"**Not a quiet machine**; cores that other work kept busy: {', '.join(named)}."]


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    columns = list(rows[0])
    right = [isinstance(rows[0][column], int | float) for column in columns]
    lines = [" | ".join(columns), " | ".join("---:" if r else "---" for r in right)]
    for row in rows:
        values = (row[column] for column in columns)
        lines.append(" | ".join(v if isinstance(v, str) else number(v) for v in values))
    return [f"| {line} |" for line in lines]


def number(value: float) -> str:
    """Three significant digits, thousands grouped, no exponent for everyday sizes."""
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.1e}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}"
