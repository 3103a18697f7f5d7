"""Experiments: whole fitting procedures run again and again, on other samples of the same rows.

One fit shows what it gained on one sample. Whether the gain is the procedure's is seen when it is
run again: with other splits, with fewer rows, at another prevalence, with labels that are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from tailoredbayes.checks import (
    BoolArray,
    FloatArray,
    check_both_classes,
    check_flag,
    check_generator,
    check_number,
    check_outcome,
    check_risk,
    check_same_length,
    check_thresholds,
    check_whole_number,
)
from tailoredbayes.evaluation.cells import ALL, NONE, check_models_named, contrast, enter
from tailoredbayes.evaluation.differences import ResplitDifference, resplit_difference
from tailoredbayes.evaluation.mislabelling import mislabelled_rows
from tailoredbayes.evaluation.models import (
    model_risks,
    named_models,
    own_event,
    threshold_places,
)
from tailoredbayes.evaluation.refits import fit_anew, takes
from tailoredbayes.reference import check_predicts, recalibration

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Experiment", "experiment"]

Rows = NDArray[np.intp]

_SB, _REFERENCE = "SB", "reference"
_SETTINGS = ("prevalence", "mislabelled", "n")
_COLUMNS = (*_SETTINGS, "repetition", "threshold")


@dataclass(frozen=True)
class Experiment:
    """Net benefit of models, fitted and judged again and again; arrays are (fits, ...)."""

    models: tuple[str, ...]
    """Names."""
    thresholds: FloatArray
    """t."""
    settings: tuple[Mapping[str, Any], ...]
    """Of each fit: prevalence, mislabelled and n of its training rows, and its repetition."""
    net_benefit: FloatArray
    """NB(t) on the test rows, (fits, models, thresholds)."""
    standard_error: FloatArray
    """The test rows' own sampling error of the difference between two of the models,
    (fits, models, models, thresholds)."""
    n_test: int
    """Test rows of each fit."""
    varied: tuple[str, ...] = ()
    """Settings that were given several values, those that vary most slowly first."""

    def to_frame(self) -> pd.DataFrame:
        """Return a row a fit and threshold, with each model's net benefit in its column.

        :func:`~tailoredbayes.difference_grid` and :func:`~tailoredbayes.net_benefit_grid` take
        the experiment itself, and see to it that no setting is averaged over; of a table they
        average over all but the panels and lines they are told.
        """
        import pandas as pd

        count = len(self.thresholds)
        columns: dict[str, Any] = {
            name: np.repeat([at[name] for at in self.settings], count)
            for name in (*_SETTINGS, "repetition")
        }
        columns["threshold"] = np.tile(self.thresholds, len(self.settings))
        for place, name in enumerate(self.models):
            columns[name] = self.net_benefit[:, place].ravel()
        return pd.DataFrame(columns)

    def difference(self, model: str, against: str) -> ResplitDifference:
        """Return the mean of a difference over the repetitions, with the paper's standard error.

        Where no setting varies; otherwise see :func:`~tailoredbayes.difference_grid`.
        """
        check_models_named([model, against], self.models, "model and against")
        if self.varied:
            raise ValueError(
                "the experiment must have one setting for a single difference, but its "
                f"{' and '.join(self.varied)} varied; difference_grid takes them apart"
            )
        if len(self.settings) < 2:
            raise ValueError(
                "the experiment must have at least 2 repetitions for a standard error over them, "
                "got 1; run it with repetitions=5"
            )
        one, other = self.models.index(model), self.models.index(against)
        return resplit_difference(
            self.net_benefit[:, one] - self.net_benefit[:, other],
            self.thresholds,
            sampling_error=self.standard_error[:, one, other],
            model=model,
            against=against,
        )

    @property
    def differences(self) -> tuple[ResplitDifference, ...]:
        """The first model less each of the others."""
        if len(self.models) < 2:
            raise ValueError(
                f"the experiment must have two models or more for a difference, got "
                f"{self.models[0]!r} alone; add the one to compare it with"
            )
        return tuple(self.difference(self.models[0], other) for other in self.models[1:])

    def __repr__(self) -> str:
        return (
            f"Experiment: {', '.join(self.models)} fitted to {len(self.settings)} samples and "
            f"judged on {self.n_test} rows at {len(self.thresholds)} thresholds"
        )


def experiment(
    models: Any,
    X: Any,
    y: ArrayLike,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    *,
    thresholds: ArrayLike | None = None,
    n: int | Sequence[int] | None = None,
    prevalence: float | Sequence[float] | None = None,
    mislabelled: float | Sequence[float] = 0.0,
    spared: str | Sequence[str] = (),
    repetitions: int = 5,
    test_size: float = 0.3,
    reference_risk: ArrayLike | None = None,
    recalibrate: bool = False,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Experiment:
    """Return the net benefit of models that are fitted anew to sample after sample.

    Each repetition, at each setting,

    1. splits off test rows, stratified, unless there are some of their own;
    2. draws n of the other rows without replacement, a share ``prevalence`` of them events;
    3. records a share ``mislabelled`` of their events as non-events;
    4. fits every model to them, the search for the discount included, with seeds of this fit's
       own: a ``random_state`` that a model brings is overruled;
    5. judges the models on the test rows, whose labels are right. Where a prevalence was asked for
       the test rows stand for a population of that prevalence, as in :func:`decision_curve`.

    All of the rows, their own prevalence and right labels are what is not asked otherwise: then
    repetitions differ by their splits and seeds alone, as in the paper. [Karapanagiotis2021]

    Parameters
    ----------
    models
        {name: unfitted estimator}. Where the test rows are given, a fitted one in
        ``sklearn.frozen.FrozenEstimator``, or an array of risks of the test rows, is judged as it
        is. The standard Bayes of a family, of the first that is not spared, is judged as "SB",
        unless another model has the name; a family alone is "TB".
    X, y
        Rows to learn from, and their outcomes, 0 and 1.
    X_test, y_test
        Rows to judge by; None splits them off ``X`` and ``y``.
    thresholds
        t; those of the first family by default. A family needs a model for each of them.
    n
        Sizes of the samples, one or several. None takes all rows, or as many as the prevalence
        leaves.
    prevalence
        Shares of events, one or several. None takes that of ``y``.
    mislabelled
        Shares of the events that are recorded as non-events, one or several.
    spared
        Names of models that learn from right labels all the same: what could be reached.
    repetitions
        How often each setting is run.
    test_size
        Share of the rows that are split off to judge by.
    reference_risk
        pi_u of ``X`` from outside, for models whose fit takes it. If the test rows are split off
        it is judged as well, as "reference".
    recalibrate
        Whether it is recalibrated by the training rows first.
    n_jobs
        Processes; the result does not depend on them.
    random_state
        None, a seed or a NumPy Generator.

    Returns
    -------
    Experiment

    See Also
    --------
    tailoredbayes.optimism : What the procedure is worth on new rows, by cross-validation or the
        bootstrap.
    tailoredbayes.miscalibration_cost : What a miscalibrated reference risk costs.

    Examples
    --------
    >>> from tailoredbayes.estimators import TailoredFamily
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 2))
    >>> y = rng.uniform(size=400) < X[:, 1] / X.sum(axis=1)
    >>> family = TailoredFamily([0.3, 0.5], discount=10, draws=200)
    >>> found = experiment(family, X, y, n=[100, 200], repetitions=2, random_state=0)
    >>> found
    Experiment: TB, SB fitted to 4 samples and judged on 120 rows at 2 thresholds
    >>> list(found.to_frame())
    ['prevalence', 'mislabelled', 'n', 'repetition', 'threshold', 'TB', 'SB']
    """
    alone = "TB" if hasattr(models, "thresholds") else "model"
    named = dict(models) if isinstance(models, Mapping) else {alone: models}
    task = _task(
        named, X, y, X_test, y_test, thresholds, spared, test_size, reference_risk, recalibrate
    )
    reps = check_whole_number(repetitions, "repetitions", at_least=1)
    given = {"prevalence": prevalence, "mislabelled": mislabelled, "n": n}
    values = {name: _several(value, name) for name, value in given.items()}
    samples = list(_samples(task, **values))
    generator = check_generator(random_state)
    splits = [task.split(rng) for rng in generator.spawn(reps)]
    cells = [(sample, repetition) for sample in samples for repetition in range(reps)]
    found = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_judge)(task, sample, repetition, splits[repetition], rng)
        for (sample, repetition), rng in zip(cells, generator.spawn(len(cells)), strict=True)
    )
    net_benefit, error = (np.stack(part) for part in zip(*found, strict=True))
    settings = tuple({**sample.told, "repetition": r} for sample, r in cells)
    n_test = len(splits[0][1])
    varied = tuple(name for name in _SETTINGS if len(values[name]) > 1)
    return Experiment(task.names, task.thresholds, settings, net_benefit, error, n_test, varied)


# --- The task ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """What is fitted, to what, and judged by what."""

    models: Mapping[str, Any]
    names: tuple[str, ...]
    X: Any
    event: BoolArray
    X_test: Any
    event_test: BoolArray | None
    thresholds: FloatArray
    spared: frozenset[str]
    test_size: float
    reference_risk: FloatArray | None
    recalibrate: bool

    @property
    def left(self) -> tuple[int, int]:
        """Events and non-events to learn from."""
        numbers = [int(self.event.sum()), int((~self.event).sum())]
        if self.event_test is None:
            numbers = [number - round(self.test_size * number) for number in numbers]
        return numbers[0], numbers[1]

    def split(self, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Return training and test rows; these are rows of ``X_test`` where there is one."""
        if self.event_test is not None:
            return np.arange(len(self.event)), np.arange(len(self.event_test))
        train = np.zeros(len(self.event), dtype=bool)
        for kind, left in zip((True, False), self.left, strict=True):
            train[rng.permutation(np.flatnonzero(self.event == kind))[:left]] = True
        return np.flatnonzero(train), np.flatnonzero(~train)

    def outside(self, test: Rows, rows: Rows, recorded: BoolArray) -> FloatArray:
        """Return the reference risk of test rows, recalibrated by training rows if asked."""
        assert self.reference_risk is not None
        risk = self.reference_risk[test]
        if not self.recalibrate:
            return risk
        return recalibration(self.reference_risk[rows], recorded).apply(risk)


