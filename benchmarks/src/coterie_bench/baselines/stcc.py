"""STCC: Self-Taught Convolutional Neural Networks for Short Text Clustering (Xu et al., 2017).

A convolution network over word vectors learns binary codes of TF-IDF; k-means on its features gives
the clusters. The rows are reduced by latent semantic analysis, Laplacian eigenmaps (Belkin
and Niyogi, 2003) or locality preserving indexing (He et al., 2004), the last two on the graph of
nearest rows, and each number is cut at its median.

The network is the dynamic one of Kalchbrenner et al. (2014) with two layers. A text is a matrix: a
column for each word, a row for each number of its vector. Rows are convolved by themselves, rows 2r
and 2r + 1 are added (folding), and of each row the k largest numbers are kept in their order (k-max
pooling); k grows with the length of the text in the first layer and is fixed in the last, so that
all texts end with the same number of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._util.files import save_arrays
from coterie._util.trust import read_tensors
from coterie._util.types import Features, Floats, Ints, Terms
from coterie._util.validation import Dropout, NonNegativeFloat, NonNegativeInt, PositiveInt
from coterie.arrays.neighbors import similarity_blocks
from coterie.encoders import BagOfWords, Encoder
from coterie.encoders.base import RaggedTokens, Rows, distinct
from coterie.errors import DataError, UsageError
from coterie.methods.train import Batch, Stage, TrainedClusterer, TrainingContext, steps_for
from coterie.methods.word_vectors import Source, make_word_vectors, width_of
from coterie.texts.words import Vocabulary

WIDTH = 3  # words that a filter sees
TOP = 5  # numbers kept of each row at the end
PADDING = 0  # the words count from one
DENSE = 400  # rows up to which all eigenvectors are found at once
RANK = 100  # singular directions that locality preserving indexing works in
Code = Literal["lpi", "le", "lsa", "mean"]
MAX_WORDS = 20_000  # different words with a vector of their own, and counted for the bits
EPOCHS, MIN_STEPS = 10, 500  # of the training where nothing is given


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

    A pair is joined if either is among the nearest of the other, and has a word in common.
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


def k_max(x: Tensor, k: Tensor, valid: Tensor, most: int) -> Tensor:
    """The ``k`` largest numbers along the last dimension of (n, ..., m), in the order they had.

    Of each text ``k`` are kept, and ``valid`` of the m places are its own. Zeros follow up to the
    width ``most``.

    Examples
    --------
    >>> x = torch.tensor([[3.0, 9.0, 1.0, 4.0, 8.0]])
    >>> k_max(x, torch.tensor([2]), torch.tensor([4]), 3)
    tensor([[9., 4., 0.]])
    """
    width = x.shape[-1]
    shape = [-1] + [1] * (x.dim() - 1)
    place = torch.arange(width, device=x.device)
    number = min(most, width)
    masked = x.masked_fill(place >= valid.view(shape), -torch.inf)
    where = masked.topk(number, dim=-1).indices
    chosen = place[:number] < torch.minimum(k, valid).view(shape)
    where = torch.where(chosen, where, width).sort(dim=-1).values  # what is not kept goes last
    kept = x.gather(-1, where.clamp(max=width - 1))
    kept = torch.where(where < width, kept, torch.zeros_like(kept))
    return F.pad(kept, (0, most - number))


class DynamicCNN(nn.Module):
    """From word vectors to features of fixed size, with ``maps`` feature maps in the two layers.

    The width of the word vectors is a multiple of four: two foldings halve it twice.
    """

    def __init__(self, dim: int, maps: tuple[int, int] = (12, 8)) -> None:
        super().__init__()
        self.maps = maps
        wide: dict[str, Any] = {"kernel_size": WIDTH, "padding": WIDTH - 1, "bias": False}
        # One group per row: a filter sees the same row of all maps below and no other row.
        self.first = nn.Conv1d(dim, dim * maps[0], groups=dim, **wide)
        self.second = nn.Conv1d(dim // 2 * maps[0], dim // 2 * maps[1], groups=dim // 2, **wide)
        self.first_bias = nn.Parameter(torch.zeros(dim // 2, maps[0], 1))
        self.second_bias = nn.Parameter(torch.zeros(dim // 4, maps[1], 1))
        self.dim = dim // 4 * maps[1] * TOP

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Features of shape (n, dim) from word vectors of shape (n, m, d), zero after each text."""
        longest = max(TOP, -(-words.shape[1] // 2))
        k = torch.clamp((lengths + 1) // 2, min=TOP)
        x = fold(self.first(words.transpose(1, 2)), self.maps[0])  # (n, d / 2, maps, m + 2)
        valid = lengths + WIDTH - 1
        x = self._pooled(x, k, valid, longest, self.first_bias)
        valid = torch.minimum(k, valid)
        x = fold(self.second(x.flatten(1, 2)), self.maps[1])  # (n, d / 4, maps, ...)
        top = torch.full_like(k, TOP)
        return self._pooled(x, top, valid + WIDTH - 1, TOP, self.second_bias).flatten(1)

    @staticmethod
    def _pooled(x: Tensor, k: Tensor, valid: Tensor, most: int, bias: Tensor) -> Tensor:
        pooled = torch.tanh(k_max(x, k, valid, most) + bias)
        inside = torch.arange(most, device=x.device) < torch.minimum(k, valid)[:, None]
        return pooled * inside[:, None, None, :]


def fold(x: Tensor, maps: int) -> Tensor:
    """Add neighbouring rows: (n, rows * maps, m) becomes (n, rows / 2, maps, m)."""
    n, channels, m = x.shape
    return x.view(n, channels // (2 * maps), 2, maps, m).sum(dim=2)


class DynamicEncoder(Encoder):
    """Features of a dynamic convolution network over the first words of a text."""

    kind: ClassVar[str] = "word-cnn"

    def __init__(
        self,
        word_vectors: Source = "auto",
        word_dim: int = 48,
        max_length: int = 128,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.word_vectors, self.word_dim = word_vectors, word_dim
        self.max_length, self.seed = max_length, seed
        self.words = Vocabulary([])
        self.vectors: Floats = np.empty((0, word_dim), dtype=np.float32)
        self.embedding: nn.Embedding | None = None
        self.cnn: DynamicCNN | None = None

    def learn(self, texts: Sequence[str]) -> None:
        self.words = Vocabulary.build(texts, max_size=MAX_WORDS, min_count=1, stop_words=False)
        if not len(self.words):
            raise DataError("no text has a word in it; use another method.")
        self.vectors = make_word_vectors(
            self.word_vectors, texts, self.words, self.word_dim, self.seed
        )

    def prepare(self, texts: Any) -> tuple[RaggedTokens, Ints]:
        ids = [[i + 1 for i in self.words.ids(text)[: self.max_length]] for text in texts]
        ids = [found or [PADDING] for found in ids]
        first, items = distinct(map(tuple, ids))
        return RaggedTokens.build([ids[i] for i in first], PADDING), items

    def make_network(self) -> None:
        """A fresh network above the word vectors, which move with it from here on."""
        self._make(*self.vectors.shape)
        assert self.embedding is not None
        with torch.no_grad():
            self.embedding.weight[1:] = torch.from_numpy(self.vectors)
        self.vectors = self.vectors[:0]

    def _make(self, size: int, width: int) -> None:
        self.embedding = nn.Embedding(size + 1, width, padding_idx=PADDING)
        self.cnn = DynamicCNN(width)
        self.dim = self.cnn.dim

    def forward(self, features: Features) -> Tensor:
        assert self.embedding is not None and self.cnn is not None
        lengths = features["attention_mask"].sum(dim=1)
        vectors: Tensor = self.cnn(self.embedding(features["input_ids"]), lengths)
        return vectors.float()

    def to_config(self) -> dict[str, Any]:
        return {"max_length": self.max_length, "words": self.words.words}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], source: Path, inside: dict[str, Encoder]
    ) -> DynamicEncoder:
        weights = read_tensors(source / "encoder.safetensors")
        made = cls(max_length=int(config["max_length"]))
        made.words = Vocabulary(config["words"])
        size, width = weights["embedding.weight"].shape
        made._make(size - 1, width)
        made.load_state_dict(weights)
        return made

    def save_weights(self, folder: Path) -> None:
        weights = {name: tensor.cpu().numpy() for name, tensor in self.state_dict().items()}
        save_arrays(folder / "encoder.safetensors", weights)


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
class STCC(TrainedClusterer):
    """A convolution network over words learns binary codes of TF-IDF; k-means on its features.

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

    batch_size: PositiveInt = 200
    code: Code = "lpi"
    dropout: Dropout = 0.5
    encoder: Literal["word-cnn"] = "word-cnn"
    lr: NonNegativeFloat = 1e-3
    n_bits: PositiveInt = 20
    n_neighbors: PositiveInt = 15
    steps: NonNegativeInt | None = None
    word_dim: PositiveInt = 48
    word_vectors: Source = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if width_of(self.word_vectors, self.word_dim) % 4:
            raise UsageError("`word_dim` should be a multiple of four.")

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
            steps = max(MIN_STEPS, steps_for(EPOCHS, context.n, self.batch_size))
        rates = {"encoder": self.lr, "output": self.lr}
        return [Stage(name="bits", steps=steps, loss=bit_loss, lr=rates)]
