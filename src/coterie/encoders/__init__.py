"""Encoders: text in, vectors out; each is one torch module that methods can train."""

from coterie.encoders.base import Encoder, Items, RaggedTokens, Rows
from coterie.encoders.cache import no_cache
from coterie.encoders.endpoint import EndpointEncoder
from coterie.encoders.given import GivenVectors
from coterie.encoders.lexical import (
    BagOfWords,
    CharNgrams,
    LexicalEncoder,
    MixedEncoder,
    NgramsAndWords,
    VectorEncoder,
)
from coterie.encoders.load import AUTO, DEFAULT, check_encoder, load_encoder, load_saved
from coterie.encoders.reading import Reading, look
from coterie.encoders.sentence import Pooling, SentenceEncoder
from coterie.encoders.static import StaticEncoder
from coterie.encoders.universal import MultilingualViews, UniversalEncoder, universal_for
from coterie.encoders.views import ViewsEncoder

__all__ = [
    "AUTO",
    "DEFAULT",
    "BagOfWords",
    "CharNgrams",
    "Encoder",
    "EndpointEncoder",
    "GivenVectors",
    "Items",
    "LexicalEncoder",
    "MixedEncoder",
    "MultilingualViews",
    "NgramsAndWords",
    "Pooling",
    "RaggedTokens",
    "Reading",
    "Rows",
    "SentenceEncoder",
    "StaticEncoder",
    "UniversalEncoder",
    "VectorEncoder",
    "ViewsEncoder",
    "check_encoder",
    "load_encoder",
    "load_saved",
    "look",
    "no_cache",
    "universal_for",
]
