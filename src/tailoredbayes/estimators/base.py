"""What the estimators share: parameters at the door, outcomes, risks by class, their look."""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from tailoredbayes.checks import (
    check_flag,
    check_generator,
    check_risk,
    check_sample_weight,
    check_whole_number,
)
from tailoredbayes.findings import Finding, TailoringWarning
from tailoredbayes.fitting import Search, Settings, Training
from tailoredbayes.reference import check_design
from tailoredbayes.selection import check_discount, check_discounts, check_rule
from tailoredbayes.storage import check_all_stored
from tailoredbayes.weighting import distance_to_threshold

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "TailoredEstimator",
    "check_lengths",
    "checked_rows",
    "generator",
    "search_facts",
]

Floats = NDArray[np.float64]


def generator(random_state: Any) -> np.random.Generator:
    """Accept scikit-learn's seeds and NumPy's generators."""
    if isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state.integers(2**63))
    return check_generator(random_state)


def checked_rows(model: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """Return what scikit-learn's ``validate_data`` makes of them; errors name their argument."""
    try:
        return validate_data(model, X, y, dtype=[np.float64, np.float32], **options)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(_named(str(error), X, y)) from None


def _named(text: str, X: Any, y: Any) -> str:
    """Say which argument an error of scikit-learn's is about, and leave out its copy of it."""
    if text.startswith("Found input variables with inconsistent"):
        check_lengths(X, y)
    if text.startswith("Expected 2D array"):
        shape = np.shape(X)
        advice = "; pass a table: a row a patient, a column a covariate"
        if len(shape) == 1:
            advice = (
                ". Reshape your data: X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it "
                "is one row"
            )
        return f"X must be two-dimensional, got shape {shape}{advice}"
    if text.startswith("Complex data"):
        return "X must hold real numbers. Complex data not supported: pass two real columns for one"
    if text.startswith("could not convert string"):
        return (
            f"X must hold numbers: {text}; encode text first, as scikit-learn's OneHotEncoder does"
        )
    return text if re.search(r"\b[Xy]\b", text) else f"X: {text}"


def check_lengths(X: Any, y: Any) -> None:
    """Raise unless X and y have as many rows."""
    if _num_samples(X) != _num_samples(y):
        raise ValueError(
            f"X and y must have the same length, got {_num_samples(X)} and {_num_samples(y)}; "
            "check that they come from the same rows"
        )


class TailoredEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What the estimators share: parameters at the door, outcomes, risks by class."""

    classes_: NDArray[Any]
    findings_: tuple[Finding, ...]

    def _settings(self, **more: Any) -> Settings:
        """Check the parameters of stage 1 and of the search."""
        check_all_stored(self.get_params(deep=False))
        cv = self.cv
        if isinstance(cv, Integral):
            cv = check_whole_number(cv, "cv", at_least=2)
        elif isinstance(cv, str) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
            raise ValueError(
                "cv must be a number of folds, a scikit-learn splitter or a list of (train, test) "
                f"rows, got {cv!r}"
            )
        elif not hasattr(cv, "split"):
            cv = list(cv)  # stage 1 and the search read it, each once
        repeats = check_whole_number(self.cv_repeats, "cv_repeats", at_least=1)
        if repeats > 1 and not isinstance(cv, int):
            raise ValueError(
                f"cv_repeats={repeats} needs cv to be a number of folds, got a {type(cv).__name__}"
            )
        rounds = check_whole_number(self.rounds, "rounds", at_least=0)
        discount = check_discount(self.discount)
        if rounds and discount is not None:
            raise ValueError(
                f"rounds refine by cross-validation: with discount={discount:g} they must be 0, "
                f"got {rounds}"
            )
        # An unknown distance or epsilon is refused before anything is fitted.
        distance_to_threshold(np.array([0.5]), 0.5, self.distance, self.epsilon)
        grid = self.discount_grid
        return Settings(
            discount=discount,
            discounts=None if grid is None else check_discounts(grid),
            selection=check_rule(self.selection),
            cv=cv,
            cv_repeats=repeats,
            rounds=rounds,
            reference=self.reference,
            design=check_design(self.design),
            distance=self.distance,
            epsilon=self.epsilon,
            n_jobs=self.n_jobs,
            **more,
        )

    def _training(
        self,
        x: NDArray[Any],
        y: Any,
        X: Any,
        reference_risk: Any,
        sample_weight: Any,
        recalibrate: bool,
    ) -> Training:
        """Check outcomes, weights and risks against each other; X has been checked."""
        event = self._event(y)
        recalibrate = check_flag(recalibrate, "recalibrate")
        weight = None
        if sample_weight is not None:
            if isinstance(sample_weight, Real):
                sample_weight = np.full(len(event), float(sample_weight))
            weight = check_sample_weight(sample_weight)
            if len(weight) != len(event):
                raise ValueError(
                    f"sample_weight must have one weight a row, got {len(weight)} for "
                    f"{len(event)} rows"
                )
            if not (weight[event].any() and weight[~event].any()):
                raise ValueError("sample_weight must leave both classes some weight, got one class")
        risk = None
        if reference_risk is not None:
            risk = check_risk(reference_risk, "reference_risk")
            if len(risk) != len(event):
                raise ValueError(
                    f"reference_risk must have one risk a row, got {len(risk)} for "
                    f"{len(event)} rows"
                )
        elif recalibrate:
            raise ValueError(
                "recalibrate=True is for a reference_risk from outside; none was given"
            )
        names = getattr(self, "feature_names_in_", None)
        return Training(
            x=x,
            y=event,
            X=X,
            sample_weight=weight,
            reference_risk=risk,
            recalibrate=recalibrate,
            names=None if names is None else tuple(names),
        )

    def _event(self, y: Any) -> NDArray[np.bool_]:
        """Set ``classes_``; return who has the event."""
        missing = sum(label is None for label in y) if y.dtype == object else 0
        if missing:
            raise ValueError(f"y must hold a label for every row, got None in {missing} of them")
        try:
            check_classification_targets(y)
        except ValueError as error:
            raise ValueError(f"y must hold two labels. {error}") from None
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{kind}; y must hold two labels"
            )
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold two labels, got one class only: {self.classes_.tolist()[0]!r} in all "
                f"{len(y)} rows"
            )
        places = [1]
        if self.pos_label is not None:
            places = np.flatnonzero(self.classes_ == self.pos_label).tolist()
            if not places:
                raise ValueError(
                    f"pos_label must be one of {self.classes_.tolist()}, got {self.pos_label!r}"
                )
        self._positive = int(places[0])
        return np.asarray(np.asarray(y) == self.classes_[self._positive])

    def _by_class(self, risk: Floats) -> Floats:
        """Put the risk in its class's column."""
        both = np.stack([1 - risk, risk], axis=1)
        return both if self._positive == 1 else both[:, ::-1]

    def _decide(self, risk: Floats, threshold: float) -> NDArray[Any]:
        """Treat at risk >= threshold."""
        return self.classes_[np.where(risk >= threshold, self._positive, 1 - self._positive)]

    def _margin(self, risk: Floats, threshold: float) -> Floats:
        """Logit of the risk less that of the threshold; positive towards ``classes_[1]``."""
        inside = np.clip(risk, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
        margin = np.log(inside / (1 - inside)) - np.log(threshold / (1 - threshold))
        return np.asarray(margin if self._positive == 1 else -margin)

    def _searches(self) -> Sequence[Search]:
        """Return the search for the discount of each threshold."""
        raise NotImplementedError  # pragma: no cover

    @property
    def discount_table_(self) -> pd.DataFrame:
        """Net benefit of each threshold, round, discount, repeat and fold; made when asked for."""
        check_is_fitted(self)
        return search_table(self._searches())

    def _tell(self) -> None:
        for finding in self.findings_:
            warnings.warn(str(finding), TailoringWarning, stacklevel=3)

    def _facts(self) -> dict[str, str]:
        """Return what a fitted estimator says of itself at a glance, in order."""
        raise NotImplementedError  # pragma: no cover

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX))
        if not hasattr(self, "classes_"):
            return text
        return text + "".join(f"\n  {name}: {value}" for name, value in self._facts().items())

    def _html_repr(self) -> str:
        page = str(super()._html_repr())
        if not hasattr(self, "classes_"):
            return page
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self._facts().items()
        )
        return f"{page}<table>{rows}</table>"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def search_facts(search: Search, weights: Floats, findings: Sequence[Finding]) -> dict[str, str]:
    """Return what a search found, in a few words each."""
    used = int(np.count_nonzero(weights))
    round_ = f", round {search.round}" if search.round else ""
    return {
        "threshold": f"{search.threshold:g}",
        "discount": f"{search.discount:g}{round_}",
        "effective sample size": f"{weights.sum():.0f} of {used} rows",
        "findings": ", ".join(finding.code for finding in findings) or "none",
    }


def search_table(searches: Sequence[Search]) -> pd.DataFrame:
    """Tables of all searches and rounds, one below the other, as a frame."""
    import pandas as pd

    frames = [t.to_frame(r) for search in searches for r, t in enumerate(search.tallies)]
    if frames:
        return pd.concat(frames, ignore_index=True)
    columns = ["threshold", "round", "discount", "repeat", "fold"]
    return pd.DataFrame(columns=[*columns, "net_benefit", "smooth_net_benefit"])
