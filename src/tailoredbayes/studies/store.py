"""Where a study's results are kept as they come: one SQLite file.

A cell is one row, written in one transaction with the run's tally: it is there whole or not at
all, once or not at all, whenever the process ends. One process at a time holds the file (SQLite's
exclusive lock, which the system takes back from a process that was killed).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tailoredbayes.studies.contract import Coordinates, Results, Run, Study, write_coordinates

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Columns", "Store", "StudyError", "read_results"]

Columns = Mapping[str, Mapping[str, list[Any]]]
"""Table -> column -> values, as JSON holds them."""

_FORMAT = 1
_SCHEMA = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE run (run INTEGER PRIMARY KEY, started TEXT, seconds REAL, cells INTEGER, "
    "workers INTEGER, backend TEXT, versions TEXT)",
    "CREATE TABLE cell (coordinates TEXT PRIMARY KEY, run INTEGER REFERENCES run, seconds REAL, "
    "tables TEXT)",
)


class StudyError(RuntimeError):
    """A study that cannot go on; the message says why and what to do."""


class Store:
    """The results of one study under one set of settings, open to be added to.

    Parameters
    ----------
    path
        The file; made, with its folder, where there is none.
    study, settings
        Whose results these are.
    version
        Of the code that makes them.
    force
        Whether to throw away what is there.
    """

    def __init__(
        self, path: Path, study: Study, settings: Any, version: str, *, force: bool = False
    ) -> None:
        self.path, self._study, self._settings = path, study, settings
        self._run = 0
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = _connect(path)
        try:
            with _told(path):
                # In this mode SQLite takes its locks once and keeps them.
                self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._db.execute("PRAGMA journal_mode = WAL")
                with self._transaction():
                    self._begin(version, force)
            self._compare(version)
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> Self:
        """Return the store, open and locked."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the file back."""
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN EXCLUSIVE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _begin(self, version: str, force: bool) -> None:
        known = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master")}
        if known and not known >= {"about", "run", "cell"}:
            raise StudyError(
                f"{self.path} is a database of something else; give another folder with --out"
            )
        if force:
            for name in ("cell", "run", "about"):
                self._db.execute(f"DROP TABLE IF EXISTS {name}")
        if force or not known:
            for statement in _SCHEMA:
                self._db.execute(statement)
            self._db.executemany("INSERT INTO about VALUES (?, ?)", self._facts(version).items())

    def _facts(self, version: str) -> dict[str, str]:
        return {
            "format": json.dumps(_FORMAT),
            "study": json.dumps(self._study.name),
            "version": json.dumps(version),
            "settings": json.dumps(asdict(self._settings)),
        }

    def _compare(self, version: str) -> None:
        """Refuse results that other settings or another version made."""
        there = {key: json.loads(value) for key, value in self._db.execute("SELECT * FROM about")}
        here = {key: json.loads(value) for key, value in self._facts(version).items()}
        differ = [
            f"{name} {_short(there.get(name))} (now {_short(here[name])})"
            for name in ("format", "study", "version")
            if there.get(name) != here[name]
        ]
        before, now = there.get("settings", {}), here["settings"]
        differ += [
            f"--{name.replace('_', '-')} {_short(before.get(name))} (now {_short(now.get(name))})"
            for name in dict.fromkeys([*now, *before])
            if before.get(name) != now.get(name)
        ]
        if differ:
            raise StudyError(
                f"{self.path} holds results of {'; '.join(differ)}. Repeat those settings to go "
                "on, give another folder with --out, or start anew with --force"
            )

    def done(self) -> set[str]:
        """Return the coordinates, as text, of the cells that are there."""
        with _told(self.path):
            return {key for (key,) in self._db.execute("SELECT coordinates FROM cell")}

    def begin_run(self, run: Run) -> None:
        """Note that a run begins: cells added from now on are its."""
        with _told(self.path), self._transaction():
            cursor = self._db.execute(
                "INSERT INTO run (started, seconds, cells, workers, backend, versions) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    *(run.started, run.seconds, run.cells, run.workers, run.backend),
                    json.dumps(dict(run.versions)),
                ),
            )
            self._run = int(cursor.lastrowid or 0)

    def add(self, at: Coordinates, tables: Columns, seconds: float, so_far: float) -> None:
        """Keep one cell: its processor time ``seconds``; ``so_far`` is the run's wall time."""
        with _told(self.path), self._transaction():
            self._db.execute(
                "INSERT INTO cell VALUES (?, ?, ?, ?)",
                (write_coordinates(at), self._run, seconds, json.dumps(tables)),
            )
            self._db.execute(
                "UPDATE run SET seconds = ?, cells = cells + 1 WHERE run = ?", (so_far, self._run)
            )

    def results(self) -> Results:
        """Return what is there, cells in the study's order."""
        with _told(self.path):
            return _results(self._db, self._study, self._settings)


