"""The last stage: the figures with a bar, for the front page and the documentation.

    python benchmarks/readme.py

writes them between the marks in README.md; a test keeps the two in step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from table import number, read

__all__ = ["bars", "claims", "within_marks"]

_HERE = Path(__file__).parent
_BEGIN, _END = "<!-- benchmarks: written by make bench -->", "<!-- end of benchmarks -->"


def bars(results: Iterable[dict[str, Any]]) -> str:
    """Return every figure that has a bar, as a table."""
    lines = ["| what | measured | bar | met |", "| --- | ---: | ---: | --- |"]
    for result in results:
        for claim in result["claims"]:
            if claim["bar"] is not None:
                bar = f"{claim['sense']} {number(claim['bar'])}{claim['unit']}"
                measured = f"{number(claim['value'])}{claim['unit']}"
                met = "yes" if claim["met"] else "**no**"
                lines.append(f"| {claim['what']} | {measured} | {bar} | {met} |")
    return "\n".join(lines)


def claims(result: dict[str, Any]) -> str:
    """Return what one benchmark measured, as a list."""
    return "\n".join(
        f"- {claim['what']}: {number(claim['value'])}{claim['unit']}" for claim in result["claims"]
    )


def within_marks(text: str, table: str) -> str:
    """Return the front page with the table between its marks."""
    begin, end = re.escape(_BEGIN), re.escape(_END)
    found, replaced = re.subn(
        rf"{begin}.*?{end}", lambda _: f"{_BEGIN}\n{table}\n{_END}", text, flags=re.DOTALL
    )
    if replaced != 1:
        raise ValueError(f"README.md must hold {_BEGIN} and {_END} once, found {replaced} times")
    return found


def main() -> None:
    """Write the table into README.md."""
    path = _HERE.parent / "README.md"
    table = bars(read(_HERE / "results"))
    path.write_text(within_marks(path.read_text(encoding="utf-8"), table), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
