"""The Tailored Bayes algorithm, as in the paper's pseudo-code, for one threshold or several.

    pi_u    <- Model_u                      stage 1: reference.py
    h       <- distance(pi_u, t)            weighting.py
    lambda* <- CV(h, grid)                  selection.py, repeated for every refinement round
    w       <- exp(-lambda* h)              weighting.py
    beta    <- Model_w(w)                   stage 2: inference/

Thresholds share stage 1, the folds and the passes over the data. Each step returns a record that
the next one reads; what was found is kept, and nothing is refitted later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from tailoredbayes.findings import Finding
from tailoredbayes.inference import Draws, Modes, find_modes, sample
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.priors import Prior
from tailoredbayes.reference import (
    Reference,
    given_reference,
    model_reference,
    rarer_outcome,
    standard_reference,
    stratified_folds,
)
from tailoredbayes.rows import available_threads, one_blas_thread
from tailoredbayes.selection import (
    DEFAULT_RULE,
    Choice,
    HeldOut,
    Problem,
    Tally,
    choose,
    default_discounts,
    held_out_by_posterior,
    tally,
)
from tailoredbayes.weighting import (
    NEVER,
    Distance,
    distance_to_threshold,
    effective_sample_size,
    kish_effective_sample_size,
)

__all__ = [
    "Progress",
    "Search",
    "Settings",
    "TailoredFit",
    "Training",
    "fit_tailored",
    "make_folds",
    "search_discounts",
    "search_findings",
    "stage_1",
    "step_count",
    "tailored_weights",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Folds = NDArray[np.int16]
Progress: TypeAlias = Callable[[str], None]

# A smaller effective share of the rows (Kish's) than this is worth a word.
_SMALL_SHARE = 0.1
# A row is near the threshold when its reference risk is within this of it; this share should be.
_NEAR, _NEAR_SHARE = 0.05, 0.01
# Events (or non-events) in all, under which a cross-validated net benefit is mostly noise.
_RARE = 50


@dataclass(frozen=True)
class Training:
    """What is learnt from, checked: covariates as numbers, and as the user gave them (``X``)."""

    x: NDArray[Any]
    y: Bools
    X: Any = None
    sample_weight: Floats | None = None
    reference_risk: Floats | None = None
    recalibrate: bool = False
    names: Sequence[str] | None = None


@dataclass(frozen=True)
class Settings:
    """How to fit: the estimator's parameters, checked."""

    discount: float | None = None  # None: by cross-validation
    discounts: Floats | None = None  # None: the default grid
    selection: str = DEFAULT_RULE
    cv: Any = 5
    cv_repeats: int = 1
    rounds: int = 0
    reference: Any = None  # None: standard Bayesian logistic regression
    design: str | float = "crossfit"
    distance: str | Distance = "squared"
    epsilon: float = 0.0
    prior: Prior | None = None
    sampler: str = "auto"
    draws: int = 4000
    fit_intercept: bool = True
    threads: int | None = None
    n_jobs: int | None = None


@dataclass(frozen=True)
class Search:
    """What the search for the discount found, for one threshold.

    ``reference_risk`` is the pi_u behind the final weights: stage 1's, or a refined one if a later
    ``round`` was chosen; ``round_risks`` are those of all rounds. Without a search (the discount
    was given) there are no tallies.
    """

    threshold: float
    discount: float
    reference_risk: Floats | None
    round: int = 0
    tallies: tuple[Tally, ...] = ()
    choice: Choice | None = None
    round_risks: tuple[Floats, ...] = ()

    def limited(self, rounds: int) -> Search:
        """Return what the same search would have found with fewer rounds."""
        if self.choice is None:
            return self
        return _chosen(self.tallies[: rounds + 1], self.round_risks, self.choice.rule)


def _chosen(tallies: Sequence[Tally], risks: Sequence[Floats], rule: str) -> Search:
    choice = choose(tallies, rule)
    return Search(
        tallies[0].threshold,
        choice.discount,
        risks[choice.round],
        choice.round,
        tuple(tallies),
        choice,
        tuple(risks),
    )


@dataclass(frozen=True)
class TailoredFit:
    """One tailored fit and all that led to it. ``weights`` are zero for design rows."""

    search: Search
    reference: Reference | None
    weights: Floats
    draws: Draws
    findings: tuple[Finding, ...]


