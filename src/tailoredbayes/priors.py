"""Priors on the coefficients: p(beta) of the tailored posterior.

A prior is asked for its log-density and its derivatives at many coefficient vectors at once: the
columns of a (coefficients x points) array. Each answer keeps that column layout.

To add a prior whose coefficients are independent, subclass :class:`IndependentPrior` and write four
formulae for one coefficient; any other prior implements :class:`Prior`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["IndependentPrior", "Laplace", "LogDensity", "Normal", "Prior", "StudentT"]

Floats = NDArray[np.float64]

# Central differences: the step that balances truncation against rounding is the cube root of the
# machine epsilon for a gradient, its fourth root for a second difference [NocedalWright2006, 8.1].
_GRADIENT_STEP = float(np.finfo(np.float64).eps ** (1 / 3))
# A scale whose square, and the inverse of that, stay numbers.
_SMALLEST_SCALE = 1e-150
_CURVATURE_STEP = float(np.finfo(np.float64).eps ** (1 / 4))


@runtime_checkable
class Prior(Protocol):
    """What the posterior asks of a prior; ``beta`` is (p, k), one coefficient vector a column."""

    def check(self, n_coefficients: int) -> None:
        """Raise ``ValueError`` unless the prior fits ``n_coefficients`` coefficients."""

    def value(self, beta: Floats) -> Floats:
        """Log-density of each column, shape (k,)."""

    def gradient(self, beta: Floats) -> Floats:
        """Gradient of the log-density, shape (p, k)."""

    def curvature(self, beta: Floats) -> Floats:
        """Negative Hessian of the log-density, shape (k, p, p)."""

    def smoothed(self, width: Floats) -> Prior:
        """Give a twice differentiable stand-in; ``self`` where the density has no kink."""


class IndependentPrior(ABC):
    """A prior under which the coefficients are independent: a sum of one-coefficient terms.

    A subclass is a frozen dataclass whose fields are scalars or one number per coefficient; it
    gives the log-density of one coefficient and its first two derivatives, elementwise.
    """

    @abstractmethod
    def term(self, beta: Floats) -> Floats:
        """Log-density of each coefficient, normalised, elementwise."""

    @abstractmethod
    def slope(self, beta: Floats) -> Floats:
        """First derivative of :meth:`term`, elementwise."""

    @abstractmethod
    def bend(self, beta: Floats) -> Floats:
        """Minus the second derivative of :meth:`term`, elementwise."""

    @abstractmethod
    def parameters(self) -> dict[str, Floats]:
        """Return the parameters by name, as (1, 1) or (p, 1) columns."""

    def check(self, n_coefficients: int) -> None:
        """Raise ``ValueError`` unless every parameter is a scalar or has one entry a coefficient.

        >>> Normal(sd=[1.0, 2.0]).check(3)
        Traceback (most recent call last):
            ...
        ValueError: Normal: sd has 2 entries, expected one or 3 (the intercept first, then ...
        """
        for name, column in self.parameters().items():
            if column.shape[0] not in (1, n_coefficients):
                raise ValueError(
                    f"{type(self).__name__}: {name} has {column.shape[0]} entries, expected one or "
                    f"{n_coefficients} (the intercept first, then the features); give a scalar or "
                    "one value per coefficient"
                )

    def value(self, beta: Floats) -> Floats:
        """Log-density of each column of ``beta``."""
        total: Floats = self.term(beta).sum(axis=0)
        return total

    def gradient(self, beta: Floats) -> Floats:
        """Gradient of the log-density at each column of ``beta``."""
        return self.slope(beta)

    def curvature(self, beta: Floats) -> Floats:
        """Negative Hessian at each column of ``beta``; diagonal, by independence."""
        full = np.zeros((beta.shape[1], beta.shape[0], beta.shape[0]))
        diagonal = np.arange(beta.shape[0])
        full[:, diagonal, diagonal] = self.bend(beta).T
        return full

    def smoothed(self, width: Floats) -> Prior:
        """Return the prior itself: it has no kink."""
        del width
        return self


def _column(owner: str, name: str, value: ArrayLike, *, positive: bool = False) -> Floats:
    """Return a prior's parameter as a (1, 1) or (p, 1) column, checked."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{owner}: {name} must be a number or a list of numbers, got {value!r}"
        ) from None
    if array.ndim > 1 or array.size == 0:
        raise ValueError(
            f"{owner}: {name} must be a scalar or one-dimensional, got shape {array.shape}"
        )
    # The inverse square of a scale must be a number, too; degrees of freedom are not squared.
    low, high = (0.0, np.inf) if name == "df" else (_SMALLEST_SCALE, 1 / _SMALLEST_SCALE)
    if not np.isfinite(array).all() or (
        positive and not ((array > 0) & (array >= low) & (array <= high)).all()
    ):
        wanted = "positive and finite" if positive else "finite"
        if positive and name != "df":
            wanted += f" (from {low:g} to {high:g})"
        raise ValueError(f"{owner}: {name} must be {wanted}, got {value!r}")
    return array.reshape(-1, 1)


