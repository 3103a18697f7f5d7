import sys
from dataclasses import replace

import numpy as np
import pytest

from tailoredbayes.decision import net_benefit
from tailoredbayes.studies.bart import STUDY, BartSettings, bart_risk
from tailoredbayes.studies.contract import stream
from tailoredbayes.studies.generators import Simulation2
from tailoredbayes.studies.runner import run_study
from tailoredbayes.studies.store import StudyError

TINY = BartSettings(
    n=(200,), thresholds=(0.3, 0.7), repetitions=2, prevalence=(0.1, 0.5), test_rows=500,
    trees=20, bart_draws=40, burn_in=20, design=("crossfit",), selection=("smooth",),
)  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    pytest.importorskip("stochtree")
    return run_study(STUDY, TINY, folder=tmp_path_factory.mktemp("bart"), n_jobs=1, verbose=0)


def test_one_cell_equals_the_plain_computation(results):
    at = {"prevalence": 0.5, "n": 200, "repetition": 1}
    simulation = Simulation2(0.5)
    rows, test = stream(TINY.seed, at).spawn(2)
    X, y = simulation.sample(200, rows)
    X_test, y_test = simulation.sample_test(500, test)
    seed = int(stream(TINY.seed, {**at, "for": "bart"}).integers(2**31))
    treat = bart_risk(X, y, X_test, TINY, seed) >= 0.3
    expected = (treat & (y_test == 1)).mean() - (treat & (y_test == 0)).mean() * 0.3 / 0.7
    table = results["net_benefit"].set_index(["prevalence", "repetition", "threshold"])
    assert table.loc[(0.5, 1, 0.3), "bart_test"] == pytest.approx(expected, abs=1e-12)
    oracle = net_benefit(y_test, simulation.risk(X_test), 0.3)
    assert table.loc[(0.5, 1, 0.3), "oracle_test"] == pytest.approx(oracle, abs=1e-12)


def test_no_model_beats_the_oracle(results):
    table = results["net_benefit"]
    assert (table["bart"] <= table["oracle"]).all()
    assert (table["tailored"] <= table["oracle"] + 1e-7).all()


def test_bart_learns_the_curved_risk():
    """Closer to the true risk than the prevalence is, by far."""
    pytest.importorskip("stochtree")
    simulation = Simulation2(0.5)
    X, y = simulation.sample(1000, np.random.default_rng(1))
    X_test, _ = simulation.sample_test(500, np.random.default_rng(2))
    truth = simulation.risk(X_test)
    risk = bart_risk(X, y, X_test, replace(TINY, trees=50, bart_draws=100, burn_in=100), 3)
    assert np.abs(risk - truth).mean() < 0.4 * np.abs(0.5 - truth).mean()
    assert np.corrcoef(risk, truth)[0, 1] > 0.9


def test_the_study_shows_what_it_says_it_shows(results):
    found = list(STUDY.exhibits(results))
    assert {one.shows for one in found} - {""} == set(STUDY.shows)
    assert len(list(STUDY.claims(results))) == 2
    assert "probit" in STUDY.about(results)


def test_without_stochtree_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stochtree", None)
    with pytest.raises(StudyError, match=r"pip install 'tailoredbayes\[bart\]'"):
        run_study(STUDY, TINY, folder=tmp_path, n_jobs=1, verbose=0)
