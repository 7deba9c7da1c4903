"""Write the reference pages of the manual from the code: docs/reference/*.md.

    python tools/reference.py

``make docs`` runs it; the pages are not committed.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import coterie
from coterie.cli.app import VERBS
from coterie.models.registry import BUILT_IN

DOCS = Path(__file__).parents[1] / "docs"
ROLE = re.compile(r":[a-z]+:`~?\.?([^`]+)`")  # :func:`coterie.cluster`
TABLES = (
    "coterie.errors",
    "coterie.texts",
    "coterie.describe.hierarchy",
    "coterie.arrays.metrics",
    "coterie.encoders",
)
COMMAND_LINE = """# Command line

Made from the program by `python tools/reference.py`. Data goes to files or to standard output,
messages go to standard error. Exit codes: 0 done, 1 failed, 2 bad usage, 3 bad input data, 4 more
texts than `--fail-above` allows fit nowhere, 130 interrupted (with a checkpoint).
"""
PYTHON = """# Python

Made from the docstrings by `python tools/reference.py`. Names are imported when first used, so
`import coterie` is quick.

## Methods

The parameters of a method are in its docstring (`help(coterie.SCCL)`), which the link in the second
column leads to, and `coterie methods NAME` prints them. All methods also take the parameters of
[`TextClusterer`](#textclusterer).
"""


def command_line() -> str:
    """Reference of all commands, from the application itself."""
    import typer

    from coterie.cli import app

    return COMMAND_LINE + "\n" + "\n".join(_command(typer.main.get_command(app), "coterie", 2))


def _command(command: Any, path: str, depth: int) -> Iterator[str]:
    inner = command.list_commands(None) if hasattr(command, "list_commands") else []
    if path != "coterie":
        yield f"{'#' * depth} {path}\n"
        depth += 1
    yield from _help(command.help or "")
    shown = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    arguments = [p for p in shown if p.param_type_name == "argument"]
    options = [p for p in shown if p.param_type_name == "option"]
    usage = [path, *(_argument(p) if p.required else f"[{_argument(p)}]" for p in arguments)]
    usage += ["[OPTIONS]"] * bool(options) + ["COMMAND ..."] * bool(inner)
    yield f"```text\n{' '.join(usage)}\n```\n"
    if shown:
        yield "| argument or option | meaning | default |\n|---|---|---|"
    for p in arguments:
        yield f"| `{_argument(p)}` | {_cell(p.help)} | {_default(p)} |"
    for p in options:
        names = ", ".join(f"`{name}`" for name in [*p.opts, *p.secondary_opts])
        yield f"| {names} | {_cell(p.help)} | {_default(p)} |"
    yield ""
    for name in inner:
        if path != "coterie" or name in VERBS:  # not those of earlier versions
            yield from _command(command.get_command(None, name), f"{path} {name}", depth)


def _help(text: str) -> Iterator[str]:
    """The help of a command; its indented examples become one block."""
    prose, _, examples = inspect.cleandoc(text).partition("Examples:")
    yield prose.strip() + "\n"
    if examples.strip():
        yield f"```text\n{inspect.cleandoc(examples.strip(chr(10)))}\n```\n"


def _argument(parameter: Any) -> str:
    """What the help calls an argument."""
    return str(parameter.metavar or parameter.name.upper()).strip("{}")


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return "required"
    return "" if value is None or value is False or value == () else f"`{value}`"


def python() -> str:
    """Reference of all public names: methods as a table, the others with their docstrings."""
    classes = {recipe.class_name for recipe in BUILT_IN.values()}
    names = [n for n in coterie.__all__ if n not in classes | {"METHODS", "__version__"}]
    values = {name: getattr(coterie, name) for name in sorted(names, key=str.lower)}
    parts = [PYTHON, _table(["name", "class", "what it does", "page"], _methods())]
    parts += ["## Functions and classes\n"]
    parts += [_entry(name, value) for name, value in values.items() if callable(value)]
    for module in TABLES:
        parts.append(f"## {module}\n")
        parts.append(_table(["name", "what it is"], _names(importlib.import_module(module))))
    return "\n".join(parts)


def _methods() -> Iterator[tuple[str, ...]]:
    for name, recipe in BUILT_IN.items():
        page = name if (DOCS / "methods" / f"{name}.md").exists() else "index"
        source = f"../../src/{recipe.cls.__module__.replace('.', '/')}.py"
        yield (
            f"`{name}`",
            f"[`{recipe.class_name}`]({source})",
            _cell(recipe.summary),
            f"[{page}](../methods/{page}.md)",
        )


def _names(module: Any) -> Iterator[tuple[str, ...]]:
    listed = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    for name in sorted(listed, key=str.lower):
        if callable(value := getattr(module, name)):
            yield f"`{name}`", _cell(_summary(value))


def _entry(name: str, value: Any) -> str:
    """Signature and docstring; of a class also its methods, one line each."""
    about = _plain(inspect.getdoc(value))
    text = f"### {name}\n\n```text\n{name}{_signature(value)}\n\n{about}\n```\n"
    if not inspect.isclass(value):
        return text
    members = [
        (f"`{key}`", _cell(_summary(member)))
        for key, member in ((k, inspect.getattr_static(value, k)) for k in dir(value))
        if not key.startswith("_") and _is_ours(member) and inspect.getdoc(member)
    ]
    return text + "\n" + _table(["attribute or method", "what it is"], members)


def _is_ours(member: Any) -> bool:
    """Whether a member of a class is written here, not inherited from a library."""
    for inner in ("fget", "func", "__func__"):  # property, cached property, class method
        member = getattr(member, inner, None) or member
    return str(getattr(member, "__module__", "")).startswith("coterie")


def _signature(value: Any) -> str:
    """Names and defaults of the parameters, without their types."""
    if inspect.isclass(value):
        return ""  # the docstring lists them
    signature = inspect.signature(value)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))


def _summary(value: Any) -> str:
    return _plain(inspect.getdoc(value)).split("\n\n")[0].replace("\n", " ")


def _plain(text: str | None) -> str:
    """A docstring without the roles of Sphinx."""
    return ROLE.sub(r"\1", text or "")


def _cell(text: str | None) -> str:
    return (text or "").replace("``", "`").replace("|", "\\|").replace("<", "&lt;")


def _table(header: list[str], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + "\n"


PAGES = {"command-line.md": command_line, "python.md": python}

if __name__ == "__main__":
    for file, make in PAGES.items():
        (DOCS / "reference").mkdir(exist_ok=True)
        (DOCS / "reference" / file).write_text(make(), encoding="utf-8")
