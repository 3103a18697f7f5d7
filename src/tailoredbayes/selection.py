"""The discount lambda: grid, cross-validated net benefit, and the rule that chooses.

Every discount of the grid is tried on every held-out fold; the table (round x discount x repeat x
fold -> net benefit at t) is kept whole. What a rule sees of it is a :class:`Candidates`: the mean
net benefit of each discount, a smoothed version, and how sure a paired difference is. To add a
rule: a function from candidates to an index, and a line in :data:`RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from tailoredbayes.checks import check_array, check_number, check_within
from tailoredbayes.inference import find_modes
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.predictive import normal_risk
from tailoredbayes.weighting import NEVER, CellWeights

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DEFAULT_RULE",
    "RULES",
    "Candidates",
    "Choice",
    "HeldOut",
    "Problem",
    "Tally",
    "check_discount",
    "check_discounts",
    "check_rule",
    "choose",
    "default_discounts",
    "held_out_by_posterior",
    "tally",
]

Floats = NDArray[np.float64]

# The default grid: standard Bayes and eight discounts spread evenly on a log scale. Below 1 no
# weight falls under exp(-1), at 100 a row 0.3 away from the threshold has lost all of it.
_DISCOUNTS = (0.0, *np.geomspace(1.0, 100.0, 8))
# A discount must leave this much weight to events and to non-events, and per coefficient.
_LEAST_EVENTS, _LEAST_ROWS = 10.0, 5.0
# Width of the kernel that smooths the rule "risk >= t": 0.53 sd(eta) n^(-1/5), eta the logit of
# the predicted risk (half of Silverman's normal-reference width).
_KERNEL = 0.53
# Net benefits this close are ties; ties go to the smaller discount.
_TIE = 1e-12


@dataclass(frozen=True)
class Problem:
    """One search: a threshold, the distance of each row to it, and the discounts to try."""

    threshold: float
    distance: Floats
    discounts: Floats


@dataclass(frozen=True)
class HeldOut:
    """Risks of one held-out fold: rows (b,) and, for each problem, risks (b, discounts)."""

    repeat: int
    fold: int
    rows: NDArray[np.intp]
    risks: Sequence[Floats]


@dataclass(frozen=True)
class Tally:
    """What held-out folds say of each discount of one problem.

    Parameters
    ----------
    threshold, discounts
        Of the problem.
    net_benefit, smooth
        (discount, repeat, fold): net benefit of the fold, and its smoothed version.
    treated
        (row, discount): in how many repeats the row, held out, was treated.
    gain
        (row,): what treating the row adds to n times the net benefit; zero for rows left out.
    weight
        Total weight of the rows.
    risk
        (row, discount): mean held-out risk over the repeats, if it was asked for.
    """

    threshold: float
    discounts: Floats
    net_benefit: Floats
    smooth: Floats
    treated: NDArray[np.int16]
    gain: Floats
    weight: float
    risk: Floats | None = None

    @property
    def repeats(self) -> int:
        """How many times the rows were cut into folds."""
        return int(self.net_benefit.shape[1])

    def to_frame(self, round_: int = 0) -> pd.DataFrame:
        """Return the table in long form: a row a discount, repeat and fold."""
        import pandas as pd

        shape = self.net_benefit.shape
        discount, repeat, fold = np.meshgrid(*map(np.arange, shape), indexing="ij")
        return pd.DataFrame(
            {
                "threshold": self.threshold,
                "round": round_,
                "discount": self.discounts[discount.ravel()],
                "repeat": repeat.ravel(),
                "fold": fold.ravel(),
                "net_benefit": self.net_benefit.ravel(),
                "smooth_net_benefit": self.smooth.ravel(),
            }
        )


def check_discounts(discount_grid: ArrayLike) -> Floats:
    """Return a grid of discounts in ascending order, 0 always in it.

    >>> check_discounts([20, 5])
    array([ 0.,  5., 20.])
    """
    advice = "pass numbers such as [0, 5, 20]; 0 is standard Bayes"
    values = check_array(discount_grid, "discount_grid", advice=advice)
    check_within(values, "discount_grid", 0.0, expected="be 0 or more and finite", advice=advice)
    return np.unique(np.append(values, 0.0))


def check_discount(discount: object) -> float | None:
    """Return a fixed discount as a float, None for "cv", or raise."""
    if isinstance(discount, str) and discount == "cv":
        return None
    advice = "or 'cv' to choose by cross-validation; 0 gives standard Bayes"
    return check_number(discount, "discount", at_least=0, advice=advice)


def default_discounts(
    distance: Floats, y: NDArray[np.bool_], n_coefficients: int, weight: Floats | None = None
) -> Floats:
    """Return the default grid, cut where too little weight would be left to fit anything."""
    used = np.isfinite(distance)
    h, event = distance[used], y[used]
    w = np.ones(len(h)) if weight is None else weight[used]
    kept = [0.0]
    for discount in _DISCOUNTS[1:]:
        tailored = w * np.exp(-discount * h)
        events, total = float(tailored[event].sum()), float(tailored.sum())
        if min(events, total - events) < _LEAST_EVENTS or total < _LEAST_ROWS * n_coefficients:
            break
        kept.append(float(discount))
    return np.array(kept)


# --- Held-out risks ---------------------------------------------------------------------------


def held_out_by_posterior(
    base: TailoredPosterior,
    problems: Sequence[Problem],
    folds: NDArray[np.int16],
    sample_weight: Floats | None = None,
    start: Floats | None = None,
) -> Iterator[HeldOut]:
    """Fit every discount of every problem without every fold, together; predict the folds.

    ``folds`` (n, repeats) numbers the fold of each row, ``NEVER`` for rows that take no part. A
    problem's discount 0 is the same posterior for all problems and is fitted once. ``start`` is
    where the modes are looked for.
    """
    cells = [(r, k) for r in range(folds.shape[1]) for k in _fold_numbers(folds[:, r])]
    columns: dict[tuple[int, float, int], int] = {}
    for which, problem in enumerate(problems):
        for discount in problem.discounts:
            for cell in range(len(cells)):
                # Distances do not matter to discount 0.
                columns.setdefault((which if discount > 0 else 0, float(discount), cell), 0)
    keys = list(columns)
    columns = {key: place for place, key in enumerate(keys)}
    weights = CellWeights(
        distances=np.nan_to_num(np.stack([p.distance for p in problems], axis=1)),
        which=np.array([which for which, _, _ in keys]),
        discounts=np.array([discount for _, discount, _ in keys]),
        repeats=np.array([cells[cell][0] for _, _, cell in keys]),
        held_out=np.array([cells[cell][1] for _, _, cell in keys]),
        folds=folds,
        sample_weight=sample_weight,
    )
    posterior = base.reweighted(weights)
    modes = find_modes(posterior, start=start)
    beta, roots = posterior.coefficients(modes.theta), base.coefficient_map() @ modes.roots()
    for cell, (repeat, fold) in enumerate(cells):
        rows = np.flatnonzero(folds[:, repeat] == fold)
        places = [
            [
                columns[which if discount > 0 else 0, float(discount), cell]
                for discount in p.discounts
            ]
            for which, p in enumerate(problems)
        ]
        wanted = np.unique(np.concatenate(places))
        risk = normal_risk(
            base.rows.x,  # type: ignore[attr-defined]  # reweighted() has seen rows in memory
            beta[:, wanted],
            roots[wanted],
            rows=rows,
            threads=base.threads,
        )
        yield HeldOut(
            repeat, fold, rows, [risk[:, np.searchsorted(wanted, place)] for place in places]
        )


def _fold_numbers(labels: NDArray[np.int16]) -> list[int]:
    return [int(fold) for fold in np.unique(labels) if fold != NEVER]


# --- Net benefit of each discount -------------------------------------------------------------


def tally(
    problems: Sequence[Problem],
    y: NDArray[np.bool_],
    folds: NDArray[np.int16],
    held_out: Iterator[HeldOut],
    sample_weight: Floats | None = None,
    *,
    keep_risk: bool = False,
) -> list[Tally]:
    """Add up what held-out folds say, for each problem."""
    n, repeats = folds.shape
    used = folds[:, 0] != NEVER
    weight = np.where(used, 1.0 if sample_weight is None else sample_weight, 0.0)
    most = max(len(_fold_numbers(folds[:, r])) for r in range(repeats))
    gains = [weight * np.where(y, 1.0, -p.threshold / (1 - p.threshold)) for p in problems]
    shapes = [(len(p.discounts), repeats, most) for p in problems]
    benefit = [np.full(shape, np.nan) for shape in shapes]
    smooth = [np.full(shape, np.nan) for shape in shapes]
    treated = [np.zeros((n, len(p.discounts)), dtype=np.int16) for p in problems]
    risks = [np.zeros((n, len(p.discounts))) if keep_risk else None for p in problems]
    for found in held_out:
        total = weight[found.rows].sum()
        for i, (problem, risk) in enumerate(zip(problems, found.risks, strict=True)):
            gain = gains[i][found.rows]
            treat = risk >= problem.threshold
            with np.errstate(divide="ignore", invalid="ignore"):  # a fold of weight zero has none
                benefit[i][:, found.repeat, found.fold] = gain @ treat / total
                softly = _soft_treatment(risk, problem.threshold, weight[found.rows])
                smooth[i][:, found.repeat, found.fold] = gain @ softly / total
            treated[i][found.rows] += treat
            kept = risks[i]
            if kept is not None:
                kept[found.rows] += risk / repeats
    return [
        Tally(
            p.threshold,
            p.discounts,
            benefit[i],
            smooth[i],
            treated[i],
            gains[i],
            float(weight.sum()),
            risks[i],
        )
        for i, p in enumerate(problems)
    ]


def _soft_treatment(risk: Floats, threshold: float, weight: Floats) -> Floats:
    """Return the rule risk >= t with its step replaced by a normal cdf in the logit of the risk."""
    inside = np.clip(risk, 1e-12, 1 - 1e-12)
    eta = np.log(inside / (1 - inside))
    number = weight.sum()  # a row of weight w counts as w rows
    centred = eta - weight @ eta / number
    width = _KERNEL * np.sqrt(weight @ centred**2 / number) * number**-0.2
    distance = eta - np.log(threshold / (1 - threshold))
    # Where all risks agree there is nothing to smooth over: the width's limit is the step itself.
    softened = ndtr(distance / np.where(width > 0, width, 1.0))
    return np.where(width > 0, softened, risk >= threshold)


# --- Rules ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidates:
    """What a rule may look at: one entry a candidate, rounds in order, discounts ascending.

    ``mean`` and ``smooth`` are averages over folds and repeats; ``threshold``, ``treated``,
    ``gain`` and ``weight`` are those of :class:`Tally`, rounds side by side.
    """

    threshold: float
    rounds: NDArray[np.intp]
    discounts: Floats
    mean: Floats
    smooth: Floats
    treated: NDArray[np.int16] = field(repr=False)
    gain: Floats = field(repr=False)
    weight: float
    repeats: int

    def deficit(self, best: int) -> tuple[Floats, Floats]:
        """How far each candidate's net benefit lies below that of ``best``: mean, standard error.

        The paired way: over rows, whose decisions under both candidates are compared.
        """
        # A row of weight w counts as w rows: its weight is its gain per unit of gain.
        odds = self.threshold / (1 - self.threshold)
        weight = np.where(self.gain > 0, self.gain, -self.gain / odds)
        mean, error = np.empty(len(self.mean)), np.empty(len(self.mean))
        for i in range(len(self.mean)):
            row = self.gain * (self.treated[:, best] - self.treated[:, i]) / self.repeats
            mean[i] = row.sum() / self.weight
            error[i] = np.sqrt(_sum_variance(row, weight)) / self.weight
        return mean, error

    def best_gain(self) -> tuple[float, float]:
        """Net benefit of the best candidate less that of the first, standard Bayes, and its error.

        The error is the paired one of :meth:`deficit`.
        """
        best = _largest(self)
        return float(self.mean[best] - self.mean[0]), float(self.deficit(best)[1][0])


Rule: TypeAlias = Callable[[Candidates], int]


def _first_best(score: Floats) -> int:
    """Index of the highest score; the earliest of ties."""
    return int(np.flatnonzero(score >= np.nanmax(score) - _TIE)[0])


def _largest(candidates: Candidates) -> int:
    """The paper's rule: the highest mean net benefit."""
    return _first_best(candidates.mean)


