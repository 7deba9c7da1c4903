"""Words: how texts are cut into them, their stems and counts."""

from coterie.texts.words.stopwords import ENGLISH
from coterie.texts.words.vocabulary import (
    Vocabulary,
    split_words,
    stem,
)

__all__ = [
    "ENGLISH",
    "Vocabulary",
    "split_words",
    "stem",
]
