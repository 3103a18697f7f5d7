"""The documentation site: Markdown, executed as it is built, and docstrings. `make docs` builds it.

Nothing is fetched while it is built or read: mathematics is MathML, fonts are the reader's own.
"""

import logging
import os
import re
import sys
from html import escape
from pathlib import Path
from textwrap import indent

from docutils.nodes import SkipNode, Text, literal_block
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError
from sphinx.util.logging import getLogger

import tailoredbayes

HERE = Path(__file__).parent
ROOT = HERE.parent

# Pages run the command line, and a few read the repository's files.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ["REPOSITORY"] = str(ROOT)
os.environ["COLUMNS"] = "100"  # for tables on a terminal

# A notebook's kernel as it is out of the box, silent about its own doings. Only %%bash is another:
# IPython's hands output on in pieces of 100 bytes, between which MyST-NB puts line ends.
_BASH = """
import os, subprocess, sys
from IPython import get_ipython

def bash(line, cell):
    plain = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "CLICOLOR_FORCE")}
    done = subprocess.run(["bash", "-e"], input=cell, env=plain, capture_output=True, text=True)
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    done.check_returncode()

get_ipython().register_magic_function(bash, "cell")
"""
_ipython = HERE / "_build" / "ipython"
(_ipython / "profile_default" / "startup").mkdir(parents=True, exist_ok=True)
(_ipython / "profile_default" / "startup" / "bash.py").write_text(_BASH, encoding="utf-8")
(_ipython / "profile_default" / "ipython_kernel_config.py").write_text(
    "c = get_config()\nc.IPKernelApp.log_level = 40\n", encoding="utf-8"
)
os.environ["IPYTHONDIR"] = str(_ipython)
logging.getLogger("traitlets").setLevel(logging.WARNING)

project = "tailoredbayes"
author = "The tailoredbayes developers"
project_copyright = author
release = version = tailoredbayes.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_build"]
nitpicky = True
# Names of other libraries' types in docstrings: their pages are not fetched.
nitpick_ignore_regex = [("py:.*", r"(collections|numpy|pandas|xarray|matplotlib|sklearn)\b.*")]

# --- Look -------------------------------------------------------------------------------------

html_theme = "furo"
html_title = "tailoredbayes"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

# --- Pages ------------------------------------------------------------------------------------

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = False  # all failures are shown; -W makes them errors
nb_merge_streams = True
nb_output_stderr = "error"  # a warning nobody expected is a failure
nb_execution_show_tb = True

# --- Reference --------------------------------------------------------------------------------

default_role = "literal"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 80
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# --- Works cited ------------------------------------------------------------------------------
# [Key] in a page or a docstring becomes a link to its entry in bibliography.md.

_BIBLIOGRAPHY = (HERE / "bibliography.md").read_text(encoding="utf-8")
_KEYS = re.findall(r"^\[(\w+)\]$", _BIBLIOGRAPHY, re.MULTILINE)
_CITED = re.compile(rf"\[({'|'.join(_KEYS)})(, [^\]]+)?\](?![(\[:])")


def _adapt(app, page, source):
    """Take in what is written for readers of the repository: links get the site's places."""
    if page == "studies/README":  # written by the studies' runner: its pages become its children
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
    elif page in ("benchmarks", "contributing"):
        file = re.search(r"{include} \.\./(.*)\n", source[0])[1]
        text = (ROOT / file).read_text(encoding="utf-8")
        text = text.replace("](docs/", "](").replace("](results/table.md)", "](#benchmarks)")
        text = text.replace("](benchmarks/README.md)", "](benchmarks.md)")
        text = text.replace("](results/", "](../benchmarks/results/")
        source[0] = re.sub(r"```{include} \.\./.*\n```\n", lambda _: text, source[0], count=1)


def _cite_in_page(app, page, source):
    """Link [Key] in Markdown; give each entry of the bibliography a target."""
    if page == "bibliography":
        entry = re.compile(r"^\[(\w+)\]\n: ", re.MULTILINE)
        source[0] = entry.sub(
            lambda found: f"(cited-{found[1].lower()})=\n**[{found[1]}]** ", source[0]
        )
    elif page is not None:
        outside = re.split(r"(^```.*?^```|`[^`\n]+`)", source[0], flags=re.MULTILINE | re.DOTALL)
        for i in range(0, len(outside), 2):
            outside[i] = _CITED.sub(
                lambda found: f"[\\[{found[1]}{found[2] or ''}\\]](#cited-{found[1].lower()})",
                outside[i],
            )
        source[0] = "".join(outside)


