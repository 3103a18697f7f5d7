"""How every command speaks: results on standard output, all else on standard error.

Exit codes: 0; 2 for usage and input; 1 for the rest. An error is one to three lines; ``--debug``
shows where it arose.
"""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["Commands", "busy", "console", "note", "plain_json", "print_json", "table"]

# What click says of a command line that it cannot read: typer brings its own click, or uses yours.
_CommandLineError: Any = typer.BadParameter.__mro__[2]
_WIDTH = 120  # of tables in a file or a pipe


class Commands(TyperGroup):
    """The commands, and what becomes of their errors."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run a command and exit with its code; its words are kept as the context's ``obj``."""
        given = list(sys.argv[1:] if args is None else args)
        debug = "--debug" in given  # wherever it stands
        if debug:
            given.remove("--debug")
        options.update(standalone_mode=False, obj=["tailoredbayes", *given])
        with warnings.catch_warnings():
            # Findings are shown with the results; other libraries' warnings help no user here.
            if not debug:
                warnings.simplefilter("ignore")
            sys.exit(_run(lambda: super(Commands, self).main(given, *rest, **options), debug))

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an interrupt is ours to tell."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None


def _run(command: Callable[[], Any], debug: bool) -> int:
    """Return the exit code of a command; its errors are told."""
    try:
        code = command()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:  # whoever reads has read enough, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except typer.Abort:
        return _tell("stopped; nothing was written", 1)
    except _CommandLineError as error:
        return _tell_usage(error)
    except (OSError, ValueError) as error:
        if debug:
            traceback.print_exc()
        return _tell(_sentence(error), 2)
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _tell(
            f"unexpected {type(error).__name__}: {_sentence(error)}\n"
            "this should not happen; --debug shows where it did",
            1,
        )


def _tell_usage(error: Any) -> int:
    context = getattr(error, "ctx", None)
    if context is not None and type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(context.get_help(), err=True)
        return 2
    hint = f"\ntry: {context.command_path} --help" if context is not None else ""
    return _tell(error.format_message() + hint, 2)


def _sentence(error: BaseException) -> str:
    """Return an error's message, three lines of it at most."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return "\n".join(str(error).strip().splitlines()[:3]) or type(error).__name__


def _tell(message: str, code: int) -> int:
    typer.echo(f"error: {message}", err=True)
    return code


# --- Output -------------------------------------------------------------------------------------


def console() -> Any:
    """Return where results are printed: colours on a terminal alone, texts taken as they are."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH
    return Console(markup=False, emoji=False, highlight=False, width=width)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    """Return a table; columns whose names end in a space are aligned to the left."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(title=title, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name in columns:
        made.add_column(name.strip(), justify="left" if name.endswith(" ") else "right")
    for row in rows:
        made.add_row(*(printable(cell) for cell in row))
    return made


def printable(text: str) -> str:
    r"""Return a text without what would steer a terminal.

    >>> printable("age \x1b[31m")
    'age �[31m'
    """
    return "".join(sign if sign.isprintable() else "�" for sign in text)


def note(message: str) -> None:
    """Say something beside the results, on standard error."""
    typer.echo(printable(message), err=True)


def print_json(record: Mapping[str, Any]) -> None:
    """Print a record for machines."""
    typer.echo(plain_json(record))


def plain_json(record: Mapping[str, Any]) -> str:
    """Return a record as JSON, in which what is not finite is null."""
    return json.dumps(_plain(record), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item"):  # NumPy's numbers
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextmanager
def busy(message: str) -> Iterator[Callable[[int], None]]:
    """Show that something takes its time, and how many rows it has seen; on a terminal alone."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.console import Console

    screen = Console(stderr=True, markup=False, emoji=False, highlight=False)
    with screen.status(message) as status:
        yield lambda rows: status.update(f"{message}: {rows:,} rows")
