"""Optimism against explicit loops over the same resamples."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tailoredbayes as tb
from tailoredbayes.evaluation.optimism import _six_three_two_plus
from tailoredbayes.reference import recalibration, stratified_folds


def sample(n=150, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, rng.random(n) < 1 / (1 + np.exp(1 - X[:, 0]))


def table(*arguments, **options):
    frame = tb.optimism(*arguments, **options).to_frame()
    return frame.set_index(["model", "statistic"])


MODEL = LogisticRegression(C=10.0)


def statistics(y, risk, t=0.3):
    treat = risk >= t
    return np.array(
        [
            (treat & y).mean() - t / (1 - t) * (treat & ~y).mean(),
            roc_auc_score(y, risk),
            ((y - risk) ** 2).mean(),
            recalibration(risk, y).slope,
        ]
    )


NAMES = ["net_benefit", "auc", "brier", "slope"]


def test_cross_validation_is_the_loop_over_folds():
    X, y = sample()
    found = table(MODEL, X, y, threshold=0.3, repeats=3, folds=4, random_state=1)
    rng = np.random.default_rng(1)
    rng.spawn(1)
    expected = []
    for one in rng.spawn(3):
        cut = stratified_folds(y, 4, one)
        risk = np.empty(len(y))
        for k in range(4):
            fit = MODEL.fit(X[cut != k], y[cut != k])
            risk[cut == k] = fit.predict_proba(X[cut == k])[:, 1]
        expected.append(statistics(y, risk))
    part = found.loc["model"].loc[NAMES]
    np.testing.assert_allclose(part["value"], np.mean(expected, axis=0))
    np.testing.assert_allclose(part["se"], np.std(expected, axis=0, ddof=1) / 3**0.5)
    assert (found["label"] == "cross-validated").all()


def bootstrap_by_loop(X, y, repeats, seed):
    """Statistics on the sample, on all rows and on the rows left out, with repeated rows."""
    rng = np.random.default_rng(seed)
    rng.spawn(1)
    found = []
    for one in rng.spawn(repeats):
        drawn = one.integers(len(y), size=len(y))
        out = np.setdiff1d(np.arange(len(y)), drawn)
        fit = MODEL.fit(X[drawn], y[drawn])
        risk = fit.predict_proba(X)[:, 1]
        found.append(
            [
                statistics(y[drawn], risk[drawn]),
                statistics(y, risk),
                statistics(y[out], risk[out]),
            ]
        )
    return np.array(found)


def test_the_corrected_values_are_those_of_the_loop():
    """Counts as weights and repeated rows have one optimum, found to the solver's tolerance."""
    X, y = sample()
    model = MODEL.set_params(tol=1e-10)
    options = {"threshold": 0.3, "repeats": 6, "random_state": 2}
    found = table(model, X, y, method="bootstrap", **options)
    loop = bootstrap_by_loop(X, y, 6, 2)
    apparent = statistics(y, model.fit(X, y).predict_proba(X)[:, 1])
    part = found.loc["model"].loc[NAMES]
    np.testing.assert_allclose(part["apparent"], apparent, atol=1e-6)
    optimism = (loop[:, 0] - loop[:, 1]).mean(axis=0)
    np.testing.assert_allclose(part["optimism"], optimism, atol=1e-5)
    np.testing.assert_allclose(part["value"], apparent - optimism, atol=1e-5)
    assert (found["label"] == "optimism-corrected").all()

    plus = table(model, X, y, method=".632+", **options).loc["model"].loc[NAMES]
    risk = model.fit(X, y).predict_proba(X)[:, 1]
    share, treated = y.mean(), (risk >= 0.3).mean()
    brier = np.mean((y[:, None] - risk) ** 2)  # every outcome with every risk
    nothing = np.array([treated * (share - (1 - share) * 3 / 7), 0.5, brier, 0.0])
    for name, a, o, g in zip(NAMES, apparent, loop[:, 2].mean(axis=0), nothing, strict=True):
        rate = np.clip((a - o) / (a - g), 0, 1)
        w = 0.632 / (1 - 0.368 * rate)
        expected = (1 - w) * a + w * (g if (a - o) / (a - g) > 1 else o)
        assert plus.loc[name, "value"] == pytest.approx(expected, abs=1e-5)
    assert (plus["label"] == ".632+").all()