def _show_commands(app, doctree):
    """Show the commands of a %%bash cell as they are typed; mark printed tables."""
    for block in doctree.findall(literal_block):
        if "\N{BOX DRAWINGS LIGHT HORIZONTAL}" in block.rawsource:
            block["classes"].append("printed-table")
        if block.rawsource.startswith("%%bash\n"):
            block.rawsource = block.rawsource.removeprefix("%%bash\n")
            block.children = [Text(block.rawsource)]
            block["language"] = "bash"


def _cite_in_docstring(app, what, name, obj, options, lines):
    """Link [Key] in a docstring; let |x| be an absolute value, not a substitution."""
    example = False
    for i, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example and "``" not in line:
            line = line.replace("|", r"\|")
        lines[i] = _CITED.sub(
            lambda found: f":ref:`[{found[1]}{found[2] or ''}] <cited-{found[1].lower()}>`", line
        )


# Title, lines and picture of each entry of the gallery, and the imports that precede them all.
_PAGE = (HERE / "gallery" / "README.md").read_text(encoding="utf-8")
_GALLERY = re.findall(
    r"^### (.+?)\n(?:(?!^###).)*?^```python\n(.*?)^```\n\n!\[.*?\]\((.+?)\)$",
    _PAGE,
    re.MULTILINE | re.DOTALL,
)
_IMPORTS = re.findall(r"^((?:import|from) .*?(\w+))$", _PAGE, re.MULTILINE)


def _show_in_docstring(app, what, name, obj, options, lines):
    """Give a function its picture from the gallery, and the lines that drew it."""
    called = re.compile(rf"\btb\.{re.escape(name.removeprefix('tailoredbayes.'))}[(.]")
    if what in ("function", "class"):
        for title, code, picture in _GALLERY:
            if called.search(code):
                lines += ["", f"From the :doc:`gallery </gallery/README>`: {title}.", ""]
                needed = [
                    line for line, known_as in _IMPORTS if re.search(rf"\b{known_as}\b", code)
                ]
                whole = indent("\n".join([*needed, "", code]), "   ")
                lines += [".. code-block:: python", "", *whole.splitlines(), ""]
                lines += [f".. image:: /gallery/{picture}", f"   :alt: {title}", ""]
                break


def _find_by_last_name(app, env, node, contnode):
    """Docstrings name a class or function as their own module does: find the one so called."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    domain = env.get_domain("py")
    found = {name for name in domain.objects if name.endswith(f".{target}")}
    if len(found) != 1:
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", found.pop(), node, contnode)


# --- Mathematics ------------------------------------------------------------------------------


_FENCE = re.compile(r"<mo>([{}\[\]|])</mo>")


def _mathml(node, **how):
    """Return a formula as MathML; braces keep the size they were written in."""
    try:
        mathml = tex2mathml(node.astext(), **how)
    except MathError as unknown:
        getLogger(__name__).warning("%s: %s", node.astext(), unknown, location=node)
        return f"<code>{escape(node.astext())}</code>"
    return _FENCE.sub(r'<mo stretchy="false">\1</mo>', mathml)


def _inline_math(self, node):
    self.body.append(_mathml(node))
    raise SkipNode


def _block_math(self, node):
    self.body.append(f'<div class="math-block">{_mathml(node, as_block=True)}</div>')
    raise SkipNode


# --- Measured figures -------------------------------------------------------------------------
# What was measured stands in the committed results; pages name it, {{ like_this }}, and type no
# number themselves.


def _benchmarks():
    """Claims of each benchmark as a list, and all bars in one table."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from readme import bars, claims
    from table import read

    results = read(ROOT / "benchmarks" / "results")
    found = {f"claims_{result['name']}": claims(result) for result in results}
    return {**found, "benchmark_bars": bars(results)}


