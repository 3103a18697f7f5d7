"""Run a command in this process, and data for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from tailoredbayes.cli import app


@dataclass(frozen=True)
class Done:
    """What a command has left: its code, what it printed, what it said."""

    code: int
    out: str
    err: str


def run(*arguments) -> Done:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return Done(done.exit_code, done.stdout, done.stderr)


def patients(rows=300, seed=0, **columns) -> pd.DataFrame:
    """Make a table of patients: two numbers, a grade, a sex, an outcome that they predict."""
    rng = np.random.default_rng(seed)
    age = rng.normal(60, 10, rows).round(1)
    nodes = rng.poisson(3, rows)
    grade = rng.choice([1, 2, 3], rows)
    sex = rng.choice(["female", "male"], rows, p=[0.6, 0.4])
    eta = -2 + 0.05 * (age - 60) + 0.25 * nodes + 0.3 * (grade == 3) + 0.3 * (sex == "male")
    died = (rng.uniform(size=rows) < 1 / (1 + np.exp(-eta))).astype(int)
    frame = pd.DataFrame(
        {
            "patient": [f"P{i:04d}" for i in range(rows)],
            "age": age,
            "nodes": nodes,
            "grade": grade,
            "sex": sex,
            "died": died,
        }
    )
    return frame.assign(**columns)


# Quick fits: what the commands do with them does not depend on how they are sampled.
QUICK = ("--discount", "5", "--sampler", "laplace", "--draws", "200")
