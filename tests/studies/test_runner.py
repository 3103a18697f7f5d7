import io
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import coin
import pandas as pd
import pytest

from tailoredbayes.studies.contract import stream
from tailoredbayes.studies.runner import load_results, run_study
from tailoredbayes.studies.store import StudyError

SETTINGS = coin.CoinSettings(repetitions=5)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return run_study(coin.STUDY, folder=tmp_path_factory.mktemp("study"), n_jobs=1, verbose=0)


def same(found, expected):
    assert list(found.tables) == list(expected.tables)
    for name, table in expected.tables.items():
        pd.testing.assert_frame_equal(found[name], table, check_exact=True)


def test_every_cell_runs_once(undisturbed):
    assert len(undisturbed["share"]) == undisturbed.cells == 40
    assert len(undisturbed["tosses"]) == 120
    assert not undisturbed["share"].duplicated(["n", "repetition"]).any()


def test_two_processes_find_the_same(undisturbed, tmp_path):
    same(run_study(coin.STUDY, folder=tmp_path, n_jobs=2, verbose=0), undisturbed)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_dask_cluster_finds_the_same(undisturbed, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address=None,
    ) as cluster:
        found = run_study(
            coin.STUDY,
            folder=tmp_path,
            backend="dask",
            scheduler=cluster.scheduler_address,
            verbose=0,
        )
    same(found, undisturbed)
    assert [(run.backend, run.workers) for run in found.runs] == [("dask", 2)]


def test_what_is_there_does_not_run_again(undisturbed, tmp_path):
    first = run_study(coin.STUDY, SETTINGS, folder=tmp_path, n_jobs=1, verbose=0)
    again = run_study(coin.STUDY, SETTINGS, folder=tmp_path, n_jobs=1, verbose=0)
    same(again, first)
    assert len(again.runs) == 1
    same(load_results(coin.STUDY, tmp_path), first)


def test_a_cell_depends_on_its_own_coordinates_alone(undisturbed, tmp_path):
    few = run_study(coin.STUDY, SETTINGS, folder=tmp_path, n_jobs=1, verbose=0)["share"]
    both = undisturbed["share"].merge(few, on=["n", "repetition"])
    assert len(both) == len(few)
    assert (both["share_x"] == both["share_y"]).all()


def test_a_stream_knows_its_seed_and_coordinates():
    draws = {
        stream(seed, {"n": n, "repetition": r}).random()
        for seed in (1, 2)
        for n in (1, 2)
        for r in (1, 2)
    }
    assert len(draws) == 8


def test_a_failing_cell_is_named_and_the_others_are_kept(tmp_path):
    failing = coin.CoinSettings(n=(10,), repetitions=3, fails=True)
    with pytest.raises(StudyError, match=r"n = 10, repetition = 1 failed: ZeroDivisionError"):
        run_study(coin.STUDY, failing, folder=tmp_path, n_jobs=1, verbose=0)
    assert load_results(coin.STUDY, tmp_path).cells >= 1


def test_a_log_gets_plain_lines(tmp_path):
    log = io.StringIO()
    run_study(coin.STUDY, SETTINGS, folder=tmp_path, n_jobs=1, log=log)
    assert log.getvalue().startswith("coin: 10 of 10 cells, 0 s, about 0 s left\n")


def test_a_terminal_gets_a_bar(tmp_path):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    log = Terminal()
    run_study(coin.STUDY, SETTINGS, folder=tmp_path, n_jobs=1, log=log)
    assert "10/10" in log.getvalue()
    assert "about" not in log.getvalue()


def test_arguments_are_checked(tmp_path):
    @dataclass(frozen=True)
    class Other:
        seed: int = 1

    with pytest.raises(TypeError, match="settings must be a CoinSettings, got Other"):
        run_study(coin.STUDY, Other(), folder=tmp_path)
    with pytest.raises(ValueError, match="backend must be one of processes, dask, got 'slurm'"):
        run_study(coin.STUDY, folder=tmp_path, backend="slurm")


def start(folder, n_jobs):
    """A run of the study in a process of its own, that has begun."""
    command = [sys.executable, coin.__file__, str(folder), str(n_jobs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout.readline() == b"begun\n"
    return process


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_at_any_moment_it_goes_on_where_it_was(undisturbed, tmp_path, n_jobs):
    """SIGKILL while the file is made, and after some cells and a moment, at random."""
    moments = random.Random(7)
    kept = 0
    for kill in range(5):
        process = start(tmp_path, n_jobs)
        wanted = moments.randrange(1, 8) if kill > 1 else 0
        for _ in range(wanted):
            kept += process.stdout.readline() == b"kept\n"
        time.sleep(moments.uniform(0.0, 0.02))
        os.killpg(process.pid, signal.SIGKILL)
        rest, _ = process.communicate()
        kept += rest.count(b"kept")
    process = start(tmp_path, n_jobs)
    process.communicate(timeout=60)
    assert process.returncode == 0
    found = load_results(coin.STUDY, tmp_path)
    assert len(found.runs) > 2  # cells of runs that were killed are there
    assert sum(run.cells for run in found.runs[:-1]) >= kept > 0
    assert sum(run.cells for run in found.runs) == found.cells == 40
    same(found, undisturbed)
