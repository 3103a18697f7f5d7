"""Run the benchmarks: measure, then write the table, then draw the figure.

From the repository's root, ``make bench``; or, with options, ``.venv/bin/python benchmarks/run.py
--help``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from importlib import import_module
from pathlib import Path

from cases import CASES
from figure import draw_growth
from harness import Neighbours, record
from table import write_table

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Read the options, run the stages."""
    options = _options()
    folder = options.out
    if folder is None:
        # A quick run's numbers mean nothing: they do not replace those that do.
        folder = Path(tempfile.mkdtemp(prefix="benchmarks-")) if options.quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    for name in [] if options.redraw else options.only or CASES:
        print(f"{name} ...", end=" ", flush=True)
        neighbours, started = Neighbours(), time.perf_counter()
        result = import_module(f"cases.{name}").run(quick=options.quick)
        seconds = time.perf_counter() - started
        busy = neighbours.cores()
        print(f"{seconds:.0f} s" + (f", {busy:.1f} cores busy elsewhere" if busy else ""))
        for claim in result.claims:
            verdict = (
                "" if options.quick or claim.met is None else "  met" if claim.met else "  MISSED"
            )
            print(f"    {claim.value:8.3g}{claim.unit}  {claim.what}{verdict}")
        held = record(name, result, quick=options.quick, seconds=seconds, neighbours=busy)
        text = json.dumps(held, indent=1, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    for path in [write_table(folder), *draw_growth(folder)]:
        print(f"wrote {path}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the benchmarks; write table and figure.")
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        choices=CASES,
        help=f"run this one (may be repeated): {', '.join(CASES)}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that everything works"
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        type=Path,
        help="where results go (by default benchmarks/results; a quick run's, a temporary folder)",
    )
    parser.add_argument(
        "--redraw",
        action="store_true",
        help="run nothing: remake table and figure from the results there are",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
