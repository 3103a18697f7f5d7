"""Run a study: its missing cells, in any number of processes or on a cluster, kept as they end."""

from __future__ import annotations

import platform
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, is_dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from tailoredbayes.progress import progress_bar
from tailoredbayes.studies.contract import Coordinates, Results, Run, Study, write_coordinates
from tailoredbayes.studies.store import Columns, Store, StudyError, read_results

__all__ = ["BACKENDS", "load_results", "results_path", "run_study"]

BACKENDS = ("processes", "dask")
_NAMED = ("numpy", "scipy", "scikit-learn", "pandas")
# A log gets a line this often, in seconds.
_LINE_EVERY = 10.0


def run_study(
    study: Study,
    settings: Any = None,
    *,
    folder: str | Path = "studies",
    n_jobs: int = -1,
    backend: str = "processes",
    scheduler: str | None = None,
    force: bool = False,
    verbose: int = 1,
    log: TextIO | None = None,
) -> Results:
    """Run the cells of a study that are not there yet, and return all results.

    Parameters
    ----------
    study
        What to run.
    settings
        An instance of the study's settings; its defaults if None.
    folder
        Where the results are kept, in ``<name>.sqlite``.
    n_jobs
        Processes; -1 for one a core. The results do not depend on it.
    backend
        "processes" on this machine, or "dask".
    scheduler
        Address of a Dask scheduler, such as "tcp://10.0.0.1:8786"; a cluster of ``n_jobs``
        processes on this machine if None.
    force
        Whether to start anew.
    verbose
        0 for silence; else a progress bar on a terminal and plain lines in a log.
    log
        Where progress is told, standard error by default.

    Raises
    ------
    StudyError
        When results cannot be written, or those there have other settings; when a cell fails.
    """
    began = time.perf_counter()
    settings = study.settings() if settings is None else settings
    if not is_dataclass(settings) or not isinstance(settings, study.settings):
        raise TypeError(
            f"settings must be a {study.settings.__name__}, got {type(settings).__name__}; "
            "None takes the defaults"
        )
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    path = results_path(study, folder)
    with Store(path, study, settings, _own_version(), force=force) as store:
        done = store.done()
        missing = [at for at in study.cells(settings) if write_coordinates(at) not in done]
        if missing:
            with ExitStack() as stack:
                crew = stack.enter_context(_crew(backend, n_jobs, scheduler))
                told = stack.enter_context(_progress(study.name, len(missing), verbose, log))
                store.begin_run(Run(_now(), 0.0, 0, crew.workers, backend, _versions()))
                work = partial(_work, study.cell, settings)
                for at, tables, took in stack.enter_context(_closing(crew.run(work, missing))):
                    store.add(at, tables, took, time.perf_counter() - began)
                    told()
        return store.results()


def load_results(study: Study, folder: str | Path = "studies") -> Results:
    """Return the results in a folder, whatever their settings."""
    return read_results(results_path(study, folder), study)


def results_path(study: Study, folder: str | Path) -> Path:
    """Return the file that holds a study's results."""
    return Path(folder) / f"{study.name}.sqlite"


# --- Who does the work ------------------------------------------------------------------------

Found: TypeAlias = tuple[Coordinates, Columns, float]
"""A cell's coordinates, its tables and the seconds of processor time it took."""
Work: TypeAlias = Callable[[Coordinates], Found]


@dataclass(frozen=True)
class _Crew:
    """Workers, and how to have them do some work: results come as they end, in any order."""

    workers: int
    run: Callable[[Work, Sequence[Coordinates]], Generator[Found]]


@contextmanager
def _crew(backend: str, n_jobs: int, scheduler: str | None) -> Iterator[_Crew]:
    if backend == "processes":
        yield _Crew(effective_n_jobs(n_jobs), partial(_by_processes, n_jobs))
        return
    with _dask_client(n_jobs, scheduler) as client:
        yield _Crew(sum(client.nthreads().values()), partial(_by_dask, client))


@contextmanager
def _closing(found: Generator[Found]) -> Iterator[Generator[Found]]:
    """Call the work off when the run ends early; that joblib says so is no news."""
    try:
        yield found
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "[0-9]+ tasks which were still", UserWarning)
            found.close()


def _by_processes(n_jobs: int, work: Work, cells: Sequence[Coordinates]) -> Generator[Found]:
    # One cell at a time: a cell that has ended is kept, and not held back by its neighbours.
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(work)(at) for at in cells)


def _by_dask(client: Any, work: Work, cells: Sequence[Coordinates]) -> Generator[Found]:
    from distributed import as_completed

    # Not pure: a cell is done once, and its name on the cluster is its own.
    for future in as_completed(client.map(work, cells, pure=False), loop=client.loop):
        yield future.result()


@contextmanager
def _dask_client(n_jobs: int, scheduler: str | None) -> Iterator[Any]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise StudyError(
            "the backend dask needs the package distributed: pip install 'tailoredbayes[dask]'"
        ) from None
    with ExitStack() as stack:
        address: Any = scheduler
        if scheduler is None:
            address = stack.enter_context(
                LocalCluster(
                    n_workers=n_jobs if n_jobs > 0 else None,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address=None,
                )
            )
        try:
            client = stack.enter_context(Client(address, timeout="10s", set_as_default=False))
        except (OSError, ValueError) as error:
            raise StudyError(
                f"there is no Dask scheduler at {scheduler} ({error}); start one with `dask "
                "scheduler`, or leave --scheduler out for a cluster on this machine"
            ) from error
        yield client


def _work(cell: Callable[[Any, Coordinates], Any], settings: Any, at: Coordinates) -> Found:
    """Run one cell, and say what processor time it took: what a worker does."""
    began = time.process_time()
    try:
        tables = cell(settings, at)
    except Exception as error:
        where = ", ".join(f"{name} = {value}" for name, value in at.items())
        raise StudyError(
            f"the cell {where} failed: {type(error).__name__}: {error}; the cells that ended "
            "before it are kept"
        ) from error
    columns = {name: _columns(rows) for name, rows in tables.items()}
    return at, columns, time.process_time() - began


def _columns(rows: Any) -> dict[str, list[Any]]:
    """Turn rows, or a frame, into columns of plain numbers and words."""
    if hasattr(rows, "to_dict"):
        return {str(name): column.tolist() for name, column in rows.items()}
    return {name: [_plain(row[name]) for row in rows] for name in (rows[0] if rows else ())}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@contextmanager
def _progress(
    name: str, total: int, verbose: int, log: TextIO | None
) -> Iterator[Callable[[], None]]:
    """Give a function to call when a cell has ended."""
    out = sys.stderr if log is None else log
    began = told = time.perf_counter()
    ended = 0
    plain = bool(verbose) and not out.isatty()
    with progress_bar(verbose, total, out) as step:
        step(name)

        def tell() -> None:
            nonlocal ended, told
            ended += 1
            step(name)
            now = time.perf_counter()
            if plain and (now - told >= _LINE_EVERY or ended == total):
                told = now
                left = (now - began) / ended * (total - ended)
                print(
                    f"{name}: {ended} of {total} cells, {now - began:.0f} s, "
                    f"about {left:.0f} s left",
                    file=out,
                    flush=True,
                )

        yield tell


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions() -> dict[str, str]:
    """Return the versions of what the numbers depend on."""
    found = {"tailoredbayes": _own_version(), "python": platform.python_version()}
    return {**found, **{name: version(name) for name in _NAMED}}


def _own_version() -> str:
    return str(sys.modules["tailoredbayes"].__version__)
