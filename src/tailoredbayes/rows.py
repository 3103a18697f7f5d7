"""Row blocks: the one way to pass over data.

The posterior sees the data only through sums over rows. A *source* hands out its rows in blocks
that fit the cache, grouped into a fixed number of shards; :func:`sum_over_rows` maps a function
over the blocks, shards in parallel, and adds the results up in an order that does not depend on
the number of threads. The same contract serves arrays (:class:`ArrayRows`) and files larger than
memory (:class:`ParquetRows`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from pathlib import Path
from threading import Lock, get_ident, local
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

from tailoredbayes.checks import check_outcome

__all__ = [
    "ArrayRows",
    "Block",
    "ParquetRows",
    "RowSource",
    "WeightColumns",
    "available_threads",
    "sum_over_rows",
]

Floats = NDArray[np.float64]

# Numbers in one temporary array of a block, or a small multiple of it: 16384 doubles are 128 KiB,
# so a handful of them share a 1 MiB level-2 cache.
BLOCK_NUMBERS = 16384
# Shards bound the parallelism and fix the order of summation, so they may depend on the data's
# size and on nothing else.
MOST_SHARDS = 16
_ROWS_PER_SHARD = 2048
# Below this many elementary operations (some four milliseconds) threads were no faster when
# measured: starting them costs up to one, and more beside other work.
WORTH_THREADS = 10_000_000


@dataclass(frozen=True, slots=True)
class Block:
    """Some consecutive rows: covariates (b, d), signs 2y - 1 (b,) and weights (b, m)."""

    x: Floats
    sign: Floats
    weights: Floats


@runtime_checkable
class RowSource(Protocol):
    """What the posterior asks of a source of rows.

    Outcomes are 0/1 and leave the source as signs; covariates are float64, without the intercept.
    ``blocks`` must be safe to call for different shards from different threads.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_features(self) -> int:
        """Number of covariates, the intercept not counted."""

    @property
    def n_columns(self) -> int:
        """Number of weight columns."""

    @property
    def n_shards(self) -> int:
        """Number of shards: groups of rows that may be read side by side."""

    def blocks(
        self, shard: int, size: int, columns: NDArray[np.intp] | None = None
    ) -> Iterator[Block]:
        """Yield the shard's rows in order, at most ``size`` a block, with the named weights."""

    def thinned(self, step: int) -> RowSource:
        """Return a source of about every ``step``-th row, cheap to read; any subset will do."""


