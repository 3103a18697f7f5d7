"""The command line: how soon it answers, and what a long table costs in time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from harness import Claim, Result

HELP_BAR, FIT_BAR, PREDICT_BAR, REPORT_BAR = 0.5, 5.0, 60.0, 15.0
# What a run on ten times the rows may hold more.
GROWTH_BAR = 64.0
_COVARIATES = 10


@dataclass(frozen=True)
class _Run:
    """One run of a command: wall time in seconds, peak resident memory in MiB."""

    seconds: float
    peak: float


def run(quick: bool = False) -> Result:
    """Run the commands as a user does, each in a process of its own."""
    repeats = 2 if quick else 5
    small, large = (1000, 5000) if quick else (100_000, 1_000_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train = _write(folder / "train.csv", 1000 if quick else 5000)
        options = ["--outcome", "died", "--threshold", "0.2", "--id", "row", "--out", "model.nc"]
        helps = [_time(folder, ["--help"]) for _ in range(repeats)]
        fits = [_time(folder, ["fit", str(train), *options]) for _ in range(repeats)]
        predicted = {
            rows: _time(folder, ["predict", "model.nc", str(table), "--out", "risks.csv"])
            for rows in (small, large)
            for table in [_write(folder / f"{rows}.csv", rows)]
        }
        test = _write(folder / "test.csv", 1000 if quick else 5000)
        page = ["report", "model.nc", str(test), "--out", "report.html"]
        reports = [_time(folder, page) for _ in range(repeats)]
        with open(folder / "risks.csv", encoding="utf-8") as file:
            written = sum(1 for _ in file) - 1
        if written != large:
            raise RuntimeError(f"predict wrote {written} rows of {large}")
    few, many = predicted[small], predicted[large]
    runs = {
        "--help": helps,
        f"fit, 5000 rows x {_COVARIATES}": fits,
        **{f"predict, {rows:,} rows": [one] for rows, one in predicted.items()},
        "report, with a test table": reports,
    }
    return Result(
        title="The command line",
        claims=[
            _seconds("tailoredbayes --help", helps, HELP_BAR),
            _seconds(
                f"tailoredbayes fit, 5000 rows x {_COVARIATES}, search for the discount",
                fits,
                FIT_BAR,
            ),
            _seconds(f"tailoredbayes predict, {large:,} rows", [many], PREDICT_BAR),
            Claim(
                f"peak memory of predict, {large:,} rows over {small:,}",
                many.peak - few.peak,
                unit=" MiB",
                bar=GROWTH_BAR,
            ),
            _seconds("tailoredbayes report, with a test table", reports, REPORT_BAR),
        ],
        rows=[
            {
                "command": name,
                "best, s": min(one.seconds for one in several),
                "peak memory, MiB": max(one.peak for one in several),
                "runs": len(several),
            }
            for name, several in runs.items()
        ],
        remarks=[
            "Wall time of the installed command in a process of its own, start-up included. "
            "predict reads a CSV file and writes mean, 90% interval, certainty and decision from "
            "4000 draws."
        ],
        raw={name: [one.seconds for one in several] for name, several in runs.items()},
    )


def _seconds(what: str, runs: list[_Run], bar: float) -> Claim:
    seconds = [one.seconds for one in runs]
    return Claim(what, min(seconds), unit=" s", by_median=float(np.median(seconds)), bar=bar)


def _alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call in a small process of its own: a child's peak begins with what its parent holds."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _write(path: Path, rows: int) -> Path:
    return Path(_alone(write_table, path, rows))


def write_table(path: Path, rows: int) -> Path:
    """Write a CSV file of so many simulated rows."""
    from simulate import problem

    data = problem(rows, _COVARIATES)
    names = [f"x{i}" for i in range(_COVARIATES)]
    with open(path, "w", encoding="utf-8") as file:
        print(",".join(["row", *names, "died"]), file=file)
        for i, (x, y) in enumerate(zip(data.x.round(4).tolist(), data.y.tolist(), strict=True)):
            print(i, *x, y, sep=",", file=file)
    return path


def _time(folder: Path, arguments: list[str]) -> _Run:
    return _Run(*_alone(time_command, folder, arguments))


def time_command(folder: Path, arguments: list[str]) -> tuple[float, float]:
    """Run a command; return its wall time in seconds and its peak resident memory in MiB."""
    command = [sys.executable, "-m", "tailoredbayes", *arguments]
    started = time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - started
    child.stderr.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {said.decode()}")
    return seconds, used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
