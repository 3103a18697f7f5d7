"""scikit-learn estimators: thin shells around fitting.py.

They check input at the door, keep what a fit found under names that end in an underscore, and
translate. No mathematics lives here. `load` is storage's: whoever takes it from here has the
estimators that a file may hold.
"""

from tailoredbayes.estimators.classifier import TailoredClassifier
from tailoredbayes.estimators.family import TailoredFamily
from tailoredbayes.estimators.logistic import TailoredLogisticRegression
from tailoredbayes.storage import load

__all__ = ["TailoredClassifier", "TailoredFamily", "TailoredLogisticRegression", "load"]
