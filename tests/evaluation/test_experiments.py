"""Experiments against plain loops: who was drawn, what was fitted, how it was judged."""

from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import tailoredbayes as tb
from tailoredbayes.evaluation.refits import seeded

TS = [0.2, 0.4]
experiment = partial(tb.experiment, random_state=0)  # unless a test says otherwise


def rows(n=400, seed=0, events=0.4):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"row": np.arange(n), "x": rng.normal(size=n)})
    y = (rng.permutation(n) < events * n).astype(int)
    X["x"] += y
    return X, y


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that keeps what it was fitted to and asked about; everyone's risk is 0.3."""

    seen: ClassVar = []
    asked: ClassVar = []

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        Recorder.seen.append((X["row"].to_numpy(), np.asarray(y), self.random_state))
        return self

    def predict_proba(self, X):
        Recorder.asked.append(X["row"].to_numpy())
        return np.tile([0.7, 0.3], (len(X), 1))


@pytest.fixture
def recorder():
    Recorder.seen, Recorder.asked = [], []
    return Recorder()


MODEL = LogisticRegression()


class TestWhoIsDrawn:
    def test_test_rows_are_split_off_stratified_and_anew(self, recorder):
        X, y = rows()
        experiment(recorder, X, y, thresholds=TS, repetitions=3, test_size=0.25, random_state=0)
        assert len(Recorder.seen) == 3
        for (train, labels, _), test in zip(Recorder.seen, Recorder.asked, strict=True):
            assert sorted([*train, *test]) == list(range(400))
            assert (len(test), y[test].sum()) == (100, 40)
            np.testing.assert_array_equal(labels, y[train])
        assert len({tuple(test) for test in Recorder.asked}) == 3

    def test_samples_have_the_size_and_prevalence_asked_for(self, recorder):
        X, y = rows()
        X_test, y_test = rows(seed=1)
        found = experiment(
            recorder, X, y, X_test, y_test, thresholds=TS, n=[50, 100], prevalence=[0.1, 0.5],
            repetitions=2, random_state=0,
        )  # fmt: skip
        sizes = [(len(train), int(labels.sum())) for train, labels, _ in Recorder.seen]
        assert sizes == [(50, 5)] * 2 + [(100, 10)] * 2 + [(50, 25)] * 2 + [(100, 50)] * 2
        for train, labels, _ in Recorder.seen:
            assert len(set(train)) == len(train)  # without replacement
            np.testing.assert_array_equal(labels, y[train])
        told = found.to_frame().drop_duplicates(["n", "prevalence", "repetition"])
        assert list(zip(told["n"], told["prevalence"], strict=True)) == [
            (n, share) for share in (0.1, 0.5) for n in (50, 100) for _ in range(2)
        ]

    def test_a_prevalence_alone_takes_as_many_rows_as_it_leaves(self, recorder):
        X, y = rows()  # 160 events, 240 others
        experiment(recorder, X, y, X, y, thresholds=TS, prevalence=0.5, repetitions=1)
        experiment(recorder, X, y, X, y, thresholds=TS, prevalence=0.1, repetitions=1)
        assert [(len(a), int(b.sum())) for a, b, _ in Recorder.seen] == [(320, 160), (266, 27)]

    def test_a_size_alone_keeps_the_prevalence(self, recorder):
        X, y = rows()
        experiment(recorder, X, y, X, y, thresholds=TS, n=50, repetitions=1)
        assert [int(labels.sum()) for _, labels, _ in Recorder.seen] == [20]

    def test_a_size_of_all_rows_is_all_rows(self, recorder):
        X, y = rows(24, events=0.2)  # 5 events and 19 others: 2 and 10 are split off
        for n in (None, 12):
            experiment(recorder, X, y, thresholds=TS, n=n, test_size=0.5, repetitions=1)
        assert [(len(a), int(b.sum())) for a, b, _ in Recorder.seen] == [(12, 3), (12, 3)]

    def test_mislabelled_events_are_recorded_as_none_and_the_test_rows_are_right(self, recorder):
        X, y = rows()
        found = experiment(
            recorder, X, y, X, y, thresholds=[0.2], mislabelled=[0, 0.25], repetitions=2,
            random_state=0,
        )  # fmt: skip
        for (train, labels, _), wrong in zip(Recorder.seen, [0, 0, 40, 40], strict=True):
            assert (labels <= y[train]).all()
            assert (y[train] - labels).sum() == wrong
        # The risk is 0.3 for everyone, so all are treated, whatever was recorded.
        np.testing.assert_allclose(found.net_benefit, tb.net_benefit_treat_all(y, 0.2))
        assert not np.array_equal(Recorder.seen[2][1], Recorder.seen[3][1])

    def test_the_spared_learn_from_right_labels_on_the_same_rows(self, recorder):
        X, y = rows()
        models = {"wrong": recorder, "right": Recorder()}
        experiment(
            models, X, y, X, y, thresholds=TS, n=100, mislabelled=0.5, spared="right",
            repetitions=1, random_state=0,
        )  # fmt: skip
        (one, wrong, _), (other, right, _) = Recorder.seen
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(right, y[other])
        assert wrong.sum() == 20

    def test_every_fit_has_a_seed_of_its_own(self, recorder):
        X, y = rows()
        models = {"open": recorder, "given": Recorder(random_state=7)}
        experiment(models, X, y, X, y, thresholds=TS, repetitions=3, random_state=0)
        seeds = [seed for _, _, seed in Recorder.seen]
        assert len(set(seeds)) == 6
        assert 7 not in seeds
        assert models["given"].random_state == 7


