"""The door: every public function checks its input here and trusts it afterwards.

Each check returns its input in the one form the mathematics uses (a float, or a new or shared
`float64` array) or raises a `TypeError` (the wrong kind of thing) or a `ValueError` (the wrong
value) whose message names the argument and says what was expected, what came and what to do.
"""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "BoolArray",
    "FloatArray",
    "ScalarOrCurve",
    "check_array",
    "check_both_classes",
    "check_flag",
    "check_generator",
    "check_number",
    "check_outcome",
    "check_risk",
    "check_risk_columns",
    "check_same_length",
    "check_sample_weight",
    "check_threshold",
    "check_thresholds",
    "check_whole_number",
    "check_within",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

ScalarOrCurve = TypeVar("ScalarOrCurve", float, FloatArray)
"""One threshold in, one number out; an array of thresholds in, a curve out."""

_LARGEST = float(np.finfo(np.float64).max)
# By so much a classifier's probabilities of all classes may miss 1: single precision.
_ROUNDING = 1e-6


def check_number(
    value: object,
    name: str,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
    advice: str,
) -> float:
    """Return `value` as a finite float inside the given bounds.

    Parameters
    ----------
    value
        What the caller passed.
    name
        The argument's name, which starts the message.
    above, at_least, below, at_most
        Bounds; `above` and `below` are strict.
    advice
        What to do when the value is not one of these.

    Returns
    -------
    float

    Examples
    --------
    >>> check_number(2, "discount", at_least=0, advice="0 gives standard Bayes")
    2.0
    >>> check_number(-1, "discount", at_least=0, advice="0 gives standard Bayes")
    Traceback (most recent call last):
        ...
    ValueError: discount must be a finite number at least 0, got -1; 0 gives standard Bayes
    """
    bounds = [
        f"{words} {bound:g}"
        for words, bound in (
            ("above", above),
            ("at least", at_least),
            ("below", below),
            ("at most", at_most),
        )
        if math.isfinite(bound)
    ]
    expected = " ".join(["a finite number", " and ".join(bounds)]).strip()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):  # True is no 1 that anyone meant
        raise TypeError(f"{name} must be {expected}, got {_kind(value)}; {advice}")
    number = float(value)
    inside = above < number < below and at_least <= number <= at_most
    if not (math.isfinite(number) and inside):
        raise ValueError(f"{name} must be {expected}, got {value}; {advice}")
    return number


def check_whole_number(value: object, name: str, *, at_least: int, advice: str = "") -> int:
    """Return a whole number as an int; what has a fraction is refused, not cut.

    Examples
    --------
    >>> check_whole_number(5, "cv", at_least=2)
    5
    >>> check_whole_number(2.5, "replicates", at_least=2)
    Traceback (most recent call last):
        ...
    ValueError: replicates must be a whole number, at least 2, got 2.5
    """
    ending = f"; {advice}" if advice else ""
    message = f"{name} must be a whole number, at least {at_least}, got {value!r}{ending}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(message)
    if not float(value).is_integer() or value < at_least:
        raise ValueError(message)
    return int(float(value))


def check_flag(value: object, name: str) -> bool:
    """Return True or False as such; words that mean them are refused, not guessed.

    Examples
    --------
    >>> check_flag("no", "fit_intercept")
    Traceback (most recent call last):
        ...
    TypeError: fit_intercept must be True or False, got the text 'no'
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {_kind(value)}")
    return bool(value)


def check_generator(random_state: Any) -> np.random.Generator:
    """Return NumPy's generator of a seed; a generator is itself, a RandomState gives its seed.

    Examples
    --------
    >>> check_generator(-1)
    Traceback (most recent call last):
        ...
    ValueError: random_state must be None, a whole number of 0 or more or a NumPy generator, got \
-1; the same number gives the same answer again
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            "random_state must be None, a whole number of 0 or more or a NumPy generator, got "
            f"{random_state!r}; the same number gives the same answer again"
        ) from None


