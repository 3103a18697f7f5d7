"""How every benchmark measures, and the records it leaves.

Contestants run in turn, A, B, C, C, B, A, ..., in one process and one run, so that whatever else
the machine does falls on all of them, and none always follows the same other. Each warms up once.
The best time is what the code can do on this machine; the median also holds what disturbed it.
Bars are judged by the best.
"""

from __future__ import annotations

import gc
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_info

import tailoredbayes

__all__ = [
    "Claim",
    "Neighbours",
    "Result",
    "Runs",
    "interleave",
    "machine",
    "ratio",
    "record",
    "times",
]

_LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "nutpie",
    "arviz-stats",
    "pyarrow",
)


@dataclass
class Runs:
    """The timed runs of one contestant: seconds, and what was kept of each run's value."""

    seconds: list[float] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Least seconds."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """Median seconds."""
        return statistics.median(self.seconds)


def interleave(
    contestants: Mapping[str, Callable[[], Any]],
    repeats: int,
    *,
    keep: Callable[[Any], Any] | None = None,
    turn_seconds: float = 0.1,
    most_a_turn: int = 20,
) -> dict[str, Runs]:
    """Time the contestants in turn, ``repeats`` turns each after one run to warm up.

    Parameters
    ----------
    contestants
        What to call, by name.
    repeats
        Turns of each contestant.
    keep
        What to keep of the value a run returns (by default nothing); not timed.
    turn_seconds, most_a_turn
        A contestant of a few milliseconds runs again within its turn, until the turn has lasted
        this long or has had this many runs. Every run counts.
    """
    for contestant in contestants.values():
        contestant()
    runs = {name: Runs() for name in contestants}
    turns = list(contestants.items())
    for _ in range(repeats):
        for name, contestant in turns:
            spent = 0.0
            gc.collect()
            for _ in range(most_a_turn):
                value, seconds = _timed(contestant)
                runs[name].seconds.append(seconds)
                if keep is not None:
                    runs[name].kept.append(keep(value))
                del value
                spent += seconds
                if spent >= turn_seconds:
                    break
        turns.reverse()
    return runs


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    gc.disable()
    try:
        started = time.perf_counter()
        value = function()
        return value, time.perf_counter() - started
    finally:
        gc.enable()


@dataclass(frozen=True)
class Claim:
    """One measured figure and, where it has one, the bar it has to clear.

    ``by_median`` is the same figure from median instead of best times. Without a ``bar`` the
    figure is told, not judged.
    """

    what: str
    value: float
    unit: str = "x"
    by_median: float | None = None
    bar: float | None = None
    sense: Literal["at most", "at least"] = "at most"

    @property
    def met(self) -> bool | None:
        """Whether the bar is cleared; None without one."""
        if self.bar is None:
            return None
        return bool(self.value <= self.bar if self.sense == "at most" else self.value >= self.bar)


@dataclass(frozen=True)
class Result:
    """What a benchmark found: claims, a table of its contestants, remarks and raw numbers.

    ``rows`` are the lines of the table, each a mapping from column to a number or a text; ``raw``
    is kept in the JSON file alone, for whoever wants to look closer or to draw.
    """

    title: str
    claims: list[Claim]
    rows: list[dict[str, Any]]
    remarks: list[str] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)


def times(runs: Mapping[str, Runs]) -> list[dict[str, Any]]:
    """Return the lines of a table: contestant, best and median seconds, runs."""
    return [
        {
            "contestant": name,
            "best, ms": 1e3 * one.best,
            "median, ms": 1e3 * one.median,
            "runs": len(one.seconds),
        }
        for name, one in runs.items()
    ]


def ratio(
    what: str, ours: Runs, theirs: Runs, bar: float | None = None, *, minus: Runs | None = None
) -> Claim:
    """Claim that ``ours`` (less ``minus``, a part of it) takes at most ``bar`` times ``theirs``."""
    best, median = ours.best, ours.median
    if minus is not None:
        best, median = best - minus.best, median - minus.median
    return Claim(what, best / theirs.best, by_median=median / theirs.median, bar=bar)


class Neighbours:
    """How many cores others kept busy meanwhile: threads that spin for each other suffer most."""

    def __init__(self) -> None:
        self._started = self._now()

    def cores(self) -> float | None:
        """Return the cores that other processes used, on average, or None where nobody tells."""
        busy, own, clock = (b - a for a, b in zip(self._started, self._now(), strict=True))
        return None if np.isnan(busy) else max(0.0, (busy - own) / clock)

    @staticmethod
    def _now() -> tuple[float, float, float]:
        own = os.times()
        busy = float("nan")
        counters = Path("/proc/stat")
        if counters.exists():
            user, nice, system, _, _, irq, softirq, steal = map(
                int, counters.read_text(encoding="ascii").splitlines()[0].split()[1:9]
            )
            busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        used = own.user + own.system + own.children_user + own.children_system
        return busy, used, time.perf_counter()


def record(
    name: str, result: Result, *, quick: bool, seconds: float, neighbours: float | None
) -> dict[str, Any]:
    """Return what the JSON file of a benchmark holds."""
    held = asdict(result)
    for claim, found in zip(held["claims"], result.claims, strict=True):
        claim["met"] = None if quick else found.met
    return {
        "name": name,
        "quick": quick,
        "seconds_taken": round(seconds, 1),
        "cores_busy_elsewhere": None if neighbours is None else round(neighbours, 2),
        "machine": machine(),
        **held,
    }


def machine() -> dict[str, str]:
    """Describe where the numbers come from: machine, Python, libraries, date."""
    blas = {
        f"{pool['internal_api']} {pool['version']}"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    found = {
        "CPU": _cpu(),
        "cores": str(_cores()),
        "memory": f"{_memory() / 2**30:.0f} GiB",
        "system": f"{platform.system()} on {platform.machine()}",
        "Python": platform.python_version(),
        "tailoredbayes": tailoredbayes.__version__,
    }
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return {**found, "BLAS": ", ".join(sorted(blas)), "date": date.today().isoformat()}


def _cpu() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0
