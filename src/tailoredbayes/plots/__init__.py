"""Pictures of what evaluations and fits computed: one function a figure.

``plots.x(record, ax=None) -> Axes`` draws a record on the axes given, or on a figure of its own.
Figures of several panels take ``axes=`` (Axes, or a Figure or SubFigure to put them in) and return
an array of Axes. Nothing is computed here: each picture has a table behind it, the record's
``to_frame()``. Net benefit stays a share in the data that is drawn; the ticks say it per 1000.
"""

from tailoredbayes.plots.boundaries import boundaries, points
from tailoredbayes.plots.calibration import calibration, miscalibration_shapes
from tailoredbayes.plots.curves import (
    decision_curve,
    interventions_avoided,
    net_benefit_difference,
    probability_better,
    probability_useful,
)
from tailoredbayes.plots.display import DecisionCurveDisplay
from tailoredbayes.plots.grids import grid
from tailoredbayes.plots.patients import patients, risk_distribution
from tailoredbayes.plots.posteriors import (
    interval_widths,
    posterior_densities,
    posterior_intervals,
)
from tailoredbayes.plots.prospects import discount_search, effective_sample, weights
from tailoredbayes.plots.splitting import data_splitting
from tailoredbayes.plots.style import STYLES, Style, save, svg

__all__ = [
    "STYLES",
    "DecisionCurveDisplay",
    "Style",
    "boundaries",
    "calibration",
    "data_splitting",
    "decision_curve",
    "discount_search",
    "effective_sample",
    "grid",
    "interval_widths",
    "interventions_avoided",
    "miscalibration_shapes",
    "net_benefit_difference",
    "patients",
    "points",
    "posterior_densities",
    "posterior_intervals",
    "probability_better",
    "probability_useful",
    "risk_distribution",
    "save",
    "svg",
    "weights",
]
