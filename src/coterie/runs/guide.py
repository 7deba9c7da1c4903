"""What the user of a run knows: themes, labels and constraints, read from files and columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from coterie._validation import whole_number
from coterie.corpus import Corpus
from coterie.corpus.corpus import as_whole, cell_values, check_column
from coterie.editing.parse import read_entries
from coterie.errors import DataError, UsageError
from coterie.guidance import (
    Guidance,
    as_groups,
    is_unlabelled,
    theme_texts,
)
from coterie.options import Options

if TYPE_CHECKING:
    from coterie.base import TextClusterer

LINKS = ("must_link", "cannot_link")


def read_guidance(options: Options, corpus: Corpus) -> Guidance | None:
    """All that is known about the rows of a corpus; None if nothing is."""
    ids = None
    if corpus.id_column is not None:
        ids = [str(value).strip() for value in corpus.values(corpus.id_column)]
    labels = None if options.labels is None else _labels(options.labels, corpus)
    themes = None if options.themes is None else read_themes(options.themes)
    if options.only_known and labels is None and themes is None:
        raise UsageError("`only_known` needs `themes` or `labels`.")
    links = {name: as_groups(getattr(options, name), name) for name in LINKS}
    if options.constraints is not None:
        for name, groups in _read_links(options.constraints, ids, len(corpus)).items():
            links[name] += groups
    called = [str(row) for row in range(1, len(corpus) + 1)] if ids is None else ids
    made = Guidance.make(len(corpus), labels, **links, ids=called)
    return (
        made if themes is None else (made or Guidance(len(corpus), ids=called)).with_themes(themes)
    )


def digest(guidance: Guidance | None) -> str | None:
    """Of all that decides the result; None without guidance."""
    if guidance is None:
        return None
    parts = (
        guidance.names,
        sorted(guidance.labels.items()),
        guidance.together,
        guidance.apart,
        guidance.themes,
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def read_themes(source: object) -> dict[str, tuple[str, ...]]:
    """Names of themes, and the texts that tell what each is about.

    Parameters
    ----------
    source : str, Path or list
        A YAML or JSON file with a list of names, or of mappings with ``name``, ``description``,
        ``keywords`` and ``examples``; or the same as Python values.

    Examples
    --------
    >>> read_themes(["Refunds", {"name": "Delivery", "keywords": ["parcel", "late"]}])
    {'Refunds': ('Refunds',), 'Delivery': ('Delivery', 'parcel, late')}
    """
    if not isinstance(source, (str, Path)):
        return theme_texts(source)
    return theme_texts(read_entries(Path(source)), str(source))


def _labels(given: object, corpus: Corpus) -> list[str | None]:
    """The class of each row, by a column of the table or by one value per row; None without."""
    where = "`labels`"
    if isinstance(given, str):
        name = check_column(corpus.table, given, where)
        if name == corpus.text_column:
            raise UsageError(
                f"`labels` {name}: this is the column of the texts; name the one with the classes."
            )
        values = corpus.values(name)
        where = f"{where} {name}"
    else:
        values = list(given) if isinstance(given, (list, tuple)) else np.asarray(given).tolist()
        if not isinstance(values, list):
            raise UsageError(
                "`labels` should be the name of a column, or one label for each row; got "
                f"{given!r:.80}."
            )
    if len(values) == len(corpus) and all(map(is_unlabelled, values)):
        raise DataError(
            f"{where}: no row has a label; fill in some cells, or leave the option out."
        )
    return [None if is_unlabelled(value) else _name(value) for value in values]


def _name(value: Any) -> str:
    """A label as a name."""
    return str(as_whole(value)).strip()


def _read_links(
    source: object, ids: list[str] | None, rows: int
) -> dict[str, list[tuple[int, ...]]]:
    """Groups of rows in a file of constraints, by what they are for."""
    if not isinstance(source, (str, Path)):
        raise UsageError(
            f"`constraints` should be a YAML or JSON file, got {source!r:.80}; give groups of "
            "rows as `must_link` and `cannot_link`."
        )
    name, entries = str(source), read_entries(Path(source))
    place = None if ids is None else {value: row for row, value in reversed([*enumerate(ids)])}
    out: dict[str, list[tuple[int, ...]]] = {kind: [] for kind in LINKS}
    for number, entry in enumerate(entries, 1):
        where = f"{name}, entry {number}"
        if not isinstance(entry, Mapping) or len(entry) != 1 or next(iter(entry)) not in LINKS:
            raise DataError(
                f"{where}: write must_link or cannot_link with groups of two or more rows, such "
                "as 'must_link: [[12, 40], [7, 9]]'."
            )
        ((kind, groups),) = entry.items()
        nested = isinstance(groups, list) and groups and all(isinstance(g, list) for g in groups)
        for group in groups if nested else [groups]:
            if not isinstance(group, list) or len(set(map(str, group))) < 2:
                raise DataError(
                    f"{where}: write must_link or cannot_link with groups of two or more rows, "
                    "such as 'must_link: [[12, 40], [7, 9]]'."
                )
            out[kind].append(tuple(_row(value, place, rows, where) for value in group))
    if not any(out.values()):
        raise DataError(
            f"{name}: there are no constraints in it; write e.g. 'must_link: [[12, 40]]'."
        )
    return out


def _row(value: object, place: Mapping[str, int] | None, rows: int, where: str) -> int:
    wanted = str(value).strip()
    if place is not None:
        if wanted not in place:
            raise DataError(f"{where}: no row has the id {wanted!r}.")
        return place[wanted]
    number = whole_number(wanted) or 0
    if not 1 <= number <= rows:
        raise DataError(
            f"{where}: there is no row {wanted}; rows are numbered from 1 to {rows} (name an id "
            "column to use ids)."
        )
    return number - 1


def about_guidance(guidance: Guidance, model: TextClusterer, options: Options) -> dict[str, Any]:
    """What was given, for the manifest; cluster ``i`` is the class ``given[i]``.

    Under ``kept`` is all that another fit needs.
    """
    used, classes = set(np.unique(model.labels_).tolist()), range(len(model.classes_))
    return {
        "given": list(model.classes_),
        "empty": [*model.empty_classes_, *(model.classes_[i] for i in classes if i not in used)],
        "found": sum(cluster >= len(classes) for cluster in used),
        "labelled": len(guidance.labels),
        "themes": len(guidance.themes),
        "must_link": len(guidance.together),
        "cannot_link": len(guidance.apart),
        "kept": {
            "rows": guidance.n,
            "labels": {str(row): guidance.names[c] for row, c in sorted(guidance.labels.items())},
            "column": options.labels if isinstance(options.labels, str) else None,
            "themes": [list(theme) for theme in guidance.themes],
            "must_link": [list(group) for group in guidance.together],
            "cannot_link": [list(pair) for pair in guidance.apart],
            "only_known": options.only_known,
        },
    }


def kept_guidance(about: Mapping[str, Any], table: pa.Table) -> dict[str, Any]:
    """What was given to a run, as options of :func:`coterie.cluster`, for its rows and later ones.

    Later rows are labelled by the same column, as far as it names a known class.

    Parameters
    ----------
    about : mapping
        What :func:`about_guidance` told the manifest.
    table : Table
        The rows of the run, then later ones.
    """
    kept = about["kept"]
    labels: list[str | None] = [None] * len(table)
    for row, name in kept["labels"].items():
        labels[int(row)] = name
    known = set(kept["labels"].values())
    if kept["column"] in table.column_names:
        for row, value in enumerate(cell_values(table.column(kept["column"]))):
            name = None if is_unlabelled(value) else _name(value)
            labels[row] = name if row >= kept["rows"] and name in known else labels[row]
    out = {name: kept[name] for name in (*LINKS, "only_known") if kept[name]}
    if known:
        out["labels"] = labels
    if kept["themes"]:
        out["themes"] = [{"name": name, "examples": more} for name, *more in kept["themes"]]
    return out
