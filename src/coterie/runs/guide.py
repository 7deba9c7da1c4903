"""What the user of a run knows: themes and labels, read from files and columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._util.types import Ints
from coterie.errors import DataError, UsageError
from coterie.models.guidance import Guidance, is_unlabelled, theme_texts
from coterie.options import ClusterOptions
from coterie.runs.editing.parse import read_entries
from coterie.texts import Corpus
from coterie.texts.corpus import as_whole, check_column

if TYPE_CHECKING:
    from coterie.models.clusterer import TextClusterer


def read_guidance(options: ClusterOptions, corpus: Corpus) -> Guidance | None:
    """All that is known about the rows of a corpus; None if nothing is."""
    labels = None if options.labels is None else _labels(options.labels, corpus)
    themes = None if options.themes is None else read_themes(options.themes)
    if options.only_known and labels is None and themes is None:
        raise UsageError("`only_known` needs `themes` or `labels`.")
    ids = [str(row) for row in range(1, len(corpus) + 1)]
    if corpus.id_column is not None:
        ids = [str(value).strip() for value in corpus.values(corpus.id_column)]
    return Guidance.make(labels, themes, ids)


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
    return [None if is_unlabelled(value) else str(as_whole(value)).strip() for value in values]


def about_guidance(guidance: Guidance, model: TextClusterer) -> dict[str, Any]:
    """What was given, for the manifest; cluster ``i`` is the class ``given[i]``.

    Under ``kept`` is all that another fit needs.
    """
    used, classes = set(np.unique(model.labels_).tolist()), range(len(model.classes_))
    labels = sorted(guidance.labels.items())
    return {
        "given": list(model.classes_),
        "empty": [*model.empty_classes_, *(model.classes_[i] for i in classes if i not in used)],
        "found": sum(cluster >= len(classes) for cluster in used),
        "kept": {
            "labels": {str(row): guidance.names[label] for row, label in labels},
            "themes": [list(theme) for theme in guidance.themes],
        },
    }


def kept_guidance(about: Mapping[str, Any], rows: Ints) -> dict[str, Any]:
    """What was given about some rows of a run, as arguments of ``fit``.

    Examples
    --------
    >>> about = {"kept": {"labels": {"0": "a", "2": "b"}, "themes": []}}
    >>> kept_guidance(about, np.array([2, 1]))
    {'labels': ['b', None]}
    """
    kept, out = about["kept"], dict[str, Any]()
    if kept["labels"]:
        out["labels"] = [kept["labels"].get(str(row)) for row in rows.tolist()]
    if kept["themes"]:
        out["themes"] = [{"name": name, "examples": more} for name, *more in kept["themes"]]
    return out