def fit_tailored(
    training: Training,
    thresholds: Sequence[float],
    settings: Settings,
    rng: np.random.Generator,
    *,
    standard: bool = False,
    progress: Progress = lambda step: None,
) -> tuple[list[TailoredFit], Draws | None]:
    """Fit one tailored model a threshold and, if asked, draw from the standard model beside them.

    ``rng`` spawns a stream for each step, and every threshold draws from the same stream: a fit is
    the same alone and among others.
    """
    for_reference, for_folds, for_draws = rng.spawn(3)
    seed = int(for_draws.integers(2**63))
    base = TailoredPosterior(
        training.x,
        training.y,
        prior=settings.prior,
        fit_intercept=settings.fit_intercept,
        names=training.names,
        threads=settings.threads,
    )
    # Every posterior of the fit is a neighbour of the standard one: all set out from its mode.
    standard_weights = training.sample_weight
    whole = base if standard_weights is None else base.reweighted(standard_weights)
    start = find_modes(whole).theta
    reference = None
    searches = [Search(t, 0.0, None) for t in thresholds]
    said: list[Finding] = []
    if settings.discount != 0:
        progress("reference risk")
        reference = stage_1(training, settings, for_reference, base, start)

        def held_out(problems: Sequence[Problem], folds: Folds) -> Iterator[HeldOut]:
            return held_out_by_posterior(base, problems, folds, training.sample_weight, start)

        searches, said = search_discounts(
            training,
            reference,
            thresholds,
            settings,
            for_folds,
            held_out=held_out,
            n_coefficients=base.n_coefficients,
            progress=progress,
        )
        said = [*reference.findings, *said]

    progress("final fit")
    weights = np.stack([tailored_weights(training, reference, settings, s) for s in searches])
    plain = np.ones(len(training.y)) if training.sample_weight is None else training.sample_weight
    # The standard model of all rows comes along: to compare with, and as a start for the others.
    posterior = base.reweighted(np.vstack([weights, plain]).T)
    modes = find_modes(posterior, start=start)
    together = range(len(searches) + standard)
    # Posteriors are shared out to threads where there are several, and the rows of one otherwise.
    threads = available_threads() if settings.threads is None else settings.threads
    workers = min(len(together), threads)
    own = posterior if workers == 1 else posterior.on_threads(1)

    def draw(column: int) -> Draws:
        progress(
            "draws for the standard model"
            if column == len(searches)
            else f"draws for threshold {searches[column].threshold:g}"
        )
        return sample(
            own,
            settings.sampler,
            column=column,
            draws=settings.draws,
            random_state=seed,
            modes=modes,
            warn=False,
        )

    # The posteriors are what is shared out: their linear algebra must not ask for threads as well.
    with one_blas_thread, ThreadPoolExecutor(workers) as pool:
        drawn = list(pool.map(draw, together))
    fits = []
    for column, search in enumerate(searches):
        findings = [
            *said,
            *search_findings(training, reference, search, weights[column]),
            *_orientation(training, posterior, modes, column),
            *drawn[column].findings,
        ]
        fits.append(TailoredFit(search, reference, weights[column], drawn[column], tuple(findings)))
    return fits, drawn[-1] if standard else None


def step_count(settings: Settings, draws: int) -> int:
    """Return how many steps a fit of so many posteriors will announce."""
    searching = (
        0 if settings.discount == 0 else 1 + (settings.discount is None) * (settings.rounds + 1)
    )
    return searching + 1 + draws


# --- Stage 1 ----------------------------------------------------------------------------------


def stage_1(
    training: Training,
    settings: Settings,
    rng: np.random.Generator,
    base: TailoredPosterior | None,
    start: Floats | None = None,
) -> Reference:
    """Estimate (or take) the reference risks."""
    y, weight = training.y, training.sample_weight
    folds = None
    if not isinstance(settings.cv, int):
        folds = _given_folds(settings.cv, y, _counted(training))
    if training.reference_risk is not None:
        return given_reference(training.reference_risk, y, weight, recalibrate=training.recalibrate)
    if settings.reference is None and base is not None:
        return standard_reference(base, y, settings.design, rng, weight, folds, start)
    return model_reference(
        settings.reference, training.X, y, settings.design, rng, weight, folds, settings.n_jobs
    )


# --- The search for the discount --------------------------------------------------------------