class WeightColumns(Protocol):
    """Weights that are worked out block by block, for when (n, m) numbers would not fit."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def block(self, rows: slice, columns: NDArray[np.intp] | None) -> Floats:
        """Return the weights of some rows, for the named columns or for all."""


@dataclass(frozen=True)
class ArrayRows:
    """Rows held in memory; nothing is copied but the block at hand.

    Parameters
    ----------
    x : array (n, d)
        Any real dtype and memory layout; blocks are handed out as float64.
    sign : array (n,)
        2y - 1 as int8, float64 or any real dtype.
    weights : array (n, m) or WeightColumns
    """

    x: NDArray[Any]
    sign: NDArray[Any]
    weights: Floats | WeightColumns

    @classmethod
    def from_arrays(
        cls, x: ArrayLike, y: ArrayLike, weights: ArrayLike | WeightColumns | None = None
    ) -> ArrayRows:
        """Check shapes and types at the door; values are checked in the first pass over the rows.

        >>> ArrayRows.from_arrays([[1.0], [2.0]], [0, 1]).n_rows
        2
        """
        matrix = real_matrix(x)
        outcome = check_outcome(y, "y")
        if outcome.shape[0] != matrix.shape[0]:
            raise ValueError(
                f"X and y must have one entry a row each, got {matrix.shape[0]} rows in X and "
                f"{outcome.shape[0]} in y"
            )
        sign = np.where(outcome, 1, -1).astype(np.int8)
        return cls(matrix, sign, _weight_columns(weights, matrix.shape[0]))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.x.shape[0])

    @property
    def n_features(self) -> int:
        """Number of covariates, the intercept not counted."""
        return int(self.x.shape[1])

    @property
    def n_columns(self) -> int:
        """Number of weight columns."""
        return int(self.weights.shape[1])

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return max(1, min(MOST_SHARDS, self.n_rows // _ROWS_PER_SHARD))

    def blocks(
        self, shard: int, size: int, columns: NDArray[np.intp] | None = None
    ) -> Iterator[Block]:
        """Yield the shard's rows in order, at most ``size`` a block."""
        first = self.n_rows * shard // self.n_shards
        last = self.n_rows * (shard + 1) // self.n_shards
        for start in range(first, last, size):
            rows = slice(start, min(start + size, last))
            if isinstance(self.weights, np.ndarray):
                weights = self.weights[rows] if columns is None else self.weights[rows, columns]
            else:
                weights = self.weights.block(rows, columns)
            yield Block(
                np.asarray(self.x[rows], dtype=np.float64),
                np.asarray(self.sign[rows], dtype=np.float64),
                np.asarray(weights, dtype=np.float64),
            )

    def reweighted(self, weights: ArrayLike | WeightColumns) -> ArrayRows:
        """Return the same rows under other weights; nothing is copied."""
        return replace(self, weights=_weight_columns(weights, self.n_rows))

    def covariates(self) -> Block:
        """Return all rows as one block, without their weights: for small data."""
        return Block(
            np.asarray(self.x, dtype=np.float64),
            np.asarray(self.sign, dtype=np.float64),
            np.zeros((0, 1)),
        )

    def thinned(self, step: int) -> ArrayRows:
        """Return every ``step``-th row, as views where weights are an array."""
        if not isinstance(self.weights, np.ndarray):
            weights = self.weights.block(slice(0, None, step), None)
        else:
            weights = self.weights[::step]
        return ArrayRows(self.x[::step], self.sign[::step], weights)


class ParquetRows:
    """Rows of a Parquet file, read a batch at a time: the file may be larger than memory.

    A row group is a shard, so a file written with row groups of some 100,000 rows is read in
    parallel and in little memory.

    Parameters
    ----------
    path
        The file.
    outcome
        Column of 0/1 (or boolean) outcomes.
    features
        Columns of covariates; by default every column but the outcome and the weights.
    weights
        Name or names of the weight columns; none means weights of one.
    row_groups
        Row groups of the file to read; all by default.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> table = pd.DataFrame({"event": [0, 1, 1], "age": [40.0, 50.0, 60.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/patients.parquet")
    ...     rows = ParquetRows(f"{folder}/patients.parquet", outcome="event")
    >>> rows.n_rows, rows.features
    (3, ('age',))
    """

    def __init__(
        self,
        path: str | Path,
        *,
        outcome: str,
        features: Sequence[str] | None = None,
        weights: str | Sequence[str] | None = None,
        row_groups: Sequence[int] | None = None,
    ) -> None:
        parquet = _pyarrow_parquet()
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"no Parquet file at {self.path}")
        metadata = parquet.read_metadata(self.path)
        names = [metadata.schema.column(i).name for i in range(metadata.num_columns)]
        self.outcome = outcome
        self.weights = (weights,) if isinstance(weights, str) else tuple(weights or ())
        taken = {outcome, *self.weights}
        self.features = tuple(features or (name for name in names if name not in taken))
        missing = [n for n in (outcome, *self.weights, *self.features) if n not in names]
        if missing:
            raise ValueError(
                f"{self.path} has no column {', '.join(map(repr, missing))}; its columns are "
                f"{', '.join(names)}"
            )
        if not self.features:
            raise ValueError(f"{self.path} has no covariates besides {', '.join(sorted(taken))}")
        self.row_groups = tuple(
            range(metadata.num_row_groups) if row_groups is None else row_groups
        )
        self._n_rows = sum(metadata.row_group(i).num_rows for i in self.row_groups)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._n_rows)

    @property
    def n_features(self) -> int:
        """Number of covariates, the intercept not counted."""
        return len(self.features)

    @property
    def n_columns(self) -> int:
        """Number of weight columns."""
        return max(1, len(self.weights))

    @property
    def n_shards(self) -> int:
        """Number of row groups."""
        return len(self.row_groups)

    def blocks(
        self, shard: int, size: int, columns: NDArray[np.intp] | None = None
    ) -> Iterator[Block]:
        """Yield the row group's rows in order, at most ``size`` a block."""
        # Each call opens the file for itself: a reader may not be shared between threads. Batches
        # of many blocks spare the reader's overhead; pre_buffer would hold the whole row group.
        wanted = range(self.n_columns) if columns is None else columns
        with _pyarrow_parquet().ParquetFile(self.path, pre_buffer=False) as file:
            for batch in file.iter_batches(
                batch_size=max(size, BLOCK_NUMBERS),
                row_groups=[self.row_groups[shard]],
                columns=[*self.features, self.outcome, *self.weights],
                use_threads=False,
            ):
                x = np.stack([self._column(batch, name) for name in self.features], axis=1)
                outcome = self._column(batch, self.outcome)
                if not ((outcome == 0) | (outcome == 1)).all():
                    raise ValueError(
                        f"column {self.outcome!r} of {self.path} must hold 0 and 1 only, got "
                        f"{outcome[(outcome != 0) & (outcome != 1)][0]}"
                    )
                w = np.ones((batch.num_rows, len(wanted)))
                if self.weights:
                    for place, k in enumerate(wanted):
                        w[:, place] = self._column(batch, self.weights[k])
                for start in range(0, batch.num_rows, size):
                    rows = slice(start, start + size)
                    yield Block(x[rows], 2 * outcome[rows] - 1, w[rows])

    def _column(self, batch: Any, name: str) -> Floats:
        column = batch.column(name)
        if column.null_count:
            raise ValueError(
                f"column {name!r} of {self.path} has missing values; drop or impute them first"
            )
        try:
            return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"column {name!r} of {self.path} must be numeric, got type {column.type}"
            ) from None

    def thinned(self, step: int) -> ParquetRows:
        """Return about every ``step``-th row group (at least one)."""
        return ParquetRows(
            self.path,
            outcome=self.outcome,
            features=self.features,
            weights=self.weights,
            row_groups=self.row_groups[::step],
        )