@pytest.mark.parametrize(
    ("apparent", "out", "without", "expected"),
    [
        (0.8, 0.8, 0.5, 0.8),  # nothing was lost
        (0.8, 0.9, 0.5, 0.368 * 0.8 + 0.632 * 0.9),  # better outside: plain .632
        (1.0, 0.5, 0.5, 0.5),  # memorised: R = 1, w = 1
        (1.0, 0.4, 0.5, 0.5),  # worse than nothing counts as nothing
        (0.8, 0.7, 0.8, 0.368 * 0.8 + 0.632 * 0.7),  # nothing apparent to lose
    ],
)
def test_632_plus_goes_from_632_to_what_was_not_seen(apparent, out, without, expected):
    found = _six_three_two_plus(np.array([apparent]), np.array([out]), np.array([without]))
    assert found[0] == pytest.approx(expected)


def test_a_model_that_memorises_noise_is_found_out():
    """One nearest neighbour of noise: apparently perfect, truly a coin."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 3)), rng.random(200) < 0.5
    for method in ("cv", ".632+"):
        found = table(
            KNeighborsClassifier(1), X, y, threshold=0.5, method=method, repeats=5, random_state=0
        ).loc[("model", "auc")]
        assert found["apparent"] == 1
        assert found["value"] == pytest.approx(0.5, abs=0.1)
    half = table(
        KNeighborsClassifier(1),
        X,
        y,
        threshold=0.5,
        method="bootstrap",
        repeats=5,
        random_state=0,
    ).loc[("model", "auc")]
    assert half["value"] > 0.7  # why .632+ exists: the corrected bootstrap believes its own rows


@pytest.mark.slow  # starting workers takes seconds
@pytest.mark.parametrize("method", ["cv", "bootstrap", ".632+"])
def test_the_answer_does_not_depend_on_the_workers(method):
    X, y = sample(80)
    model = tb.TailoredLogisticRegression(0.3, discount_grid=[0, 10], draws=100)
    options = {"method": method, "repeats": 2, "random_state": 4}
    one = tb.optimism(model, X, y, **options).to_frame()
    two = tb.optimism(model, X, y, n_jobs=2, **options).to_frame()
    pd.testing.assert_frame_equal(one, two)
    again = tb.optimism(model, X, y, **options).to_frame()
    pd.testing.assert_frame_equal(one, again)


def test_standard_bayes_stands_beside_a_tailored_model():
    X, y = sample(120)
    model = tb.TailoredLogisticRegression(0.3, discount=0, draws=100, random_state=0)
    found = table(model, X, y, repeats=1, random_state=5)
    np.testing.assert_array_equal(
        found.loc["model", "value"].loc[NAMES], found.loc["standard", "value"].loc[NAMES]
    )
    assert (found.loc["model - standard", "value"] == 0).all()
    assert list(found.loc["model - standard"].index) == ["net_benefit", "auc", "brier"]
    assert found["se"].isna().all()  # one replicate does not tell


def test_a_familys_statistics_stand_at_each_threshold():
    X, y = sample(150)
    family = tb.TailoredFamily([0.2, 0.4], discount=10, draws=100, random_state=0)
    frame = tb.optimism(family, X, y, repeats=1, folds=3, random_state=6).to_frame()
    by = frame.set_index(["model", "statistic", "threshold"])["value"].to_dict()
    single = tb.TailoredLogisticRegression(0.4, discount=10, draws=100, random_state=0)
    alone = table(single, X, y, repeats=1, folds=3, random_state=6)["value"]
    assert by["model", "net_benefit", 0.4] == pytest.approx(alone["model", "net_benefit"])
    assert by["model", "auc", 0.4] == pytest.approx(alone["model", "auc"])
    standard = frame[(frame["model"] == "standard") & (frame["statistic"] == "auc")]["value"].item()
    difference = by["model", "auc", 0.2] - standard
    assert by["model - standard", "auc", 0.2] == pytest.approx(difference)
    of_one = tb.optimism(family, X, y, threshold=0.4, repeats=1, folds=3, random_state=6)
    assert of_one.to_frame()["threshold"].dropna().unique().tolist() == [0.4]


def test_risks_from_outside_go_to_every_fit():
    X, y = sample(120)
    risk = np.random.default_rng(7).beta(2, 4, size=120)
    model = tb.TailoredLogisticRegression(0.3, discount=10, draws=100, random_state=0)
    options = {"repeats": 1, "folds": 3, "random_state": 7, "standard": None}
    found = table(model, X, y, reference_risk=risk, **options)
    other = table(model, X, y, reference_risk=risk[::-1].copy(), **options)
    with pytest.warns(tb.TailoringWarning, match="reference-miscalibrated"):
        apparent = model.fit(X, y, reference_risk=risk).risk(X)
    assert found.loc[("model", "brier"), "apparent"] == pytest.approx(((y - apparent) ** 2).mean())
    assert found.loc[("model", "brier"), "value"] != other.loc[("model", "brier"), "value"]


def test_any_classifier_labels_and_comparison_will_do():
    X, y = sample(120)
    labels = np.where(y, "ill", "well")
    model = make_pipeline(StandardScaler(), MODEL)
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="threshold must be given"):
        tb.optimism(model, frame, labels)
    found = table(
        model,
        frame,
        labels,
        threshold=[0.3, 0.6],
        standard=GaussianNB(),
        method="bootstrap",
        repeats=2,
        random_state=8,
    )
    # "well" comes later in the alphabet and is taken as the event.
    expected = model.fit(frame, labels).predict_proba(frame)[:, 1]
    brier = found.loc["model"].loc["brier", "apparent"]
    assert brier == pytest.approx(((~y - expected) ** 2).mean())
    assert len(found.loc["standard"].loc["net_benefit"]) == 2


def test_the_event_of_a_pipeline_is_that_of_its_last_step():
    X, y = sample(80)
    labels = np.where(y, "case", "control")
    model = tb.TailoredLogisticRegression(
        0.3, discount=0, pos_label="case", draws=50, random_state=0
    )
    piped = make_pipeline("passthrough", model)
    options = {"threshold": 0.3, "repeats": 1, "standard": None, "random_state": 0}
    found = tb.optimism(piped, X, labels, **options)
    assert found.events == y.sum()
    expected = tb.optimism(model, X, labels, **options)
    np.testing.assert_allclose(found.value, expected.value)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "loo"}, ValueError, "method must be one of 'cv', 'bootstrap', '.632"),
        ({"repeats": 0}, ValueError, "repeats must be a whole number"),
        ({"folds": 1}, ValueError, "folds must be a whole number"),
        ({"folds": 60}, ValueError, "folds must be at most"),
        ({"threshold": 1.0}, ValueError, "strictly between 0 and 1"),
        ({"standard": "best"}, ValueError, "standard must be a classifier, None or 'auto'"),
        ({"standard": StandardScaler()}, TypeError, "standard must be a classifier"),
        ({"reference_risk": [0.5]}, ValueError, "same length"),
    ],
)
def test_bad_input_is_refused(options, error, message):
    X, y = sample(60)
    with pytest.raises(error, match=message):
        tb.optimism(MODEL, X, y, **{"threshold": 0.3, "repeats": 1, **options})


def test_bad_outcomes_are_refused():
    X, y = sample(60)
    with pytest.raises(ValueError, match="y must hold two labels, got 1"):
        tb.optimism(MODEL, X, np.ones(60), threshold=0.3)
    with pytest.raises(ValueError, match="at least 5 events"):
        tb.optimism(MODEL, X, np.arange(60) < 3, threshold=0.3, method="bootstrap")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        tb.optimism(MODEL, X, y[:-1], threshold=0.3)
    with pytest.raises(TypeError, match="estimator must be a classifier"):
        tb.optimism(StandardScaler(), X, y, threshold=0.3)
    family = tb.TailoredFamily([0.2, 0.4])
    with pytest.raises(ValueError, match=r"no model for the threshold 0\.3"):
        tb.optimism(family, X, y, threshold=0.3)