def check_threshold(threshold: object) -> float:
    """Return one threshold as a float strictly between 0 and 1.

    Examples
    --------
    >>> check_threshold(0.1)
    0.1
    >>> check_threshold(1.2)
    Traceback (most recent call last):
        ...
    ValueError: threshold must lie strictly between 0 and 1, got 1.2; did you mean 0.012 or a \
percentage?
    """
    values = _threshold_values(threshold)
    if values.ndim > 0:
        raise TypeError(
            f"threshold must be one number, got {_kind(threshold)}; call once for each threshold"
        )
    return float(values)


def check_thresholds(threshold: ScalarOrCurve) -> ScalarOrCurve:
    """Return a threshold as a float, or thresholds as a 1-D array, strictly between 0 and 1.

    At 0 and at 1 one of the two errors costs nothing, so no odds describe the decision.

    Examples
    --------
    >>> check_thresholds(0.1)
    0.1
    >>> check_thresholds([0.1, 0.2])
    array([0.1, 0.2])
    """
    values = _threshold_values(threshold)
    return float(values) if values.ndim == 0 else values  # type: ignore[return-value]  # as given


def _threshold_values(threshold: object) -> FloatArray:
    values = _numbers(threshold, "threshold", "pass a number such as 0.1, or an array of them")
    if values.ndim > 1:
        raise ValueError(
            f"threshold must be one number or a one-dimensional array, got shape {values.shape}; "
            "pass threshold.ravel()"
        )
    if values.size == 0:
        raise ValueError("threshold must hold at least one value, got none; pass one such as 0.1")
    if not (values.min() > 0 and values.max() < 1):
        wrong = float(values[~((values > 0) & (values < 1))].flat[0])
        if 1 < wrong < 100:
            advice = f"did you mean {wrong / 100:.10g} or a percentage?"
        elif wrong in (0, 1):
            advice = "there one of the two errors costs nothing, so leave 0 and 1 out"
        else:
            advice = "a harm-to-benefit ratio of 1:9 is 0.1"
        raise ValueError(f"threshold must lie strictly between 0 and 1, got {wrong:.10g}; {advice}")
    return values


def check_array(
    values: ArrayLike, name: str, *, ndim: Sequence[int] = (1,), advice: str = "pass numbers"
) -> FloatArray:
    """Return `values` as a non-empty float array of an allowed number of dimensions.

    Examples
    --------
    >>> check_array([1, 2], "risk")
    array([1., 2.])
    >>> check_array([[1], [2]], "risk")
    Traceback (most recent call last):
        ...
    ValueError: risk must be one-dimensional, got shape (2, 1); pass risk.ravel()
    """
    array = _numbers(values, name, advice)
    if array.ndim not in ndim:
        expected = " or ".join(
            ("a single number", "one-dimensional", "two-dimensional")[d] for d in ndim
        )
        repair = f"pass {name}.ravel()" if array.ndim == 2 and 1 in array.shape else advice
        raise ValueError(f"{name} must be {expected}, got shape {array.shape}; {repair}")
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one row, got none; check how it was selected")
    return array


def check_within(
    values: FloatArray,
    name: str,
    low: float,
    high: float = _LARGEST,
    *,
    expected: str,
    advice: str,
) -> None:
    """Raise unless every value is finite and between `low` and `high`, both included.

    Examples
    --------
    >>> check_within(np.array([1.0, -2.0]), "weights", 0.0, expected="be 0 or more",
    ...              advice="drop the row")
    Traceback (most recent call last):
        ...
    ValueError: weights must be 0 or more, got -2 at row 1; drop the row
    """
    # A nan makes min and max nan, which passes no comparison: two passes and no temporary.
    if not (values.min() >= low and values.max() <= high):
        wrong = ~((values >= low) & (values <= high))
        raise ValueError(
            f"{name} must {expected}, got {values[wrong][0]:g}{_place(wrong)}; {advice}"
        )


