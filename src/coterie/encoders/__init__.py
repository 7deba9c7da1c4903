"""Encoders: text in, vectors out; each is one torch module that methods can train."""

from coterie._cache import no_cache
from coterie.encoders.base import Encoder
from coterie.encoders.code import CodeEncoder, make_code_encoder
from coterie.encoders.items import Items, RaggedTokens, Rows
from coterie.encoders.load import check_encoder, load_encoder, load_saved
from coterie.encoders.locate import DEFAULT
from coterie.encoders.mixed import MixedEncoder
from coterie.encoders.ngrams import CharNgrams
from coterie.encoders.sentence import Pooling, SentenceEncoder
from coterie.encoders.shares import TopicShares
from coterie.encoders.sif import SIFEncoder
from coterie.encoders.static import StaticEncoder
from coterie.encoders.vectors import BagOfWords, VectorEncoder

__all__ = [
    "DEFAULT",
    "BagOfWords",
    "CharNgrams",
    "CodeEncoder",
    "Encoder",
    "Items",
    "MixedEncoder",
    "Pooling",
    "RaggedTokens",
    "Rows",
    "SIFEncoder",
    "SentenceEncoder",
    "StaticEncoder",
    "TopicShares",
    "VectorEncoder",
    "check_encoder",
    "load_encoder",
    "load_saved",
    "make_code_encoder",
    "no_cache",
]
