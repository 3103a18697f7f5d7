"""The command line: from a CSV file to a decision.

    tailoredbayes threshold | fit | predict | evaluate | report | demo | study

A command is a file; what it needs is imported when it runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import signal
import sys

import typer

from tailoredbayes.cli import demo, evaluate, fit, predict, report, threshold
from tailoredbayes.cli.manners import Commands
from tailoredbayes.studies import command as study

__all__ = ["app", "main"]

app = typer.Typer(
    cls=Commands,
    help="Risk models fitted for the decision they will serve.",
    epilog="Start with: tailoredbayes demo",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _module in (
    ("threshold", threshold),
    ("fit", fit),
    ("predict", predict),
    ("evaluate", evaluate),
    ("report", report),
    ("demo", demo),
):
    app.command(_name, epilog=_module.EXAMPLE)(_module.command)
app.add_typer(study.app, name="study")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tailoredbayes {sys.modules['tailoredbayes'].__version__}")
        raise typer.Exit


@app.callback()
def _everywhere(
    version: bool = typer.Option(False, "--version", callback=_version, help="say which it is"),
    debug: bool = typer.Option(False, "--debug", help="show where in the code an error arose"),
) -> None:
    pass


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line."""
    # Whoever ends it, a job scheduler as well as Ctrl-C, finds nothing half written.
    signal.signal(signal.SIGTERM, _stop)
    app(prog_name="tailoredbayes")