def _one_standard_error(candidates: Candidates) -> int:
    """The first candidate whose deficit from the best is within its standard error."""
    deficit, error = candidates.deficit(_largest(candidates))
    return int(np.flatnonzero(deficit <= error + _TIE)[0])


def _smoothest(candidates: Candidates) -> int:
    """The highest net benefit when the decision is smoothed near the threshold."""
    return _first_best(candidates.smooth)


def _guarded(candidates: Candidates) -> int:
    """The smooth rule's choice if it beats the first candidate, standard Bayes, by its error."""
    best = _smoothest(candidates)
    deficit, error = candidates.deficit(best)
    return best if deficit[0] > error[0] else 0


RULES: dict[str, Rule] = {
    "max": _largest,
    "one_se": _one_standard_error,
    "smooth": _smoothest,
    "guarded": _guarded,
}
# Of the rules that do no clear harm in the study of them (docs/studies/selection.md), the one whose
# worst case is least bad. "max" and "smooth" gain more on simulations and lose more on real data.
DEFAULT_RULE = "one_se"


def check_rule(selection: object) -> str:
    """Return the name of a rule, or raise."""
    if not isinstance(selection, str) or selection not in RULES:
        raise ValueError(
            f"selection must be one of {', '.join(map(repr, RULES))}, got {selection!r}"
        )
    return selection


