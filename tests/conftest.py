"""What every test shares: property tests draw the same examples in every run."""

from hypothesis import settings

# No deadline: a shared two-core machine may stall any single example.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")

# Fixtures are no doctests; several files of this one name cannot be imported as modules.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]
