"""The page: everything it says put together, and written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tailoredbayes.report.advice import ADVICE
from tailoredbayes.report.checklist import FACTS, checklist
from tailoredbayes.report.data import columns_table, samples_table
from tailoredbayes.report.decisions import decisions
from tailoredbayes.report.evidence import gather
from tailoredbayes.report.explorer import explorer, javascript
from tailoredbayes.report.model import model_part
from tailoredbayes.report.performance import performance
from tailoredbayes.report.sample import Sample
from tailoredbayes.report.subject import Subject, subject_of
from tailoredbayes.report.tables import Table, pairs, threshold_text
from tailoredbayes.report.words import LABELS, limitations, summary, threshold_meaning
from tailoredbayes.storage import provenance

__all__ = ["SECTIONS", "report_html", "write_report"]

SECTIONS = {
    "summary": "What changes for your patients",
    "purpose": "Purpose and threshold",
    "explorer": "Other thresholds",
    "performance": "Performance",
    "patients": "Uncertain decisions",
    "findings": "Findings",
    "limitations": "Limitations",
    "data": "Data",
    "model": "The model in full",
    "reproducibility": "Reproducibility",
    "checklist": "Appendix: reporting checklist",
}
"""The sections in order: their ids and headings."""

_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "altair", "vl-convert-python")


def write_report(
    model: Any,
    out: str | os.PathLike[str],
    *,
    train: Sample | None = None,
    test: Sample | None = None,
    threshold: float | None = None,
    title: str | None = None,
    facts: Mapping[str, str] | None = None,
    model_file: str | os.PathLike[str] | None = None,
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
        What only the authors can say, by key: "setting", "population", "outcome", "action",
        "rationale", "predictors", "analysis", "missing", "sample_size", "fairness", "users",
        "authors", "ethics", "funding", "registration", "availability", "involvement".
    model_file
        Where the model was loaded from, for its digest and the versions that made it.
    random_state
        Seeds the bootstrap and the posterior draws of net benefit.

    Returns
    -------
    Path
        Where the page lies. The same input gives the same page.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import tailoredbayes as tb
    >>> X, y = np.linspace(-2, 2, 80)[:, None], np.tile([0, 1, 0, 1, 1], 16)
    >>> model = tb.TailoredLogisticRegression(0.5, discount=0, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(model, f"{folder}/report.html", train=Sample(X, y))
    ...     page.read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    page = report_html(
        model,
        train=train,
        test=test,
        threshold=threshold,
        title=title,
        facts=facts,
        model_file=model_file,
        random_state=random_state,
    )
    _write_whole(Path(os.path.realpath(out)), page.encode())
    return Path(out)


def report_html(
    model: Any,
    *,
    train: Sample | None = None,
    test: Sample | None = None,
    threshold: float | None = None,
    title: str | None = None,
    facts: Mapping[str, str] | None = None,
    model_file: str | os.PathLike[str] | None = None,
    random_state: int = 0,
) -> str:
    """Return the page of :func:`write_report` as text."""
    subject = subject_of(model, threshold)
    known = _checked_facts(facts)
    with ThreadPoolExecutor(1) as pool:
        script = pool.submit(javascript)  # takes seconds, in another language's threads
        evidence = gather(subject, train, test, random_state)
        main = evidence[0] if evidence else None
        curves = [found for found in evidence if len(found.curve.thresholds) > 1]
        rows = [found for found in evidence if found.patients is not None]
        context = {
            "sections": SECTIONS,
            "title": title or _title(subject),
            "subject": subject,
            "target": threshold_text(subject.threshold),
            "thresholds": [threshold_text(t) for t in subject.models],
            "meaning": threshold_meaning(subject.threshold),
            "main": main,
            "summary": summary(subject, main) if main else [],
            "labels": LABELS,
            "facts": known,
            "questions": FACTS,
            "samples": samples_table(subject, evidence, train, test),
            "columns": columns_table(subject, train, test),
            "explorer": explorer(subject, curves[0]) if curves else None,
            "performance": [
                performance(subject, found, brief=found is not main) for found in evidence
            ],
            "model": model_part(subject, 0 if test is None else test.rows),
            "decisions": decisions(subject, rows[0]) if rows else None,
            "findings": _findings(subject),
            "limitations": list(limitations(subject, evidence, train)),
            "reproducibility": _reproducibility(subject, train, test, model_file, random_state),
            "checklist": checklist(known),
        }
        context["javascript"] = script.result() if context["explorer"] else ""
    return _rendered(context)


def _rendered(context: dict[str, Any]) -> str:
    folder = files("tailoredbayes.report") / "templates"
    style = Markup((folder / "report.css").read_text(encoding="utf-8"))
    panel = Markup((folder / "explorer.js").read_text(encoding="utf-8"))
    scripts = [context["javascript"], panel] if context["explorer"] else []
    # The browser runs these two scripts and no other, and loads nothing.
    policy = " ".join(f"'sha256-{_digest(script)}'" for script in scripts) or "'none'"
    environment = Environment(
        loader=PackageLoader("tailoredbayes.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    page = environment.get_template("report.html")
    return page.render(**context, style=style, scripts=scripts, policy=Markup(policy))


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _title(subject: Subject) -> str:
    return (
        f"Predicting {subject.outcome}, to decide at a risk of {threshold_text(subject.threshold)}"
    )


def _checked_facts(facts: Mapping[str, str] | None) -> dict[str, str]:
    unknown = [key for key in facts or {} if key not in FACTS]
    if unknown:
        raise ValueError(f"facts must be some of {', '.join(FACTS)}, got {unknown[0]!r}")
    return {key: str(text) for key, text in (facts or {}).items()}


def _findings(subject: Subject) -> list[dict[str, Any]]:
    """Return each kind of finding once: what it means, what to do, what was found where."""
    found: dict[str, dict[str, Any]] = {}
    for t, model in subject.models.items():
        for finding in model.findings_:
            means, do = ADVICE[finding.code]
            entry = found.setdefault(
                finding.code, {"code": finding.code, "means": means, "do": do, "found": {}}
            )
            entry["found"].setdefault(finding.message, []).append(threshold_text(t))
    return list(found.values())


def _reproducibility(
    subject: Subject,
    train: Sample | None,
    test: Sample | None,
    model_file: str | os.PathLike[str] | None,
    random_state: int,
) -> Table:
    recorded = subject.recipe.get("data") or {}
    digest = (train.sha256 if train else "") or recorded.get("sha256")
    rows: list[tuple[str, Any]] = [
        ("Call", subject.recipe.get("call") or "not supplied"),
        ("Training data, SHA-256", digest or "not supplied"),
        ("External data, SHA-256", (test.sha256 if test else "") or "not supplied"),
    ]
    if model_file is None:
        rows.append(("Model file", "not supplied"))
    else:
        made = provenance(model_file)
        rows += [
            ("Model file", Path(model_file).name),
            ("Model file, SHA-256", made.sha256),
            ("Model saved", made.saved_at),
            ("Model made with", _versions(made.versions)),
        ]
    own = {
        "tailoredbayes": version("tailoredbayes"),
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }
    rows += [
        ("Seed of the fit", subject.target.random_state),
        ("Seed of this page", random_state),
        ("Page made with", _versions(own)),
    ]
    return pairs("What made this page", ("What", "Value"), rows)


def _versions(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in found.items())


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
