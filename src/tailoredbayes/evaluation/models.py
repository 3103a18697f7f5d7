"""Models as an evaluation sees them: a name, and the risk of each row.

A model's risk may depend on the threshold at which it is used, as that of a family of tailored
models does: such a model has a column of risks for each threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.checks import check_risk, check_risk_columns, check_same_length

__all__ = [
    "SAME_THRESHOLD",
    "family_thresholds",
    "model_risks",
    "named_models",
    "own_event",
    "threshold_places",
]

Floats = NDArray[np.float64]

SAME_THRESHOLD = 1e-9
"""Thresholds that differ by no more are one."""


def model_risks(
    models: Any,
    event: NDArray[np.bool_],
    *,
    thresholds: Floats | None = None,
    X: Any = None,
    name: str = "risk",
) -> dict[str, Floats]:
    """Return each model's risks: (n,), or (n, thresholds) where they depend on the threshold.

    Parameters
    ----------
    models
        One model or a mapping from names to models. A model is an array of risks (n,), an array
        (n, thresholds), a fitted classifier, or a fitted family of tailored models (anything with
        ``risks(X)`` and ``thresholds_``); a family alone is "TB", with its standard Bayes "SB"
        beside it. A classifier's event is its ``pos_label``, or else the
        larger of two numbers; of labels that are text none can be told.
    event
        Checked outcomes of the rows: only their number matters here.
    thresholds
        Where risks may depend on the threshold; None where they may not.
    X
        Covariates of the rows, for fitted models.
    name
        What messages call the argument.

    Examples
    --------
    >>> model_risks({"TB": [0.2, 0.7]}, np.array([False, True]))
    {'TB': array([0.2, 0.7])}
    >>> model_risks([0.2, 0.7], np.array([False, True]))
    {'model': array([0.2, 0.7])}
    """
    named = named_models(models, name)
    if not named:
        raise ValueError(f"{name} must name at least one model, got none")
    found = {}
    for key, model in named.items():
        label = f"{name}[{key!r}]" if isinstance(models, Mapping) else name
        risk = _one_model(model, thresholds, X, label)
        check_same_length(y_true=event, **{label: risk[..., 0] if risk.ndim == 2 else risk})
        found[str(key)] = risk
    return found


def named_models(models: Any, name: str) -> dict[Any, Any]:
    """Return a mapping from names to models; one model alone is called "model".

    A fitted family alone is two: its tailored models, "TB", and standard Bayes, "SB".

    >>> named_models([0.2, 0.7], "models")
    {'model': [0.2, 0.7]}
    """
    if hasattr(models, "columns"):
        raise TypeError(
            f"{name} must be one model or a mapping from names to models, got a "
            f"{type(models).__name__}, whose columns may be models or thresholds; for models pass "
            "dict(table.items()), for thresholds table.to_numpy()"
        )
    if _is_family(models) and hasattr(models, "standard_"):
        return {"TB": models, "SB": models.standard_}
    named = dict(models) if isinstance(models, Mapping) else {"model": models}
    if len(set(map(str, named))) < len(named):
        raise ValueError(
            f"{name} must have names that differ as text, got {', '.join(map(repr, named))}"
        )
    return named


def family_thresholds(models: Any) -> Floats | None:
    """Return the thresholds of the first family among the models, if there is one."""
    for model in models.values() if isinstance(models, Mapping) else [models]:
        if _is_family(model):
            return np.asarray(model.thresholds_, dtype=np.float64)
    return None


def threshold_places(thresholds: Floats, own: Floats, label: str) -> NDArray[np.intp]:
    """Return where among a family's own thresholds some others are, or raise that one is not.

    >>> threshold_places(np.array([0.5, 0.1]), np.array([0.1, 0.3, 0.5]), "models")
    array([2, 0])
    """
    own = np.atleast_1d(own)
    places = np.abs(own[:, None] - thresholds).argmin(axis=0)
    missing = np.abs(own[places] - thresholds) > SAME_THRESHOLD
    if missing.any():
        raise ValueError(
            f"{label} has no model for the threshold {thresholds[missing][0]:g}; its thresholds "
            f"are {', '.join(f'{t:g}' for t in own)}"
        )
    return np.asarray(places)


def own_event(model: Any) -> Any:
    """Return the label that a model, or the last step of a pipeline, calls the event, or None.

    >>> from sklearn.pipeline import make_pipeline
    >>> from tailoredbayes.estimators import TailoredLogisticRegression
    >>> own_event(make_pipeline("passthrough", TailoredLogisticRegression(0.3, pos_label="case")))
    'case'
    """
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return getattr(last, "pos_label", None)


def _is_family(model: Any) -> bool:
    return hasattr(model, "risks") and hasattr(model, "thresholds_")


def _one_model(model: Any, thresholds: Floats | None, X: Any, label: str) -> Floats:
    if _is_family(model):
        return _family_risks(model, thresholds, _given(X, label), label)
    if hasattr(model, "risk") and hasattr(model, "predict_proba"):  # one of ours: the event's risk
        return check_risk(model.risk(_given(X, label)), label)
    if hasattr(model, "predict_proba"):
        column = _event_column(model, label)
        return check_risk(model.predict_proba(_given(X, label))[:, column], label)
    if hasattr(model, "fit"):
        raise TypeError(
            f"{label} must be risks or a fitted model with predict_proba, got a "
            f"{type(model).__name__} that is not fitted or has none; fit it first, or pass its "
            "risks"
        )
    if thresholds is None or np.ndim(model) != 2:
        return check_risk(model, label)
    risk = check_risk_columns(model, label, advice="pass (n,) or (n, thresholds)")
    if risk.shape[1] != len(thresholds):
        raise ValueError(
            f"{label} must have a column of risks for each of the {len(thresholds)} thresholds, "
            f"got shape {risk.shape}; for one risk a row pass {label}[:, 0]"
        )
    return risk


def _event_column(model: Any, label: str) -> int:
    """Return which column of ``predict_proba`` is the event's, which y_true calls 1."""
    classes = np.asarray(getattr(model, "classes_", (0, 1))).tolist()
    advice = "pass its risks of the event, as in model.predict_proba(X)[:, 1]"
    if len(classes) != 2:
        raise ValueError(
            f"{label} must be a classifier of two classes, got one of {len(classes)}; {advice}"
        )
    event = own_event(model)
    if event is not None:
        return int(classes.index(event))
    if not all(isinstance(name, Real) for name in classes):
        raise ValueError(
            f"{label} was fitted to the labels {classes[0]!r} and {classes[1]!r}, and y_true does "
            f"not say which of them is 1; {advice}"
        )
    return 1


def _given(X: Any, label: str) -> Any:
    if X is None:
        raise ValueError(f"{label} is a fitted model: give the covariates of the rows as X=")
    return X


def _family_risks(family: Any, thresholds: Floats | None, X: Any, label: str) -> Floats:
    own = np.asarray(family.thresholds_, dtype=np.float64)
    if thresholds is None:
        raise ValueError(
            f"{label} is a family, whose risk depends on the threshold; pass one of its models, "
            f"as in family.models_[{own[0]:g}]"
        )
    places = threshold_places(thresholds, own, label)
    return np.asarray(family.risks(X), dtype=np.float64)[:, places]
