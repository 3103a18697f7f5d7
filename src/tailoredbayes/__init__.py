"""Risk models fitted for the decision they will serve."""

import lazy_loader

__version__ = "0.1.0.dev0"

# The public names stand in __init__.pyi, one line each. A name's module is imported when the name
# is first used, so that the command line answers before NumPy and scikit-learn are there.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