def _pyarrow_parquet() -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ImportError(
            "reading Parquet files needs pyarrow: pip install 'tailoredbayes[parquet]'"
        ) from None
    return parquet


def real_matrix(x: ArrayLike) -> NDArray[Any]:
    matrix = np.asarray(x)
    if matrix.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional (rows x features), got shape {matrix.shape}; reshape a "
            "single feature with X.reshape(-1, 1)"
        )
    if matrix.dtype.kind not in "buif":
        try:
            if matrix.dtype.kind != "O":  # NumPy would read text, dates and complex numbers, too
                raise TypeError
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"X must hold numbers, got dtype {matrix.dtype}; encode categories first"
            ) from None
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise ValueError(f"X must have at least one row and one feature, got shape {matrix.shape}")
    return matrix


def _weight_columns(
    weights: ArrayLike | WeightColumns | None, n_rows: int
) -> Floats | WeightColumns:
    if weights is None:
        # One row seen n times: no memory.
        return np.broadcast_to(np.ones((1, 1)), (n_rows, 1))
    if not isinstance(weights, np.ndarray) and hasattr(weights, "block"):
        columns: Floats | WeightColumns = weights  # type: ignore[assignment]  # a WeightColumns
    else:
        try:
            columns = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"weights must hold numbers, one a row: {error}") from None
        if columns.ndim == 1:
            columns = columns[:, None]
    if len(columns.shape) != 2 or columns.shape[0] != n_rows or columns.shape[1] == 0:
        raise ValueError(
            f"weights must have shape ({n_rows},) or ({n_rows}, columns), got {columns.shape}"
        )
    return columns


