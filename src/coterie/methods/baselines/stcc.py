"""STCC: Self-Taught Convolutional Neural Networks for Short Text Clustering (Xu et al., 2017).

Bits of reduced TF-IDF teach a convolution network over word vectors (``encoders/dynamic.py``);
k-means on what it learned gives the clusters. The rows are reduced by latent semantic analysis,
Laplacian eigenmaps (Belkin and Niyogi, 2003) or locality preserving indexing (He et al., 2004), the
last two on the graph of nearest rows, and each number is cut at its median.
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
from coterie.encoders import BagOfWords, Encoder
from coterie.encoders.dynamic import DynamicEncoder
from coterie.encoders.items import Rows
from coterie.engine import Batch, Stage, steps_for
from coterie.neighbors import similarity_blocks
from coterie.words import Source, width_of

DENSE = 400  # rows up to which all eigenvectors are found at once
RANK = 100  # singular directions that locality preserving indexing works in
Code = Literal["lpi", "le", "lsa", "mean"]
MAX_WORDS = 20_000  # counted for the bits
EPOCHS, FEWEST = 10, 500  # of the training where nothing else is said


def bits_at_median(x: Floats) -> Floats:
    """One where a number is above the median of its column, zero elsewhere.

    Examples
    --------
    >>> bits_at_median(np.array([[1.0, 5.0], [2.0, 9.0], [3.0, 7.0]]))
    array([[0., 0.],
           [0., 1.],
           [1., 0.]], dtype=float32)
    """
    return (x > np.median(x, axis=0)).astype(np.float32)


def heat_graph(rows: Any, n_neighbors: int = 15, width: float = 1.0) -> Any:
    """Sparse symmetric weights ``exp(-d^2 / (2 width^2))`` between nearest rows of unit length.

    Parameters
    ----------
    rows : sparse matrix of shape (n, d)
    n_neighbors : int, default=15
        A pair is joined if either is among the nearest of the other, and has a word in common.
    width : float, default=1.0

    Returns
    -------
    csr_matrix of shape (n, n)
    """
    from scipy.sparse import coo_matrix

    n = rows.shape[0]
    k = min(n_neighbors, n - 1)
    found: list[list[Any]] = [[], [], []]
    for block, similarities in similarity_blocks(rows):
        cosines = similarities.numpy()
        own = np.arange(len(cosines))
        cosines[own, own + block.start] = -np.inf
        near = np.argpartition(-cosines, k - 1, axis=1)[:, :k] if k else own[:, None][:, :0]
        values = np.take_along_axis(cosines, near, axis=1)
        real = values > 0
        for store, part in zip(
            found, ((own + block.start)[:, None] + 0 * near, near, values), strict=True
        ):
            store.append(part[real])
    first, second, values = (np.concatenate(store) for store in found)
    weights = np.exp(-(1 - values.astype(np.float64)) / width**2)  # d^2 = 2 - 2 cos
    graph = coo_matrix((weights, (first, second)), shape=(n, n)).tocsr()
    return graph.maximum(graph.T).tocsr()


def lsa(rows: Any, dim: int, seed: int) -> Floats:
    """Rows in their ``dim`` largest singular directions, ``u * s``."""
    from scipy.sparse.linalg import svds

    n, d = rows.shape
    dim = min(dim, n, d)
    if dim >= min(n, d) or min(n, d) <= DENSE:
        u, s, _ = np.linalg.svd(rows.toarray().astype(np.float64), full_matrices=False)
        return np.asarray(u[:, :dim] * s[:dim])
    start = np.random.default_rng(seed).normal(size=min(n, d))
    u, s, _ = svds(rows.astype(np.float64), k=dim, v0=start)
    order = np.argsort(-s)
    return np.asarray(u[:, order] * s[order])


def eigenmaps(graph: Any, dim: int, seed: int) -> Floats:
    """Solutions of ``L y = lambda D y`` with the smallest lambda but the constant one.

    ``D`` are the degrees of the graph, ``L`` is ``D`` less the weights; rows without a neighbour
    are zero.
    """
    from scipy.sparse import diags
    from scipy.sparse.linalg import eigsh

    degrees = np.asarray(graph.sum(axis=1)).ravel()
    root = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0)
    balanced = diags(root) @ graph @ diags(root)
    n = len(degrees)
    dim = min(dim, n - 1)
    if n <= max(DENSE, 2 * dim + 2):
        values, vectors = np.linalg.eigh(balanced.toarray())
    else:
        start = np.random.default_rng(seed).normal(size=n)
        values, vectors = eigsh(balanced, k=dim + 1, which="LA", v0=start)
    best = np.argsort(-values)[1 : dim + 1]
    return np.asarray(vectors[:, best] * root[:, None])


def preserving(rows: Any, graph: Any, dim: int, seed: int) -> Floats:
    """The best linear maps of the rows for :func:`eigenmaps`, on their singular directions.

    Solutions ``x a`` of ``x' W x a = mu x' D x a`` with the largest mu, where ``x`` are the rows
    in at most 100 singular directions, less their mean by degree, which takes the constant out.
    """
    from scipy.linalg import eigh

    degrees = np.asarray(graph.sum(axis=1)).ravel()
    x = lsa(rows, max(RANK, dim), seed)
    if degrees.sum() > 0:
        x = x - (degrees @ x) / degrees.sum()
    weighted = x.T @ (degrees[:, None] * x)
    ridge = 1e-9 * max(float(np.trace(weighted)), 1e-12) * np.eye(x.shape[1])
    values, vectors = eigh(x.T @ (graph @ x), weighted + ridge)
    return np.asarray(x @ vectors[:, np.argsort(-values)[:dim]])


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
