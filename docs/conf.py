"""Settings of the documentation. Built with -W: a warning is an error."""

from importlib.metadata import version as installed_version
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

project = "obliqua"
author = "the obliqua developers"
project_copyright = "2026, the obliqua developers"
release = installed_version("obliqua")
version = release

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
exclude_patterns = ["_build", "results"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings give types in words
numpydoc_show_class_members = False  # our own class template lists them
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "obliqua"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
}
# Pages that stand alone have no section to show beside them.
html_sidebars = {page: [] for page in ("index", "start", "gallery", "benchmarks")}
# No page needs the network to be built or to be read: formulas are MathML, which browsers draw
# themselves.
html_math_renderer = "mathml"


def _formula(writer: Any, node: nodes.Element) -> None:
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _displayed_formula(writer: Any, node: nodes.Element) -> None:
    writer.body.append(f"<p>{tex2mathml(node.astext(), as_block=True)}</p>")
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (_formula, None), (_displayed_formula, None))
