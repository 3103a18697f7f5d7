"""The documentation site: Markdown, executed as it is built, and docstrings. `make docs` builds it.

Nothing is fetched while it is built or read: mathematics becomes MathML, fonts are the reader's own.
"""

import json
import re
from pathlib import Path

from docutils.utils.math.latex2mathml import tex2mathml

import tailoredbayes

HERE = Path(__file__).parent
ROOT = HERE.parent

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
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True
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
                lambda found: (
                    f"[\\[{found[1]}{found[2] or ''}\\]](#cited-{found[1].lower()})"
                ),
                outside[i],
            )
        source[0] = "".join(outside)


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


def _find_by_last_name(app, env, node, contnode):
    """Docstrings name a class or function as their own module does: find the one so called."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    domain = env.get_domain("py")
    found = {name for name in domain.objects if name.endswith(f".{target}")}
    if len(found) != 1:
        return None
    return domain.resolve_xref(
        env, node["refdoc"], app.builder, "obj", found.pop(), node, contnode
    )


# --- Mathematics ------------------------------------------------------------------------------


def _inline_math(self, node):
    self.body.append(tex2mathml(node.astext()))
    raise _skip()


def _block_math(self, node):
    self.body.append('<div class="math-block">')
    self.body.append(tex2mathml(node.astext(), as_block=True))
    self.body.append("</div>")
    raise _skip()


def _skip():
    from docutils.nodes import SkipNode

    return SkipNode()


# --- Measured figures -------------------------------------------------------------------------
# What was measured stands in the results' files; pages name it: {{ claim_... }}.


def _claims():
    found = {}
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        found[result["name"]] = result
    return found


def setup(app):
    """Connect what stands above."""
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
    app.connect("source-read", _cite_in_page)
    app.connect("autodoc-process-docstring", _cite_in_docstring, priority=900)
    app.connect("missing-reference", _find_by_last_name)
    return {"parallel_read_safe": True}


html_math_renderer = "mathml"
