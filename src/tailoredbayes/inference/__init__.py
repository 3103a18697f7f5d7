"""Draws from the tailored posterior: one method a file, one record for all of them."""

from tailoredbayes.inference.draws import Draws
from tailoredbayes.inference.laplace import CollinearityError, Modes, find_modes
from tailoredbayes.inference.sampling import SAMPLERS, LaplaceRefusedError, sample

__all__ = [
    "SAMPLERS",
    "CollinearityError",
    "Draws",
    "LaplaceRefusedError",
    "Modes",
    "find_modes",
    "sample",
]
