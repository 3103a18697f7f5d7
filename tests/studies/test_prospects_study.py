"""The study of the verdicts: what a verdict promised beside the gain that came of it."""

import numpy as np
import pytest

import tailoredbayes as tb
from tailoredbayes.studies.contract import stream
from tailoredbayes.studies.generators import Simulation1
from tailoredbayes.studies.page import write_page
from tailoredbayes.studies.prospects import STUDY, VERDICTS, ProspectsSettings, summarise
from tailoredbayes.studies.runner import run_study

TINY = ProspectsSettings(n=(300,), thresholds=(0.3,), real_thresholds=(0.3,), repetitions=1)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prospects")
    return run_study(STUDY, TINY, folder=folder, n_jobs=1, verbose=0)


def test_every_data_set_has_a_verdict(results):
    frame = results["verdict"]
    assert len(frame) == 8 + 3
    assert set(frame["verdict"]) <= set(VERDICTS)
    table = summarise(frame)
    assert table["fits"].sum() == len(frame)
    simulations = {f"simulation {number}" for number in (1, 2, 3)}
    assert set(table["data"]) == {"bundled data", *simulations}


@pytest.mark.filterwarnings("ignore::tailoredbayes.TailoringWarning")
def test_one_cell_equals_the_plain_computation(results):
    at = {"data": "simulation 1, q = 1", "n": 300, "repetition": 0}
    rng = stream(TINY.seed, at)
    simulation = Simulation1(1.0)
    X, y = simulation.sample(300, rng)
    family = tb.TailoredFamily([0.3], draws=1000, random_state=rng).fit(X, y)
    tailored, standard = (
        simulation.linear_net_benefit(float(model.intercept_[0]), model.coef_[0], 0.3)
        for model in (family.models_[0.3], family.standard_)
    )
    frame = results["verdict"]
    (gain,) = frame.loc[frame["data"] == at["data"], "gain"]
    assert gain == pytest.approx(1000 * float(tailored - standard), abs=1e-9)


def test_summaries_count_what_matters(results):
    frame = results["verdict"].assign(gain=0.4, verdict="likely")
    assert (summarise(frame)[["gained", "lost"]] == 0).to_numpy().all()
    assert (summarise(frame.assign(gain=-0.6))["lost"] == 1).all()


def test_the_page_tells_how_often_verdicts_came_true(results, tmp_path):
    text = write_page(STUDY, results, tmp_path).read_text(encoding="utf-8")
    assert all(f"| {name} |" in text for name in summarise(results["verdict"])["data"])
    assert "nan" not in text


def test_settings_are_checked():
    with pytest.raises(ValueError, match="selection must be one of"):
        ProspectsSettings(selection="best")
    with pytest.raises(ValueError, match="repetitions"):
        ProspectsSettings(repetitions=0)
    assert np.isclose(ProspectsSettings().test_share, 1 / 3)
