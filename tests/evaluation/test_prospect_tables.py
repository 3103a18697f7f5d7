"""Before fitting: what discounts leave, and verdicts on searches made up for them."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import tailoredbayes as tb
from tailoredbayes.evaluation.prospects import SearchPath, _Cost, _outlook, _Part


def risks(n=200, seed=0):
    return np.random.default_rng(seed).beta(1, 3, size=n)


@pytest.mark.parametrize("distance", ["squared", "absolute"])
def test_effective_sizes_are_those_of_the_weights(distance):
    risk, discounts = risks(), [0.0, 2.0, 50.0]
    found = tb.prospects(
        risk, [0.1, 0.4], discounts=discounts, distance=distance, epsilon=0.01, near=0.1
    )
    for i, t in enumerate([0.1, 0.4]):
        weights = tb.tailoring_weights(risk, t, discounts, distance, 0.01)
        fraction = tb.effective_sample_fraction(weights)
        np.testing.assert_allclose(found.ess_fraction[i], fraction)
        kish = tb.kish_effective_sample_size(weights)
        np.testing.assert_allclose(found.kish_fraction[i], kish / len(risk))
        assert found.near[i] == (np.abs(risk - t) <= 0.1).mean()


def test_weights_are_shown_at_percentiles_of_the_rows():
    risk = risks(101)
    frame = tb.prospects(risk, 0.2, discounts=[0, 30]).weight_frame()
    np.testing.assert_allclose(frame["reference_risk"].unique(), np.sort(risk))
    expected = np.exp(-frame["discount"] * (frame["reference_risk"] - 0.2) ** 2)
    np.testing.assert_allclose(frame["weight"], expected)


def test_integer_weights_equal_repeated_rows():
    risk = risks()
    count = np.random.default_rng(1).integers(0, 4, size=len(risk))
    weighted = tb.prospects(risk, 0.2, sample_weight=count)
    repeated = tb.prospects(np.repeat(risk, count), 0.2)
    np.testing.assert_allclose(weighted.ess_fraction, repeated.ess_fraction)
    np.testing.assert_allclose(weighted.kish_fraction, repeated.kish_fraction)
    np.testing.assert_allclose(weighted.near, repeated.near)
    np.testing.assert_allclose(weighted.reference_risk, repeated.reference_risk)


# --- From a fit -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def family():
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(600, 2))
    y = rng.random(600) < X[:, 1] / X.sum(axis=1)
    model = tb.TailoredFamily([0.2, 0.5], draws=500, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.TailoringWarning)
        return model.fit(X, y), X, y


def test_the_search_of_a_family_is_its_table(family):
    family = family[0]
    found = tb.prospects(family)
    np.testing.assert_array_equal(found.thresholds, family.thresholds_)
    table = family.discount_table_.groupby(["threshold", "discount"])["net_benefit"]
    mean, sem = table.mean(), table.sem()
    frame = found.search_frame().set_index(["threshold", "discount"])
    np.testing.assert_allclose(frame["net_benefit"], mean.loc[frame.index])
    np.testing.assert_allclose(frame["se"], sem.loc[frame.index])
    chosen = frame.index[frame["chosen"]].to_list()
    assert chosen == list(family.discounts_.items())


def test_a_familys_risks_are_its_reference_risks(family):
    family = family[0]
    found = tb.prospects(family, 0.5, discounts=[0, 10])
    risk = family.models_[0.5].reference_risk_
    expected = tb.effective_sample_fraction(tb.tailoring_weights(risk, 0.5, [0, 10]))
    np.testing.assert_allclose(found.ess_fraction[0], expected)


def test_a_fits_own_sample_weights_count(family):
    _, X, y = family
    count = np.random.default_rng(3).integers(1, 4, size=len(y)).astype(float)
    risk = X[:, 1] / X.sum(axis=1)
    model = tb.TailoredLogisticRegression(0.2, discount=15, draws=100, random_state=0)
    model.fit(X, y, sample_weight=count, reference_risk=risk, recalibrate=True)
    found = tb.prospects(model, discounts=[7.0])
    expected = tb.prospects(model.reference_risk_, 0.2, discounts=[7.0], sample_weight=count)
    np.testing.assert_allclose(found.ess_fraction, expected.ess_fraction)
    assert found.outlooks[0].verdict == "unknown"  # the discount was given: no search
    assert found.search_frame().empty


def test_any_tailored_classifier_will_do():
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(300, 2))
    y = rng.random(300) < X[:, 1] / X.sum(axis=1)
    model = tb.TailoredClassifier(
        LogisticRegression(), 0.5, discount_grid=[0, 5, 20], design="split", random_state=0
    )
    with pytest.warns(tb.TailoringWarning):
        model.fit(X, y)
    found = tb.prospects(model)
    np.testing.assert_array_equal(found.searches[0.5].discounts, [0, 5, 20])
    used = model.reference_risk_[~np.isnan(model.reference_risk_)]
    assert found.near[0] == (np.abs(used - 0.5) <= 0.05).mean()


# --- Verdicts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("near", "chosen", "gain", "verdict"),
    [
        (0.2, 20.0, 0.0041, "likely"),
        (0.2, 20.0, 0.0039, "possible"),
        (0.2, 20.0, -0.001, "unlikely"),
        (0.2, 0.0, 0.0, "unlikely"),
        (0.009, 20.0, 0.0041, "unlikely"),
        (0.2, None, None, "unknown"),
        (0.009, None, None, "unlikely"),
    ],
)
def test_a_verdict_follows_its_criteria(near, chosen, gain, verdict):
    nothing = np.zeros(0)
    path = None
    if chosen is not None:
        benefit = np.array([0.1, 0.1 + gain])
        path = SearchPath(np.array([0.0, 20.0]), benefit, nothing, chosen, gain, 0.002)
    part = _Part(0.15, nothing, None, "squared", 0.0, path)
    outlook = _outlook(part, _Cost(nothing, nothing, near, nothing, nothing), 0.05)
    assert outlook.verdict == verdict
    assert outlook.words.startswith("At t = 0.15 tailoring ")
    if verdict in ("likely", "possible"):
        assert f"{1000 * gain:.1f} net true positives per 1000" in outlook.words


def test_a_rise_that_was_not_taken_is_told():
    nothing = np.zeros(0)
    cost = _Cost(nothing, nothing, 0.2, nothing, nothing)
    for rise, words in (
        (0.0014, "gained 1.4 net true positives"),
        (0.0, "stays as it is or falls"),
    ):
        benefit = np.array([0.1, 0.1 + rise])
        path = SearchPath(np.array([0.0, 20.0]), benefit, nothing, 0.0, 0.0, 0.0)
        outlook = _outlook(_Part(0.15, nothing, None, "squared", 0.0, path), cost, 0.05)
        assert outlook.verdict == "unlikely"
        assert words in outlook.words


def test_verdicts_stand_in_the_frame(family):
    frame = tb.prospects(family[0]).to_frame()
    assert list(frame["threshold"]) == [0.2, 0.5]
    assert set(frame.columns) == {"threshold", "verdict", "near", "gain", "gain_se", "words"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "thresholds must be given"),
        ({"thresholds": 0}, "strictly between 0 and 1"),
        ({"thresholds": 0.2, "discounts": [-1]}, "discounts must be 0 or more"),
        ({"thresholds": 0.2, "near": 0}, "near must be"),
        ({"thresholds": 0.2, "sample_weight": [0.0, 0.0]}, "at least one weight above 0"),
        ({"thresholds": 0.2, "sample_weight": [1.0]}, "same length"),
        ({"thresholds": 0.2, "distance": "cubic"}, "distance must be one of"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        tb.prospects([0.2, 0.4], **options)


def test_fits_that_cannot_say_are_refused(family):
    family = family[0]
    with pytest.raises(ValueError, match=r"no threshold 0.3, only 0.2, 0.5"):
        tb.prospects(family, 0.3)
    with pytest.raises(ValueError, match="brings its own"):
        tb.prospects(family, sample_weight=np.ones(600))
    with pytest.raises(ValueError, match="discount=0"):
        tb.prospects(SimpleNamespace(reference_risk_=None, threshold=0.2))