@dataclass(frozen=True)
class _Sample:
    """One setting: how many events and others, and how many of the events are missed."""

    events: int
    others: int
    prevalence: float | None
    told: Mapping[str, Any]

    def draw(self, event: BoolArray, rows: Rows, rng: np.random.Generator) -> Rows:
        """Return the rows of one sample."""
        kinds = ((True, self.events), (False, self.others))
        drawn = [rng.permutation(rows[event[rows] == kind])[:count] for kind, count in kinds]
        return np.sort(np.concatenate(drawn))


def _samples(
    task: _Task, prevalence: list[Any], mislabelled: list[Any], n: list[Any]
) -> Iterator[_Sample]:
    """Give every setting, those that vary most slowly first."""
    events, others = task.left
    own = float(task.event.mean())
    made: set[tuple[int, int, int]] = set()
    for share, wrong, size in product(prevalence, mislabelled, n):
        advice = "pass shares such as 0.1 or [0.1, 0.3]"
        missed = check_number(wrong, "mislabelled", at_least=0, below=1, advice=advice)
        if share is not None:
            share = check_number(share, "prevalence", above=0, below=1, advice=advice)
        target = own if share is None else share
        if share is None and (size is None or size == events + others):
            wanted = events, others
        elif size is None:
            most = int(min(events / target, others / (1 - target)))
            wanted = round(most * target), most - round(most * target)
        else:
            size = check_whole_number(size, "n", at_least=4, advice="pass numbers of rows")
            wanted = round(size * target), size - round(size * target)
        if wanted[0] > events or wanted[1] > others:
            raise ValueError(
                f"n must leave enough rows to draw from: n = {sum(wanted)} at a prevalence of "
                f"{target:.3g} are {wanted[0]} events and {wanted[1]} non-events, and there are "
                f"{events} and {others} to learn from; take a smaller n"
            )
        if min(wanted[0] - round(missed * wanted[0]), wanted[1]) < 1:
            raise ValueError(
                f"a sample must hold events and non-events, got {wanted[0]} events, "
                f"{round(missed * wanted[0])} of them mislabelled, and {wanted[1]} non-events at "
                f"n = {sum(wanted)} and a prevalence of {target:.3g}; take a larger n"
            )
        same = (*wanted, round(missed * wanted[0]))
        if same in made:
            raise ValueError(
                f"settings must differ, got n = {sum(wanted)} at a prevalence of {target:.3g} with "
                f"{same[2]} events mislabelled twice; None stands for all rows and for the "
                "prevalence of y"
            )
        made.add(same)
        told = {"prevalence": target, "mislabelled": missed, "n": sum(wanted)}
        yield _Sample(*wanted, share, told)