class Kept(tb.TailoredFamily):
    """A family that is kept when it has been fitted."""

    fitted: ClassVar = []

    def fit(self, X, y, **more):
        Kept.fitted.append(super().fit(X, y, **more))
        return self


class Told(LogisticRegression):
    """A classifier that keeps the reference risk that it was given."""

    given: ClassVar = []

    def fit(self, X, y, reference_risk=None):
        Told.given.append(reference_risk)
        return super().fit(X, y)


class TestHowItIsJudged:
    @pytest.mark.parametrize("prevalence", [None, 0.2])
    def test_net_benefit_and_errors_are_those_of_the_plain_evaluations(self, prevalence):
        (X, y), (X_test, y_test) = rows(), rows(seed=1)
        models = {"x": LogisticRegression(), "flat": LogisticRegression(C=1e-3)}
        found = experiment(
            models, X[["x"]], y, X_test[["x"]], y_test, thresholds=TS, prevalence=prevalence,
            n=200, repetitions=2, random_state=3,
        )  # fmt: skip
        assert found.n_test == 400
        # With all rows, no draw is left: the plain fit is the same one.
        everyone = experiment(
            models, X[["x"]], y, X_test[["x"]], y_test, thresholds=TS, repetitions=2
        )
        fits = {name: model.fit(X[["x"]], y) for name, model in models.items()}
        curve = tb.decision_curve(y_test, fits, TS, X=X_test[["x"]])
        np.testing.assert_allclose(everyone.net_benefit[1], curve.net_benefit[:2])
        plain = tb.net_benefit_difference(
            y_test, fits, TS, against="flat", X=X_test[["x"]], replicates=2, random_state=0
        )
        np.testing.assert_allclose(everyone.standard_error[0, 0, 1], plain.standard_error[0])
        np.testing.assert_allclose(everyone.standard_error[0, 1, 0], plain.standard_error[0])
        assert (everyone.standard_error[:, 0, 0] == 0).all()

    def test_a_prevalence_is_that_of_the_population_judged(self):
        (X, y), (X_test, y_test) = rows(), rows(seed=1)
        risk = 1 / (1 + np.exp(-X_test["x"].to_numpy()))
        found = experiment(
            {"fixed": risk}, X, y, X_test, y_test, thresholds=TS, prevalence=0.1, repetitions=1
        )
        for t, value in zip(TS, found.net_benefit[0, 0], strict=True):
            assert value == pytest.approx(tb.net_benefit(y_test, risk, t, prevalence=0.1))

    def test_a_family_brings_standard_bayes_along(self):
        (X, y), (X_test, y_test) = rows(), rows(seed=1)
        Kept.fitted = []
        family = Kept([0.4, 0.2], discount=5, draws=200)  # in the order given
        found = experiment(family, X[["x"]], y, X_test[["x"]], y_test, repetitions=2)
        assert found.models == ("TB", "SB")
        np.testing.assert_array_equal(found.thresholds, [0.4, 0.2])
        for fitted, net_benefit in zip(Kept.fitted, found.net_benefit, strict=True):
            curve = tb.decision_curve(y_test, fitted, [0.4, 0.2], X=X_test[["x"]])
            assert curve.models == ("TB", "SB", "all", "none")
            np.testing.assert_allclose(net_benefit, curve.net_benefit[:2])

    def test_standard_bayes_is_that_of_a_family_that_is_not_spared(self):
        (X, y), (X_test, y_test) = rows(), rows(seed=1)
        Kept.fitted = []
        found = experiment(
            {"right": Kept([0.3], discount=5, draws=200), "TB": Kept([0.3], discount=5, draws=200)},
            X[["x"]], y, X_test[["x"]], y_test, mislabelled=0.6, spared="right", repetitions=1,
            random_state=0,
        )  # fmt: skip
        right, wrong = (
            tb.net_benefit(y_test, one.standard_.risk(X_test[["x"]]), 0.3) for one in Kept.fitted
        )
        assert found.models == ("right", "TB", "SB")
        assert right > wrong + 0.01
        assert found.net_benefit[0, 2, 0] == pytest.approx(wrong)

    def test_risks_by_threshold_keep_to_their_columns(self):
        (X, y), (X_test, y_test) = rows(), rows(seed=1)
        risk = 1 / (1 + np.exp(-X_test["x"].to_numpy()))
        models, ts = {"m": np.column_stack([risk, risk / 2])}, [0.4, 0.2]
        found = experiment(models, X, y, X_test, y_test, thresholds=ts, repetitions=1)
        plain = tb.decision_curve(y_test, models, ts)
        np.testing.assert_allclose(found.net_benefit[0, 0], plain.net_benefit[0])

    def test_a_pipeline_hands_the_reference_risk_to_its_last_step(self):
        X, y = rows()
        pi_u = np.linspace(0.1, 0.9, 400)
        Told.given = []
        models = {"alone": Told(), "in a pipeline": make_pipeline("passthrough", Told())}
        experiment(models, X, y, thresholds=TS, reference_risk=pi_u, repetitions=1)
        alone, piped = Told.given
        assert len(alone) == 280
        assert set(alone) < set(pi_u)
        np.testing.assert_array_equal(alone, piped)

    def test_repetitions_differ_whatever_seed_a_model_brings(self):
        (X, y), (X_test, y_test) = rows(), rows(seed=1)
        family = tb.TailoredFamily([0.3], design="split", discount=50, draws=200, random_state=3)
        found = experiment(family, X[["x"]], y, X_test[["x"]], y_test, repetitions=4)
        assert found.difference("TB", "SB").standard_error[0, 0] > 0

    def test_frozen_models_and_risks_are_judged_as_they_are(self):
        (X, y), (X_test, y_test) = rows(), rows(seed=1)
        fitted = LogisticRegression().fit(X[["x"]], y)
        risk = fitted.predict_proba(X_test[["x"]])[:, 1]
        models = {"frozen": FrozenEstimator(fitted), "risk": risk}
        found = experiment(
            models, X[["x"]], y, X_test[["x"]], y_test, thresholds=TS, n=50, mislabelled=0.5,
            repetitions=2,
        )  # fmt: skip
        expected = [tb.net_benefit(y_test, risk, t) for t in TS]
        np.testing.assert_allclose(found.net_benefit, np.broadcast_to(expected, (2, 2, 2)))

    @pytest.mark.parametrize("recalibrate", [False, True])
    def test_a_reference_risk_from_outside_is_judged_on_the_rows_split_off(
        self, recorder, recalibrate
    ):
        X, y = rows()
        pi_u = 1 / (1 + np.exp(-2 * X["x"].to_numpy() - 1))
        family = tb.TailoredFamily(TS, discount=5, draws=200)
        found = experiment(
            {"TB": family, "who": recorder}, X, y, reference_risk=pi_u,
            recalibrate=recalibrate, repetitions=1, random_state=0,
        )  # fmt: skip
        assert found.models == ("TB", "who", "reference", "SB")
        [test] = Recorder.asked
        train = np.setdiff1d(np.arange(400), test)
        risk = pi_u
        if recalibrate:
            logit = np.log(pi_u / (1 - pi_u))[:, None]
            cox = LogisticRegression(C=np.inf, tol=1e-10).fit(logit[train], y[train])
            risk = cox.predict_proba(logit)[:, 1]
        expected = [tb.net_benefit(y[test], risk[test], t) for t in TS]
        np.testing.assert_allclose(found.net_benefit[0, 2], expected)

    def test_the_same_seed_gives_the_same_answer_in_any_number_of_processes(self):
        X, y = rows()
        family = tb.TailoredFamily(TS, draws=200, sampler="laplace")
        one, other, third = (
            experiment(
                family, X[["x"]], y, n=[100, 150], repetitions=2, n_jobs=jobs, random_state=seed
            ).to_frame()
            for jobs, seed in ((None, 0), (2, 0), (None, 1))
        )
        assert one.equals(other)
        assert not one.equals(third)


