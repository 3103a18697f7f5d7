"""Memory over the data itself: the peak of construction and mode in a process of its own."""

from __future__ import annotations

import ctypes
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

from harness import Claim, Result

_MIB = 2**20


def run(quick: bool = False) -> Result:
    """Measure a fresh process's peak over what it held once the data were there."""
    n, d = (50_000, 5) if quick else (5_000_000, 20)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(over_the_data, n, d).result()
    data = found["X and y"]
    bar = 64 + 0.1 * data
    return Result(
        title="Memory",
        claims=[
            Claim(
                f"memory over the data, n = {n:,}, d = {d} (bar: 64 MiB + 10% of X and y)",
                found["over the data"],
                unit=" MiB",
                bar=bar,
            )
        ],
        rows=[{"what": what, "MiB": value} for what, value in found.items()],
        remarks=[
            "Peak resident memory of constructing the posterior and finding its mode, less what "
            "the process held with the library imported and the data made; y is int64. Holding "
            "the signs 2y - 1 as int8, the blocks at hand and the threads' stacks are in it."
        ],
        raw=found,
    )


def over_the_data(n: int, d: int) -> dict[str, float]:
    """Return sizes in MiB: of the data, of the process with them, of its peak over that."""
    from simulate import problem

    import tailoredbayes as tb

    data = problem(n, d)
    _hand_back_freed()
    _reset_peak()
    before = _held()
    tb.find_modes(tb.TailoredPosterior(data.x, data.y, weights=data.weights))
    over = _peak() - before
    return {
        "X and y": (data.x.nbytes + data.y.nbytes) / _MIB,
        "weights": data.weights.nbytes / _MIB,
        "the process with the data": before / _MIB,
        "over the data": over / _MIB,
    }


def _hand_back_freed() -> None:
    # What the allocator keeps of the chunks the data were made in could hide the fit's own use.
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _reset_peak() -> None:
    # Linux: 5 resets the peak to what is held now. Elsewhere the peak so far stands, which making
    # the data in chunks keeps near what is held.
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _status(key: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key)), None)


def _held() -> int:
    return _status("VmRSS") or _peak()


def _peak() -> int:
    peak = _status("VmHWM")
    if peak is not None:
        return peak
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
