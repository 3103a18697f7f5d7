"""Risk models fitted for the decision they will serve."""

from tailoredbayes import datasets
from tailoredbayes.decision import (
    harm_to_benefit,
    interventions_avoided,
    net_benefit,
    net_benefit_scorer,
    net_benefit_treat_all,
    net_benefit_treat_none,
    standardized_net_benefit,
    target_threshold,
    target_threshold_from_utilities,
)
from tailoredbayes.estimators import (
    TailoredClassifier,
    TailoredFamily,
    TailoredLogisticRegression,
)
from tailoredbayes.findings import Finding, TailoringWarning
from tailoredbayes.inference import Draws, find_modes, sample
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.priors import Laplace, LogDensity, Normal, StudentT
from tailoredbayes.rows import ParquetRows
from tailoredbayes.storage import load
from tailoredbayes.weighting import (
    effective_sample_fraction,
    effective_sample_size,
    kish_effective_sample_size,
    largest_discount,
    tailoring_weights,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "Draws",
    "Finding",
    "Laplace",
    "LogDensity",
    "Normal",
    "ParquetRows",
    "StudentT",
    "TailoredClassifier",
    "TailoredFamily",
    "TailoredLogisticRegression",
    "TailoredPosterior",
    "TailoringWarning",
    "datasets",
    "effective_sample_fraction",
    "effective_sample_size",
    "find_modes",
    "harm_to_benefit",
    "interventions_avoided",
    "kish_effective_sample_size",
    "largest_discount",
    "load",
    "net_benefit",
    "net_benefit_scorer",
    "net_benefit_treat_all",
    "net_benefit_treat_none",
    "sample",
    "standardized_net_benefit",
    "tailoring_weights",
    "target_threshold",
    "target_threshold_from_utilities",
]