class TestWhatComesOfIt:
    def test_a_difference_is_the_mean_over_repetitions_with_both_errors(self):
        X, y = rows()
        models = {"x": LogisticRegression(), "flat": LogisticRegression(C=1e-4)}
        found = experiment(models, X[["x"]], y, thresholds=TS, repetitions=4, random_state=0)
        record = found.difference("x", "flat")
        wide = found.to_frame()
        gain = wide["x"] - wide["flat"]
        by_t = gain.groupby(wide["threshold"])
        np.testing.assert_allclose(record.difference[0], by_t.mean())
        np.testing.assert_allclose(record.standard_error[0], by_t.sem())
        np.testing.assert_allclose(
            record.sampling_error[0], np.sqrt((found.standard_error[:, 0, 1] ** 2).mean(axis=0))
        )
        [only] = found.differences
        np.testing.assert_array_equal(only.differences, record.differences)
        ax = tb.plots.net_benefit_difference(found)
        assert ax.get_legend_handles_labels()[1] == ["x − flat"]

    def test_where_settings_vary_grids_take_them_apart(self):
        X, y = rows()
        family = tb.TailoredFamily(TS, discount=5, draws=200)
        found = experiment(family, X[["x"]], y, n=[60, 120], mislabelled=[0, 0.3], repetitions=2)
        with pytest.raises(ValueError, match="its mislabelled and n varied; difference_grid"):
            found.difference("TB", "SB")
        grid = tb.difference_grid(found, panel="mislabelled", line="n")
        wide = found.to_frame()
        assert grid.compared == ("TB", "SB")
        expected = (wide["TB"] - wide["SB"]).groupby(
            [wide["mislabelled"], wide["n"], wide["threshold"]]
        )
        np.testing.assert_allclose(grid.to_frame()["mean"], expected.mean())
        assert tb.difference_grid(found).to_frame().equals(grid.to_frame())  # as it varied
        with pytest.raises(ValueError, match=r"panel must tell apart all that varied .* n; make"):
            tb.net_benefit_grid(found)

    def test_net_benefits_have_a_line_a_model_and_a_panel_a_setting(self):
        X, y = rows()
        family = tb.TailoredFamily(TS, discount=5, draws=200)
        found = experiment(family, X[["x"]], y, mislabelled=[0, 0.3], repetitions=2)
        levels = tb.net_benefit_grid(found)
        assert levels.panel == "mislabelled"
        only = tb.net_benefit_grid(found, ["SB"]).to_frame()
        assert only["line"].unique().tolist() == ["SB"]
        assert list(levels.to_frame()["line"].unique()) == ["TB", "SB"]
        wide = found.to_frame()
        expected = wide.groupby(["mislabelled", "threshold"])["SB"].mean()
        table = levels.to_frame()
        np.testing.assert_allclose(table.loc[table["line"] == "SB", "mean"], expected)

    def test_a_prevalence_that_sets_the_size_is_one_setting(self):
        X, y = rows()
        family = tb.TailoredFamily(TS, discount=5, draws=200)
        found = experiment(family, X[["x"]], y, prevalence=[0.1, 0.3], repetitions=2)
        assert found.varied == ("prevalence",)
        assert found.to_frame()["n"].nunique() == 2
        assert tb.net_benefit_grid(found).panel == "prevalence"
        assert tb.difference_grid(found).panel == "prevalence"

    def test_a_model_may_be_called_model(self):
        X, y = rows()
        models = {"model": MODEL, "SB": LogisticRegression(C=1e-3)}
        found = experiment(models, X[["x"]], y, thresholds=[0.3], repetitions=2)
        grid = tb.difference_grid(found).to_frame()
        assert grid["panel"].tolist() == ["model"]
        assert grid["repetitions"].tolist() == [2]
        gain = (found.net_benefit[:, 0] - found.net_benefit[:, 1]).mean()
        assert grid["mean"].item() == pytest.approx(gain)

    def test_what_there_is_nothing_to_compare_with_is_said(self):
        X, y = rows()
        found = experiment(MODEL, X[["x"]], y, thresholds=[0.3], repetitions=2)
        assert found.models == ("model",)
        with pytest.raises(ValueError, match="two models or more for a difference, got 'model'"):
            tb.plots.net_benefit_difference(found)
        with pytest.raises(ValueError, match=r"against must name a model .* got 'SB'; they"):
            tb.difference_grid(found)
        once = experiment({"a": MODEL, "b": MODEL}, X[["x"]], y, thresholds=TS, repetitions=1)
        with pytest.raises(ValueError, match="at least 2 repetitions for a standard error"):
            once.difference("a", "b")

    def test_three_settings_are_too_many_for_a_grid(self):
        X, y = rows()
        found = experiment(
            {"TB": MODEL, "SB": MODEL}, X[["x"]], y, thresholds=TS, n=[50, 60],
            prevalence=[0.3, 0.5], mislabelled=[0, 0.1], repetitions=1,
        )  # fmt: skip
        assert found.varied == ("prevalence", "mislabelled", "n")
        with pytest.raises(ValueError, match="panel and line must tell apart all that varied"):
            tb.difference_grid(found)

    def test_a_panel_a_model(self):
        X, y = rows()
        models = {
            name: tb.TailoredFamily(TS, discount=5, draws=200, distance=name)
            for name in ("squared", "absolute")
        }
        found = experiment(models, X[["x"]], y, repetitions=2, random_state=0)
        grid = tb.difference_grid(found).to_frame()  # where no setting varied
        assert list(grid["panel"].unique()) == ["squared", "absolute"]
        wide = found.to_frame()
        expected = (wide["absolute"] - wide["SB"]).groupby(wide["threshold"]).mean()
        np.testing.assert_allclose(grid.loc[grid["panel"] == "absolute", "mean"], expected)
        one = tb.difference_grid(found, "absolute", "squared", panel="n").to_frame()
        expected = (wide["absolute"] - wide["squared"]).groupby(wide["threshold"]).mean()
        np.testing.assert_allclose(one["mean"], expected)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": np.ones(400)}, "y must hold both events"),
        ({"y": [0, 1, 1]}, "X and y must have the same length, got 400 and 3"),
        (
            {"X_test": np.ones((3, 1)), "y_test": [0, 1]},
            "X_test and y_test must have the same length, got 3 and 2",
        ),
        ({"models": {}}, "models must name at least one model"),
        ({"models": {"n": MODEL}}, "models may not be named 'n', which is a column"),
        ({"models": {"all": MODEL}}, "models may not be named 'all', which is treating all"),
        ({"models": {1: MODEL, "1": MODEL}}, "models must have names that differ as text"),
        ({"models": {"a": np.full(400, 0.3)}}, "needs test rows of its own"),
        ({"models": {"a": FrozenEstimator(MODEL)}}, "got a frozen model: .* test rows of its own"),
        (
            {"models": {"a": make_pipeline("passthrough", FrozenEstimator(MODEL))}},
            "got a frozen model: .* test rows of its own",
        ),
        ({"n": 50, "mislabelled": [0, 0.001]}, "with 0 events mislabelled twice"),
        ({"models": LogisticRegression}, "must be an estimator, got the class Logistic"),
        ({"models": {"a": SVC()}}, "must be a classifier with fit and predict_proba, got SVC"),
        (
            {"models": {"a": tb.TailoredLogisticRegression(0.3, pos_label=0)}},
            "must take 1 for the event, as y does, got pos_label=0",
        ),
        (
            {"models": {"a": np.full(3, 0.3)}, "X_test": np.ones((4, 1)), "y_test": [0, 1, 0, 1]},
            r"models\['a'\] must have the same length",
        ),
        ({"reference_risk": np.full(400, 0.3)}, "reference_risk needs a model whose fit takes it"),
        ({"thresholds": [0.3, 0.3]}, "thresholds must differ"),
        ({"n": [280, None]}, "settings must differ, got n = 280 at a prevalence of 0.4 with"),
        ({"n": np.array([[50, 60]])}, "n must be one value or several that differ"),
        ({"X_test": np.ones((3, 1))}, "X_test must come with y_test"),
        ({"thresholds": None}, "thresholds must be given where no model is a family"),
        ({"thresholds": [1.0]}, "threshold"),
        ({"n": [50, 50]}, "n must be one value or several that differ"),
        ({"n": 390}, "there are 112 and 168 to learn from; take a smaller n"),
        ({"n": 250, "prevalence": 0.5}, "125 events and 125 non-events"),
        ({"n": 5, "prevalence": 0.1}, "a sample must hold events and non-events"),
        ({"n": 2.5}, "n must be a whole number"),
        ({"prevalence": 30}, "prevalence must be a finite number above 0 and below 1"),
        ({"mislabelled": 1.0}, "mislabelled must be a finite number at least 0 and below 1"),
        ({"mislabelled": []}, "mislabelled must be one value or several"),
        ({"spared": "BART"}, "spared must name models that there are"),
        ({"repetitions": 0}, "repetitions must be a whole number"),
        ({"test_size": 0.001}, "test_size must leave events and non-events"),
        ({"test_size": 30}, "test_size must be a finite number"),
        ({"reference_risk": np.ones(3)}, "must have the same length"),
        ({"recalibrate": True}, "needs a reference_risk"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)  # fmt: skip
