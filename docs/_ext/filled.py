"""Parts of the pages that are made from the code when the site is built, never typed by hand.

A line ``% fill: command-line`` in a page becomes the reference of all commands, ``% fill: public``
the entries of ``coterie.__all__``, ``% fill: module NAME`` those of ``NAME.__all__``,
``% fill: methods`` the table of methods, and ``% fill: others PATTERN ...`` the pages that match
and that the page does not name itself. A new command, name, method or page needs no change here.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import coterie
from coterie.options import Options

DOCS = Path(__file__).parents[1]
PLACE = re.compile(r"^% fill: (.+)$", re.MULTILINE)
REFERENCE = re.compile(r"^(\s*)\.\. \[\d+\] ")  # numbered anew in every docstring
# In which order the modules of the public names are shown, and under which heading.
HEADINGS = {
    "coterie.methods": "Methods",
    "coterie.base": "What all methods share",
    "coterie.choose": "The number of clusters",
    "coterie.corpus": "Texts in",
    "coterie.description": "What a cluster is about",
    "coterie.report": "The page",
}


def command_line() -> str:
    """Reference of all verbs, from the application itself."""
    import typer

    from coterie.cli import app

    return "\n".join(_command(typer.main.get_command(app), "coterie", 2))


def _command(command: Any, path: str, depth: int) -> Iterator[str]:
    inner = getattr(command, "commands", {})
    if path != "coterie":
        yield f"{'#' * depth} {path}\n"
        depth += 1
    yield from _help(command.help or "")
    shown = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    arguments = [p for p in shown if p.param_type_name == "argument"]
    options = [p for p in shown if p.param_type_name == "option"]
    usage = [path, *(_placeholder(p) for p in arguments)]
    usage += ["[OPTIONS]"] * bool(options) + ["COMMAND ..."] * bool(inner)
    yield f"```text\n{' '.join(usage)}\n```\n"
    if arguments:
        yield "| argument | meaning | default |\n|---|---|---|"
        for p in arguments:
            yield f"| `{p.name.upper()}` | {_cell(p.help)} | {_default(p)} |"
        yield ""
    if options:
        yield "| option | meaning | default |\n|---|---|---|"
        for p in options:
            names = ", ".join(f"`{name}`" for name in [*p.opts, *p.secondary_opts])
            yield f"| {names} | {_cell(p.help)} | {_default(p)} |"
        yield ""
    if path == "coterie cluster":
        yield "| `--set KEY=VALUE`, beside the parameters of the method | meaning |\n|---|---|"
        for f in (f for f in fields(Options) if not f.metadata.get("panel")):
            yield f"| `{f.name}` | {_cell(f.metadata['help'])} |"
        yield ""
    for name, child in inner.items():
        yield from _command(child, f"{path} {name}", depth)


def _help(text: str) -> Iterator[str]:
    """The help of a verb; its indented examples become one block."""
    prose, _, examples = inspect.cleandoc(text).partition("Examples:")
    yield prose.strip() + "\n"
    if examples.strip():
        yield f"```text\n{inspect.cleandoc(examples.strip(chr(10)))}\n```\n"


def _placeholder(parameter: Any) -> str:
    name = parameter.name.upper()
    return name if parameter.required else f"[{name}]"


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("<", "&lt;")


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return "needed"
    if value is None or value is False or value == ():
        return ""
    return f"`{value}`"


def public() -> str:
    """All names of the package, by the module they come from."""
    by_module: dict[str, list[str]] = {}
    for name in coterie.__all__:
        if name != "__version__":
            by_module.setdefault(coterie._PUBLIC.get(name, "coterie.methods"), []).append(name)
    order = [*HEADINGS, *sorted(by_module.keys() - HEADINGS.keys())]
    out = []
    for module in order:
        names = sorted(by_module.get(module, []), key=str.lower)
        if names:
            title = HEADINGS.get(module) or _first_line(importlib.import_module(module))
            out.append(f"## {title}\n\n{_entries('coterie', names)}")
    return "\n".join(out)


def module(name: str) -> str:
    """The public names of one module."""
    found = importlib.import_module(name)
    names = getattr(found, "__all__", None) or [
        key
        for key, value in vars(found).items()
        if not key.startswith("_") and getattr(value, "__module__", "") == name
    ]
    return _entries(name, sorted(names, key=str.lower))


def methods() -> str:
    """Table of the methods, with links to their entries."""
    rows = ["| name | class | what it does |", "|---|---|---|"]
    for name, recipe in coterie.METHODS.items():
        link = f"{{py:class}}`~coterie.{recipe.class_name}`"
        rows.append(f"| `{name}` | {link} | {_cell(recipe.summary)} |")
    return "\n".join(rows) + "\n"


def _entries(where: str, names: list[str]) -> str:
    """A table of contents of the names, then an entry for each."""
    holder = importlib.import_module(where)
    documented = [name for name in names if callable(getattr(holder, name))]
    lines = ["```{eval-rst}", ".. autosummary::", "   :nosignatures:", ""]
    lines += [f"   {where}.{name}" for name in documented] + [""]
    for name in names:
        lines += _entry(f"{where}.{name}", getattr(holder, name))
    return "\n".join([*lines, "```", ""])


def _entry(path: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        return [
            f".. autoclass:: {path}{_signature(value)}",
            *(f"   {line}" for line in _members(value)),
            "",
        ]
    if callable(value):
        return [f".. autofunction:: {path}", ""]
    keys = f" with the keys {', '.join(f'``{key}``' for key in value)}" * isinstance(value, dict)
    kind = "" if keys else f", {value!r}"
    return [f".. py:data:: {path}", "", f"   A {type(value).__name__}{kind}{keys}.", ""]


def _is_method(cls: type) -> bool:
    from coterie.base import TextClusterer

    return cls is not TextClusterer and issubclass(cls, TextClusterer)


def _signature(cls: type) -> str:
    """Of a method its own parameters; those that all share are with the base class."""
    if not _is_method(cls):
        return ""
    own = inspect.get_annotations(cls).keys()
    every = inspect.signature(cls).parameters.values()
    shown = [f"{p.name}={p.default!r}" for p in every if p.name in own]
    return f"(n_clusters='auto', *, {', '.join([*shown, '**shared'])})"


def _members(cls: type) -> list[str]:
    """A method shows its own parts; the base class shows what all share."""
    if _is_method(cls):
        return []
    if not hasattr(cls, "get_metadata_routing"):
        return [":members:"]
    # What scikit-learn adds has its own documentation.
    added = [name for name in dir(cls) if re.match(r"set_|fit_|get_", name)]
    return [
        ":members:",
        ":inherited-members: BaseEstimator",
        f":exclude-members: {', '.join(added)}",
    ]


def _first_line(value: Any) -> str:
    return (inspect.getdoc(value) or value.__name__).splitlines()[0].rstrip(".:")


def others(patterns: str, page: str) -> str:
    """Pages that match and that ``page`` does not name, one a line, for a table of contents."""
    named = set(page.split())
    found = [file for pattern in patterns.split() for file in sorted(DOCS.glob(f"{pattern}.md"))]
    names = [file.relative_to(DOCS).with_suffix("").as_posix() for file in found]
    return "\n".join(name for name in names if name not in named)


def fill(kind: str, page: str) -> str:
    """The text for one place of a page."""
    word, _, rest = kind.strip().partition(" ")
    if word == "others":
        return others(rest, page)
    if word == "module":
        return module(rest)
    return {"command-line": command_line, "public": public, "methods": methods}[word]()


def _fill_page(app: Any, docname: str, source: list[str]) -> None:
    page = source[0]
    source[0] = PLACE.sub(lambda place: fill(place[1], page), page)


def _always_read(app: Any, env: Any, added: Any, changed: Any, removed: Any) -> list[str]:
    """Pages with places: the code or the other pages may have changed though they did not."""
    return [
        name for name in env.found_docs if PLACE.search(Path(env.doc2path(name)).read_text("utf-8"))
    ]


def _plain_references(*event: Any) -> None:
    """References as a list: numbered targets would clash where a page holds many docstrings."""
    lines: list[str] = event[-1]
    lines[:] = [REFERENCE.sub(r"\1* ", line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Join the build."""
    app.connect("env-get-outdated", _always_read)
    app.connect("source-read", _fill_page)
    app.connect("autodoc-process-docstring", _plain_references, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
