"""Words: how texts are cut into them, their stems, counts and vectors."""

from coterie.words.stopwords import ENGLISH
from coterie.words.vectors import (
    Source,
    kind_of,
    make_word_vectors,
    read_word_vectors,
    width_of,
)
from coterie.words.vocabulary import (
    Vocabulary,
    split_words,
    stem,
)

__all__ = [
    "ENGLISH",
    "Source",
    "Vocabulary",
    "kind_of",
    "make_word_vectors",
    "read_word_vectors",
    "split_words",
    "stem",
    "width_of",
]