def _fit_and_judge(
    task: _Task,
    sample: _Sample,
    repetition: int,
    split: tuple[Rows, Rows],
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Fit the models to one sample, and judge them on the test rows."""
    train, test = split
    right_rng, wrong_rng, *seeds = rng.spawn(2 + len(task.models))
    rows = sample.draw(task.event, train, right_rng)
    right = task.event[rows]
    wrong = mislabelled_rows(right, sample.told["mislabelled"], 0.0, wrong_rng)
    recorded = right ^ wrong
    X = take_rows(task.X, rows)
    pi_u = None if task.reference_risk is None else task.reference_risk[rows]
    judged: dict[str, Any] = {}
    for (name, model), seed in zip(task.models.items(), seeds, strict=True):
        if not hasattr(model, "fit"):
            judged[name] = model
            continue
        labels = (right if name in task.spared else recorded).astype(np.int64)
        try:
            judged[name] = fit_anew(
                model,
                X,
                labels,
                seed,
                overrule=True,
                reference_risk=pi_u,
                recalibrate=task.recalibrate or None,
            )
        except Exception as error:
            told = ", ".join(f"{key} = {value:.3g}" for key, value in sample.told.items())
            error.add_note(f"fitting {name!r} to the sample with {told}, repetition {repetition}")
            raise
    for name in task.names:
        if name not in judged and name == _REFERENCE:
            judged[name] = task.outside(test, rows, recorded)
        elif name not in judged:
            families = [key for key, one in judged.items() if hasattr(one, "standard_")]
            first = next((key for key in families if key not in task.spared), families[0])
            judged[name] = judged[first].standard_
    return _judge(task, {name: judged[name] for name in task.names}, test, sample.prevalence)


def _judge(
    task: _Task, models: Mapping[str, Any], test: Rows, prevalence: float | None
) -> tuple[FloatArray, FloatArray]:
    """Return net benefits (models, thresholds), and errors (models, models, thresholds)."""
    if task.event_test is None:
        X, y = take_rows(task.X, test), task.event[test]
    else:
        X, y = task.X_test, task.event_test
    found = enter(y, models, task.thresholds, X=X, prevalence=prevalence)
    rules = [found.strategies[name] for name in models]
    nobody = found.strategies[NONE]
    net_benefit = [sum(part.estimate() for part in contrast(found, rule, nobody)) for rule in rules]
    errors = np.zeros((len(rules), len(rules), len(task.thresholds)))
    for i, j in zip(*np.triu_indices(len(rules), 1), strict=True):
        variance = sum(part.variance() for part in contrast(found, rules[i], rules[j]))
        errors[i, j] = errors[j, i] = np.sqrt(variance)
    return np.stack(net_benefit), errors


# --- At the door ------------------------------------------------------------------------------


def _task(
    models: Mapping[Any, Any],
    X: Any,
    y: ArrayLike,
    X_test: Any,
    y_test: ArrayLike | None,
    thresholds: ArrayLike | None,
    spared: str | Sequence[str],
    test_size: float,
    reference_risk: ArrayLike | None,
    recalibrate: bool,
) -> _Task:
    """Check what does not change from sample to sample."""
    event = check_outcome(y, "y")
    check_both_classes(event, "y")
    _check_length(X, event, "X", "y")
    if (X_test is None) != (y_test is None):
        given, missing = ("X_test", "y_test") if y_test is None else ("y_test", "X_test")
        raise ValueError(f"{given} must come with {missing}, got none; pass both, or neither")
    event_test = None
    if y_test is not None:
        event_test = check_outcome(y_test, "y_test")
        check_both_classes(event_test, "y_test")
        _check_length(X_test, event_test, "X_test", "y_test")
    named = {str(name): model for name, model in named_models(models, "models").items()}
    if not named:
        raise ValueError("models must name at least one model, got none")
    for name, model in named.items():
        _check_model(name, model, apart=event_test is not None)
    pi_u = None if reference_risk is None else check_risk(reference_risk, "reference_risk")
    check_same_length(y=event, reference_risk=pi_u)
    names = list(named)
    if pi_u is not None and event_test is None and _REFERENCE not in named:
        names.append(_REFERENCE)
    if any(hasattr(model, "thresholds") for model in named.values()) and _SB not in named:
        names.append(_SB)
    if pi_u is not None and not any(takes(model, "reference_risk") for model in named.values()):
        raise ValueError(
            "reference_risk needs a model whose fit takes it, such as a TailoredFamily, got "
            f"{', '.join(type(model).__name__ for model in named.values())}"
        )
    chosen = _thresholds(named, thresholds)
    risks = {name: model for name, model in named.items() if not hasattr(model, "fit")}
    if risks and event_test is not None:
        model_risks(risks, event_test, thresholds=chosen, name="models")
    learn_right = [spared] if isinstance(spared, str) else list(spared)
    check_models_named(learn_right, named, "spared")
    advice = "pass the share of rows to judge by, such as 0.3"
    share = check_number(test_size, "test_size", above=0, below=1, advice=advice)
    if event_test is None and round(share * min(event.sum(), (~event).sum())) < 1:
        raise ValueError(
            f"test_size must leave events and non-events to judge by, got {share:g} of "
            f"{int(event.sum())} events and {int((~event).sum())} non-events; take a larger share"
        )
    flag = check_flag(recalibrate, "recalibrate")
    if flag and pi_u is None:
        raise ValueError("recalibrate=True needs a reference_risk to recalibrate, got none")
    return _Task(
        named,
        tuple(names),
        X,
        event,
        X_test,
        event_test,
        chosen,
        frozenset(learn_right),
        share,
        pi_u,
        flag,
    )


def _check_model(name: str, model: Any, *, apart: bool) -> None:
    """Refuse what cannot be fitted and judged; ``apart`` where the test rows are given."""
    label = f"models[{name!r}]"
    if name in _COLUMNS or name in (ALL, NONE):
        taken = "treating all or none" if name in (ALL, NONE) else "a column of the result"
        raise ValueError(f"models may not be named {name!r}, which is {taken}; choose another name")
    if isinstance(model, type):
        raise TypeError(f"{label} must be an estimator, got the class {model.__name__}; call it")
    parts = [model, *model.get_params().values()] if hasattr(model, "get_params") else [model]
    frozen = any(isinstance(part, FrozenEstimator) for part in parts)
    if not apart and (frozen or not hasattr(model, "fit")):
        kind = "a frozen model" if hasattr(model, "fit") else f"a {type(model).__name__}"
        raise ValueError(
            f"{label} must be an estimator to fit, got {kind}: what is not fitted anew may have "
            "learnt from the rows that are split off, and needs test rows of its own, X_test and "
            "y_test"
        )
    if hasattr(model, "fit") and not hasattr(model, "thresholds"):
        check_predicts(model, label)
    if own_event(model) not in (None, 1):
        raise ValueError(
            f"{label} must take 1 for the event, as y does, got pos_label={own_event(model)!r}; "
            "leave it None"
        )


def _check_length(X: Any, event: BoolArray, name: str, outcome: str) -> None:
    if _num_samples(X) != len(event):
        raise ValueError(
            f"{name} and {outcome} must have the same length, got {_num_samples(X)} and "
            f"{len(event)}; check that they come from the same rows"
        )


def _thresholds(models: Mapping[str, Any], thresholds: ArrayLike | None) -> FloatArray:
    own = {name: model.thresholds for name, model in models.items() if hasattr(model, "thresholds")}
    if thresholds is None:
        if not own:
            raise ValueError(
                "thresholds must be given where no model is a family, got none; pass those that "
                "matter to the decision"
            )
        thresholds = next(iter(own.values()))
    chosen = np.atleast_1d(check_thresholds(np.asarray(thresholds, dtype=np.float64)))
    if len(np.unique(chosen)) < len(chosen):
        raise ValueError(f"thresholds must differ, got {np.sort(chosen).tolist()}")
    for name, theirs in own.items():
        threshold_places(chosen, np.asarray(theirs, dtype=np.float64), f"models[{name!r}]")
    return chosen


def _several(values: Any, name: str) -> list[Any]:
    """Return one value or several as a list of different ones."""
    given = [values] if values is None or np.ndim(values) == 0 else list(values)
    if any(np.ndim(value) for value in given) or not given or len(set(given)) < len(given):
        raise ValueError(f"{name} must be one value or several that differ, got {values!r}")
    return given