def read_results(path: Path, study: Study) -> Results:
    """Return the results in a file, whatever their settings."""
    if not path.is_file():
        raise StudyError(
            f"there are no results of {study.name} at {path}; run `tailoredbayes study run "
            f"{study.name}` first, or give their folder with --out"
        )
    with _told(path), closing(_connect(path)) as db:
        (found,) = db.execute("SELECT value FROM about WHERE key = 'settings'").fetchone()
        try:
            settings = study.settings(
                **{
                    name: tuple(value) if isinstance(value, list) else value
                    for name, value in json.loads(found).items()
                }
            )
        except TypeError as error:
            raise StudyError(
                f"{path} was written by another version, with other settings ({error}); run the "
                "study again with --force"
            ) from error
        return _results(db, study, settings)


def _connect(path: Path) -> sqlite3.Connection:
    # Half a second is longer than a reader takes; a writer keeps the file for good.
    return sqlite3.connect(path, timeout=0.5, isolation_level=None)


def _results(db: sqlite3.Connection, study: Study, settings: Any) -> Results:
    kept = dict(db.execute("SELECT coordinates, tables FROM cell"))
    runs = [
        Run(started, seconds, cells, workers, backend, json.loads(versions))
        for started, seconds, cells, workers, backend, versions in db.execute(
            "SELECT started, seconds, cells, workers, backend, versions FROM run "
            "WHERE cells > 0 ORDER BY run"
        )
    ]
    wanted = list(study.cells(settings))
    there = [
        (at, json.loads(kept[key]))
        for key, at in zip(map(write_coordinates, wanted), wanted, strict=True)
        if key in kept
    ]
    missing = len(wanted) - len(there)
    (processor,) = db.execute("SELECT TOTAL(seconds) FROM cell").fetchone()
    return Results(study.name, settings, _frames(there), runs, len(there), processor, missing)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what the system says about the file into what to do about it."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StudyError(_advice(path, error)) from error


def _advice(path: Path, error: Exception) -> str:
    said = str(error)
    if "locked" in said:
        return f"another process is writing to {path}; let it finish, or give another --out"
    if "full" in said or getattr(error, "errno", None) == 28:
        return (
            f"the disk that holds {path} is full; the cells finished so far are kept: free some "
            "space and run the same command again"
        )
    if "not a database" in said or "malformed" in said:
        return (
            f"{path} is not the results of a study, or is damaged ({said}); move it away and run "
            "again"
        )
    return f"cannot write {path} ({said}); make the folder writable or give another with --out"


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)


def _frames(there: list[tuple[Coordinates, Columns]]) -> dict[str, pd.DataFrame]:
    """Put the cells' tables together, each row behind its cell's coordinates."""
    import pandas as pd

    columns: dict[str, dict[str, list[Any]]] = {}
    for at, tables in there:
        for name, table in tables.items():
            rows = len(next(iter(table.values()), []))
            cell = {**{key: [value] * rows for key, value in at.items()}, **table}
            whole = columns.setdefault(name, {})
            length = len(next(iter(whole.values()), []))
            for key in {**whole, **cell}:
                whole.setdefault(key, [None] * length).extend(cell.get(key, [None] * rows))
    return {name: pd.DataFrame(table) for name, table in columns.items()}
