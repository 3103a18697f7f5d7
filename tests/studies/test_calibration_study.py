from dataclasses import replace

import numpy as np
import pytest

from tailoredbayes.datasets import load_breast_prognosis
from tailoredbayes.estimators import TailoredLogisticRegression
from tailoredbayes.evaluation.miscalibration import MISCALIBRATIONS, miscalibrate
from tailoredbayes.fitting import Settings, Training, stage_1
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.studies.calibration import STUDY, CalibrationSettings
from tailoredbayes.studies.cohorts import fit_quietly
from tailoredbayes.studies.contract import stream
from tailoredbayes.studies.runner import run_study

TINY = CalibrationSettings(thresholds=(0.2, 0.4), splits=2, draws=200)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibration")
    return run_study(STUDY, TINY, folder=folder, n_jobs=1, verbose=0)


def test_every_miscalibration_is_compared_with_the_calibrated_fit(results):
    table = results["difference"]
    assert set(map(tuple, table[["kind", "degree"]].to_numpy())) == set(MISCALIBRATIONS)
    assert len(table) == 2 * 8 * 2
    # One and the same calibrated fit in a split.
    assert (table.groupby(["split", "threshold"])["net_benefit"].nunique() == 1).all()


def test_one_cell_equals_the_plain_computation(results):
    """Split 0, severely overestimated, t = 0.4: stage 1 and stage 2 by the estimator."""
    women, t, at = load_breast_prognosis(), 0.4, {"split": 0}
    rows = results["reference"]
    assert len(rows) == round(0.8 * len(women.y))
    risk, event = rows["risk"].to_numpy(), rows["event"].to_numpy()
    x = women.X.to_numpy()
    reference = stage_1(
        Training(x, women.y == 1), Settings(design=0.2), stream(TINY.seed, at),
        TailoredPosterior(x, women.y == 1),
    )  # fmt: skip
    used = reference.development
    np.testing.assert_array_equal(women.y[used], event)
    np.testing.assert_allclose(reference.risk[used], risk)
    model = TailoredLogisticRegression(
        t, selection="max", draws=200, random_state=stream(TINY.seed, at)
    )
    bent = miscalibrate(risk, "overestimation", "severe")
    fit_quietly(model, x[used], women.y[used], reference_risk=bent)
    treat = model.predict_proba(women.X_test.to_numpy())[:, 1] >= t
    gain = np.where(women.y_test == 1, 1, -t / (1 - t))
    table = results["difference"].set_index(["split", "kind", "degree", "threshold"])
    found = table.loc[(0, "overestimation", "severe", t), "other"]
    assert found == pytest.approx((treat * gain).mean(), abs=1e-12)


def test_the_study_shows_what_it_says_it_shows(results):
    found = list(STUDY.exhibits(results))
    assert {one.shows for one in found} - {""} == set(STUDY.shows)
    assert len(list(STUDY.claims(results))) == 4
    grid = next(one for one in found if one.shows == "Figure S11").table
    assert set(grid["line"]) == {"mild", "severe"}
    assert grid["panel"].nunique() == 4


def test_settings_are_checked():
    with pytest.raises(ValueError, match="features must be some of raw, log"):
        replace(TINY, features="sqrt")
    with pytest.raises(ValueError, match="pivot must"):
        replace(TINY, pivot=1.0)
