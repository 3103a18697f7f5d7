"""A progress bar for those who asked, on a terminal; nothing in a log file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(
    verbose: int, total: int, stream: TextIO | None = None
) -> Iterator[Callable[[str], None]]:
    """Give a function that is called with a word on each of ``total`` steps as it begins.

    Parameters
    ----------
    verbose
        0 for silence.
    total
        How many steps there will be.
    stream
        Where the bar is drawn, standard error by default; never where that is no terminal.
    """
    out = sys.stderr if stream is None else stream
    if not verbose or not out.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:32}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=out)) as bar:
        task = bar.add_task("", total=total)
        begun = 0

        def step(description: str) -> None:
            nonlocal begun
            bar.update(task, description=description, completed=begun)
            begun += 1

        yield step
        bar.update(task, description="done", completed=total)
