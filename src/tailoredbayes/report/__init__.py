"""One page on a fitted model that a clinician can read: HTML that loads nothing from anywhere.

What the page says is worked out in :mod:`tailoredbayes.evaluation` and drawn by
:mod:`tailoredbayes.plots`; here it is put in order, in words, and escaped.
"""

from tailoredbayes.report.page import write_report
from tailoredbayes.report.sample import Sample

__all__ = ["Sample", "write_report"]