@dataclass(frozen=True)
class Normal(IndependentPrior):
    r"""Independent normal priors, the paper's: beta_j ~ N(mean_j, sd_j^2).

    log p = -(beta - mean)^2 / (2 sd^2) - log(sd sqrt(2 pi)).

    Parameters
    ----------
    mean, sd
        Scalars, or one value per coefficient (the intercept first). The default, mean 0 and
        sd 100, is the vague prior of [Karapanagiotis2021].

    Examples
    --------
    >>> import numpy as np
    >>> Normal(0, 2).value(np.array([[2.0]])).round(4)   # log density of N(0, 4) at 2
    array([-2.1121])
    """

    mean: ArrayLike = 0.0
    sd: ArrayLike = 100.0
    _mean: Floats = field(init=False, repr=False, compare=False)
    _sd: Floats = field(init=False, repr=False, compare=False)
    _precision: Floats = field(init=False, repr=False, compare=False)
    _log_scale: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sd = _column("Normal", "sd", self.sd, positive=True)
        object.__setattr__(self, "_mean", _column("Normal", "mean", self.mean))
        object.__setattr__(self, "_sd", sd)
        # Samplers ask thousands of times.
        object.__setattr__(self, "_precision", 1 / sd**2)
        object.__setattr__(self, "_log_scale", np.log(sd * np.sqrt(2 * np.pi)))

    def parameters(self) -> dict[str, Floats]:
        """Return mean and sd."""
        return {"mean": self._mean, "sd": self._sd}

    def term(self, beta: Floats) -> Floats:
        """Log-density of each coefficient."""
        b = beta - self._mean
        return -0.5 * self._precision * b * b - self._log_scale

    def slope(self, beta: Floats) -> Floats:
        """-(beta - mean) / sd^2."""
        return (self._mean - beta) * self._precision

    def bend(self, beta: Floats) -> Floats:
        """1 / sd^2."""
        return np.broadcast_to(self._precision, beta.shape)


