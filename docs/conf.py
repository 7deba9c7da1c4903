"""Settings of the documentation site; ``make docs`` builds it, with warnings as errors."""

import sys
from pathlib import Path

import coterie

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "coterie"
author = "The coterie maintainers"
copyright = "The coterie maintainers, MIT licence"
version = release = coterie.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "filled",
]
exclude_patterns = ["_ext"]

# Pages are Markdown that reads well without being built, too.
myst_heading_anchors = 3
smartquotes = False  # two dashes begin an option
highlight_language = "none"  # a block without a language is a drawing or a plain command

autosummary_generate = False  # tables only: the pages of the reference hold all entries themselves
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc docstrings say it in words
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"coterie {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_dark_style = "monokai"
