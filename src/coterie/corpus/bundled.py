"""The support messages that come with the package; its authors wrote them."""

from __future__ import annotations

from importlib import resources

from coterie.corpus.corpus import Corpus
from coterie.corpus.read import read_corpus


def sample() -> Corpus:
    """The bundled support messages: columns id, date, channel, message and theme."""
    source = resources.files("coterie") / "sample" / "support.csv"
    with resources.as_file(source) as path:
        return read_corpus(path, text_column="message", id_column="id")