@dataclass(frozen=True)
class StudentT(IndependentPrior):
    r"""Independent Student-t priors; df = 1 is the Cauchy, df -> infinity the normal.

    With z = (beta - mean)/sd, log p = -(df + 1)/2 log(1 + z^2/df) + constant. ``sd`` is the scale
    parameter (the standard deviation is sd sqrt(df/(df - 2)), for df > 2). Beyond |z| = sqrt(df)
    the log-density is convex: its curvature is negative there.

    Examples
    --------
    >>> import numpy as np
    >>> float(StudentT(df=1, mean=0, sd=2.5).value(np.zeros((1, 1)))[0].round(6))  # -log(2.5 pi)
    -2.061021
    """

    df: ArrayLike
    mean: ArrayLike = 0.0
    sd: ArrayLike = 1.0
    _df: Floats = field(init=False, repr=False, compare=False)
    _mean: Floats = field(init=False, repr=False, compare=False)
    _sd: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_df", _column("StudentT", "df", self.df, positive=True))
        object.__setattr__(self, "_mean", _column("StudentT", "mean", self.mean))
        object.__setattr__(self, "_sd", _column("StudentT", "sd", self.sd, positive=True))

    def parameters(self) -> dict[str, Floats]:
        """Return df, mean and sd."""
        return {"df": self._df, "mean": self._mean, "sd": self._sd}

    def term(self, beta: Floats) -> Floats:
        """Log-density of each coefficient."""
        from scipy.special import gammaln

        df, z = self._df, (beta - self._mean) / self._sd
        constant = gammaln((df + 1) / 2) - gammaln(df / 2) - np.log(self._sd * np.sqrt(df * np.pi))
        return np.asarray(constant - (df + 1) / 2 * np.log1p(z * z / df))

    def slope(self, beta: Floats) -> Floats:
        """-(df + 1) b / (df sd^2 + b^2), b = beta - mean."""
        b = beta - self._mean
        return -(self._df + 1) * b / (self._df * self._sd**2 + b * b)

    def bend(self, beta: Floats) -> Floats:
        """(df + 1) (df sd^2 - b^2) / (df sd^2 + b^2)^2, b = beta - mean."""
        b, a = beta - self._mean, self._df * self._sd**2
        return (self._df + 1) / (a + b * b) * ((a - b * b) / (a + b * b))  # the square overflows


@dataclass(frozen=True)
class Laplace(IndependentPrior):
    r"""Independent Laplace (double exponential) priors: the Bayesian lasso [ParkCasella2008].

    log p = -|beta - mean| / scale - log(2 scale). The density has a kink at its mean: the gradient
    there is taken as 0 and the curvature is 0 elsewhere, so Gaussian approximations use
    :meth:`smoothed` instead.

    Examples
    --------
    >>> import numpy as np
    >>> Laplace(0, 0.5).gradient(np.array([[-3.0, 3.0]]))
    array([[ 2., -2.]])
    """

    mean: ArrayLike = 0.0
    scale: ArrayLike = 1.0
    _mean: Floats = field(init=False, repr=False, compare=False)
    _scale: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_mean", _column("Laplace", "mean", self.mean))
        object.__setattr__(self, "_scale", _column("Laplace", "scale", self.scale, positive=True))

    def parameters(self) -> dict[str, Floats]:
        """Return mean and scale."""
        return {"mean": self._mean, "scale": self._scale}

    def term(self, beta: Floats) -> Floats:
        """Log-density of each coefficient."""
        return -np.abs(beta - self._mean) / self._scale - np.log(2 * self._scale)

    def slope(self, beta: Floats) -> Floats:
        """-sign(beta - mean) / scale."""
        return -np.sign(beta - self._mean) / self._scale

    def bend(self, beta: Floats) -> Floats:
        """0 (almost everywhere)."""
        return np.zeros_like(beta)

    def smoothed(self, width: Floats) -> Prior:
        """Return the prior with |b| rounded off to sqrt(b^2 + width^2) around its kink."""
        return _RoundedLaplace(self, width)


@dataclass(frozen=True)
class _RoundedLaplace(IndependentPrior):
    """A Laplace prior whose |b| is sqrt(b^2 + width^2), widths shaped like beta or a column."""

    kinked: Laplace
    width: Floats

    def parameters(self) -> dict[str, Floats]:
        return self.kinked.parameters()

    def _b(self, beta: Floats) -> tuple[Floats, Floats]:
        b = beta - self.kinked._mean
        return b, np.sqrt(b * b + self.width**2)

    def term(self, beta: Floats) -> Floats:
        _, r = self._b(beta)
        return -r / self.kinked._scale - np.log(2 * self.kinked._scale)

    def slope(self, beta: Floats) -> Floats:
        b, r = self._b(beta)
        return -b / r / self.kinked._scale

    def bend(self, beta: Floats) -> Floats:
        _, r = self._b(beta)
        return self.width**2 / r**3 / self.kinked._scale


