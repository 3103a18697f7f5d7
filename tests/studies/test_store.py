import os
import sqlite3

import coin
import pytest

from tailoredbayes.studies.contract import Run
from tailoredbayes.studies.store import Store, StudyError, read_results

SETTINGS = coin.CoinSettings(n=(10,), repetitions=3)
RUN = Run("2026-01-01T00:00:00+00:00", 0.0, 0, 1, "processes", {"numpy": "2"})


def store(path, settings=SETTINGS, version="1", **options):
    return Store(path / "coin.sqlite", coin.STUDY, settings, version, **options)


def fill(path, cells=3, **options):
    with store(path, **options) as open_store:
        open_store.begin_run(RUN)
        for at in list(coin.cells(SETTINGS))[:cells]:
            share = {"share": [at["repetition"] / 10]}
            open_store.add(at, {"share": share, "empty": {}}, 0.1, 1.0 + at["repetition"])


def test_cells_come_back_in_their_order_behind_their_coordinates(tmp_path):
    with store(tmp_path) as open_store:
        open_store.begin_run(RUN)
        for at in reversed(list(coin.cells(SETTINGS))):
            open_store.add(at, {"share": {"share": [1.0, float("nan")]}}, 0.1, 1.0)
    found = read_results(tmp_path / "coin.sqlite", coin.STUDY)
    assert list(found["share"].columns) == ["n", "repetition", "share"]
    assert found["share"]["repetition"].tolist() == [0, 0, 1, 1, 2, 2]
    assert found["share"]["share"].isna().tolist() == [False, True] * 3
    assert found.settings == SETTINGS
    assert found.missing == 0


def test_the_run_is_kept_beside_the_cells(tmp_path):
    fill(tmp_path)
    (run,) = read_results(tmp_path / "coin.sqlite", coin.STUDY).runs
    assert (run.seconds, run.cells, run.versions) == (3.0, 3, {"numpy": "2"})
    found = read_results(tmp_path / "coin.sqlite", coin.STUDY)
    assert found.processor_seconds == pytest.approx(0.3)


def test_a_cell_is_kept_once(tmp_path):
    fill(tmp_path, cells=1)
    with store(tmp_path) as open_store, pytest.raises(StudyError):
        open_store.add(next(coin.cells(SETTINGS)), {}, 0.1, 1.0)
    assert read_results(tmp_path / "coin.sqlite", coin.STUDY).cells == 1


def test_missing_cells_are_counted(tmp_path):
    fill(tmp_path, cells=2)
    found = read_results(tmp_path / "coin.sqlite", coin.STUDY)
    assert (found.cells, found.missing) == (2, 1)
    with pytest.raises(KeyError, match="'tosses'; there are share"):
        found["tosses"]


def test_other_settings_are_refused_by_name(tmp_path):
    fill(tmp_path)
    other = coin.CoinSettings(n=(10, 20), repetitions=3)
    with pytest.raises(StudyError, match=r"--n 10 \(now 10,20\)\. Repeat those .* --force"):
        store(tmp_path, other)


def test_another_version_is_refused_and_force_starts_anew(tmp_path):
    fill(tmp_path)
    with pytest.raises(StudyError, match=r"version 1 \(now 2\)"):
        store(tmp_path, version="2")
    with store(tmp_path, version="2", force=True) as open_store:
        assert open_store.done() == set()


def test_two_processes_do_not_write_at_once(tmp_path):
    with store(tmp_path), pytest.raises(StudyError, match="another process is writing"):
        store(tmp_path, force=True)
    with store(tmp_path), pytest.raises(StudyError, match="another process is writing"):
        read_results(tmp_path / "coin.sqlite", coin.STUDY)
    fill(tmp_path)  # given back


def test_what_is_not_ours_is_left_alone(tmp_path):
    path = tmp_path / "coin.sqlite"
    path.write_text("a letter to a friend, quite long, and certainly no database")
    with pytest.raises(StudyError, match="not the results of a study"):
        store(tmp_path, force=True)
    assert path.read_text().startswith("a letter")
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE patient (name TEXT)")
    other.close()
    with pytest.raises(StudyError, match="a database of something else"):
        store(tmp_path, force=True)


def test_results_of_other_fields_ask_for_a_new_run(tmp_path):
    fill(tmp_path)
    with sqlite3.connect(tmp_path / "coin.sqlite") as db:
        db.execute("""UPDATE about SET value = '{"sides": 2}' WHERE key = 'settings'""")
    db.close()
    with pytest.raises(StudyError, match="written by another version"):
        read_results(tmp_path / "coin.sqlite", coin.STUDY)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StudyError, match=r"cannot write .*coin\.sqlite.*--out"):
        store(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_an_unwritable_folder_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StudyError, match="make the folder writable"):
        store(tmp_path)


def test_a_full_disk_keeps_what_is_there(tmp_path):
    fill(tmp_path, cells=1)
    with store(tmp_path) as open_store:
        open_store.begin_run(RUN)
        # SQLite says the same of a file that may not grow and of a disk that cannot hold it.
        pages = open_store._db.execute("PRAGMA page_count").fetchone()[0]
        open_store._db.execute(f"PRAGMA max_page_count = {pages}")
        at = list(coin.cells(SETTINGS))[1]
        with pytest.raises(StudyError, match=r"disk that holds .* is full; the cells finished"):
            open_store.add(at, {"share": {"share": [0.1] * 10_000}}, 0.1, 1.0)
    with store(tmp_path) as open_store:
        assert len(open_store.done()) == 1
