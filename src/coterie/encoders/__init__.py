"""Encoders: text in, vectors out; each is one torch module that methods can train."""

from coterie.encoders.base import Encoder
from coterie.encoders.cache import no_cache
from coterie.encoders.items import Items, RaggedTokens, Rows
from coterie.encoders.load import load_encoder, load_saved
from coterie.encoders.locate import DEFAULT
from coterie.encoders.mixed import MixedEncoder
from coterie.encoders.sentence import Pooling, SentenceEncoder
from coterie.encoders.static import StaticEncoder
from coterie.encoders.vectors import BagOfWords, VectorEncoder
from coterie.encoders.words import OneWordEncoder, WordEncoder

__all__ = [
    "DEFAULT",
    "BagOfWords",
    "Encoder",
    "Items",
    "MixedEncoder",
    "OneWordEncoder",
    "Pooling",
    "RaggedTokens",
    "Rows",
    "SentenceEncoder",
    "StaticEncoder",
    "VectorEncoder",
    "WordEncoder",
    "load_encoder",
    "load_saved",
    "no_cache",
]
