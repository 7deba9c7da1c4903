"""Settings of the documentation site; ``make docs`` builds it, with warnings as errors.

Pages are Markdown that reads well in the repository. On the site, links that lead out of this
folder lead to the repository, and the lists of pages in index.md become the navigation.
"""

import posixpath
import re
from typing import Any

import coterie

project = "coterie"
author = "The coterie maintainers"
copyright = "The coterie maintainers, MIT licence"
version = release = coterie.__version__

extensions = ["myst_parser"]
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline"]  # the width of a picture
smartquotes = False  # two dashes begin an option
highlight_language = "none"  # a block without a language is a drawing or a plain command

html_theme = "furo"
html_title = f"coterie {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_dark_style = "monokai"

REPOSITORY = "https://github.com/coterie-project/coterie/blob/main/"
LINK = re.compile(r"\]\((\.\./[^)\s]+)\)")
SECTION = re.compile(r"^## (.+)\n((?:(?!^## ).*\n?)*)", re.MULTILINE)


def _absolute(docname: str, text: str) -> str:
    """The page with links out of docs/ as addresses of the repository."""

    def address(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(docname), link[1]))
        return link[0] if path.startswith("docs/") else f"]({REPOSITORY}{path})"

    return LINK.sub(address, text)


def _navigation(text: str) -> str:
    """Hidden tables of contents, one for each list of pages on the first page."""
    tables = []
    for title, body in SECTION.findall(text):
        names = re.findall(r"\]\(([a-z][\w/-]*)\.md\)", body)
        tables.append(
            "\n".join(["```{toctree}", f":caption: {title}", ":hidden:", "", *names, "```"])
        )
    return "\n\n".join(tables)


def _read(app: Any, docname: str, source: list[str]) -> None:
    navigation = _navigation(source[0]) if docname == "index" else ""
    source[0] = _absolute(docname, source[0]) + "\n" + navigation


def setup(app: Any) -> None:
    """Join the build."""
    app.connect("source-read", _read)
