"""How Sphinx builds the site: `sphinx-build -W docs site`.

The gallery is executed, which takes minutes; `-D plot_gallery=0` leaves its pictures out.
"""

import re

import splinear

project = "splinear"
author = "The splinear developers"
copyright = f"2026, {author}"
version = release = splinear.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["images/*.py"]
smartquotes = False  # quotes are those of code, mostly
default_role = "literal"  # of `names` in docstrings
highlight_language = "none"  # formulas in docstrings are no Python

# -- pages in Markdown -----------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4  # the same anchors as GitHub's, so that links hold in both places

# -- reference -------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say the types
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False  # the templates list them

# -- gallery ---------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": [f"../examples/{part}" for part in ("tables", "curves", "wide", "use")],
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 300),
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
}

# -- how it looks ----------------------------------------------------------------------------------

# Wide tables take the room of the table of contents.
WIDE = "boosted pairs tabular defaults benchmarks instructions threads bounds mixed sparse one_row"
WIDE += " solvers reproduce gpu dask_scale"

html_theme = "pydata_sphinx_theme"
html_title = f"splinear {release}"
html_static_path = ["_static"]
html_css_files = ["site.css", "gallery.css"]
html_context = {"default_mode": "auto"}  # light or dark, as the system of the reader is
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "splinear"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"]} | {page: [] for page in WIDE.split()},
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"quick_start": [], "changelog": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- links to files beside docs --------------------------------------------------------------------

# Pages link to these where they are, for readers of the repository; the site has pages of them.
PAGES_OF_FILES = {
    "README": "index",
    "CHANGELOG": "changelog",
    "CONTRIBUTING": "contributing",
    "benchmarks/README": "running_benchmarks",
}


def to_pages(app, docname, source):
    """Turn links to files outside of docs into links to their pages."""
    for file, page in PAGES_OF_FILES.items():
        source[0] = re.sub(rf"\]\(((?:\.\./)*)\.\./{file}\.md", rf"](\1{page}.md", source[0])


def setup(app):
    """Register what this file adds to Sphinx."""
    app.connect("source-read", to_pages)
