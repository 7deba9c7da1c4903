"""The kinds of augmentation by name, and how a line of text asks for one or for several."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from coterie._errors import UsageError, param
from coterie._validation import check_choice
from coterie.augmentation.base import Augmenter, Chain

VIRTUAL = "virtual"  # the same text under another dropout mask; nothing is written

KINDS = {
    "eda": "one of: synonyms in place, synonyms inserted, words swapped, words deleted",
    "wordnet": "words replaced by synonyms from WordNet, in the same form",
    "contextual": "words replaced by what a masked language model expects there",
    "charswap": "neighbouring letters swapped in some words",
    "deletion": "some words deleted",
    "backtranslation": "translated to another language and back",
}
STEP = re.compile(rf"({'|'.join(KINDS)})(?:@([\d.]+)(%?))?(?::(.+))?", re.DOTALL)
PLUS = re.compile(rf"\+(?=(?:{'|'.join(KINDS)})(?:[@:+]|$))")  # a folder may have a + in its name
MODELS = ("contextual", "backtranslation")  # kinds that need one


class Step(NamedTuple):
    """One augmentation, as asked for."""

    kind: str
    rate: float | None
    model: str | None


def is_kind(said: str) -> bool:
    """Whether a line asks for augmentations, as "eda" or "contextual@0.2:FOLDER+charswap" do."""
    return all(STEP.fullmatch(part) for part in PLUS.split(said))


def read_steps(said: str) -> list[Step]:
    """The augmentations that a line asks for.

    Examples
    --------
    >>> read_steps("contextual@20%:models/bert+charswap")
    [Step(kind='contextual', rate=0.2, model='models/bert'), Step(kind='charswap', rate=None, ...)]
    """
    steps = []
    for part in PLUS.split(said):
        found = STEP.fullmatch(part)
        if found is None:
            name = re.split("[@:+]", part)[0]
            check_choice("kind", name, KINDS)
            raise UsageError(f"{param('kind', said)}: write KIND, KIND@RATE or KIND@RATE:MODEL.")
        kind, rate, percent, model = found.groups()
        steps.append(Step(kind, None if rate is None else _rate(rate, percent), model))
    return steps


def _rate(said: str, percent: str) -> float:
    try:
        return float(said) / (100 if percent else 1)
    except ValueError as error:
        raise UsageError(f"rate: {said!r} is no number.") from error


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
            f"{param('kind', 'virtual')} writes no texts: it is the same text under another "
            "dropout mask while "
            f"a method trains ({param('views', 'virtual')})."
        )
    parts = []
    for step in read_steps(kind):
        share = rate if step.rate is None else step.rate
        if share is not None and not 0 < share <= 1:
            raise UsageError(f"rate should be above 0 and at most 1, got {share!r}.")
        parts.append(_make(Step(step.kind, share, step.model or model), languages, device))
    return parts[0] if len(parts) == 1 else Chain(parts)


def _make(step: Step, languages: tuple[str, str] | None, device: str) -> Augmenter:
    options: dict[str, Any] = {} if step.rate is None else {"rate": step.rate}
    if step.kind == "backtranslation":
        return _translator(step.model or "eng-spa", languages, device)
    if step.kind == "contextual":
        from coterie.augmentation.contextual import Contextual

        return Contextual(step.model, device=device, **options)
    if step.kind == "eda":
        from coterie.augmentation.eda import EDA

        return EDA(**options)
    if step.kind == "wordnet":
        from coterie.augmentation.synonyms import Synonyms

        return Synonyms(**options)
    from coterie.augmentation.letters import CharSwap, Deletion

    return CharSwap(**options) if step.kind == "charswap" else Deletion(**options)


def _translator(model: str, languages: tuple[str, str] | None, device: str) -> Augmenter:
    from coterie.augmentation.apertium import PAIR, Apertium
    from coterie.augmentation.translation import Translation

    if PAIR.fullmatch(model):
        return Apertium(model)
    there, _, back = model.partition(",")
    if not back and languages is None:
        raise UsageError(
            f"{param('model', model)}: back-translation takes an Apertium pair such as "
            "'eng-spa', two "
            "models, 'THERE,BACK', or one model of many languages together with languages."
        )
    return Translation(there, back or there, languages, device=device)
