"""The mode of one weight column read from a Parquet file, against the same rows in memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow
import pyarrow.parquet
from harness import Result, interleave, ratio, times
from simulate import problem

import tailoredbayes as tb

_ROW_GROUP = 100_000


def run(quick: bool = False) -> Result:
    """Time construction and mode both ways; check that they agree."""
    n, d, repeats = (10_000, 4, 1) if quick else (1_000_000, 20, 4)
    data = problem(n, d)
    columns = {f"x{j}": data.x[:, j] for j in range(d)} | {"y": data.y, "w": data.weights}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=_ROW_GROUP)
        size = path.stat().st_size
        runs = interleave(
            {
                "from a Parquet file": lambda: tb.find_modes(
                    tb.TailoredPosterior(tb.ParquetRows(path, outcome="y", weights="w"))
                ),
                "from arrays": lambda: tb.find_modes(
                    tb.TailoredPosterior(data.x, data.y, weights=data.weights)
                ),
            },
            repeats,
            keep=lambda modes: modes.theta,
        )
    file, arrays = runs.values()
    if not np.allclose(file.kept[-1], arrays.kept[-1], rtol=1e-7, atol=1e-9):
        raise AssertionError("the two sources of rows gave different modes")
    return Result(
        title="Rows from a file",
        claims=[
            ratio(f"mode from a Parquet file, n = {n:,}, d = {d}, against arrays", file, arrays)
        ],
        rows=times(runs),
        remarks=[
            f"A file of {size / 2**20:.0f} MiB, row groups of {_ROW_GROUP:,}, in the system's "
            "cache: every pass decodes it again, as nothing of it is kept in memory."
        ],
        raw={name: each.seconds for name, each in runs.items()},
    )
