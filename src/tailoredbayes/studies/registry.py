"""The studies there are: every module of this package that ends in a ``STUDY``."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from tailoredbayes import studies
from tailoredbayes.studies.contract import Study

__all__ = ["find_studies", "find_study"]


def find_studies() -> dict[str, Study]:
    """Return all studies by name."""
    found = {}
    for module in pkgutil.iter_modules(studies.__path__):
        study = getattr(import_module(f"{studies.__name__}.{module.name}"), "STUDY", None)
        if isinstance(study, Study):
            found[study.name] = study
    return found


def find_study(name: str) -> Study:
    """Return one study, or raise ``ValueError`` that names those there are.

    >>> find_study("sim1").title
    'Simulation 1: linear boundaries that are not parallel'
    """
    found = find_studies()
    if name not in found:
        raise ValueError(f"study must be one of {', '.join(found)}, got {name!r}")
    return found[name]
