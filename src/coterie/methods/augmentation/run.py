"""Augmentation of a corpus: kinds by name, and the views that methods train on."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie._util.progress import Progress, make_progress, working
from coterie._util.random import resolve_seed
from coterie._util.validation import check_choice
from coterie.errors import DataError, UsageError
from coterie.methods.augmentation.base import FORMAT, Augmenter, text_keys
from coterie.methods.augmentation.eda import EDA
from coterie.methods.augmentation.letters import CharSwap, Deletion
from coterie.methods.augmentation.wordnet import Synonyms
from coterie.texts import read_table, texts_from
from coterie.texts.corpus import has_words

VIRTUAL = "virtual"  # the same text under another dropout mask; nothing is written
CONTEXTUAL = "contextual"
WITHOUT_MODEL = {made.kind: made for made in (EDA, Synonyms, CharSwap, Deletion)}
KINDS = (*WITHOUT_MODEL, CONTEXTUAL)
SPEC = re.compile(rf"({'|'.join(KINDS)})(?:@(\d+\.?\d*|\.\d+))?(?::(.+))?", re.DOTALL)
BATCH = 4_096  # texts between two signs of progress
log = logging.getLogger(__name__)


def is_kind(spec: str) -> bool:
    """Whether a line asks for augmentations, as "eda" or "contextual@0.2:FOLDER" do."""
    return SPEC.fullmatch(spec) is not None


def make_augmenter(kind: str, device: str = "auto") -> Augmenter:
    """Make what ``kind`` names, as :func:`coterie.augment` describes it."""
    if kind == VIRTUAL:
        raise UsageError(
            "`kind='virtual'` writes no texts: it is the same text under another dropout mask "
            "while a method trains (`views='virtual'`)."
        )
    asked = SPEC.fullmatch(kind)
    if asked is None:
        check_choice("kind", re.split("[@:]", kind)[0], KINDS)
        raise UsageError(f"`kind={kind!r}`: write KIND, KIND@RATE or KIND@RATE:MODEL.")
    name, rate, model = asked.groups()
    options: dict[str, Any] = {} if rate is None else {"rate": float(rate)}
    if not 0 < options.get("rate", 1) <= 1:
        raise UsageError(f"`kind={kind!r}`: the rate should be above 0 and at most 1.")
    if name != CONTEXTUAL:
        return WITHOUT_MODEL[name](**options)
    from coterie.methods.augmentation.contextual import Contextual

    return Contextual(model, device=device, **options)


def augment(
    texts: Any,
    kind: str | Augmenter = "eda",
    *,
    random_state: object = 0,
    view: int = 1,
    device: str = "auto",
    verbose: int = 0,
) -> list[str]:
    """An augmentation of each text.

    Parameters
    ----------
    texts : list, Series, array or table
        Anything that ``fit`` takes. Texts are cleaned first; an empty one stays empty.
    kind : str, default="eda"
        "eda", "wordnet", "charswap", "deletion", or "contextual:MODEL" with the folder or hub name
        of a masked language model. "eda@0.1" and "contextual@0.2:MODEL" change another share of
        the words than 0.2 (contextual 0.1).
    random_state : int, default=0
        An augmentation depends on it, the text and the settings alone: neither on the texts beside
        it nor on their order.
    view : int, default=1
        Another number gives another augmentation, as another ``random_state`` would.
    device : str, default="auto"
        Where the model runs.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    list of str
        None is empty where the text is not; a text that could not be changed comes as it is.

    Examples
    --------
    >>> augment(["where is my parcel", "I want my money back"], "deletion", random_state=3)
    ['where my parcel', 'I want my money']
    """
    cleaned, seed = texts_from(texts), resolve_seed(random_state)
    if not isinstance(kind, Augmenter):
        kind = make_augmenter(kind, device)
    return reword(kind, cleaned, seed, view, make_progress(verbose))


def reword(
    augmenter: Augmenter,
    texts: Sequence[str],
    seed: int = 0,
    view: int = 1,
    progress: Progress | None = None,
) -> list[str]:
    """Augmentations of cleaned texts; each distinct one is processed once."""
    settings = {"format": FORMAT, **augmenter.settings()}
    if augmenter.seeded:
        settings |= {"seed": seed, "view": view}
    distinct = sorted({text for text in texts if text})
    made = {"": ""}
    with working(progress or Progress(), f"augment: {augmenter.kind}", len(distinct)) as shown:
        for start in range(0, len(distinct), BATCH):
            part = distinct[start : start + BATCH]
            augmentations = augmenter.apply(part, text_keys(part, settings))
            for new, text in zip(augmentations, part, strict=True):
                made[text] = new if has_words(new) else text
            shown.advance(start + len(part))
    same = sum(made[text] == text for text in distinct)
    log.info("%s: %d of %d different texts unchanged", augmenter.kind, same, len(distinct))
    return [made[text] for text in texts]


def read_views(
    views: Any,
    texts: Sequence[str],
    *,
    count: int = 2,
    seed: int = 0,
    device: str = "auto",
    progress: Progress | None = None,
) -> list[list[str]]:
    """Augmented texts for each text: none for virtual views, else one list per view.

    Parameters
    ----------
    views : None, "virtual", str, Path, Augmenter or sequence
        A kind of augmentation such as "eda" makes the views. A file has a column ``text`` and one
        column per view, ``text1``, ``text2``, ...; its rows are those of ``texts`` in the same
        order, or are looked up by ``text``. A sequence holds a list of texts or a kind per view.
    texts : sequence of str
        Cleaned texts.
    count : int, default=2
        How many views to make of each text where a kind is named.
    seed : int, default=0
    device : str, default="auto"
        Where language models run.
    progress : Progress, optional
    """
    if views is None or (isinstance(views, str) and views == VIRTUAL):
        return []
    if isinstance(views, Augmenter) or (isinstance(views, str) and is_kind(views)):
        views = [views] * count
    elif isinstance(views, (str, Path)):
        return _from_file(Path(views), texts)
    views = list(views)
    if views and all(isinstance(view, (str, Augmenter)) for view in views):
        return _made(views, texts, seed, device, progress)
    lists = [texts_from(view) for view in views]
    for number, view in enumerate(lists, 1):
        if len(view) != len(texts):
            raise UsageError(f"`views`: view {number} has {len(view)} texts, X has {len(texts)}.")
    return lists


def _made(
    kinds: Sequence[Any], texts: Sequence[str], seed: int, device: str, progress: Progress | None
) -> list[list[str]]:
    """A view per kind; what ignores the seed makes one view, however often it is asked for."""
    out: list[list[str]] = []
    made: dict[Any, Augmenter] = {}
    for number, kind in enumerate(kinds, 1):
        if kind not in made:
            own = isinstance(kind, Augmenter)
            made[kind] = kind if own else make_augmenter(kind, device)
        elif not made[kind].seeded:
            continue
        out.append(reword(made[kind], texts, seed, number, progress))
    return out


def _from_file(path: Path, texts: Sequence[str]) -> list[list[str]]:
    if not path.exists():
        raise UsageError(
            f"`views={str(path)!r}` is neither 'virtual' nor a kind ({', '.join(KINDS)}) nor a "
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