@dataclass(frozen=True)
class Choice:
    """What was chosen: the round, the discount, and the candidates it was chosen among."""

    rule: str
    round: int
    discount: float
    index: int
    candidates: Candidates

    @property
    def at_edge(self) -> bool:
        """Whether the chosen discount is its grid's last (of several)."""
        of_round = self.candidates.discounts[self.candidates.rounds == self.round]
        return len(of_round) > 1 and self.discount == of_round[-1]


def choose(tallies: Sequence[Tally], rule: str) -> Choice:
    """Choose a round and a discount among all rounds' candidates."""
    candidates = _candidates(tallies)
    index = RULES[check_rule(rule)](candidates)
    return Choice(
        rule,
        int(candidates.rounds[index]),
        float(candidates.discounts[index]),
        index,
        candidates,
    )


def _candidates(tallies: Sequence[Tally]) -> Candidates:
    first = tallies[0]
    return Candidates(
        threshold=first.threshold,
        rounds=np.repeat(np.arange(len(tallies)), [len(t.discounts) for t in tallies]),
        discounts=np.concatenate([t.discounts for t in tallies]),
        mean=np.concatenate([np.nanmean(t.net_benefit, axis=(1, 2)) for t in tallies]),
        smooth=np.concatenate([np.nanmean(t.smooth, axis=(1, 2)) for t in tallies]),
        treated=np.concatenate([t.treated for t in tallies], axis=1),
        gain=first.gain,
        weight=first.weight,
        repeats=first.repeats,
    )


def _sum_variance(row: Floats, weight: Floats) -> float:
    """Variance of the sum of independent rows, each the sum of ``weight`` equal ones."""
    used = weight > 0
    number = float(weight.sum())
    centred = float((row[used] ** 2 / weight[used]).sum()) - float(row.sum()) ** 2 / number
    return max(centred, 0.0) * number / max(1.0, number - 1)