def test_bad_input_is_named(change, words):
    X, y = rows()
    given = {"models": {"a": MODEL}, "X": X[["x"]], "y": y, "thresholds": TS, **change}
    with pytest.raises((ValueError, TypeError), match=words):
        experiment(given.pop("models"), given.pop("X"), given.pop("y"), **given)


def test_a_familys_only_threshold_may_be_a_number():
    X, y = rows()
    family = tb.TailoredFamily(0.3, discount=5, draws=200)
    assert experiment(family, X[["x"]], y, repetitions=1).thresholds.tolist() == [0.3]
    assert tb.optimism(family, X[["x"]], y, repeats=1).to_frame()["threshold"].max() == 0.3


def test_seeds_may_be_scikit_learns_or_numpys():
    X, y = rows()
    given = {"thresholds": TS, "repetitions": 2}
    found = [
        experiment({"a": MODEL}, X[["x"]], y, random_state=seed, **given).to_frame()
        for seed in (np.random.RandomState(3), np.random.RandomState(3), np.random.default_rng(3))
    ]
    assert found[0].equals(found[1])
    assert not found[0].equals(found[2])


def test_a_family_without_a_model_for_the_threshold_is_named():
    X, y = rows()
    with pytest.raises(ValueError, match=r"models\['TB'\] has no model for the threshold 0.3"):
        experiment(tb.TailoredFamily(TS), X[["x"]], y, thresholds=0.3)


def test_a_fit_that_fails_says_on_which_sample():
    X, y = rows()
    broken = LogisticRegression(C=-1)
    with pytest.raises(ValueError, match="C") as failed:
        experiment({"broken": broken}, X[["x"]], y, thresholds=TS, n=50, repetitions=1)
    [note] = failed.value.__notes__
    assert note.startswith("fitting 'broken' to the sample with prevalence = 0.4")
    assert note.endswith("n = 50, repetition 0")


def test_nested_seeds_are_filled():
    found = seeded(make_pipeline(LogisticRegression()), np.random.default_rng(0))
    assert found[-1].random_state is not None
