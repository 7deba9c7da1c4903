"""Verbs that need no texts: methods, encoders and cache."""

from __future__ import annotations

import dataclasses
from inspect import getdoc
from typing import Any

import typer

from coterie._validation import check_choice
from coterie.cli import options
from coterie.cli.options import option
from coterie.cli.talk import show_json, show_table
from coterie.errors import CoterieError, counted

SPEED_TEXTS = 256  # of the bundled messages


def methods(
    name: str | None = typer.Argument(None, metavar="NAME", help="Show one method in full."),
    as_json: bool = options.AS_JSON,
) -> None:
    """List the methods, or show one with its parameters and presets.

    Use one with `coterie cluster FILE --method NAME`; `--set NAME=VALUE` sets a parameter.
    `coterie encoders` lists the encoders.

    Examples:

        coterie methods
        coterie methods sccl
    """
    from coterie.methods import METHODS

    if name is None:
        rows = [[key, recipe.class_name, recipe.summary] for key, recipe in METHODS.items()]
        if as_json:
            show_json([dict(zip(("name", "class", "summary"), row, strict=True)) for row in rows])
        else:
            show_table("", ["method", "class", "what it does"], rows)
        return
    recipe = METHODS[check_choice("method", name, METHODS)]
    known, presets = dataclasses.fields(recipe.cls), recipe.cls.presets
    parameters = {f.name: recipe.parameters.get(f.name, f.default) for f in known}
    if as_json:
        facts = {"name": name, "class": recipe.cls.__name__, "parameters": parameters}
        show_json(facts | {"presets": presets})
        return
    typer.echo(f"{name}: {recipe.summary}\n")
    typer.echo(str(getdoc(recipe.cls)).split("\n\nExamples\n")[0] + "\n")
    rows = [[key, repr(value)] for key, value in parameters.items()]
    show_table("All parameters (--set KEY=VALUE)", ["key", "default"], rows)
    for preset, values in presets.items():
        typer.echo(f"\npreset {preset}: {values or 'the defaults'}")
    if recipe.references:
        typer.echo("\n" + "\n".join(recipe.references))


def encoders(
    speed: bool = option(True, "Measure the speed on this machine.", "--speed/--no-speed"),
    as_json: bool = options.AS_JSON,
) -> None:
    """List the encoders: what each needs, whether it is installed, its width and its speed.

    Speed is measured on 256 bundled messages, without the cache and without loading. Use one with
    `coterie cluster FILE --encoder NAME`.

    Examples:

        coterie encoders
        coterie encoders --no-speed --json
    """
    from coterie.corpus import read_corpus
    from coterie.encoders.catalogue import ENCODERS, measure
    from coterie.runs.sample import bundled

    texts = read_corpus(bundled("sample")).texts[:SPEED_TEXTS]
    found: list[dict[str, Any]] = []
    for one in ENCODERS:
        entry: dict[str, Any] = {"name": one.name, "what": one.what, "needs": one.needs}
        entry |= {"installed": one.installed, "dim": None, "texts_per_second": None}
        if speed and entry["installed"]:
            try:
                entry["dim"], entry["texts_per_second"] = measure(one.name, texts)
            except CoterieError:  # a package of an extra is missing
                entry["installed"] = False
        found.append(entry)
    if as_json:
        show_json(found)
        return
    rows = []
    for entry in found:
        width, rate = entry["dim"], entry["texts_per_second"]
        shown = ["-" if width is None else f"{width:,}"]
        shown += ["-" if rate is None else f"{float(f'{rate:.2g}'):,.0f}"]
        there = {True: "yes", False: "no", None: "-"}[entry["installed"]]
        rows.append([entry["name"], there, *shown, entry["what"], entry["needs"]])
    header = ["--encoder", "installed", "width", "texts/s", "what it is", "needs"]
    show_table("", header, rows, numbers=(2, 3))


def cache(
    action: str = typer.Argument("size", metavar="ACTION", help="path, size or clear."),
    as_json: bool = options.AS_JSON,
) -> None:
    """Show or clear the cache of embeddings.

    It also has the augmentations that language models made for coterie augment. COTERIE_CACHE is
    the folder, or "off"; COTERIE_CACHE_LIMIT is the maximum size of the embeddings in bytes (2e9),
    and augmentations may take another tenth of it.

    Examples:

        coterie cache
        coterie cache clear
    """
    from coterie._cache import AUGMENTATIONS, SHARES, clear, usage

    check_choice("action", action, ["path", "size", "clear"])
    vectors, augmentations = map(clear if action == "clear" else usage, SHARES)
    if vectors is None or augmentations is None:
        typer.echo('{"path": null}' if as_json else "off: no vectors are kept")
    elif as_json:
        both = dataclasses.asdict(vectors) | {AUGMENTATIONS: dataclasses.asdict(augmentations)}
        show_json(both, indent=None)
    elif action == "path":
        typer.echo(str(vectors.path))
    else:
        for kept in (vectors, augmentations):
            if kept is vectors or kept.files:
                what = f"{kept.bytes / 1e6:,.1f} MB in {counted(kept.files, 'file')}"
                most = f"of at most {kept.limit / 1e6:,.0f} MB"
                typer.echo(f"{kept.path}: {what}, {'deleted' if action == 'clear' else most}")
