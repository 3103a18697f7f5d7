"""The page: everything it says put together, and written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tailoredbayes.report.sample import Sample
from tailoredbayes.report.subject import Subject, subject_of

__all__ = ["FACTS", "report_html", "write_report"]

FACTS: dict[str, str] = {
    "setting": "Where and when the patients were seen",
    "population": "Who the patients are, and who was left out",
    "outcome": "What the outcome is, and over what time",
    "action": "What is done at or above the threshold, and what otherwise",
    "rationale": "Who chose the threshold, and why",
    "predictors": "How and when the predictors were measured",
    "missing": "Why values are missing",
    "sample_size": "How the sample size was decided",
    "fairness": "How the model does in groups of patients who may be treated unequally",
    "users": "Who will use the model, and how its answer reaches them",
    "authors": "Authors",
    "ethics": "Ethical approval and consent",
    "funding": "Funding and interests",
    "registration": "Protocol and registration",
    "availability": "Where data and code can be had",
    "involvement": "How patients and the public were involved",
}
"""What only the authors can say, by key: shown as "not supplied" until they do."""


def write_report(
    model: Any,
    out: str | os.PathLike[str],
    *,
    train: Sample | None = None,
    test: Sample | None = None,
    threshold: float | None = None,
    title: str | None = None,
    facts: Mapping[str, str] | None = None,
    random_state: int = 0,
) -> Path:
    """Write one self-contained HTML page on a fitted model.

    The page loads nothing from anywhere. Every result says whether it is apparent (on the rows of
    the fit), cross-validated (from the fit's own search) or external (on rows that the fit has
    not seen); nothing is fitted again. What cannot be told from what is given is a visible "not
    supplied".

    Parameters
    ----------
    model
        A fitted ``TailoredLogisticRegression`` or ``TailoredFamily``, or one that was loaded.
    out
        The file to write; it appears as a whole or not at all.
    train
        The rows of the fit: apparent results.
    test
        Rows that the fit has not seen: external results.
    threshold
        The target threshold; by default the one that the model file names, a single model's own,
        or else a family's middle one.
    title
        The page's heading.
    facts
        What only the authors can say, by the keys of :data:`FACTS`.
    random_state
        Seeds the bootstrap and the posterior draws of net benefit.

    Returns
    -------
    Path
        Where the page lies.
    """
    page = report_html(
        model,
        train=train,
        test=test,
        threshold=threshold,
        title=title,
        facts=facts,
        random_state=random_state,
    )
    target = Path(os.path.realpath(out))
    _write_whole(target, page.encode())
    return Path(out)


def report_html(
    model: Any,
    *,
    train: Sample | None = None,
    test: Sample | None = None,
    threshold: float | None = None,
    title: str | None = None,
    facts: Mapping[str, str] | None = None,
    random_state: int = 0,
) -> str:
    """Return the page of :func:`write_report` as text."""
    subject = subject_of(model, threshold)
    return (
        _environment()
        .get_template("report.html")
        .render(title=title or _title(subject), subject=subject, facts=_checked_facts(facts))
    )


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("tailoredbayes.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _title(subject: Subject) -> str:
    return f"Risk of {subject.outcome}: a model for decisions at {100 * subject.threshold:g}%"


def _checked_facts(facts: Mapping[str, str] | None) -> dict[str, str]:
    unknown = [key for key in facts or {} if key not in FACTS]
    if unknown:
        raise ValueError(f"facts must be some of {', '.join(FACTS)}, got {unknown[0]!r}")
    return {key: str(text) for key, text in (facts or {}).items()}


def _write_whole(target: Path, content: bytes) -> None:
    """Write a file beside the target and move it there, so that none is ever seen half written."""
    beside = target.with_name(f".tailoredbayes-{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:
            file.write(content)
        os.replace(beside, target)
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot write {target} ({error.strerror or error}); what was there, if anything, is "
            "unchanged; check that its folder may be written to and has room",
        ) from error
    finally:
        beside.unlink(missing_ok=True)
