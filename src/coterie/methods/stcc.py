"""STCC: Self-Taught Convolutional Neural Networks for Short Text Clustering (Xu et al., 2017).

Bits of reduced TF-IDF (``blocks/binary_codes.py``) teach a convolution network over word vectors
(``blocks/dynamic_cnn.py``, ``encoders/dynamic.py``); k-means on what it learned gives the clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._errors import UsageError
from coterie._types import Floats, Terms
from coterie._validation import check_fields
from coterie.base import TextClusterer, TrainingContext
from coterie.blocks.binary_codes import bits_at_median, eigenmaps, heat_graph, lsa, preserving
from coterie.encoders import BagOfWords, Encoder
from coterie.encoders.dynamic import DynamicEncoder
from coterie.encoders.items import Rows
from coterie.engine import Batch, Stage, steps_for
from coterie.words import Source, width_of

Code = Literal["lpi", "le", "lsa", "mean"]
MAX_WORDS = 20_000  # counted for the bits
EPOCHS, FEWEST = 10, 500  # of the training where nothing else is said


class STCCNet(nn.Module):
    """The encoder, and an output for each bit."""

    bits: Tensor  # (n, n_bits)

    def __init__(self, encoder: Any, bits: Tensor, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(encoder.dim, bits.shape[1])
        self.register_buffer("bits", bits)


def bit_loss(net: STCCNet, batch: Batch) -> Terms:
    """Cross-entropy of each bit, mean over bits and texts."""
    (h,) = batch.encode(net.encoder)
    logits = net.output(net.dropout(h))
    return {"bits": F.binary_cross_entropy_with_logits(logits, net.bits[batch.index])}


@dataclass(eq=False, repr=False, kw_only=True)
class STCC(TextClusterer):
    """Teach a convolution network over words the bits of a simpler method, and cluster it.

    Parameters
    ----------
    batch_size : int, default=200
    code : {"lpi", "le", "lsa", "mean"}, default="lpi"
        What the bits are made of: locality preserving indexing, Laplacian eigenmaps or latent
        semantic analysis of TF-IDF, or the mean of the word vectors (called AE in the paper).
    dropout : float, default=0.5
    encoder : "word-cnn", default="word-cnn"
        The method is its own encoder.
    lr : float, default=1e-3
        Learning rate of the network, the word vectors and the outputs.
    n_bits : int, default=20
        Numbers of the reduced TF-IDF; with ``code="mean"`` there are as many bits as ``word_dim``.
    n_neighbors : int, default=15
        Of the graph that "lpi" and "le" keep.
    steps : int, optional
        Default: 10 epochs, but no fewer than 500.
    word_dim : int, default=48
        Width of word vectors learned from the texts; a multiple of four.
    word_vectors : str or Path, default="auto"
        "skipgram", "ppmi", or a file with a word and its numbers on each line.

    Notes
    -----
    From the paper and its code: network (12 and 8 maps of width 3, folding, dynamic k-max, 480
    features), median bits, graph of 15 neighbours with a heat kernel, batch size. It takes 20 to
    80 bits by data set; here 20. Deviations: Adam in place of Adagrad with weight decay; word
    vectors are learned from the texts alone unless a file is given; locality preserving indexing
    works in 100 singular directions. Clusters are made once, after the training, so there is no
    start to go back to.

    References
    ----------
    .. [1] Xu, Xu, Wang, Zheng, Tian, Zhao, Xu (2017). Self-Taught Convolutional Neural Networks
       for Short Text Clustering. Neural Networks.

    See Also
    --------
    ADSL : Another network over words, taught by clusters.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car", "old car"]
    >>> model = STCC(2, n_bits=2, steps=40, lr=1e-2, random_state=0).fit(texts)
    >>> model.predict(["old car"])[0] != model.predict(["red apple"])[0]
    np.True_
    """

    name: ClassVar[str] = "stcc"
    citation: ClassVar[str] = (
        "Xu, Xu, Wang, Zheng, Tian, Zhao, Xu (2017). Self-Taught Convolutional Neural Networks for "
        "Short Text Clustering. Neural Networks."
    )

    batch_size: int = 200
    code: Code = "lpi"
    dropout: float = 0.5
    encoder: Any = "word-cnn"
    lr: float = 1e-3
    n_bits: int = 20
    n_neighbors: int = 15
    steps: int | None = None
    word_dim: int = 48
    word_vectors: Source = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fields(
            self,
            choices={"encoder": ["word-cnn"], "code": ["lpi", "le", "lsa", "mean"]},
            integers={"n_bits": 1, "n_neighbors": 1, "steps": 0, "word_dim": 1},
            least=["dropout", "lr"],
        )
        if self.dropout >= 1:
            raise UsageError(f"dropout should be below 1, got {self.dropout!r}.")
        width = width_of(self.word_vectors, self.word_dim)
        if width % 4:
            raise UsageError(
                f"word_dim should be a multiple of four, got {width}: the network adds up pairs of "
                "rows twice."
            )

    def _make_encoder(self, seed: int) -> Encoder:
        return DynamicEncoder(self.word_vectors, self.word_dim, self.max_length, seed)

    def _build_pretraining_network(self, encoder: Any, context: TrainingContext) -> STCCNet:
        assert context.texts is not None and context.rows is not None
        first = np.unique(context.rows, return_index=True)[1]
        numbers = self.reduced([context.texts[i] for i in first], encoder, context.seed)
        bits = bits_at_median(numbers)[context.rows]
        encoder.make_network()
        return STCCNet(encoder, torch.from_numpy(bits), self.dropout)

    def reduced(self, texts: list[str], encoder: Any, seed: int) -> Floats:
        """Numbers of each text that become bits, shape (n, n_bits)."""
        if self.code == "mean":
            sums = encoder.words.counts(texts) @ encoder.vectors
            counts = np.asarray(encoder.words.counts(texts).sum(axis=1))
            return np.asarray(sums / np.maximum(counts, 1))
        counter = BagOfWords("tfidf", max_features=MAX_WORDS)
        counter.learn(texts)
        items, rows = counter.prepare(texts)
        assert isinstance(items, Rows)
        weighted = items.matrix[rows]
        if self.code == "lsa":
            return lsa(weighted, self.n_bits, seed)
        graph = heat_graph(weighted, self.n_neighbors)
        if self.code == "le":
            return eigenmaps(graph, self.n_bits, seed)
        return preserving(weighted, graph, self.n_bits, seed)

    def _pretraining_stages(self, context: TrainingContext) -> list[Stage]:
        steps = self.steps
        if steps is None:
            steps = max(FEWEST, steps_for(EPOCHS, context.n, self.batch_size))
        rates = {"encoder": self.lr, "output": self.lr}
        return [Stage(name="bits", steps=steps, loss=bit_loss, lr=rates)]
