"""The studies on the command line: ``tailoredbayes study list | run NAME | show NAME``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from tailoredbayes.studies.contract import Study

__all__ = ["app", "command"]

_FOLDER = Path("studies")
Folder = Annotated[Path, typer.Option("--out", help="folder of the results and pages")]

app = typer.Typer(
    help="The paper's experiments, each by one command.",
    epilog="Example: tailoredbayes study run sim1 --out studies",
    no_args_is_help=True,
    add_completion=False,
)


class _Studies(TyperGroup):
    """A command a study, made when it is asked for: the flags are the study's settings."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the studies."""
        from tailoredbayes.studies.registry import find_studies

        return [*find_studies(), "all"]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command that runs one study, or all."""
        from tailoredbayes.studies.registry import find_studies

        found = find_studies()
        if cmd_name == "all":
            return _command("all", "Run every study, with the settings of its page.", _run_all)
        return command(found[cmd_name]) if cmd_name in found else None


def command(study: Study) -> Any:
    """Return the command that runs a study: a flag for each of its settings, and how to run it."""
    return _command(study.name, f"{study.title}.", _runner(study))


def _command(name: str, help_text: str, function: Callable[..., None]) -> Any:
    one = typer.Typer(add_completion=False, rich_markup_mode=None)
    one.command(name, help=help_text, epilog=f"Example: tailoredbayes study run {name}")(function)
    return typer.main.get_command(one)


app.add_typer(
    typer.Typer(cls=_Studies, no_args_is_help=True, add_completion=False, rich_markup_mode=None),
    name="run",
    help="Run a study (only what is missing) and write its page.",
    epilog="Example: tailoredbayes study run sim1",
)


@app.command("list", epilog="Example: tailoredbayes study list")
def _list() -> None:
    """List the studies and what of the paper they show."""
    from rich.console import Console
    from rich.table import Table

    from tailoredbayes.studies.registry import find_studies

    table = Table("study", "subject", "in the paper", box=None)
    for study in find_studies().values():
        table.add_row(study.name, study.title, ", ".join(study.shows))
    Console().print(table)


@app.command("show", epilog="Example: tailoredbayes study show sim1")
def _show(name: Annotated[str, typer.Argument(help="the study")], out: Folder = _FOLDER) -> None:
    """Show what the paper claims, what was measured, and whether they agree."""
    from tailoredbayes.studies.registry import find_study
    from tailoredbayes.studies.runner import load_results

    with _Told():
        study = find_study(name)
        _tell(study, load_results(study, out))


@dataclass(frozen=True)
class _How:
    """How to run, the same for every study."""

    out: Path = _FOLDER
    n_jobs: int = -1
    backend: str = "processes"
    scheduler: str | None = None
    force: bool = False
    quiet: bool = False


_HOW: dict[str, tuple[Any, Any]] = {
    "out": (Path, typer.Option(_FOLDER, "--out", help="folder of the results and pages")),
    "n_jobs": (int, typer.Option(-1, "--n-jobs", help="processes; -1 for one a core")),
    "backend": (str, typer.Option("processes", "--backend", help="processes or dask")),
    "scheduler": (
        str | None,
        typer.Option(None, "--scheduler", help="address of a Dask scheduler, with --backend dask"),
    ),
    "force": (bool, typer.Option(False, "--force", help="throw away the results that are there")),
    "quiet": (bool, typer.Option(False, "--quiet", help="say nothing but errors")),
}


def _with_options(run: Callable[..., None], options: dict[str, tuple[Any, Any]]) -> Any:
    """Give a function of keywords the signature that typer reads."""
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # typer reads it
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)
            for name, (kind, option) in options.items()
        ]
    )
    return run


def _runner(study: Study) -> Callable[..., None]:
    """Return the function behind a study's command."""
    known = fields(study.settings)
    kinds = get_type_hints(study.settings)

    def run(**given: Any) -> None:
        with _Told():
            how = _How(**{name: given[name] for name in _HOW})
            _run(
                study,
                study.settings(
                    **{one.name: _read(one, kinds[one.name], given[one.name]) for one in known}
                ),
                how,
            )

    return cast(
        "Callable[..., None]",
        _with_options(run, {one.name: _option(one, kinds[one.name]) for one in known} | _HOW),
    )


def _all(**given: Any) -> None:
    from tailoredbayes.studies.registry import find_studies

    with _Told():
        for study in find_studies().values():
            _run(study, study.settings(**study.for_page), _How(**given))


_run_all = _with_options(_all, _HOW)


def _run(study: Study, settings: Any, how: _How) -> None:
    """Run a study, write its page and the index, and tell what was found."""
    from tailoredbayes.studies.page import write_index, write_page
    from tailoredbayes.studies.registry import find_studies
    from tailoredbayes.studies.runner import run_study

    results = run_study(
        study,
        settings,
        folder=how.out,
        n_jobs=how.n_jobs,
        backend=how.backend,
        scheduler=how.scheduler,
        force=how.force,
        verbose=not how.quiet,
    )
    page = write_page(study, results, how.out)
    write_index(find_studies(), how.out)
    if not how.quiet:
        _tell(study, results)
        print(f"{results.cells} cells, {results.seconds:.1f} s; the page is {page}")


def _option(one: Field[Any], kind: Any) -> tuple[Any, Any]:
    """Return the type and the option of a setting's flag; a tuple is given as words and commas."""
    flag = f"--{one.name.replace('_', '-')}"
    about = one.metadata["about"]
    if get_origin(kind) is tuple:
        return str, typer.Option(_as_flag(one.default), flag, help=about)
    return kind, typer.Option(one.default, flag, help=about)


def _read(one: Field[Any], kind: Any, given: Any) -> Any:
    """Return a setting's value from its flag's."""
    if get_origin(kind) is not tuple:
        return given
    element = get_args(kind)[0]
    try:
        return tuple(element(word.strip()) for word in given.split(",") if word.strip())
    except ValueError:
        raise ValueError(
            f"--{one.name.replace('_', '-')} must be {element.__name__}s with commas between, got "
            f"{given!r}; for example {_as_flag(one.default)}"
        ) from None


def _as_flag(value: Any) -> str:
    return ",".join(map(str, value))


def _tell(study: Study, results: Any) -> None:
    """Print the table "paper / ours / agree?"."""
    from rich.console import Console
    from rich.table import Table

    from tailoredbayes.studies.page import verdict

    claims = list(study.claims(results))
    if not claims:
        return
    table = Table("where", "paper", "ours", "agree?", title=study.title, show_lines=True)
    for claim in claims:
        table.add_row(claim.where, claim.paper, claim.ours, verdict(claim).strip("*"))
    Console().print(table)


class _Told:
    """Say what went wrong in a sentence, and end: 1 for a study that cannot go on, 2 for usage."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        """End with a message where there was an error of a known kind."""
        from tailoredbayes.studies.store import StudyError

        if isinstance(error, KeyboardInterrupt):
            print("stopped; the cells that ended are kept, run it again to go on", file=sys.stderr)
            raise typer.Exit(130)
        if isinstance(error, StudyError | ValueError | TypeError):
            print(f"error: {error}", file=sys.stderr)
            raise typer.Exit(1 if isinstance(error, StudyError) else 2)
