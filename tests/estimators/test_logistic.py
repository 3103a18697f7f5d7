"""TailoredLogisticRegression: the posterior of a patient's risk, and what it refuses."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from plain import ones_first
from scipy.special import expit, logit

import tailoredbayes as tb
from tailoredbayes.fitting import fit_tailored
from tailoredbayes.inference import sample
from tailoredbayes.posterior import TailoredPosterior

T = 0.3
ignore_findings = pytest.mark.filterwarnings("ignore::tailoredbayes.TailoringWarning")


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 2))
    return x, (rng.random(n) < x[:, 1] / (x[:, 0] + x[:, 1])).astype(int)


def logistic(**more):
    settings = {"threshold": T, "discount": 5.0, "draws": 300, "random_state": 0}
    return tb.TailoredLogisticRegression(**{**settings, **more})


# --- Risks, draws, decisions ------------------------------------------------------------------


def test_the_risk_of_a_patient_is_the_mean_over_the_draws():
    x, y = rows()
    model = logistic().fit(x, y)
    by_hand = expit(ones_first(x) @ model.draws_.flat.T)
    assert by_hand.shape == (300, 300)
    assert model.risk_draws(x) == pytest.approx(by_hand)
    assert model.predict_proba(x)[:, 1] == pytest.approx(by_hand.mean(axis=1))
    assert model.predict_proba(x)[:, 0] == pytest.approx(1 - by_hand.mean(axis=1))
    assert model.decision_certainty(x) == pytest.approx((by_hand >= T).mean(axis=1))


@pytest.mark.parametrize("prob", [0.5, 0.9])
def test_intervals_hold_their_share_of_the_draws(prob):
    x, y = rows()
    model = logistic(draws=4000).fit(x, y)
    interval, draws = model.risk_interval(x, prob), model.risk_draws(x)
    assert interval.shape == (300, 2)
    expected = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=1).T
    assert interval == pytest.approx(expected, abs=1e-3)
    risk = model.predict_proba(x)[:, 1]
    assert ((interval[:, 0] < risk) & (risk < interval[:, 1])).all()
    assert (model.risk_interval(x) == model.risk_interval(x, 0.9)).all()


def test_a_risk_at_the_threshold_is_treated():
    x, y = rows()
    model = logistic().fit(x, y)
    risk = model.predict_proba(x)[:, 1]
    model.threshold = float(risk[7])
    assert model.predict(x)[7] == 1
    assert model.predict(x).tolist() == (risk >= risk[7]).tolist()
    model.threshold = float(np.nextafter(risk[7], 1))
    assert model.predict(x)[7] == 0


def test_the_decision_function_is_the_logit_above_that_of_the_threshold():
    x, y = rows()
    model = logistic().fit(x, y)
    risk = model.predict_proba(x)[:, 1]
    score = model.decision_function(x)
    assert score == pytest.approx(logit(risk) - logit(T))
    assert model.predict(x).tolist() == (score >= 0).tolist()
    assert {0, 1} == set(model.predict(x))
    turned = logistic(pos_label=0).fit(x, y)
    risk = turned.predict_proba(x)[:, 0]
    assert turned.decision_function(x) == pytest.approx(logit(T) - logit(risk))


def test_certainty_and_intervals_agree_about_who_is_treated():
    x, y = rows()
    model = logistic().fit(x, y)
    certain, interval = model.decision_certainty(x), model.risk_interval(x, 0.9)
    assert (certain[interval[:, 0] > T] > 0.94).all()
    assert (certain[interval[:, 1] < T] < 0.06).all()
    assert set(model.predict(x)[certain > 0.9]) == {1}
    assert set(model.predict(x)[certain < 0.1]) == {0}


# --- What is fitted ---------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["auto", "laplace", "importance", "metropolis", "nuts"])
def test_no_discount_is_standard_bayes(sampler):
    x, y = rows()
    model = logistic(discount=0, sampler=sampler, draws=2000).fit(x, y)
    assert model.discount_ == 0
    assert (model.weights_ == 1).all()
    assert model.effective_sample_size_ == 300
    assert model.reference_risk_ is None
    assert model.discount_table_.empty
    standard = sample(TailoredPosterior(x, y), sampler, draws=2000, random_state=9)
    error = np.hypot(model.draws_.mcse(), standard.mcse())
    assert np.abs(model.draws_.mean - standard.mean).max() < (5 * error).max()
    assert model.draws_.sd == pytest.approx(standard.sd, rel=0.15)


def test_no_discount_is_the_engines_posterior_to_the_last_draw():
    x, y = rows()
    model = logistic(discount=0).fit(x, y)
    _, _, for_draws = np.random.default_rng(0).spawn(3)
    seed = int(for_draws.integers(2**63))
    engine = sample(TailoredPosterior(x, y), draws=300, random_state=seed)
    assert model.draws_.values == pytest.approx(engine.values, rel=1e-8)


def test_the_posterior_is_that_of_the_tailored_likelihood():
    x, y = rows()
    model = logistic(discount=8.0, draws=4000).fit(x, y)
    weights = np.exp(-8 * (model.reference_risk_ - T) ** 2)
    assert model.weights_ == pytest.approx(weights)
    assert model.effective_sample_size_ == pytest.approx(weights.sum())
    alone = sample(TailoredPosterior(x, y, weights=weights), draws=4000, random_state=1)
    assert np.abs(model.draws_.mean - alone.mean).max() < (6 * alone.mcse()).max()
    assert model.coef_.shape == (1, 2)
    assert model.intercept_.shape == (1,)
    assert [*model.intercept_, *model.coef_[0]] == model.draws_.mean.tolist()


def test_without_an_intercept():
    x, y = rows()
    model = logistic(fit_intercept=False).fit(x, y)
    assert model.coef_.shape == (1, 2)
    assert model.intercept_.tolist() == [0]
    assert model.summary().index.tolist() == ["x0", "x1"]
    risk = expit(x @ model.draws_.flat.T).mean(axis=1)
    assert model.predict_proba(x)[:, 1] == pytest.approx(risk)


@ignore_findings
def test_the_prior_reaches_every_stage():
    x, y = rows()
    model = logistic(threshold=0.5, prior=tb.Normal(0, 0.01)).fit(x, y)
    assert np.abs(model.coef_).max() < 0.05
    assert np.abs(model.reference_risk_ - 0.5).max() < 0.02


def test_epsilon_and_distance_shape_the_weights():
    x, y = rows()
    model = logistic(distance="absolute", epsilon=0.1).fit(x, y)
    h = np.maximum(np.abs(model.reference_risk_ - T) - 0.1, 0)
    assert model.weights_ == pytest.approx(np.exp(-5 * h))
    named = logistic(distance=lambda risk, t: np.abs(risk - t), epsilon=0.1).fit(x, y)
    assert named.weights_ == pytest.approx(model.weights_)


@ignore_findings
def test_the_table_is_the_whole_search():
    x, y = rows(n=1000)
    model = logistic(
        discount="cv",
        discount_grid=[2, 30, 300],
        selection="max",
        cv=4,
        cv_repeats=2,
        rounds=1,
        threshold=0.5,
    )
    model.fit(x, y)
    table = model.discount_table_
    assert len(table) == 2 * 4 * 2 * 4
    assert set(table["discount"]) == {0, 2, 30, 300}
    means = table.groupby(["round", "discount"])["net_benefit"].mean()
    chosen = (model.fit_.search.round, model.discount_)
    assert means[chosen] == pytest.approx(means.max(), abs=1e-12)


@ignore_findings
@pytest.mark.parametrize("selection", ["one_se", "smooth", "guarded"])
def test_the_rule_of_the_selection_chooses(selection):
    x, y = rows(n=1000)
    settings = {"discount": "cv", "discount_grid": [5, 20, 80, 200]}
    model = logistic(selection=selection, **settings).fit(x, y)
    table = model.discount_table_.groupby("discount")[["net_benefit", "smooth_net_benefit"]].mean()
    if selection == "smooth":
        best = table["smooth_net_benefit"].idxmax()
        assert model.discount_ == best
    elif selection == "guarded":
        assert model.discount_ in (0, table["smooth_net_benefit"].idxmax())
    else:
        assert model.discount_ <= table["net_benefit"].idxmax()
    assert model.fit_.search.choice.rule == selection


def test_summary_and_posterior_hold_the_same_draws():
    x, y = rows()
    model = logistic().fit(x, y)
    table = model.summary(0.5)
    assert table["mean"].tolist() == model.draws_.mean.tolist()
    assert (table["hdi_high"] - table["hdi_low"] < 2 * table["sd"]).all()
    tree = model.posterior_
    assert tree["posterior"]["coefficients"].values.reshape(-1, 3).tolist() == (
        model.draws_.flat.tolist()
    )


def test_fitting_again_forgets_the_first_fit():
    x, y = rows()
    model = logistic().fit(pd.DataFrame(x, columns=["a", "b"]), y)
    model.set_params(discount=0).fit(np.column_stack([x, x[:, 0] ** 2]), y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3
    assert model.reference_risk_ is None
    assert model.coef_.shape == (1, 3)


def test_single_precision_is_taken_as_it_is():
    x, y = rows()
    single = logistic().fit(x.astype(np.float32), y)
    double = logistic().fit(x.astype(np.float32).astype(float), y)
    assert single.predict_proba(x.astype(np.float32)) == pytest.approx(
        double.predict_proba(x), abs=1e-5
    )


def test_separated_rows_are_sampled_by_nuts_and_said_to_be():
    x = np.linspace(-1, 1, 40)[:, None]
    model = tb.TailoredLogisticRegression(discount=0, draws=200, random_state=0)
    with pytest.warns(tb.TailoringWarning) as caught:
        model.fit(x, x[:, 0] > 0)
    assert model.draws_.sampler == "nuts"
    assert any("separation" in str(warning.message) for warning in caught)


# --- Bad input: every error names the argument ------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"threshold": 0}, "threshold must"),
        ({"threshold": 1}, "threshold must"),
        ({"threshold": 10}, "threshold must"),
        ({"threshold": "0.3"}, "threshold must"),
        ({"discount": -1}, "discount must"),
        ({"discount": "max"}, "discount must"),
        ({"discount": None}, "discount must"),
        ({"discount_grid": [-1]}, "discount_grid must"),
        ({"discount_grid": "cv"}, "discount_grid must"),
        ({"selection": "best"}, "selection must"),
        ({"cv": 1}, "cv must"),
        ({"cv": 2.5}, "cv must"),
        ({"cv": None}, "cv must"),
        ({"cv": "5"}, "cv must"),
        ({"cv": True}, "cv must"),
        ({"cv_repeats": 0}, "cv_repeats must"),
        ({"rounds": -1}, "rounds must"),
        ({"rounds": 1, "discount": 5.0}, "rounds refine"),
        ({"design": "half"}, "design must"),
        ({"design": 1.0}, "design must"),
        ({"distance": "cubic"}, "distance must"),
        ({"epsilon": -0.1}, "epsilon must"),
        ({"prior": "normal"}, "prior must"),
        ({"prior": tb.Normal}, "prior must"),
        ({"fit_intercept": "yes"}, "fit_intercept must"),
        ({"discount": True}, "discount must"),
        ({"random_state": "a"}, "random_state must"),
        ({"random_state": -1}, "random_state must"),
        ({"sampler": "gibbs"}, "sampler must"),
        ({"draws": 0}, "draws must"),
        ({"draws": 10.5}, "draws must"),
        ({"reference": "logistic"}, "reference must"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, match):
    x, y = rows(n=60)
    model = logistic(**{"discount": "cv", **parameters})
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(x, y)
    assert not hasattr(model, "classes_") or not hasattr(model, "draws_")


def test_repeats_of_given_splits_are_refused():
    x, y = rows(n=60)
    splits = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    with pytest.raises(ValueError, match="cv_repeats=2 needs cv to be a number of folds"):
        logistic(discount="cv", cv=splits, cv_repeats=2).fit(x, y)


@ignore_findings
def test_splits_from_a_generator_serve_both_stages():
    x, y = rows()
    thirds = np.arange(300) % 3
    splits = [(np.flatnonzero(thirds != k), np.flatnonzero(thirds == k)) for k in range(3)]
    grid = {"discount": "cv", "discount_grid": [5]}
    one = logistic(cv=(split for split in splits), **grid).fit(x, y)
    two = logistic(cv=splits, **grid).fit(x, y)
    assert np.array_equal(one.draws_.values, two.draws_.values)


@pytest.mark.parametrize(
    ("risk", "match"),
    [
        (np.full(299, 0.3), r"reference_risk must have one risk a row, got 299 for 300"),
        (np.full(300, 1.01), r"reference_risk must lie between 0 and 1, got 1.01 at row 0"),
        (np.r_[np.full(299, 0.5), -0.1], r"reference_risk .* got -0.1 at row 299"),
        (np.full(300, np.nan), r"reference_risk .* nan"),
        (np.full((300, 2), 0.5), r"reference_risk"),
        (["low"] * 300, r"reference_risk"),
        (0.5, r"reference_risk"),
    ],
)
def test_bad_reference_risks_are_refused_by_name(risk, match):
    x, y = rows()
    with pytest.raises((ValueError, TypeError), match=match):
        logistic().fit(x, y, reference_risk=risk)


def test_recalibration_needs_risks():
    x, y = rows()
    with pytest.raises(ValueError, match="recalibrate=True is for a reference_risk"):
        logistic().fit(x, y, recalibrate=True)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_missing_values_are_refused(wrong):
    x, y = rows()
    x[5, 1] = wrong
    with pytest.raises(ValueError, match="Input X contains"):
        logistic().fit(x, y)
    good, y = rows()
    model = logistic().fit(good, y)
    with pytest.raises(ValueError, match="Input X contains"):
        model.predict_proba(x)
    with pytest.raises(ValueError, match=r"Input (y|.*y) contains"):
        logistic().fit(good, np.where(np.arange(300) == 3, wrong, y))


def test_columns_at_predict_must_be_those_of_fit():
    x, y = rows()
    frame = pd.DataFrame(x, columns=["age", "size"])
    model = logistic().fit(frame, y)
    for wrong in (
        frame[["age"]],
        frame.assign(sex=1),
        frame.rename(columns={"size": "weight"}),
        frame[["size", "age"]],
    ):
        for ask in (model.predict, model.risk_interval, model.risk_draws, model.decision_certainty):
            with pytest.raises(ValueError, match="feature names should match"):
                ask(wrong)
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ValueError, match="X has 1 features"),
    ):
        model.predict(x[:, :1])


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (np.zeros(300, dtype=int), r"y must hold two labels, got one class only: .*0.* in all 300"),
        (np.linspace(0, 1, 300), r"y must hold"),
        (np.arange(300) % 3, r"Only binary classification .* y must hold two labels"),
        (np.zeros((300, 2), dtype=int), r"y should be a 1d array|y must hold"),
        (np.zeros(299, dtype=int), r"X and y must have the same length, got 300 and 299"),
    ],
)
def test_outcomes_that_are_not_two_labels_are_refused(y, match):
    x, _ = rows()
    with pytest.raises(ValueError, match=match):
        logistic().fit(x, y)


def test_ten_rows_are_fitted_with_words_of_caution():
    x, _ = rows(n=10)
    y = np.array([0, 1] * 5)
    with pytest.warns(tb.TailoringWarning) as caught:
        model = tb.TailoredLogisticRegression(draws=200, random_state=0).fit(x, y)
    assert any("rare-events" in str(warning.message) for warning in caught)
    assert np.isfinite(model.predict_proba(x)).all()


def test_ten_rows_with_one_event_are_refused():
    x, _ = rows(n=10)
    with pytest.raises(ValueError, match="y must hold at least 2 events and 2 non-events"):
        logistic(discount="cv").fit(x, np.arange(10) == 0)
    with pytest.raises(ValueError, match="cv needs at least 2 events and 2 non-events"):
        logistic(discount="cv").fit(x, np.arange(10) == 0, reference_risk=np.full(10, 0.1))


@ignore_findings
def test_a_fold_without_events_makes_fewer_folds():
    x, _ = rows()
    y = np.arange(300) % 100 == 0
    model = logistic(discount="cv", threshold=0.02).fit(x, y)
    assert set(model.discount_table_["fold"]) == {0, 1, 2}
    said = {finding.code: str(finding) for finding in model.findings_}
    assert "3 folds were used instead of 5" in said["fewer-folds"]


def test_a_discount_far_too_large_is_refused_by_name():
    x, y = rows()
    with pytest.raises(ValueError, match="discount"):
        logistic(discount=1e15).fit(x, y)
    with pytest.raises(ValueError, match="discount"):
        logistic(discount="cv", discount_grid=[1e15]).fit(x, y)


def test_the_final_fit_is_the_one_kept(monkeypatch):
    # The estimator is a shell: what fit_tailored returns is what it shows.
    seen = []

    def watched(*arguments, **more):
        seen.append(fit_tailored(*arguments, **more))
        return seen[-1]

    monkeypatch.setattr("tailoredbayes.estimators.logistic.fit_tailored", watched)
    x, y = rows()
    model = logistic().fit(x, y)
    ((fit,), _) = seen[0]
    assert model.fit_ is fit
    assert model.draws_ is fit.draws
    assert model.weights_ is fit.weights
    assert model.findings_ == fit.findings


@pytest.mark.filterwarnings("ignore:tailoring-did-not-help")  # memory is what is looked at
@pytest.mark.parametrize(
    ("layout", "design"), [("rows", "crossfit"), ("frame", "split"), ("integers", "crossfit")]
)
def test_a_fit_copies_the_covariates_at_most_once(layout, design):
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 10, size=(200_000, 40)).astype(np.float64)
    y = rng.random(len(X)) < 1 / (1 + np.exp(-X[:, 0] / 5))
    given = {"rows": X, "frame": pd.DataFrame(X), "integers": X.astype(np.int64)}[layout]
    model = tb.TailoredLogisticRegression(
        0.3, design=design, sampler="laplace", draws=1, random_state=0
    )
    model.fit(X[:500, :2], y[:500])  # what a first fit imports is not counted
    tracemalloc.start()
    model.fit(given, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Integers have to become floating-point numbers: one copy. What else a fit holds (weights,
    # held-out risks, blocks) is less than a copy of so many covariates.
    assert peak < (1 + (layout == "integers")) * X.nbytes
