"""Another wording for every text: each distinct text once, in batches, kept on disk where slow."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from coterie._progress import Progress, Silent, make_progress
from coterie._random import resolve_seed
from coterie.augmentation.base import FORMAT, Augmenter
from coterie.augmentation.draws import text_keys
from coterie.augmentation.kinds import make_augmenter
from coterie.augmentation.store import Store, open_store
from coterie.corpus import texts_from
from coterie.corpus.clean import clean_text, has_words

log = logging.getLogger(__name__)


class Augmented(list[str]):
    """A wording of each text, in the order of the texts.

    Attributes
    ----------
    unchanged : float
        Share of the texts, empty ones aside, whose wording is the text itself.
    settings : dict
        What decided the wordings.
    """

    def __init__(self, wordings: Sequence[str], unchanged: float, settings: dict[str, Any]) -> None:
        super().__init__(wordings)
        self.unchanged, self.settings = unchanged, settings


def augment(
    texts: Any,
    kind: str | Augmenter = "eda",
    *,
    seed: Any = 0,
    view: int = 1,
    verbose: int = 0,
    **options: Any,
) -> Augmented:
    """Another wording of each text.

    Parameters
    ----------
    texts : list, Series, array or table
        Anything that ``fit`` takes. Texts are cleaned first; an empty one stays empty.
    kind : str, default="eda"
        "eda", "wordnet", "contextual", "charswap", "deletion" or "backtranslation"; with a rate,
        "eda@0.1"; several one after the other, "contextual+charswap".
    seed : int, default=0
        A wording depends on the seed, the text and the settings alone: neither on the texts
        beside it nor on their order.
    view : int, default=1
        Another number gives another wording, as another seed would.
    verbose : int, default=0
        1 shows progress.
    **options
        ``rate``, ``model``, ``languages`` and ``device`` of :func:`make_augmenter`.

    Returns
    -------
    Augmented
        A list of texts, none of them empty where the text is not; ``unchanged`` is the share of
        texts that could not be changed.

    Examples
    --------
    >>> augment(["where is my parcel", "I want my money back"], "deletion", seed=3)
    ['where my parcel', 'I want my money']
    >>> augment(["where is my parcel"], "charswap").unchanged
    0.0
    """
    cleaned = texts_from(texts)
    made = kind if isinstance(kind, Augmenter) else make_augmenter(kind, **options)
    try:
        return reword(made, cleaned, resolve_seed(seed), view, make_progress(verbose))
    finally:
        if made is not kind:
            made.close()


def reword(
    augmenter: Augmenter,
    texts: Sequence[str],
    seed: int = 0,
    view: int = 1,
    progress: Progress | None = None,
) -> Augmented:
    """Wordings of cleaned texts by an augmenter that stays open."""
    settings = {"format": FORMAT, **augmenter.settings()}
    if augmenter.seeded:
        settings |= {"seed": seed, "view": view}
    distinct = list(dict.fromkeys(text for text in texts if text))
    space = json.dumps(settings, sort_keys=True, default=str)
    store = open_store(space) if augmenter.slow else None
    found = store.read(distinct) if store is not None else {}
    rest = [text for text in distinct if text not in found]
    found |= _make(augmenter, rest, settings, store, progress or Silent())
    same = sum(found[text] == text for text in texts if text)
    share = same / max(1, sum(text != "" for text in texts))
    log.info("%s: %.1f %% of %d texts unchanged", augmenter.kind, 100 * share, len(texts))
    return Augmented([found[text] if text else "" for text in texts], share, settings)


def _make(
    augmenter: Augmenter,
    texts: list[str],
    settings: dict[str, Any],
    store: Store | None,
    progress: Progress,
) -> dict[str, str]:
    """Wordings of different texts, a batch at a time; each batch is kept before the next begins."""
    made: dict[str, str] = {}
    if not texts:
        return made
    progress.start(f"augment: {augmenter.kind}", len(texts))
    try:
        for start in range(0, len(texts), augmenter.batch):
            part = texts[start : start + augmenter.batch]
            wordings = augmenter.apply(part, text_keys(part, settings))
            if augmenter.slow:  # a model may write anything
                wordings = [clean_text(wording) for wording in wordings]
            wordings = [w if has_words(w) else t for w, t in zip(wordings, part, strict=True)]
            made.update(zip(part, wordings, strict=True))
            if store is not None:
                store.write(part, wordings)
            progress.advance(start + len(part))
    finally:
        progress.stop()
    return made
