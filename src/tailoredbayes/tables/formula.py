"""Formulas: "died ~ age + log(nodes + 1) + C(grade)", read by formulaic, kept without pickle.

A formula comes from the command line and, later, out of a model file. formulaic evaluates it as
Python, so only what a model needs is let through: column names, numbers, arithmetic and the
functions of `FUNCTIONS`. A model file cannot bring code.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.tables.chunks import TableError

__all__ = ["FUNCTIONS", "Formula", "parse_formula"]

Floats = NDArray[np.float64]

FUNCTIONS = (
    *("log", "log2", "log10", "log1p", "exp", "sqrt", "abs", "I"),
    *("C", "bs", "cs", "cr", "cc", "poly", "center", "scale"),
)
# formulaic's own names cover the rest.
_CONTEXT = {"log1p": np.log1p, "sqrt": np.sqrt, "abs": np.abs}
_ALLOWED = (
    *(ast.Expression, ast.Name, ast.Load, ast.Constant, ast.Call, ast.keyword),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow),
    *(ast.UnaryOp, ast.USub, ast.UAdd, ast.List, ast.Tuple),
)
_EXAMPLE = '"died ~ age + log(nodes + 1) + C(grade)"'


@dataclass(frozen=True)
class Formula:
    """The right-hand side of a formula, and the state of its splines and scalings once fitted."""

    text: str
    columns: tuple[str, ...]
    categories: tuple[str, ...]
    """Columns that stand inside ``C()``."""
    state: Mapping[str, Any] | None = None

    def fit(self, frame: Any) -> tuple[Formula, Floats, tuple[str, ...]]:
        """Return the formula with its state, the design matrix and its columns' names."""
        matrix, names, state = self._materialize(frame, {})
        _pack(state)  # what a file could not keep is refused now
        kept = Formula(self.text, self.columns, self.categories, state)
        return kept, matrix, names

    def design(self, frame: Any) -> Floats:
        """Return the design matrix of new rows."""
        assert self.state is not None
        return self._materialize(frame, dict(self.state))[0]

    def _materialize(
        self, frame: Any, state: dict[str, Any]
    ) -> tuple[Floats, tuple[str, ...], dict[str, Any]]:
        from formulaic import ModelSpec
        from formulaic.errors import FormulaicError

        spec = ModelSpec(self.text, transform_state=state, na_action="ignore", output="numpy")
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = spec.get_model_matrix(frame, context=_CONTEXT)
        except (FormulaicError, ArithmeticError, TypeError, ValueError) as error:
            cause = error.__cause__ or error
            raise TableError(
                f"the formula {self.text!r} cannot be computed: {_first_line(cause)}"
                + (
                    "; a spline ends where the data it was fitted to end: extrapolation='clip' "
                    "inside bs(...) holds it there"
                    if "extrapolation" in str(error) or "bound" in str(error)
                    else ""
                )
            ) from None
        names = tuple(made.model_spec.column_names)
        matrix = np.asarray(made, dtype=np.float64)
        keep = [i for i, name in enumerate(names) if name != "Intercept"]
        self._check_finite(matrix, names)
        return matrix[:, keep], tuple(names[i] for i in keep), made.model_spec.transform_state

    def _check_finite(self, matrix: Floats, names: Sequence[str]) -> None:
        wrong = ~np.isfinite(matrix)
        if wrong.any():
            row, column = (int(i) for i in np.argwhere(wrong)[0])
            raise TableError(
                f"the term {names[column]!r} is {matrix[row, column]:g} in one of the rows: a "
                "logarithm of 0 or a division by 0, most likely; add a constant, as log(nodes + 1)"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the formula in JSON's terms."""
        return {
            "text": self.text,
            "columns": list(self.columns),
            "categories": list(self.categories),
            "state": _pack(dict(self.state or {})),
        }

    @classmethod
    def from_json(cls, packed: Mapping[str, Any]) -> Formula:
        """Return what `to_json` has packed, read again with all checks."""
        parsed = parse_formula(packed["text"])[1]
        state = _unpack(packed["state"])
        return cls(parsed.text, tuple(packed["columns"]), parsed.categories, state)


def parse_formula(text: str) -> tuple[str | None, Formula]:
    """Return the outcome, if the formula names one, and its right-hand side.

    >>> outcome, formula = parse_formula("died ~ age + log(nodes + 1) + C(grade):age")
    >>> outcome, formula.columns, formula.categories
    ('died', ('age', 'nodes', 'grade'), ('grade',))
    """
    from formulaic import Formula as Parsed
    from formulaic import SimpleFormula
    from formulaic.errors import FormulaicError

    left, tilde, right = text.rpartition("~")
    if re.search(r"(?<![\w.`])\.(?![\w.])", re.sub(r"`[^`]*`", "", right)):
        raise TableError(
            f"the formula {text!r} holds '.', which stands for no columns here; name them, or "
            "leave the formula out to use all"
        )
    try:
        parsed = Parsed(right.strip())
    except (FormulaicError, SyntaxError, TypeError, ValueError) as error:
        raise TableError(
            f"the formula {text!r} cannot be read ({_first_line(error)}); write it as {_EXAMPLE}"
        ) from None
    if not isinstance(parsed, SimpleFormula):
        raise TableError(f"the formula {text!r} has several parts; write it as {_EXAMPLE}")
    outcome = left.strip().strip("`") if tilde else None
    if tilde and not outcome:
        raise TableError(f"the formula {text!r} names no outcome before ~; write it as {_EXAMPLE}")
    columns: dict[str, None] = {}
    categories: dict[str, None] = {}
    intercept = False
    for term in parsed:
        for factor in term.factors:
            method = factor.eval_method.value
            if method == "lookup":
                columns[factor.expr] = None
            elif method == "python":
                _check_expression(factor.expr, text, columns, categories)
            elif factor.expr == "1":
                intercept = True
    if not intercept:
        raise TableError(f"the formula {text!r} leaves the intercept out; models here have one")
    if not columns:
        raise TableError(f"the formula {text!r} names no column to predict with")
    return outcome, Formula(right.strip(), tuple(columns), tuple(categories))


def _check_expression(
    expression: str, formula: str, columns: dict[str, None], categories: dict[str, None]
) -> None:
    """Refuse all but arithmetic and known functions; note the columns."""
    quoted: dict[str, str] = {}

    def unquote(match: Any) -> str:
        alias = f"column_{len(quoted)}_in_backticks"
        quoted[alias] = match.group(1)
        return alias

    try:
        tree = ast.parse(re.sub(r"`([^`]+)`", unquote, expression), mode="eval")
    except SyntaxError:
        raise TableError(
            f"the formula {formula!r} cannot be read at {expression!r}; names with spaces or "
            "signs stand in backticks, as `blood pressure`"
        ) from None
    functions = set()
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise TableError(
                f"the formula {formula!r} holds {expression!r}, which is more than columns, "
                f"numbers, arithmetic and the functions {', '.join(FUNCTIONS)}"
            )
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
            if name not in FUNCTIONS:
                raise TableError(
                    f"the formula {formula!r} calls {name!r}; the functions are "
                    f"{', '.join(FUNCTIONS)}"
                )
            functions.add(id(node.func))
            if name == "C":
                if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Name):
                    raise TableError(
                        f"the formula {formula!r} holds {expression!r}; C takes one column, as "
                        "C(grade)"
                    )
                column = node.args[0].id
                categories[quoted.get(column, column)] = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in functions:
            columns[quoted.get(node.id, node.id)] = None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


# --- State: numbers, arrays and dictionaries, in JSON's terms ------------------------------------


def _pack(value: Any) -> Any:
    if isinstance(value, Mapping):  # keys are numbers, too: no JSON object
        return {"items": [[key, _pack(inner)] for key, inner in value.items()]}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    if isinstance(value, np.generic):
        return _pack(value.item())
    if isinstance(value, list | tuple):
        return [_pack(inner) for inner in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise TableError(
        f"the formula's state holds {value!r}, which a model file cannot keep; use other terms"
    )


def _unpack(packed: Any) -> Any:
    if isinstance(packed, dict):
        if "array" in packed:
            return np.array(packed["array"])
        return {key: _unpack(inner) for key, inner in packed["items"]}
    if isinstance(packed, list):
        return [_unpack(inner) for inner in packed]
    return packed