def check_finite(values: FloatArray, name: str, *, advice: str) -> None:
    """Raise unless every value is finite.

    Examples
    --------
    >>> check_finite(np.array([1.0, np.nan]), "X", advice="drop the row")
    Traceback (most recent call last):
        ...
    ValueError: X must be finite, got nan at row 1; drop the row
    """
    check_within(values, name, -_LARGEST, expected="be finite", advice=advice)


def check_risk(risk: ArrayLike, name: str = "risk") -> FloatArray:
    """Return risks as a 1-D float array within [0, 1].

    Examples
    --------
    >>> check_risk([0.2, 1.0])
    array([0.2, 1. ])
    >>> check_risk([0.2, 20.0])
    Traceback (most recent call last):
        ...
    ValueError: risk must lie between 0 and 1, got 20 at row 1; pass probabilities of the event, \
not percentages, scores or log-odds
    """
    values = check_array(
        risk, name, advice="pass the probability of the event, as in predict_proba(X)[:, 1]"
    )
    check_within(
        values,
        name,
        0.0,
        1.0,
        expected="lie between 0 and 1",
        advice="pass probabilities of the event, not percentages, scores or log-odds",
    )
    return values


def check_risk_columns(risks: ArrayLike, name: str, *, advice: str) -> FloatArray:
    """Return risks of the event (n, columns), as of several thresholds or draws, within [0, 1].

    What a classifier's ``predict_proba`` returns has a column a class, and is refused: its columns
    would be taken for risks of the one event.

    Examples
    --------
    >>> check_risk_columns([[0.2, 0.3], [0.6, 0.5]], "draws", advice="pass (n, draws)")
    array([[0.2, 0.3],
           [0.6, 0.5]])
    >>> check_risk_columns([[0.8, 0.2], [0.4, 0.6]], "draws", advice="pass (n, draws)")
    Traceback (most recent call last):
        ...
    ValueError: draws must hold risks of the event in every column, got columns that add up to 1 \
in each row, as predict_proba returns them; pass predict_proba(X)[:, 1]
    """
    values = check_array(risks, name, ndim=(2,), advice=advice)
    check_within(
        values,
        name,
        0.0,
        1.0,
        expected="lie between 0 and 1",
        advice="pass probabilities of the event, not percentages, scores or log-odds",
    )
    # Columns that are all alike add up to 1 too where the one risk is 1 / columns.
    if np.ptp(values, axis=1).any() and (np.abs(values.sum(axis=1) - 1) < _ROUNDING).all():
        raise ValueError(
            f"{name} must hold risks of the event in every column, got columns that add up to 1 in "
            "each row, as predict_proba returns them; pass predict_proba(X)[:, 1]"
        )
    return values


def check_outcome(y_true: ArrayLike, name: str = "y_true") -> BoolArray:
    """Return a binary outcome (0 and 1, or False and True) as a 1-D boolean array.

    Examples
    --------
    >>> check_outcome([0, 1, 1])
    array([False,  True,  True])
    >>> check_outcome(["no", "yes"])
    Traceback (most recent call last):
        ...
    TypeError: y_true must hold numbers, got text such as 'no'; code the event as 1 and the rest \
as 0, as in y_true == "yes"
    """
    advice = f'code the event as 1 and the rest as 0, as in {name} == "yes"'
    raw = np.asarray(y_true)
    if raw.dtype == np.bool_ and raw.ndim == 1 and raw.size > 0:
        return raw
    values = check_array(y_true, name, advice=advice)
    event: BoolArray = values == 1
    wrong = ~event & (values != 0)
    if wrong.any():
        raise ValueError(
            f"{name} must hold only 0 and 1 (or False and True), got "
            f"{values[wrong][0]:g}{_place(wrong)}; {advice}"
        )
    return event


