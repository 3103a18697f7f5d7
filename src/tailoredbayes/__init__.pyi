"""The public names: one line each, read by __init__.py, type checkers and editors alike."""

from . import datasets as datasets
from .decision import harm_to_benefit as harm_to_benefit
from .decision import interventions_avoided as interventions_avoided
from .decision import net_benefit as net_benefit
from .decision import net_benefit_scorer as net_benefit_scorer
from .decision import net_benefit_treat_all as net_benefit_treat_all
from .decision import net_benefit_treat_none as net_benefit_treat_none
from .decision import standardized_net_benefit as standardized_net_benefit
from .decision import target_threshold as target_threshold
from .decision import target_threshold_from_utilities as target_threshold_from_utilities
from .estimators import TailoredClassifier as TailoredClassifier
from .estimators import TailoredFamily as TailoredFamily
from .estimators import TailoredLogisticRegression as TailoredLogisticRegression
from .estimators import load as load
from .evaluation.bayesian import bayesian_decision_curve as bayesian_decision_curve
from .evaluation.calibration import calibration as calibration
from .evaluation.curves import decision_curve as decision_curve
from .evaluation.differences import net_benefit_difference as net_benefit_difference
from .evaluation.differences import resplit_difference as resplit_difference
from .evaluation.discrimination import discrimination as discrimination
from .evaluation.miscalibration import miscalibrate as miscalibrate
from .evaluation.miscalibration import miscalibration_shapes as miscalibration_shapes
from .evaluation.patients import deferral as deferral
from .evaluation.patients import patients as patients
from .evaluation.posteriors import hdi as hdi
from .evaluation.posteriors import posterior_densities as posterior_densities
from .evaluation.posteriors import posterior_intervals as posterior_intervals
from .evaluation.posteriors import posterior_overlap as posterior_overlap
from .findings import Finding as Finding
from .findings import TailoringWarning as TailoringWarning
from .inference import Draws as Draws
from .inference import find_modes as find_modes
from .inference import sample as sample
from .posterior import TailoredPosterior as TailoredPosterior
from .priors import Laplace as Laplace
from .priors import LogDensity as LogDensity
from .priors import Normal as Normal
from .priors import StudentT as StudentT
from .rows import ParquetRows as ParquetRows
from .weighting import effective_sample_fraction as effective_sample_fraction
from .weighting import effective_sample_size as effective_sample_size
from .weighting import kish_effective_sample_size as kish_effective_sample_size
from .weighting import largest_discount as largest_discount
from .weighting import tailoring_weights as tailoring_weights

__version__: str
