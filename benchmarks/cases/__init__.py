"""The benchmarks, one a file: each has ``run(quick)``, which returns a ``harness.Result``."""

CASES = (
    "map_one_column",
    "map_45_columns",
    "whole_fit",
    "family",
    "draws",
    "memory",
    "growth",
    "curve",
    "decision_curves",
    "bootstrap",
    "parquet",
    "threads",
    "command_line",
)
