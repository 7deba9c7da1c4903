"""Which language texts are in: told by their function words, or by their script."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from coterie._util.types import Bools, Floats, Ints
from coterie.errors import UsageError
from coterie.texts.words.stopwords import STOP_WORDS

COVERED = 0.2  # of the words of a text, before it tells its language
LEAST_SHARE = 0.05  # of the texts that tell their language
LEAST_TEXTS = 2  # below, a second language is more likely chance

# Scripts that one language is mostly written in, by the first word of their characters' names.
ONE_LANGUAGE = dict(
    pair.split(":")
    for pair in """
    ARMENIAN:hy BENGALI:bn CJK:zh ETHIOPIC:am GEORGIAN:ka GREEK:el GUJARATI:gu GURMUKHI:pa HANGUL:ko
    HEBREW:he HIRAGANA:ja KANNADA:kn KATAKANA:ja KHMER:km LAO:lo MALAYALAM:ml MYANMAR:my ORIYA:or
    SINHALA:si TAMIL:ta TELUGU:te THAI:th
    """.split()
)
NAMES = dict(
    pair.split(":")
    for pair in """
    am:Amharic ar:Arabic bg:Bulgarian bn:Bengali cs:Czech da:Danish de:German el:Greek en:English
    es:Spanish fa:Persian fi:Finnish fr:French gu:Gujarati he:Hebrew hi:Hindi hu:Hungarian
    hy:Armenian id:Indonesian it:Italian ja:Japanese ka:Georgian km:Khmer kn:Kannada ko:Korean
    lo:Lao ml:Malayalam my:Burmese nl:Dutch no:Norwegian or:Odia pa:Punjabi pl:Polish
    pt:Portuguese ro:Romanian ru:Russian si:Sinhala sv:Swedish ta:Tamil te:Telugu th:Thai
    tr:Turkish uk:Ukrainian vi:Vietnamese zh:Chinese
    """.split()
)


@lru_cache(maxsize=1 << 16)
def script_of(character: str) -> str:
    """Script of a letter, as its Unicode name begins; empty for what is no letter.

    Examples
    --------
    >>> script_of("ж"), script_of("é"), script_of("字"), script_of("7")
    ('CYRILLIC', 'LATIN', 'CJK', '')
    """
    if not character.isalpha():
        return ""
    return unicodedata.name(character, "").split(" ")[0].split("-")[0]


def word_script(word: str) -> str:
    """Script of the first letter of a word; of Japanese, kana before Han.

    Examples
    --------
    >>> word_script("2e"), word_script("返し")
    ('LATIN', 'HIRAGANA')
    """
    found = [script for script in map(script_of, word) if script]
    kana = [script for script in found if script in ("HIRAGANA", "KATAKANA")]
    return next(iter(kana or found), "")


def vote(words: Sequence[str], word_of: Ints, row_of: Ints, n: int) -> tuple[list[str], Ints]:
    """The language of each text.

    A text votes for the language whose list of function words covers most of its different words;
    where two lists do, for the one that covers more of the whole corpus. A single one, such as
    "car" (French for "because"), counts only for a language that texts with several tell, and of
    these for the one that has it in the largest share of its texts. Without function words, its
    script may tell.

    Parameters
    ----------
    words : sequence of str
        The vocabulary.
    word_of, row_of : ndarray of shape (t,)
        Number of the word, and of the text, of each running word.
    n : int
        Number of texts.

    Returns
    -------
    codes : list of str
        Of languages.
    votes : ndarray of shape (n,)
        Number of a code, or -1.
    """
    row_of, word_of = np.divmod(np.unique(row_of * len(words) + word_of), max(len(words), 1))
    codes = [code for code in STOP_WORDS if code not in ("th", "zh")]  # their scripts tell
    place = {word: i for i, word in enumerate(words)}
    known = np.zeros((len(codes), len(words)), dtype=bool)
    for i, code in enumerate(codes):
        known[i, [place[word] for word in STOP_WORDS[code] if word in place]] = True
    # Logarithms, so that no single word of the theme decides.
    overall = known @ np.log1p(np.bincount(word_of, minlength=len(words)))
    order = np.argsort(-overall, kind="stable")
    # Function words make up a third or more of a text; fewer are chance or names.
    least = COVERED * np.bincount(row_of, minlength=n)
    votes = _most_covered(known, order, word_of, row_of, np.maximum(least, 1))
    if (votes >= 0).any():
        present = [codes.index(code) for code in substantial(codes, votes)]
        told = votes[row_of]
        texts = np.zeros(known.shape)
        np.add.at(texts, (told[told >= 0], word_of[told >= 0]), 1)
        share = texts / np.maximum(np.bincount(votes[votes >= 0], minlength=len(codes)), 1)[:, None]
        known &= share == share.max(axis=0)
    else:
        present = np.flatnonzero(known.sum(axis=1) > 1).tolist()
    alone = _most_covered(known, order[np.isin(order, present)], word_of, row_of, least)
    votes = np.where(votes < 0, alone, votes)
    codes += sorted(set(ONE_LANGUAGE.values()) - set(codes))
    number = {code: i for i, code in enumerate(codes)}
    scripts = [number.get(ONE_LANGUAGE.get(word_script(word), ""), -1) for word in words]
    by_script = np.array(scripts, dtype=np.int64)[word_of] if len(words) else word_of
    silent = np.zeros((n, len(codes)), dtype=np.int32)
    np.add.at(silent, (row_of[by_script >= 0], by_script[by_script >= 0]), 1)
    if "ja" in number:  # Han beside kana is Japanese
        mixed = silent[:, number["ja"]] > 0
        silent[mixed, number["ja"]] += silent[mixed, number["zh"]]
        silent[mixed, number["zh"]] = 0
    told = (votes < 0) & (2 * silent.max(axis=1, initial=0) > np.bincount(row_of, minlength=n))
    votes[told] = silent[told].argmax(axis=1)
    return codes, votes


def _most_covered(known: Bools, order: Ints, word_of: Ints, row_of: Ints, least: Floats) -> Ints:
    """Which list covers most words of each text, if more than ``least``; the first of equals."""
    best, found = least.copy(), np.full(len(least), -1)
    for i in order:
        covered = np.bincount(row_of[known[i][word_of]], minlength=len(least))
        better = covered > best
        best[better], found[better] = covered[better], i
    return found


def substantial(codes: Sequence[str], votes: Ints) -> list[str]:
    """The languages of a corpus, most frequent first; English where nothing tells.

    ``codes`` and ``votes`` are those of :func:`vote`.
    """
    counts = np.bincount(votes[votes >= 0], minlength=len(codes))
    ranked = sorted(range(len(codes)), key=lambda i: (-counts[i], codes[i]))
    chance = 0.01 * len(votes)
    least = max(LEAST_SHARE * counts.sum(), LEAST_TEXTS, chance)
    kept = [codes[i] for i in ranked if counts[i] >= least]
    return kept or ([codes[ranked[0]]] if counts[ranked[0]] > chance else ["en"])


def languages_of(texts: Sequence[str]) -> Counter[str]:
    """How many texts are in each language, most frequent first; an empty code where unclear.

    Examples
    --------
    >>> languages_of(["Где мой заказ и почему он не пришёл?", "Where is it?", "退款申请", "XR-7"])
    Counter({'': 1, 'en': 1, 'ru': 1, 'zh': 1})
    """
    from coterie.texts.words.cutting import tokens

    places: dict[str, int] = {}
    rows = [[places.setdefault(word, len(places)) for word in tokens(text)] for text in texts]
    row_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    word_of = np.array([word for row in rows for word in row], dtype=np.int64)
    codes, votes = vote(list(places), word_of, row_of, len(texts))
    found = sorted(codes[i] if i >= 0 else "" for i in votes)
    return Counter(dict(Counter(found).most_common()))


def check_language(language: str | Sequence[str] | None) -> list[str] | None:
    """Codes of the languages asked for; ``None`` means that the texts shall tell.

    Examples
    --------
    >>> check_language("German"), check_language(["en", "fr"]), check_language("auto")
    (['de'], ['en', 'fr'], None)
    >>> check_language(None)  # no stop words at all
    []
    """
    if language is None:
        return []
    asked = [language] if isinstance(language, str) else list(language)
    if asked == ["auto"]:
        return None
    codes = {NAMES[code].lower(): code for code in STOP_WORDS}
    out = []
    for name in asked:
        code = codes.get(str(name).lower(), str(name).lower())
        if code not in STOP_WORDS:
            raise UsageError(
                f"language: {name!r} has no list of stop words; use 'auto', None for no list, or "
                f"some of {', '.join(STOP_WORDS)}."
            )
        out.append(code)
    return out
