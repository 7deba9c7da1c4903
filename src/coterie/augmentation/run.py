"""Augmentation of a corpus: kinds by name, augmentations kept on disk, views for training.

Each distinct text is processed once, in batches. What took a model seconds is kept on disk, so that
it is not made twice and a stopped run goes on.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from coterie._cache import Cache, digest, is_on
from coterie._progress import Progress, make_progress
from coterie._random import resolve_seed
from coterie._validation import check_choice, checked, one_seed
from coterie.augmentation.base import FORMAT, Augmenter, Chain, text_keys
from coterie.augmentation.eda import EDA
from coterie.augmentation.letters import CharSwap, Deletion
from coterie.augmentation.wordnet import Synonyms
from coterie.corpus import read_table, texts_from
from coterie.corpus.corpus import clean_text, has_words
from coterie.errors import DataError, UsageError

VIRTUAL = "virtual"  # the same text under another dropout mask; nothing is written
KINDS = {
    "eda": "one of: synonyms in place, synonyms inserted, words swapped, words deleted",
    "wordnet": "words replaced by synonyms from WordNet, in the same form",
    "contextual": "words replaced by what a masked language model expects there",
    "charswap": "neighbouring letters swapped in some words",
    "deletion": "some words deleted",
    "backtranslation": "translated to another language and back",
}
WITHOUT_MODEL = {made.kind: made for made in (EDA, Synonyms, CharSwap, Deletion)}
STEP = re.compile(rf"({'|'.join(KINDS)})(?:@(\d+\.?\d*|\.\d+)(%?))?(?::(.+))?", re.DOTALL)
PLUS = re.compile(rf"\+(?=(?:{'|'.join(KINDS)})(?:[@:+]|$))")  # a folder may have a + in its name
log = logging.getLogger(__name__)


class Step(NamedTuple):
    """One augmentation, as asked for."""

    kind: str
    rate: float | None
    model: str | None


def is_kind(spec: str) -> bool:
    """Whether a line asks for augmentations, as "eda" or "contextual@0.2:FOLDER+charswap" do."""
    return all(STEP.fullmatch(part) for part in PLUS.split(spec))


def read_steps(spec: str) -> list[Step]:
    """The augmentations that a line asks for.

    Examples
    --------
    >>> read_steps("contextual@20%:models/bert+charswap")
    [Step(kind='contextual', rate=0.2, model='models/bert'), Step(kind='charswap', rate=None, ...)]
    """
    steps = []
    for part in PLUS.split(spec):
        found = STEP.fullmatch(part)
        if found is None:
            check_choice("kind", re.split("[@:+]", part)[0], KINDS)
            raise UsageError(f"`kind={spec!r}`: write KIND, KIND@RATE or KIND@RATE:MODEL.")
        kind, digits, percent, model = found.groups()
        rate = None if digits is None else float(digits) / (100 if percent else 1)
        steps.append(Step(kind, rate, model))
    return steps


def make_augmenter(
    kind: str,
    *,
    rate: float | None = None,
    model: str | None = None,
    languages: tuple[str, str] | None = None,
    device: str = "auto",
) -> Augmenter:
    """Make what ``kind`` names.

    Parameters
    ----------
    kind : str
        One of :data:`KINDS`; with a share of words, "eda@0.1", and a model, "contextual@20%:DIR".
        Several joined by "+" are applied one after the other.
    rate : float, optional
        Share of words to change, for steps that do not say their own. Default: 0.1 for
        "contextual", 0.2 for all others.
    model : str, optional
        For "contextual" a folder or hub name of a masked language model; for "backtranslation" an
        Apertium pair ("eng-spa", the default) or two sequence-to-sequence models ("THERE,BACK").
    languages : pair of str, optional
        Codes of both languages, for translation models of many languages.
    device : str, default="auto"
        Where models run.
    """
    if kind == VIRTUAL:
        raise UsageError(
            "`kind='virtual'` writes no texts: it is the same text under another dropout mask "
            "while a method trains (`views='virtual'`)."
        )
    if not isinstance(kind, str):
        check_choice("kind", kind, KINDS)
    parts = []
    for step in read_steps(kind):
        share = rate if step.rate is None else step.rate
        if share is not None and not 0 < share <= 1:
            raise UsageError(f"`rate` should be above 0 and at most 1, got {share!r}.")
        parts.append(_make_step(Step(step.kind, share, step.model or model), languages, device))
    return parts[0] if len(parts) == 1 else Chain(parts)


def _make_step(step: Step, languages: tuple[str, str] | None, device: str) -> Augmenter:
    options: dict[str, Any] = {} if step.rate is None else {"rate": step.rate}
    if step.kind in WITHOUT_MODEL:
        return WITHOUT_MODEL[step.kind](**options)
    if step.kind == "contextual":
        from coterie.augmentation.contextual import Contextual

        return Contextual(step.model, device=device, **options)
    from coterie.augmentation.translation import PAIR, Apertium, Translation

    model = step.model or "eng-spa"
    if PAIR.fullmatch(model):
        return Apertium(model)
    there, _, back = model.partition(",")
    if not back and languages is None:
        raise UsageError(
            f"`model={model!r}`: back-translation takes an Apertium pair such as 'eng-spa', two "
            "models, 'THERE,BACK', or one multilingual model together with `languages`."
        )
    return Translation(there, back or there, languages, device=device)


class Augmented(list[str]):
    """An augmentation of each text, in the order of the texts.

    Attributes
    ----------
    unchanged : float
        Share of the texts, empty ones aside, whose augmentation is the text itself.
    settings : dict
        What decided the augmentations.
    """

    def __init__(
        self, augmentations: Sequence[str], unchanged: float, settings: dict[str, Any]
    ) -> None:
        super().__init__(augmentations)
        self.unchanged, self.settings = unchanged, settings


@checked
def augment(  # noqa: PLR0913 - what all kinds take
    texts: Any,
    kind: str | Augmenter = "eda",
    *,
    seed: object = None,
    random_state: object = None,
    view: int = 1,
    rate: float | None = None,
    model: str | None = None,
    languages: tuple[str, str] | None = None,
    device: str = "auto",
    verbose: int = 0,
) -> Augmented:
    """An augmentation of each text.

    Parameters
    ----------
    texts : list, Series, array or table
        Anything that ``fit`` takes. Texts are cleaned first; an empty one stays empty.
    kind : str, default="eda"
        "eda", "wordnet", "contextual", "charswap", "deletion" or "backtranslation"; with a rate,
        "eda@0.1"; several one after the other, "contextual+charswap".
    seed, random_state : int, default=0
        Two names of the same thing. An augmentation depends on the seed, the text and the settings
        alone: neither on the texts beside it nor on their order.
    view : int, default=1
        Another number gives another augmentation, as another seed would.
    verbose : int, default=0
        1 shows progress.
    rate, model, languages, device
        As for :func:`make_augmenter`.

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
    chosen = resolve_seed(one_seed(seed, random_state, 0))
    made = (
        kind
        if isinstance(kind, Augmenter)
        else make_augmenter(kind, rate=rate, model=model, languages=languages, device=device)
    )
    return reword(made, cleaned, chosen, view, make_progress(verbose))