def search_discounts(
    training: Training,
    reference: Reference,
    thresholds: Sequence[float],
    settings: Settings,
    rng: np.random.Generator,
    *,
    held_out: Callable[[Sequence[Problem], Folds], Iterator[HeldOut]],
    n_coefficients: int,
    progress: Progress,
) -> tuple[list[Search], list[Finding]]:
    """Choose the discount of each threshold by cross-validation, or take the one given.

    In a refinement round the tailored model's own held-out risks, at the discount that the rule
    likes best so far, take the place of pi_u. Rounds and discounts are then chosen together.
    """
    if settings.discount is not None:
        return [Search(t, settings.discount, reference.risk) for t in thresholds], []
    used = reference.development
    folds, said = make_folds(training.y, used, settings, rng, _counted(training))
    tallies: list[list[Tally]] = [[] for _ in thresholds]
    risks = [[reference.risk] for _ in thresholds]
    for round_ in range(settings.rounds + 1):
        progress(f"discounts, round {round_}" if settings.rounds else "discounts")
        problems = []
        for threshold, risk in zip(thresholds, risks, strict=True):
            h = _distance(risk[-1], reference.development, threshold, settings)
            grid = settings.discounts
            if grid is None:
                shown = np.where(reference.development, h, np.nan)
                grid = default_discounts(shown, training.y, n_coefficients, training.sample_weight)
            problems.append(Problem(threshold, h, grid))
        more = round_ < settings.rounds
        found = tally(
            problems,
            training.y,
            folds,
            held_out(problems, folds),
            training.sample_weight,
            keep_risk=more,
        )
        for i, one in enumerate(found):
            tallies[i].append(one)
            if more and one.risk is not None:
                best = choose([one], settings.selection).index
                risks[i].append(one.risk[:, best])
    return [
        _chosen(table, risk, settings.selection) for table, risk in zip(tallies, risks, strict=True)
    ], said


def _counted(training: Training) -> Bools:
    """Return the rows of positive weight: the others might as well not be there."""
    if training.sample_weight is None:
        return np.ones(len(training.y), dtype=bool)
    return np.asarray(training.sample_weight > 0)


def make_folds(
    y: Bools, development: Bools, settings: Settings, rng: np.random.Generator, counted: Bools
) -> tuple[Folds, list[Finding]]:
    """Return the fold of each row in each repeat (``NEVER`` for design rows), and what to say.

    Only rows that are ``counted``, those of positive weight, are events and non-events here.
    """
    rows = np.flatnonzero(development)
    rarer = rarer_outcome(y[development & counted])
    weighing = "" if counted.all() else " of positive weight"
    folds = np.full((len(y), settings.cv_repeats), NEVER, dtype=np.int16)
    said = []
    if rarer < _RARE:
        said.append(
            Finding(
                "rare-events",
                f"there are {rarer} rows{weighing} of the rarer outcome to choose the discount by; "
                "the choice is mostly noise: repeat the cross-validation (cv_repeats=10) or give a "
                "discount",
                float(rarer),
            )
        )
    if isinstance(settings.cv, int):
        number = min(settings.cv, rarer)
        if number < 2:
            raise ValueError(
                f"cv needs at least 2 events and 2 non-events{weighing} to choose the discount, "
                f"got {rarer} of one of them; give discount= a number"
            )
        if number < settings.cv:
            said.append(
                Finding(
                    "fewer-folds",
                    f"{number} folds were used instead of {settings.cv}, as a fold without events "
                    "has no net benefit to speak of",
                    float(number),
                )
            )
        for repeat in range(settings.cv_repeats):
            folds[rows, repeat] = stratified_folds(y[rows], number, rng, counted[rows])
        return folds, said
    given = _given_folds(settings.cv, y, development & counted)[rows]
    # Numbered anew: a fold of design rows alone is none.
    folds[rows] = np.unique(given, return_inverse=True)[1][:, None]
    return folds, said


