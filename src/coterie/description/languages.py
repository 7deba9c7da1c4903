"""Which languages a corpus is in, told by their function words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie._errors import UsageError
from coterie._types import Ints
from coterie.words.stopwords import LANGUAGES, STOP_WORDS

COVERED = 0.2  # of the words of a text, before it tells its language
LEAST_SHARE = 0.05  # of the texts that tell their language
SAMPLE = 20_000  # texts that are asked
LEAST_TEXTS = 2  # below, a second language is more likely chance


def detect_languages(words: Sequence[str], word_of: Ints, row_of: Ints, n: int) -> list[str]:
    """Codes of the languages of a corpus, most frequent first; English where nothing tells.

    Each text votes for the language whose list covers most of its different words; where two lists
    do, for the one that covers more of the whole corpus.

    Parameters
    ----------
    words : sequence of str
        The vocabulary.
    word_of, row_of : ndarray of shape (t,)
        Number of the word, and of the text, of each running word.
    n : int
        Number of texts.
    """
    if n > SAMPLE:  # texts spread over the corpus are enough to tell
        step = -(-n // SAMPLE)
        use = row_of % step == 0
        row_of, word_of, n = row_of[use] // step, word_of[use], -(-n // step)
    row_of, word_of = np.divmod(np.unique(row_of * len(words) + word_of), max(len(words), 1))
    codes = list(STOP_WORDS)
    place = {word: i for i, word in enumerate(words)}
    known = np.zeros((len(codes), len(words)), dtype=bool)
    for i, code in enumerate(codes):
        known[i, [place[word] for word in STOP_WORDS[code] if word in place]] = True
    overall = known @ np.bincount(word_of, minlength=len(words))
    order = np.argsort(-overall, kind="stable")
    best, vote = np.zeros(n), np.full(n, -1)
    # Function words make up a third or more of a text; fewer are chance or names.
    best += COVERED * np.bincount(row_of, minlength=n)
    for i in order:
        hits = known[i][word_of]
        covered = np.bincount(row_of[hits], minlength=n)
        better = covered > best
        best[better], vote[better] = covered[better], i
    votes = np.bincount(vote[vote >= 0], minlength=len(codes))
    ranked = sorted(range(len(codes)), key=lambda i: (-votes[i], codes[i]))
    least = max(LEAST_SHARE * votes.sum(), LEAST_TEXTS, 0.01 * n)
    found = [codes[i] for i in ranked if votes[i] >= least]
    return found or ([codes[ranked[0]]] if votes.sum() else ["en"])


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
    out = []
    for name in asked:
        code = LANGUAGES.get(str(name).lower(), str(name).lower())
        if code not in STOP_WORDS:
            raise UsageError("describe.unknown_language", name=name, known=", ".join(STOP_WORDS))
        out.append(code)
    return out
