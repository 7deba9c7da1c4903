"""Words: how texts are cut into them, their stems and counts."""

from coterie.words.stopwords import ENGLISH
from coterie.words.vocabulary import (
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