def _section(page, heading=None):
    """Return what stands under a heading of a study's page, or all of it; "" without either."""
    path = HERE / "studies" / f"{page}.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if heading is None:
        return text
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def _table(text, **wanted):
    """Return the first table of a text, the rows that hold these values in these columns."""
    found = re.search(r"(^\|.*(\n|\Z))+", text, re.MULTILINE)
    if not found:
        raise ValueError(f"a page shows a table that is not in its study: {text[:80]!r}")
    head, rule, *rows = found[0].splitlines()

    def cells(row):
        return [cell.strip() for cell in row.strip("|").split("|")]

    places = {cells(head).index(column): str(value) for column, value in wanted.items()}
    kept = [row for row in rows if all(cells(row)[at] == value for at, value in places.items())]
    return "\n".join([head, rule, *kept])


def _studies():
    """Claims of each study beside what was measured, and those that do not hold."""
    from tailoredbayes.studies.registry import find_studies

    found, disagreements = {}, ["| where | paper | ours |", "| --- | --- | --- |"]
    for name in find_studies():
        said = _section(name, "What the paper says")
        found[f"says_{name}"] = said or f"*Not run yet:* `tailoredbayes study run {name}`."
        disagreements += [
            row.removesuffix(" **no** |") for row in said.splitlines() if row.endswith("| **no** |")
        ]
    found["disagreements"] = "\n".join(disagreements)
    found["prospects_table"] = _table(_section("prospects", "Verdicts") or _section("prospects"))
    contaminated = _section("sim3", r"Gap closed crossfit [^\n]*")
    found["sim3_by_threshold"] = _table(contaminated)
    found["sim3_clean"] = _table(contaminated, contamination=0)
    combinations = _section("selection", "Combinations")
    found["selection_table"] = _table(combinations, design="crossfit")
    found["selection_by_design"] = _table(combinations, rounds=0, cv_repeats=1)
    return found


myst_substitutions = {**_benchmarks(), **_studies()}


# --- The build --------------------------------------------------------------------------------

# What a browser would load from elsewhere; a plain link (<a href>) loads nothing.
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|link|source)\b[^>]*?\s(?:src|href)=["']?(?:https?:)?//[^\s"'>]+"""
    r"""|@import[^;]*//[^;]+|url\(\s*["']?(?:https?:)?//[^)]+\)"""
)


def _check_site(app, exception):
    """See to it that every page is there, and that none of them loads anything."""
    if exception is None and app.builder.name == "html":
        _check_all_written(app)
        _check_pictures(app)
        for path in (path for path in app.outdir.rglob("*") if path.suffix in (".html", ".css")):
            fetched = _FETCHED.search(path.read_text(encoding="utf-8"))
            if fetched:
                raise ExtensionError(f"{path.name} loads from the network: {fetched[0]}")


def _check_all_written(app):
    """Refuse a site with pages missing: Sphinx drops the error of a process that writes them."""
    pages = sorted(app.env.found_docs)
    missing = [page for page in pages if not Path(app.builder.get_outfilename(page)).exists()]
    if missing:
        raise ExtensionError(f"pages not written (-j 1 tells why): {', '.join(missing)}")


# What a cell that draws says of its picture.
_PICTURED = re.compile(r"^ +alt: (.+)$", re.MULTILINE)


def _check_pictures(app):
    """Refuse a page with a cell that was to draw, and whose picture is not there."""
    for page in sorted(app.env.found_docs):
        text = Path(app.env.doc2path(page)).read_text(encoding="utf-8")
        shown = Path(app.builder.get_outfilename(page)).read_text(encoding="utf-8")
        for words in _PICTURED.findall(text):
            if f'alt="{escape(words)}"' not in shown:
                raise ExtensionError(f"{page}: no cell drew {words!r}")


def setup(app):
    """Connect what stands above."""
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
    app.connect("source-read", _adapt)
    app.connect("source-read", _cite_in_page)
    app.connect("doctree-read", _show_commands)
    app.connect("autodoc-process-docstring", _cite_in_docstring, priority=900)
    app.connect("autodoc-process-docstring", _show_in_docstring, priority=901)
    app.connect("missing-reference", _find_by_last_name)
    app.connect("build-finished", _check_site)
    return {"parallel_read_safe": True}


html_math_renderer = "mathml"
