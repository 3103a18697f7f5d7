"""The public names: each is there, and none costs anything before it is used."""

import subprocess
import sys

import pytest

import tailoredbayes as tb


@pytest.mark.parametrize("name", tb.__all__)
def test_a_public_name_leads_to_what_it_names(name):
    found = getattr(tb, name)
    assert name in dir(tb)
    assert found.__name__.rpartition(".")[2] == name


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="no_such_name"):
        tb.no_such_name  # noqa: B018  # reading the attribute is the test


def test_importing_the_package_imports_nothing_heavy():
    script = (
        "import sys, tailoredbayes\n"
        "print({'numpy', 'scipy', 'sklearn', 'pandas', 'rich'} & sys.modules.keys())\n"
        "print(tailoredbayes.net_benefit.__module__)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["set()", "tailoredbayes.decision"], done.stderr