def reword(
    augmenter: Augmenter,
    texts: Sequence[str],
    seed: int = 0,
    view: int = 1,
    progress: Progress | None = None,
) -> Augmented:
    """Augmentations of cleaned texts."""
    settings = {"format": FORMAT, **augmenter.settings()}
    if augmenter.seeded:
        settings |= {"seed": seed, "view": view}
    distinct = sorted({text for text in texts if text})
    cache = _cache(settings) if augmenter.slow and is_on() else None
    found = {}
    if cache is not None:
        keys = {digest(text): text for text in distinct}
        found = {keys[key]: str(new, "utf-8", "surrogatepass") for key, new in cache.find([*keys])}
    rest = [text for text in distinct if text not in found]
    found |= _make(augmenter, rest, settings, cache, progress or Progress())
    same = sum(found[text] == text for text in texts if text)
    share = same / max(1, sum(text != "" for text in texts))
    log.info("%s: %.1f%% of %d texts unchanged", augmenter.kind, 100 * share, len(texts))
    return Augmented([found[text] if text else "" for text in texts], share, settings)


def _cache(settings: dict[str, Any]) -> Cache:
    space = json.dumps(settings, sort_keys=True, default=str)
    return Cache(hashlib.sha256(space.encode()).hexdigest())


def _make(
    augmenter: Augmenter,
    texts: list[str],
    settings: dict[str, Any],
    cache: Cache | None,
    progress: Progress,
) -> dict[str, str]:
    """Augmentations of distinct texts, batch by batch; a batch is kept before the next begins."""
    made: dict[str, str] = {}
    if not texts:
        return made
    progress.start(f"augment: {augmenter.kind}", len(texts))
    try:
        for start in range(0, len(texts), augmenter.batch):
            part = texts[start : start + augmenter.batch]
            augmentations = augmenter.apply(part, text_keys(part, settings))
            if augmenter.slow:  # a model may write anything
                augmentations = [clean_text(text) for text in augmentations]
            augmentations = [
                new if has_words(new) else text
                for new, text in zip(augmentations, part, strict=True)
            ]
            made.update(zip(part, augmentations, strict=True))
            if cache is not None:
                data = [new.encode("utf-8", "surrogatepass") for new in augmentations]
                cache.write([digest(text) for text in part], data)
            progress.advance(start + len(part))
    finally:
        progress.stop()
    return made


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
            made[kind] = kind if own else make_augmenter(kind, device=device)
        elif not made[kind].seeded:
            continue
        out.append(list(reword(made[kind], texts, seed, number, progress)))
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
