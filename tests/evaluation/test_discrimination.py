"""AUC, Brier and log score against scikit-learn and against pairs counted one by one."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from statistical.yardsticks import critical_z

import tailoredbayes as tb


def sample(n=120, seed=0):
    rng = np.random.default_rng(seed)
    risk = rng.beta(1.5, 3, size=n)
    y = rng.random(n) < risk
    return y, {"a": risk.round(2), "b": (0.5 * risk + 0.5 * rng.random(n)).round(1)}


def frame(y, models, **options):
    return tb.discrimination(y, models, **options).to_frame().set_index(["model", "score"])


def placements(y, risk):
    """For every event the share of non-events below it, and the other way round."""
    order = (risk[y][:, None] > risk[~y]) + 0.5 * (risk[y][:, None] == risk[~y])
    return order.mean(axis=1), order.mean(axis=0)


def test_values_are_those_of_scikit_learn():
    y, models = sample()
    weight = np.random.default_rng(1).exponential(size=len(y))
    found = frame(y, models, sample_weight=weight)["value"]
    for name, risk in models.items():
        inside = np.clip(risk, 1e-15, 1 - 1e-15)
        auc = roc_auc_score(y, risk, sample_weight=weight)
        assert found[name, "auc"] == pytest.approx(auc)
        assert found[name, "brier"] == pytest.approx(
            brier_score_loss(y, risk, sample_weight=weight)
        )
        assert found[name, "log"] == pytest.approx(log_loss(y, inside, sample_weight=weight))


def test_errors_of_the_auc_are_delongs_by_pairs():
    y, models = sample()
    found = frame(y, models)
    differences = tb.discrimination(y, models).differences_frame().set_index("score")
    events, others = zip(*(placements(y, risk) for risk in models.values()), strict=True)
    covariance = np.cov(events) / y.sum() + np.cov(others) / (~y).sum()
    assert found.loc[("a", "auc"), "se"] == pytest.approx(covariance[0, 0] ** 0.5)
    assert found.loc[("b", "auc"), "se"] == pytest.approx(covariance[1, 1] ** 0.5)
    apart = np.array([1, -1]) @ covariance @ [1, -1]
    assert differences.loc["auc", "se"] == pytest.approx(apart**0.5)
    assert differences.loc["auc", "difference"] == pytest.approx(
        found.loc[("a", "auc"), "value"] - found.loc[("b", "auc"), "value"]
    )


def test_brier_errors_are_those_of_means_and_differences_are_paired():
    y, models = sample()
    a, b = ((risk - y) ** 2 for risk in models.values())
    differences = tb.discrimination(y, models).differences_frame().set_index("score").loc["brier"]
    assert frame(y, models).loc[("a", "brier"), "se"] == pytest.approx(
        a.std(ddof=1) / len(y) ** 0.5
    )
    assert differences["difference"] == pytest.approx((a - b).mean())
    assert differences["se"] == pytest.approx((a - b).std(ddof=1) / len(y) ** 0.5)


def test_integer_weights_equal_repeated_rows():
    y, models = sample()
    count = np.random.default_rng(2).integers(0, 4, size=len(y))
    weighted = tb.discrimination(y, models, sample_weight=count)
    repeated = tb.discrimination(
        np.repeat(y, count), {name: np.repeat(risk, count) for name, risk in models.items()}
    )
    pd.testing.assert_frame_equal(weighted.to_frame(), repeated.to_frame())
    pd.testing.assert_frame_equal(weighted.differences_frame(), repeated.differences_frame())


def test_a_model_against_itself_differs_by_nothing():
    y, models = sample()
    found = tb.discrimination(y, {"a": models["a"], "again": models["a"]}).differences_frame()
    assert (found[["difference", "se"]] == 0).all(axis=None)


def test_an_auc_without_overlap_has_no_interval():
    found = frame([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.7]).loc[("model", "auc")]
    assert found["value"] == 1
    assert np.isnan(found[["se", "low", "high"]].to_numpy()).all()


def test_one_event_gives_an_auc_without_an_interval():
    found = frame([0, 1, 0, 0], [0.1, 0.2, 0.6, 0.1]).loc[("model", "auc")]
    assert 0 < found["value"] < 1
    assert np.isnan(found["se"])


def test_a_risk_of_0_for_an_event_has_an_infinite_log_score():
    found = frame([0, 1, 1], [0.1, 0.0, 0.6])
    assert found.loc[("model", "log"), "value"] == np.inf
    assert np.isnan(found.loc[("model", "log"), "se"])
    assert np.isfinite(found.loc[("model", "brier"), "se"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y_true": [1, 1, 1]}, "y_true must hold both events"),
        ({"models": [0.1, 0.2, 1.2]}, "models must lie between 0 and 1"),
        ({"models": [0.1, 0.2, np.nan]}, "got nan at row 2"),
        ({"models": [0.1, 0.2]}, "same length"),
        ({"sample_weight": [0, 0, 0]}, "at least one weight above 0"),
        ({"sample_weight": [1, 0, 1]}, "both events"),
        ({"threshold": 1}, "strictly between 0 and 1"),
        ({"prob": 0}, "prob must be"),
    ],
)
def test_bad_input_is_refused(options, message):
    given = {"y_true": [1, 0, 1], "models": [0.2, 0.3, 0.4], **options}
    with pytest.raises(ValueError, match=message):
        tb.discrimination(given.pop("y_true"), given.pop("models"), **given)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    """2000 samples of 200 rows of a binormal score, AUC 0.76 and 0.64; 1 point of room."""
    sizes, shifts = 200, (1.0, 0.5)
    truth = [norm.cdf(d / np.sqrt(2)) for d in shifts]
    held = []
    for seed in range(2000):
        rng = np.random.default_rng([8, seed])
        y = np.arange(sizes) < 80
        shared = rng.standard_normal(sizes)
        models = {
            str(d): norm.cdf(d * y + 0.8 * shared + 0.6 * rng.standard_normal(sizes))
            for d in shifts
        }
        found = tb.discrimination(y, models)
        pairs = [(found.scores[str(d)]["auc"], a) for d, a in zip(shifts, truth, strict=True)]
        pairs.append((found.differences["1.0", "0.5"]["auc"], truth[0] - truth[1]))
        held.append([e.low <= value <= e.high for e, value in pairs])
    share = np.mean(held, axis=0)
    room = 0.01 + critical_z(len(share)) * np.sqrt(0.95 * 0.05 / 2000)
    assert (np.abs(share - 0.95) < room).all(), share


def test_rows_of_weight_zero_are_not_counted():
    found = tb.discrimination([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8], sample_weight=[1, 2, 0, 1])
    assert (found.n, found.events, found.nonevents) == (3, 3.0, 1.0)
