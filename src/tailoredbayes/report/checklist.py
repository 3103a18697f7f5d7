"""Where this page touches TRIPOD+AI [Collins2024], item by item; it claims no compliance."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["FACTS", "checklist"]

FACTS: dict[str, str] = {
    "setting": "Where and when the patients were seen",
    "population": "Who the patients are, and who was left out",
    "outcome": "What the outcome is, and over what time",
    "action": "What is done at or above the threshold, and what otherwise",
    "rationale": "Who chose the threshold, and why",
    "predictors": "How and when the predictors were measured",
    "analysis": "Why this kind of model, and how places, times or centres differ",
    "missing": "Why values are missing",
    "sample_size": "How the sample size was decided",
    "fairness": "How the model does in groups that may be treated unequally",
    "users": "Who will use the model, and how its answer reaches them",
    "authors": "Authors",
    "ethics": "Ethical approval and consent",
    "funding": "Funding and interests",
    "registration": "Protocol and registration",
    "availability": "Where data and code can be had",
    "involvement": "How patients and the public were involved",
}
"""What only the authors can say, by key: shown as "not supplied" until they do."""

# Item, its subject in our words, the section of this page that has something on it ("" if none)
# and the facts that only the authors can add.
_ITEMS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("1", "Title", "", ("population", "outcome")),
    ("2", "Abstract", "summary", ("setting",)),
    ("3", "Background: the decision, existing models, inequalities", "", ("action", "fairness")),
    ("4", "Objectives", "purpose", ("rationale",)),
    ("5", "Sources and dates of the data", "data", ("setting",)),
    ("6", "Participants: setting, eligibility, treatments", "", ("setting", "population")),
    ("7", "Preparation of the data", "data", ("population",)),
    ("8", "Outcome and how it was assessed", "purpose", ("outcome",)),
    ("9", "Predictors and how they were measured", "data", ("predictors",)),
    ("10", "Sample size", "data", ("sample_size",)),
    ("11", "Missing data", "data", ("missing",)),
    ("12", "Analysis: model, selection, performance measures", "model", ("analysis",)),
    ("13", "Class imbalance", "model", ()),
    ("14", "Fairness", "", ("fairness",)),
    ("15", "What the model returns, and the threshold", "purpose", ("rationale",)),
    ("16", "Differences between development and evaluation data", "data", ("population",)),
    ("17", "Ethical approval", "", ("ethics",)),
    (
        "18",
        "Funding, interests, protocol, registration, sharing",
        "",
        ("funding", "registration", "availability"),
    ),
    ("19", "Patient and public involvement", "", ("involvement",)),
    ("20", "Results: participants", "data", ("population",)),
    ("21", "Results: participants and events in each analysis", "data", ()),
    ("22", "The full model", "model", ("availability",)),
    ("23", "Performance with intervals", "performance", ("fairness",)),
    ("24", "Results of updating", "", ()),
    ("25", "Interpretation", "summary", ("fairness",)),
    ("26", "Limitations", "limitations", ("population",)),
    ("27", "Use in practice, and what comes next", "patients", ("users",)),
)


def checklist(supplied: Collection[str]) -> list[tuple[str, str, str, str]]:
    """Return (item, subject, section, status) for each item.

    >>> checklist(["availability"])[21]
    ('22', 'The full model', 'model', 'filled here')
    >>> checklist([])[16][3], checklist(["ethics"])[16][3]
    ('needs the author', 'supplied by the author')
    """
    return [
        (item, subject, section, _status(section, facts, supplied))
        for item, subject, section, facts in _ITEMS
    ]


def _status(section: str, facts: tuple[str, ...], supplied: Collection[str]) -> str:
    wanting = [fact for fact in facts if fact not in supplied]
    if section:
        return "filled here; the rest needs the author" if wanting else "filled here"
    return "needs the author" if wanting or not facts else "supplied by the author"
