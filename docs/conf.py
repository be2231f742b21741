"""Sphinx configuration of the documentation; `make docs` builds it into build/docs without a network."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_sphinx"))

import tpauc

project = "tpauc"
author = "The tpauc developers"
copyright = author  # the name that Sphinx reads
version = release = tpauc.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "room_reference",  # docs/_sphinx: the reference pages, from the stub of the package
]
root_doc = "index"
exclude_patterns = ["gallery", "_sphinx"]  # the sources of auto_gallery
templates_path = ["_templates"]
nitpicky = True
default_role = "literal"  # single backticks in docstrings
nitpick_ignore_regex = [("py:.*", r"(?!tpauc\.).*")]  # names of other packages: nothing is fetched to resolve them

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings have them, in words
autodoc_member_order = "bysource"
autodoc_default_options = {"exclude-members": "set_fit_request, set_score_request, set_predict_request"}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes stand in the class, once
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 10,
    "show_memory": False,
    "capture_repr": (),
    "reset_modules": ("matplotlib", "figures.set_style"),
    "image_scrapers": ("figures.save_figures",),
    "write_computation_times": False,
    "copyfile_regex": r".*\.rst",
}
suppress_warnings = ["config.cache"]

html_theme = "pydata_sphinx_theme"
html_title = "tpauc"
html_static_path = ["_static"]
html_css_files = ["tpauc.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "tpauc"},
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_depth": 3,
    "header_links_before_dropdown": 6,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": []}

# Files outside this folder that pages link to, and the page of the site that shows each of them.
SHOWN = {
    "../benchmarks/results/quality.md": "/results/tables.md",
    "../benchmarks/results/images/results.md": "/results/images.md",
    "../benchmarks/results/images/differences.md": "/results/image-differences.md",
    "../SECURITY.md": "/project/security.md",
    "../CONTRIBUTING.md": "/project/contributing.md",
}


def link_to_the_site(app, docname, source):
    for outside, page in SHOWN.items():
        source[0] = source[0].replace(f"]({outside}", f"]({page}").replace(f"](../{outside}", f"]({page}")


def name_attributes_one_by_one(app, what, name, obj, options, lines):
    """Turn ``low, high : float`` of a section "Attributes" into two entries: napoleon does so for parameters alone."""
    start = next((place for place, line in enumerate(lines) if line == "Attributes"), len(lines))
    for place in range(len(lines) - 1, start, -1):
        found = re.fullmatch(r"(\w+(?:, \w+)+) : (.+)", lines[place])
        if found:
            end = next((k for k in range(place + 1, len(lines)) if not lines[k].startswith(" ")), len(lines))
            text = lines[place + 1 : end]
            lines[place:end] = [line for one in found[1].split(", ") for line in (f"{one} : {found[2]}", *text)]


def list_new_pages(app, docname, source):
    """Show pages of this folder that no list names yet among the guides."""
    if docname == "guides/index":
        lists = "".join((HERE / page).read_text("utf-8") for page in ("index.md", "guides/index.md", "explanations.md"))
        new = [page.stem for page in sorted(HERE.glob("*.md")) if not re.search(rf"\b{page.stem}\b", lists)]
        new = [name for name in new if name != "index"]
        lines = ["", "```{toctree}", ":hidden:", "", *(f"../{name}" for name in new), "```", ""]
        source[0] += "\n".join(lines) if new else ""


def setup(app):
    app.connect("autodoc-process-docstring", name_attributes_one_by_one, priority=100)  # before napoleon
    app.connect("source-read", list_new_pages)
    app.connect("source-read", link_to_the_site)
