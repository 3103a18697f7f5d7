"""The arrows of the house: who may import whom.

Each room lists the rooms it uses; it may also import whatever those use in turn. A new file or
folder is one more line here: put it where its equation belongs.
"""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import tailoredbayes

PACKAGE = Path(tailoredbayes.__file__).parent
USES = {
    "checks": [],
    "datasets": ["checks"],
    "decision": ["checks"],
    "findings": ["checks"],
    "progress": [],
    "tables": [],
    "weighting": ["checks"],
    "priors": ["checks"],
    "rows": ["checks"],
    "posterior": ["rows", "weighting", "priors", "findings"],
    "predictive": ["rows"],
    "expansion": ["posterior"],
    "inference": ["expansion"],
    "reference": ["inference", "predictive", "weighting"],
    "selection": ["inference", "predictive", "weighting"],
    "fitting": ["reference", "selection"],
    "storage": ["fitting"],
    "estimators": ["fitting", "storage", "progress"],
    "evaluation": ["decision", "predictive", "weighting", "reference"],
    "plots": ["evaluation"],
    "report": ["plots", "storage"],
    "studies": ["estimators", "evaluation", "plots", "predictive", "decision", "datasets"],
    "cli": ["report", "studies", "tables"],
    "__main__": ["cli"],
    "__init__": [
        "estimators",
        "evaluation",
        "plots",
        "report",
        "inference",
        "predictive",
        "decision",
        "datasets",
    ],  # the public names
}


def module(path):
    """Parts of a module's name below the package: ('inference', 'laplace')."""
    return path.relative_to(PACKAGE).with_suffix("").parts


# Where a stub stands beside a module, it says what the module gives: the public names.
FILES = [*sorted(PACKAGE.rglob("*.py")), *sorted(PACKAGE.rglob("*.pyi"))]
MODULES = {module(path): path for path in FILES}


def imports(path):
    """Modules of ours that a file imports, wherever in the file it does so."""
    here = ("tailoredbayes", *module(path))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[: -node.level] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            targets = [(*base, alias.name) for alias in node.names]
        else:
            continue
        yield from (resolve(target[1:]) for target in targets if target[0] == "tailoredbayes")


def resolve(target):
    """The module that holds a dotted name: 'rows.ArrayRows' is in 'rows'."""
    while target and target not in MODULES and (*target, "__init__") not in MODULES:
        target = target[:-1]
    return target if target in MODULES else (*target, "__init__")


def reachable(room):
    return {room}.union(*(reachable(used) for used in USES[room]))


@pytest.mark.parametrize("name", MODULES, ids=".".join)
def test_imports_follow_the_arrows(name):
    room = name[0]
    assert room in USES, f"{room} is a new room: add a line to USES that says which rooms it uses"
    used = {target[0] for target in imports(MODULES[name])}
    assert used <= reachable(room), f"{room} may not import {sorted(used - reachable(room))}"


def test_no_module_imports_itself_in_a_circle():
    graph = {name: set(imports(path)) - {name} for name, path in MODULES.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)