def block_rows(numbers_per_row: int, numbers: int = BLOCK_NUMBERS) -> int:
    """Return how many rows make ``numbers`` numbers when a row makes ``numbers_per_row``."""
    return max(16, numbers // max(1, numbers_per_row))


def available_threads() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


class _OneBlasThread:
    """Keep BLAS to one thread while any pass is under way, in whichever thread it runs.

    A plain limit would be lost when two passes overlap: the first to end would restore the limit
    that the second had seen. And threadpoolctl (from 3.7 on) ignores, without a word, whoever lifts
    a limit in another thread than the one that set it, so control is taken over first.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._passes = 0
        self._limit: Any = None
        self._set_by = 0

    def __enter__(self) -> None:
        with self._lock:
            self._passes += 1
            if self._passes == 1:
                self._limit = _blas().limit(limits=1, user_api="blas")
                self._set_by = get_ident()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._passes -= 1
            if self._passes == 0:
                if self._set_by != get_ident():
                    self._give_up_control(force=True)
                self._limit.restore_original_limits()
                self._give_up_control()

    @staticmethod
    def _give_up_control(**force: bool) -> None:
        for library in _blas().lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(**force)


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    # Looking up the loaded BLAS libraries takes milliseconds: once is enough.
    return ThreadpoolController()


one_blas_thread = _OneBlasThread()


class Scratch(local):
    """Arrays that a thread uses again from block to block, by name.

    The C allocator may ask the kernel for fresh pages for each temporary array of a block, which
    cost up to seven times the arithmetic when measured. What is handed out holds old numbers.
    """

    def __init__(self) -> None:
        self._held: dict[str, Floats] = {}

    def __call__(self, name: str, *shape: int) -> Floats:
        """Return the array of that name, in that shape."""
        numbers = prod(shape)
        held = self._held.get(name)
        if held is None or held.size < numbers:
            held = self._held[name] = np.empty(numbers)
        return held[:numbers].reshape(shape)


scratch = Scratch()


def sum_over_rows(
    rows: RowSource,
    function: Callable[[Block], tuple[Floats, ...]],
    *,
    size: int,
    columns: NDArray[np.intp] | None = None,
    threads: int | None = None,
    cost_per_row: int = 1,
    combine: Sequence[Callable[[Floats, Floats], Floats]] | None = None,
) -> tuple[Floats, ...]:
    """Map ``function`` over the blocks of ``rows`` and add up what it gives.

    The blocks of a shard are added in order, then the shards in order: the answer is the same to
    the bit for any number of threads. BLAS runs on one thread meanwhile, as the blocks are what
    is shared out.

    Parameters
    ----------
    function
        Takes a :class:`Block`, returns a tuple of arrays whose shapes are the same for every block.
    size
        Most rows in a block.
    columns
        Weight columns wanted; all by default.
    threads
        Most threads to use; by default the cores of this process. Small sums stay on one.
    cost_per_row
        Elementary operations a row takes, roughly: decides whether threads pay.
    combine
        For each array of the tuple, how two partial results become one; by default, addition.
    """

    def join(a: tuple[Floats, ...], b: tuple[Floats, ...]) -> tuple[Floats, ...]:
        if combine is None:
            return tuple(map(np.add, a, b))
        return tuple(f(p, q) for f, p, q in zip(combine, a, b, strict=True))

    def shard_sum(shard: int) -> tuple[Floats, ...]:
        total: tuple[Floats, ...] | None = None
        for block in rows.blocks(shard, size, columns):
            part = function(block)
            total = part if total is None else join(total, part)
        if total is None:
            raise ValueError("a source of rows handed out an empty shard")
        return total

    workers = min(available_threads() if threads is None else threads, rows.n_shards)
    if rows.n_rows * cost_per_row < WORTH_THREADS:
        workers = 1
    with one_blas_thread:
        if workers <= 1:
            parts = [shard_sum(shard) for shard in range(rows.n_shards)]
        else:
            with ThreadPoolExecutor(workers) as pool:
                parts = list(pool.map(shard_sum, range(rows.n_shards)))
    # Neighbours pairwise: less rounding than one long chain.
    while len(parts) > 1:
        halves = [join(parts[i], parts[i + 1]) for i in range(0, len(parts) - 1, 2)]
        parts = halves + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]


@dataclass(frozen=True)
class RowSummary:
    """What one pass tells about the covariates and outcomes of a source.

    ``mean``, ``sd``, ``low`` and ``high`` are per covariate.
    """

    n_rows: int
    events: int
    mean: Floats
    sd: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class WeightSummary:
    """What one pass tells about weight columns, an entry a column.

    Sum of the weights (ESS_T), of those of the events, rows and events of positive weight.
    """

    weight: Floats
    events_weight: Floats
    rows_used: Floats
    events_used: Floats


# Squares of larger numbers, times a few million rows, leave the range of a double.
_LARGEST = 1e140


# Numbers in a row that a reduction down the columns runs along at full speed.
_WIDE = 1024


def _down(reduce: Callable[..., Floats], x: Floats) -> Floats:
    """Return ``reduce(x, axis=0)``: a few wide rows go down faster than many narrow ones."""
    n, d = x.shape
    tall = max(1, _WIDE // d)
    wide = n // tall
    if tall == 1 or wide < 2 or not x.flags.c_contiguous:
        return np.asarray(reduce(x, axis=0))
    head = reduce(x[: wide * tall].reshape(wide, tall * d), axis=0).reshape(tall, d)
    return np.asarray(reduce(np.concatenate([head, x[wide * tall :]]), axis=0))


def summarise_rows(rows: RowSource, threads: int | None = None) -> RowSummary:
    """Pass over the rows once; refuse values that no posterior could be made of."""

    def sums(block: Block) -> tuple[Floats, ...]:
        x = block.x
        one = np.ones(x.shape[0])
        # Lows are kept negated, so that maxima serve for both; NaN is carried along.
        events = np.asarray((block.sign > 0).sum(), dtype=np.float64)
        return -_down(np.min, x), _down(np.max, x), one @ x, one @ (x * x), events

    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is named below
        low, high, x1, x2, events = sum_over_rows(
            rows,
            sums,
            size=block_rows(rows.n_features, 4 * BLOCK_NUMBERS),
            columns=np.zeros(0, dtype=np.intp),
            threads=threads,
            cost_per_row=8 * rows.n_features,
            combine=(np.maximum,) * 2 + (np.add,) * 3,
        )
    low = -low
    _refuse(~(np.abs(low) < _LARGEST) | ~(np.abs(high) < _LARGEST), low, high)
    n = rows.n_rows
    if events in (0, n):
        raise ValueError(
            f"y must hold both classes, got {'no events' if events == 0 else 'events only'} in "
            f"{n} row{'s' if n > 1 else ''}"
        )
    mean = x1 / n
    sd = np.sqrt(np.maximum(x2 / n - mean * mean, 0.0))
    return RowSummary(n_rows=n, events=int(events), mean=mean, sd=sd, low=low, high=high)


def summarise_weights(rows: RowSource, threads: int | None = None) -> WeightSummary:
    """Pass over the weights once; refuse what cannot weigh."""

    def sums(block: Block) -> tuple[Floats, ...]:
        w = block.weights
        one, event, used = np.ones(len(w)), 0.5 * (block.sign + 1), np.asarray(w > 0, float)
        return -w.min(axis=0), one @ w, event @ w, one @ used, event @ used

    lowest, weight, events_weight, used, events_used = sum_over_rows(
        rows,
        sums,
        size=block_rows(rows.n_columns, 4 * BLOCK_NUMBERS),
        threads=threads,
        cost_per_row=8 * rows.n_columns,
        combine=(np.maximum,) + (np.add,) * 4,
    )
    if not np.isfinite(weight).all() or (lowest > 0).any():
        finite = np.isfinite(weight).all()
        found = f"{float(-lowest.max()):g}" if finite else "NaN or infinity"
        raise ValueError(f"weights must be finite and not negative, got {found}")
    if not (weight > 0).all():
        which = "" if len(weight) == 1 else f" in column {int(np.argmin(weight > 0))}"
        raise ValueError(f"weights must not all be zero{which}; is the discount far too large?")
    return WeightSummary(weight, events_weight, used, events_used)


def _refuse(bad: NDArray[np.bool_], low: Floats, high: Floats) -> None:
    if not bad.any():
        return
    j = int(np.argmax(bad))
    if np.isnan(low[j]) or np.isnan(high[j]):
        found = "NaN"
    elif np.isinf(low[j]) or np.isinf(high[j]):
        found = "infinity"
    else:
        found = f"{max(-low[j], high[j]):.3g}, too large to square"
    raise ValueError(f"X must be finite, got {found} in column {j}; drop or impute such rows first")