def _given_folds(cv: Any, y: Bools, used: Bools) -> Folds:
    """Return the fold of each row under the user's own splits, which ``used`` rows must bear."""
    folds = np.full(len(y), NEVER, dtype=np.int16)
    times_held_out = np.zeros(len(y), dtype=int)
    complements = True
    every = np.arange(len(y))
    try:
        for fold, (train, test) in enumerate(
            check_cv(cv, y, classifier=True).split(np.zeros((len(y), 1)), y)
        ):
            folds[test] = fold
            times_held_out[test] += 1
            complements &= len(np.union1d(every[train], every[test])) == len(y)
    except (IndexError, OverflowError, TypeError, ValueError) as error:
        given = repr(cv) if hasattr(cv, "split") else f"a {type(cv).__name__}"
        raise ValueError(
            f"cv must give pairs of (train, test) rows of these {len(y)}, got {given} ({error}); "
            "of a splitter that needs groups pass list(splitter.split(X, y, groups))"
        ) from None
    if not (times_held_out == 1).all():
        raise ValueError(
            "cv must hold every row out exactly once, as KFold does; for repeats give a number of "
            "folds and cv_repeats"
        )
    if not complements:
        raise ValueError(
            "cv must learn from every row that it does not hold out, as KFold does; give rows to "
            "be left out the sample_weight 0"
        )
    for fold in np.unique(folds[used]):
        events = y[used & (folds != fold)]
        if events.all() or not events.any():
            raise ValueError(
                f"cv must leave events and non-events to learn from: outside fold {fold} there "
                f"are {int(events.sum())} events among {len(events)} rows"
            )
    return folds


def _distance(risk: Floats, development: Bools, threshold: float, settings: Settings) -> Floats:
    """Distance of each development row; 0, and never used, for design rows."""
    h = np.zeros(len(risk))
    h[development] = distance_to_threshold(
        risk[development], threshold, settings.distance, settings.epsilon
    )
    return h


def tailored_weights(
    training: Training, reference: Reference | None, settings: Settings, search: Search
) -> Floats:
    """Return the final weights: s exp(-lambda h), and zero for design rows."""
    plain = np.ones(len(training.y)) if training.sample_weight is None else training.sample_weight
    if reference is None or search.reference_risk is None:
        return plain
    h = _distance(search.reference_risk, reference.development, search.threshold, settings)
    return np.where(reference.development, plain * np.exp(-search.discount * h), 0.0)


# --- Findings ---------------------------------------------------------------------------------


def search_findings(
    training: Training, reference: Reference | None, search: Search, weights: Floats
) -> Iterator[Finding]:
    """What the weights and the search have to say."""
    if reference is None or search.reference_risk is None:
        return
    used = reference.development
    near = float((np.abs(search.reference_risk[used] - search.threshold) <= _NEAR).mean())
    if near < _NEAR_SHARE:
        yield Finding(
            "no-mass-near-threshold",
            f"{near:.1%} of the rows have a reference risk within {_NEAR} of the threshold "
            f"{search.threshold:g}: there is little for tailoring to learn from",
            near,
        )
    share = float(kish_effective_sample_size(weights)) / int(used.sum())
    if share < _SMALL_SHARE and search.discount > 0:
        yield Finding(
            "small-effective-sample",
            f"the weights leave an effective {share:.1%} of the rows (Kish), a total of "
            f"{float(effective_sample_size(weights)):.0f}; lower the discount",
            share,
        )
    if search.choice is None:
        return
    if search.discount == 0:
        gain, error = search.choice.candidates.best_gain()
        raised = (
            f"tailoring raised the net benefit by {1000 * gain:.1f} per 1000 at most (standard "
            f"error {1000 * error:.1f})"
            if gain > 0
            else "no tailoring raised the net benefit"
        )
        yield Finding(
            "tailoring-did-not-help",
            f"the discount 0 was chosen: in cross-validation {raised}, and the model is standard "
            "Bayes",
            gain,
        )
    elif search.choice.at_edge:
        yield Finding(
            "discount-at-edge",
            f"the chosen discount {search.discount:g} is the last of its grid; a larger one may "
            "do better (or leave too few weighted events: the default grid stops there)",
            search.discount,
        )


def _orientation(
    training: Training, posterior: TailoredPosterior, modes: Modes, column: int
) -> Iterator[Finding]:
    """Find a tailored model that orders the rows against the standard one."""
    first = 1 if posterior.fit_intercept else 0
    slopes = modes.theta[first:, [column, -1]]
    if not slopes.any(axis=0).all():
        return
    eta = np.asarray(training.x @ slopes)
    tailored, standard = (eta - eta.mean(axis=0)).T
    scale = np.linalg.norm(tailored) * np.linalg.norm(standard)
    agreement = float(tailored @ standard / scale) if scale > 0 else 1.0
    if agreement < 0:
        yield Finding(
            "orientation-reversal",
            "the tailored model ranks the rows against the standard one (correlation of the "
            f"linear predictors {agreement:.2f}); so few rows near the threshold cannot tell "
            "high risk from low: lower the discount",
            agreement,
        )