def check_sample_weight(sample_weight: ArrayLike, name: str = "sample_weight") -> FloatArray:
    """Return row weights as a 1-D float array: none negative, not all zero, their sum finite.

    Examples
    --------
    >>> check_sample_weight([1, 0, 2])
    array([1., 0., 2.])
    >>> check_sample_weight([0, 0])
    Traceback (most recent call last):
        ...
    ValueError: sample_weight must hold at least one weight above 0, got only zeros; leave it \
out to weigh all rows alike
    """
    values = check_array(sample_weight, name, advice="pass one number per row")
    check_within(
        values,
        name,
        0.0,
        _LARGEST / len(values),
        expected="be 0 or more and have a finite sum",
        advice="give rows to be left out the weight 0",
    )
    if not values.any():
        raise ValueError(
            f"{name} must hold at least one weight above 0, got only zeros; "
            "leave it out to weigh all rows alike"
        )
    return values


def check_same_length(**arrays: NDArray[Any] | None) -> None:
    """Raise unless the named arrays have one value per row each; `None` is passed over.

    Examples
    --------
    >>> check_same_length(y_true=np.zeros(3), risk=np.zeros(2), sample_weight=None)
    Traceback (most recent call last):
        ...
    ValueError: y_true and risk must have the same length, got 3 and 2; check that they come \
from the same rows
    """
    lengths = {name: len(array) for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"{_and(lengths)} must have the same length, got {_and(lengths.values())}; "
            "check that they come from the same rows"
        )


def check_both_classes(
    outcome: BoolArray, name: str = "y_true", *, sample_weight: FloatArray | None = None
) -> None:
    """Raise unless events and non-events both occur, in rows of weight above 0.

    Examples
    --------
    >>> check_both_classes(np.array([True, True]))
    Traceback (most recent call last):
        ...
    ValueError: y_true must hold both events (1) and non-events (0), got 2 rows of 1 only; add \
rows of the other class, or stratify the split
    """
    counted = outcome if sample_weight is None else outcome[sample_weight > 0]
    if counted.all() or not counted.any():
        raise ValueError(
            f"{name} must hold both events (1) and non-events (0), got {len(counted)} rows of "
            f"{int(counted.any())} only; add rows of the other class, or stratify the split"
        )


def _numbers(values: object, name: str, advice: str) -> FloatArray:
    """Return `values` as a float array; text, dates and ragged lists are refused, not guessed."""
    if values is None:  # which NumPy would read as nan
        raise TypeError(f"{name} must hold numbers, got None; {advice}")
    try:
        array = np.asarray(values)
    except ValueError as error:  # a ragged list
        raise ValueError(
            f"{name} must be a rectangular array, got rows of different lengths; {advice}"
        ) from error
    if array.dtype.kind in "biuf":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "O":  # a pandas column of Python numbers, or of nullable ones
        # NumPy would read the text "1" as the number 1.
        text = next((value for value in array.flat if isinstance(value, str | bytes)), None)
        if text is None:
            try:
                return array.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"{name} must hold numbers, got {_kind(values)} that NumPy cannot read as "
                    f"numbers ({error}); {advice}"
                ) from error
        raise TypeError(f"{name} must hold numbers, got text such as {text!r}; {advice}")
    if array.dtype.kind in "US" and array.size:
        raise TypeError(
            f"{name} must hold numbers, got text such as {array.flat[0].item()!r}; {advice}"
        )
    raise TypeError(f"{name} must hold numbers, got dtype {array.dtype}; {advice}")


def _kind(value: Any) -> str:
    """Name what came: its value when short text, its shape when an array, else its type."""
    if isinstance(value, str):
        return f"the text {value!r}"
    if isinstance(value, bool):
        return repr(value)
    if np.ndim(value) > 0:
        return f"an array of shape {np.shape(value)}"
    return type(value).__name__


def _place(wrong: BoolArray) -> str:
    """Say where the first True is; a single number needs no place."""
    index = [int(i) for i in np.argwhere(wrong)[0]]
    place = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), index, strict=False))
    return f" at {place}" if place else ""


def _and(words: Any) -> str:
    """Join as English does: a, b and c."""
    *first, last = map(str, words)
    return f"{', '.join(first)} and {last}"