@dataclass(frozen=True)
class LogDensity:
    """A log-density of the user's own over the whole coefficient vector.

    Parameters
    ----------
    function
        ``function(beta) -> float``, ``beta`` of shape (p,), the intercept first. A constant may be
        left out.
    gradient
        ``gradient(beta) -> (p,)``. Without it, central differences are taken (2p calls each).

    Notes
    -----
    The curvature is by differences too, so Laplace, importance and NUTS all accept any smooth
    function. ``function`` must be finite wherever the samplers may go: everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> prior = LogDensity(lambda beta: -0.5 * float(beta @ beta))     # a standard normal
    >>> prior.gradient(np.array([[1.0], [2.0]])).round(6)
    array([[-1.],
           [-2.]])
    """

    function: Callable[[Floats], float]
    gradient_function: Callable[[Floats], Any] | None = None

    def __init__(
        self,
        function: Callable[[Floats], float],
        gradient: Callable[[Floats], Any] | None = None,
    ) -> None:
        for name, given in (("function", function), ("gradient", gradient)):
            if not (callable(given) or (name == "gradient" and given is None)):
                raise TypeError(f"LogDensity: {name} must be callable, got {given!r}")
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "gradient_function", gradient)

    def check(self, n_coefficients: int) -> None:
        """Try the functions at zero: a finite number and, if given, a gradient of p entries."""
        zero = np.zeros((n_coefficients, 1))
        self.value(zero)
        self.gradient(zero)

    def value(self, beta: Floats) -> Floats:
        """Log-density of each column of ``beta``."""
        if not np.isfinite(beta).all():
            raise ValueError(
                "LogDensity: function must be finite and smooth wherever it is asked, but its "
                "derivatives led to coefficients that are no numbers; smooth a hard edge (-inf), "
                "or move it away from 0, where the search for the mode begins"
            )
        found = [self.function(column) for column in beta.T.copy()]
        try:
            values = np.array([float(value) for value in found])
        except (TypeError, ValueError):
            raise TypeError(
                f"LogDensity: function must return one number, got {found[0]!r}"
            ) from None
        if np.isnan(values).any() or (values == np.inf).any():
            raise ValueError(
                "LogDensity: function must return a number below infinity, got "
                f"{values[~(values < np.inf)][0]} at beta = {beta.T[~(values < np.inf)][0]}"
            )
        return values

    def gradient(self, beta: Floats) -> Floats:
        """Gradient at each column: the user's, or central differences."""
        if self.gradient_function is None:
            return self._differences(beta)
        columns = [np.asarray(self.gradient_function(c), dtype=np.float64) for c in beta.T.copy()]
        for column in columns:
            if column.shape != (beta.shape[0],) or not np.isfinite(column).all():
                raise ValueError(
                    f"LogDensity: gradient must return {beta.shape[0]} finite numbers, got "
                    f"shape {column.shape}: {column}"
                )
        return np.stack(columns, axis=1)

    def _differences(self, beta: Floats) -> Floats:
        out = np.empty_like(beta)
        for j in range(beta.shape[0]):
            step = _GRADIENT_STEP * np.maximum(1.0, np.abs(beta[j]))
            up, down = beta.copy(), beta.copy()
            up[j] += step
            down[j] -= step
            with np.errstate(invalid="ignore"):  # -inf on both sides
                out[j] = (self.value(up) - self.value(down)) / (up[j] - down[j])
        return out

    def curvature(self, beta: Floats) -> Floats:
        """Negative Hessian at each column, by central differences of the gradient, symmetrised."""
        p, k = beta.shape
        full = np.empty((k, p, p))
        size = _GRADIENT_STEP if self.gradient_function is not None else _CURVATURE_STEP
        for j in range(p):
            step = size * np.maximum(1.0, np.abs(beta[j]))
            up, down = beta.copy(), beta.copy()
            up[j] += step
            down[j] -= step
            with np.errstate(invalid="ignore"):
                full[:, j] = -((self.gradient(up) - self.gradient(down)) / (up[j] - down[j])).T
        return 0.5 * (full + full.transpose(0, 2, 1))

    def smoothed(self, width: Floats) -> Prior:
        """Return the density itself: it is taken to be smooth."""
        del width
        return self
