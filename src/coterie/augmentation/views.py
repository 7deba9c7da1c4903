"""View pairs: made by an augmenter, read from a file of augmented texts, or given as lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie._errors import DataError, UsageError, param
from coterie._progress import Progress, Silent
from coterie.augmentation.base import Augmenter
from coterie.augmentation.kinds import KINDS, VIRTUAL, is_kind, make_augmenter
from coterie.augmentation.run import reword
from coterie.corpus import read_table, texts_from


@dataclass(frozen=True)
class Asked:
    """Views as a user asks for them, with what it takes to make them.

    Attributes
    ----------
    views : Any
        See :func:`read_views`.
    count : int
        How many to make of each text where a kind is named.
    seed : int
    device : str
        Where language models run.
    progress : Progress
    """

    views: Any
    count: int = 2
    seed: int = 0
    device: str = "auto"
    progress: Progress = field(default_factory=Silent)


def read_views(views: Any, texts: Sequence[str]) -> list[list[str]]:
    """Augmented texts for each text: none for virtual views, else one list per view.

    Parameters
    ----------
    views : None, "virtual", str, Path, Augmenter, sequence or Asked
        A kind of augmentation such as "eda" makes the views. A file has a column ``text`` and one
        column per view, ``text1``, ``text2``, ...; its rows are those of ``texts`` in the same
        order, or are looked up by ``text``. A sequence holds a list of texts or a kind per view.
    texts : sequence of str
        Cleaned texts.
    """
    asked = views if isinstance(views, Asked) else Asked(views)
    views = asked.views
    if views is None or (isinstance(views, str) and views == VIRTUAL):
        return []
    if isinstance(views, Augmenter) or (isinstance(views, str) and is_kind(views)):
        return _made([views] * asked.count, texts, asked)
    if isinstance(views, (str, Path)):
        return _from_file(Path(views), texts)
    views = list(views)
    if views and all(isinstance(view, (str, Augmenter)) for view in views):
        return _made(views, texts, asked)
    lists = [texts_from(view) for view in views]
    for number, view in enumerate(lists, 1):
        if len(view) != len(texts):
            raise UsageError(f"views: view {number} has {len(view)} texts, X has {len(texts)}.")
    return lists


def _made(kinds: Sequence[Any], texts: Sequence[str], asked: Asked) -> list[list[str]]:
    """A view per kind; what ignores the seed makes one view, however often it is asked for."""
    out: list[list[str]] = []
    made: dict[Any, Augmenter] = {}
    for number, kind in enumerate(kinds, 1):
        if kind not in made:
            own = isinstance(kind, Augmenter)
            made[kind] = kind if own else make_augmenter(kind, device=asked.device)
        elif not made[kind].seeded:
            continue
        out.append(list(reword(made[kind], texts, asked.seed, number, asked.progress)))
    for kind, augmenter in made.items():
        if augmenter is not kind:
            augmenter.close()
    return out


def _from_file(path: Path, texts: Sequence[str]) -> list[list[str]]:
    if not path.exists():
        raise UsageError(
            f"{param('views', str(path))} is neither {VIRTUAL!r} nor a kind ({', '.join(KINDS)}) "
            "nor a "
            "file; a file is a CSV with the columns text, text1 and text2."
        )
    table, _ = read_table(path)
    names = sorted(n for n in table.column_names if n.startswith("text") and n[4:].isdigit())
    if "text" not in table.column_names or not names:
        raise DataError(
            f"{path}: expected the columns text, text1, ...; found {', '.join(table.column_names)}."
        )
    originals = texts_from(table.column("text"))
    columns = [texts_from(table.column(name)) for name in names]
    if list(originals) == list(texts):
        return columns
    place = {text: row for row, text in reversed(list(enumerate(originals)))}
    missing = [i for i, text in enumerate(texts) if text and text not in place]
    if missing:
        raise DataError(
            f"{path} has no views for {len(missing)} of {len(texts)} texts; the first is row "
            f"{missing[0] + 1}: {texts[missing[0]][:60]!r}."
        )
    rows = [place.get(text, -1) for text in texts]
    return [["" if row < 0 else column[row] for row in rows] for column in columns]
