"""What a second thread brings: the mode of one weight column over many rows."""

from __future__ import annotations

from harness import Claim, Result, interleave, times
from simulate import problem

import tailoredbayes as tb


def run(quick: bool = False) -> Result:
    """Time construction and mode on one thread and on two."""
    n, d, repeats = (20_000, 5, 2) if quick else (2_000_000, 20, 5)
    data = problem(n, d)

    def fit(threads: int) -> None:
        posterior = tb.TailoredPosterior(data.x, data.y, weights=data.weights, threads=threads)
        tb.find_modes(posterior)

    runs = interleave({"1 thread": lambda: fit(1), "2 threads": lambda: fit(2)}, repeats)
    one, two = runs.values()
    return Result(
        title="Threads",
        claims=[
            Claim(
                f"speed-up by a second thread, n = {n:,}, d = {d}",
                one.best / two.best,
                by_median=one.median / two.median,
            )
        ],
        rows=times(runs),
        raw={name: each.seconds for name, each in runs.items()},
    )
