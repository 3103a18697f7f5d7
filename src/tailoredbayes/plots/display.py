"""A decision curve in scikit-learn's manner: ``from_estimator``, ``from_predictions``, ``plot``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tailoredbayes.checks import check_array
from tailoredbayes.evaluation.curves import DecisionCurve
from tailoredbayes.evaluation.curves import decision_curve as evaluate
from tailoredbayes.evaluation.models import own_event
from tailoredbayes.plots.curves import decision_curve
from tailoredbayes.plots.style import key

__all__ = ["DecisionCurveDisplay"]


class DecisionCurveDisplay:
    """Decision curve of one model, beside treating all and treating no one.

    Make one with :meth:`from_estimator` or :meth:`from_predictions`. To draw several models in
    one picture pass the ``ax_`` of the first on; to compare them,
    :func:`tailoredbayes.decision_curve` takes them all at once.

    Parameters
    ----------
    curve : DecisionCurve
        What :func:`tailoredbayes.decision_curve` returned, of one model.

    Attributes
    ----------
    line_ : Line2D
        The model's curve.
    treat_all_, treat_none_ : Line2D
        The two strategies without a model.
    ax_ : Axes
    figure_ : Figure

    See Also
    --------
    tailoredbayes.plots.decision_curve : Any number of models.
    sklearn.metrics.RocCurveDisplay : The same manner.

    Examples
    --------
    >>> display = DecisionCurveDisplay.from_predictions([0, 1, 0, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.line_.get_label(), display.ax_.get_xlabel()
    ('model', 'Threshold risk')
    """

    line_: Line2D
    treat_all_: Line2D
    treat_none_: Line2D
    ax_: Axes
    figure_: Figure

    def __init__(self, *, curve: DecisionCurve) -> None:
        if len(curve.models) != 3:
            raise ValueError(
                f"curve must be of one model, got {', '.join(curve.models[:-2]) or 'none'}; for "
                "several use tailoredbayes.plots.decision_curve"
            )
        self.curve = curve

    @property
    def name(self) -> str:
        """What the legend calls the model."""
        return self.curve.models[0]

    def plot(
        self, ax: Axes | None = None, *, curve_kwargs: Mapping[str, Any] | None = None
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; None makes a figure.
        curve_kwargs : dict, optional
            What matplotlib's ``Line2D.set`` takes, for the model's line.

        Returns
        -------
        DecisionCurveDisplay
            Itself, ``line_``, ``ax_`` and ``figure_`` set.
        """
        self.ax_ = decision_curve(self.curve, ax)
        figure = self.ax_.get_figure(root=True)
        assert figure is not None
        self.figure_ = figure
        by_label = {str(line.get_label()): line for line in self.ax_.get_lines()}
        self.line_ = by_label[self.name]
        self.treat_all_, self.treat_none_ = by_label["treat all"], by_label["treat none"]
        if curve_kwargs:
            self.line_.set(**curve_kwargs)
            key(self.ax_, above=28)  # the legend shows the line as it now is
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        thresholds: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        prevalence: float | None = None,
        harm: float = 0.0,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the decision curve of a fitted classifier or family on some rows.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba``, or a TailoredFamily
        X : array-like (n, d)
        y : array-like (n,) of the classifier's two labels
        thresholds, sample_weight, prevalence, harm
            As in :func:`tailoredbayes.decision_curve`.
        pos_label
            The label of the event; None takes the estimator's own ``pos_label`` (of a pipeline,
            that of its last step) or else its second class.
        name
            For the legend; None takes the estimator's class.
        ax, curve_kwargs
            As in :meth:`plot`.

        Returns
        -------
        DecisionCurveDisplay
        """
        check_is_fitted(estimator)
        classes = np.asarray(estimator.classes_)
        own = own_event(estimator)
        own = classes[-1] if own is None else own
        event = own if pos_label is None else pos_label
        if len(classes) != 2 or event not in classes:
            raise ValueError(
                f"pos_label must be one of the classifier's two classes, got {event!r} and classes "
                f"{classes.tolist()}"
            )
        model = estimator
        if not hasattr(estimator, "risks"):  # a family tells the event's risk by threshold
            model = estimator.predict_proba(X)[:, int(np.flatnonzero(classes == event)[0])]
        elif event != own:
            raise ValueError(
                f"pos_label must be the family's own event, got {pos_label!r}; fit the family with "
                "pos_label="
            )
        return cls._of(
            np.asarray(y) == event,
            {name or type(estimator).__name__: model},
            thresholds,
            ax,
            curve_kwargs,
            X=X,
            sample_weight=sample_weight,
            prevalence=prevalence,
            harm=harm,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        risk: ArrayLike,
        *,
        thresholds: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        prevalence: float | None = None,
        harm: float = 0.0,
        pos_label: Any = None,
        name: str = "model",
        ax: Axes | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the decision curve of predicted risks.

        Parameters
        ----------
        y_true : array-like (n,)
            Outcomes: 0 and 1, or any two labels with ``pos_label``.
        risk : array-like (n,)
            Risks of the event.
        thresholds, sample_weight, prevalence, harm
            As in :func:`tailoredbayes.decision_curve`.
        pos_label
            The label of the event; None takes 1.
        name
            For the legend.
        ax, curve_kwargs
            As in :meth:`plot`.

        Returns
        -------
        DecisionCurveDisplay
        """
        event: NDArray[Any] = np.asarray(y_true)
        if pos_label is not None:
            event = event == pos_label
        return cls._of(
            event,
            {name: check_array(risk, "risk")},
            thresholds,
            ax,
            curve_kwargs,
            sample_weight=sample_weight,
            prevalence=prevalence,
            harm=harm,
        )

    @classmethod
    def _of(
        cls,
        event: NDArray[Any],
        model: dict[str, Any],
        thresholds: ArrayLike | None,
        ax: Axes | None,
        curve_kwargs: Mapping[str, Any] | None,
        **options: Any,
    ) -> Self:
        curve = evaluate(event, model, thresholds, **options)
        return cls(curve=curve).plot(ax, curve_kwargs=curve_kwargs)
