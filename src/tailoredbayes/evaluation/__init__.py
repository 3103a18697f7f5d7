"""Judge the decision: every function returns a record with ``to_frame()``."""
