"""ClusterBERT: multi-stage fine-tuning of transformers for text clustering (2022, under review).

Three stages: a denoising autoencoder adapts the encoder to the texts (TSDAE, Wang et al., 2021); a
linear head learns the clusters of k-means while the autoencoder goes on; the head's own sharpened
probabilities are its targets at the end::

    stage 1   L_R = -mean log p(token | tokens before, vector of the noisy text)    Eq. (1)
    stage 2   (1 - lambda) L_R + lambda CE(Q, P),  Q = labels of k-means             Eq. (3)-(4)
    stage 3   the same, with Q_ij ~ P_ij^2 / f_j over all clean texts                Eq. (5)

The decoder uses the encoder's own embeddings and layers, handed over at every call and never
registered: they have one owner, one optimiser and one place in a checkpoint. Attention over a
single key is a softmax over one number, which is 1 whatever the query, so the cross-attention to
the vector has no queries and keys.

Reading order: noise, decoder, denoising autoencoder around any encoder, network, cluster term and
targets, estimator. Equation numbers are ClusterBERT's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._util.random import derive_seed
from coterie._util.types import Features, Floats, Ints, Terms
from coterie._util.validation import (
    Length,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    PositiveShare,
    Share,
)
from coterie.arrays.assign import Assigner, CenterAssigner, LinearAssigner
from coterie.arrays.metrics import best_partners, dunn, silhouette
from coterie.encoders import Encoder, SentenceEncoder, VectorEncoder
from coterie.encoders.base import one_a_row
from coterie.encoders.packing import layer_settings, through_fused
from coterie.errors import UsageError
from coterie.methods.losses.student_t import log_frequency, log_target
from coterie.methods.losses.token_loss import IGNORED, token_cross_entropy
from coterie.methods.train import Batch, Stage, TrainingContext, TunedClusterer, steps_for
from coterie.models.core import kmeans_assigner

LAYOUT = (  # what a layer must have
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.self.num_attention_heads",
    "attention.output.LayerNorm",
    "intermediate",
    "output.LayerNorm",
    "output.dropout",
)
CLIP = 1.0  # largest gradient norm
FLOOR = 1e-6  # smallest cluster size in a target, as a share of the mean size
CONFIDENCE = 0.5  # mean top probability of a head that starts from k-means
MEASURED = 5000  # texts that this probability is measured on


def survivors(present: Tensor, ratio: float) -> Tensor:
    """Which of the present things stay when each goes with probability ``ratio``.

    Parameters
    ----------
    present : Tensor of shape (n, m), bool
    ratio : float

    Returns
    -------
    Tensor of shape (n, m), bool
        At least one stays per row, a random one, where there is any.
    """
    draw = torch.rand(present.shape, device=present.device).masked_fill(~present, -1.0)
    luckiest = draw == draw.max(dim=1, keepdim=True).values
    return present & ((draw >= ratio) | luckiest)


def delete_words(
    ids: Tensor, mask: Tensor, words: Tensor, ratio: float, pad: int
) -> tuple[Tensor, Tensor]:
    """Delete whole words; what is left moves up, and the width stays.

    Parameters
    ----------
    ids, mask : Tensor of shape (n, width)
        Tokens, and 1 where there is one.
    words : Tensor of shape (n, width)
        Number of each token's word, from 0 without gaps; -1 for special tokens, which always stay.
    ratio : float
        Probability that a word is deleted.
    pad : int
        Token to fill up with.

    Returns
    -------
    ids, mask : Tensor of shape (n, width)
    """
    position = torch.arange(ids.shape[1], device=ids.device)
    counts = words.max(dim=1, keepdim=True).values + 1
    stays = survivors(position < counts, ratio)  # (n, words), no row has more words than tokens
    kept = mask.bool() & (stays.gather(1, words.clamp(min=0)) | (words < 0))
    order = torch.argsort(kept.logical_not().byte(), dim=1, stable=True)
    left = position < kept.sum(dim=1, keepdim=True)
    return torch.where(left, ids.gather(1, order), pad), left.to(mask.dtype)


def delete_entries(rows: Tensor, ratio: float) -> Tensor:
    """The same for bags of words: entries of each row become zero, at least one stays."""
    return rows * survivors(rows != 0, ratio)


class Shared(NamedTuple):
    """Modules of an encoder that the decoder works with."""

    embeddings: Any
    layers: Any

    @property
    def table(self) -> Tensor:
        """Word embeddings, shape (vocabulary, d)."""
        table: Tensor = self.embeddings.word_embeddings.weight
        return table


def shared_parts(backbone: Any) -> Shared:
    """Modules of a transformer with BERT's layout (BERT, MiniLM, RoBERTa, XLM-R, ...)."""
    parts = None
    try:
        parts = Shared(backbone.embeddings, backbone.encoder.layer)
        first = parts.layers[0]
        attrgetter(*LAYOUT)(first)
        fits = parts.table.shape[1] == first.attention.self.query.in_features
    except (AttributeError, IndexError, TypeError):
        fits = False
    if parts is None or not fits:
        raise UsageError(
            f"`encoder`: a decoder cannot share the layers of {type(backbone).__name__}; it "
            "works with BERT and RoBERTa and what is built like them (MiniLM, XLM-RoBERTa, "
            "CamemBERT), and with `encoder='tfidf'`, 'tfidf-svd', 'bow' or 'precomputed'."
        )
    return parts


class OneVectorAttention(nn.Module):
    """Cross-attention to one vector: its value and output projections, added and normalised."""

    def __init__(self, width: int, dropout: float, eps: float, std: float) -> None:
        super().__init__()
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(width, eps=eps)
        for linear in (self.value, self.output):
            nn.init.normal_(linear.weight, std=std)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, vector: Tensor) -> Tensor:
        seen = self.dropout(self.output(self.value(vector)))  # (n, d)
        mixed: Tensor = self.norm(x + seen[:, None])
        return mixed


class TokenDecoder(nn.Module):
    """Predicts each token from the tokens before it and the vector of the text.

    Parameters
    ----------
    parts : Shared
        Of the encoder; only sizes are read here.
    std : float, default=0.02
        Spread of the new weights, as BERT draws its own.
    """

    def __init__(self, parts: Shared, std: float = 0.02) -> None:
        super().__init__()
        vocabulary, width = parts.table.shape
        norm = parts.layers[0].output.LayerNorm
        dropout = parts.layers[0].output.dropout.p
        self.cross = nn.ModuleList(
            OneVectorAttention(width, dropout, norm.eps, std) for _ in parts.layers
        )
        dense = nn.Linear(width, width)
        nn.init.normal_(dense.weight, std=std)
        nn.init.zeros_(dense.bias)
        self.transform = nn.Sequential(dense, nn.GELU(), nn.LayerNorm(width, eps=norm.eps))
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, parts: Shared, ids: Tensor, vector: Tensor) -> Tensor:
        """Features of shape (n, width, d) from which the token after each position is read."""
        x = parts.embeddings(input_ids=ids)
        for layer, cross in zip(parts.layers, self.cross, strict=True):
            x = cross(_look_back(layer.attention, x), vector)
            x = layer.output(layer.intermediate(x), x)
        features: Tensor = self.transform(x)
        return features

    def fused_loss(
        self, net: Any, features: Features, vector: Tensor, dtype: torch.dtype
    ) -> Tensor:
        """:meth:`loss` by the kernels of the encoder ``net``, without scores of padding."""
        ids, mask, places = (features[k] for k in ("input_ids", "attention_mask", "followed"))
        norms: list[Any] = [cross.norm for cross in self.cross]
        seen = zip(norms, self._seen(vector, dtype), strict=True)
        between = [partial(_told, norm, told) for norm, told in seen]
        settings = layer_settings(net)._replace(causal=True)
        x = through_fused(net, one_a_row(ids, mask), settings, dtype, between)
        with torch.autocast(x.device.type, dtype=dtype, enabled=dtype != self.bias.dtype):
            read = self.transform(x.flatten(0, 1).index_select(0, places)).to(self.bias.dtype)
        labels = F.pad(ids[:, 1:].masked_fill(mask[:, 1:] == 0, IGNORED), (0, 1), value=IGNORED)
        table = shared_parts(net).table
        return token_cross_entropy(read, table, self.bias, labels.flatten()[places], dtype)

    def _seen(self, vector: Tensor, dtype: torch.dtype) -> Tensor:
        """What the cross-attention of all layers adds, shape (layers, n, d), in few products."""
        seen = vector.to(dtype).expand(len(self.cross), -1, -1)
        for name in ("value", "output"):
            maps: list[Any] = [cross.get_submodule(name) for cross in self.cross]
            weight = torch.stack([part.weight for part in maps]).to(dtype)
            bias = torch.stack([part.bias for part in maps]).to(dtype)
            seen = torch.baddbmm(bias[:, None], seen, weight.mT)
        told: Tensor = self.cross[0].get_submodule("dropout")(seen)
        return told.to(self.bias.dtype)

    def logits(self, parts: Shared, features: Tensor) -> Tensor:
        """Score of every word, by the encoder's word embeddings: small inputs only."""
        return F.linear(features, parts.table, self.bias)

    def loss(
        self,
        parts: Shared,
        ids: Tensor,
        mask: Tensor,
        vector: Tensor,
        dtype: torch.dtype | None = None,
    ) -> Tensor:
        """Mean over all tokens but the first of minus its log probability, Eq. (1).

        Teacher forcing: position ``t`` sees the true tokens up to ``t`` and predicts the next one.
        Padding lies on the right, where no position attends, and is never a label.

        Parameters
        ----------
        parts : Shared
        ids, mask : Tensor of shape (n, width)
            The text as it should be.
        vector : Tensor of shape (n, d)
        dtype : torch.dtype, optional
            Precision of the products; losses and softmax keep that of the weights.
        """
        with torch.autocast(ids.device.type, dtype=dtype, enabled=dtype is not None):
            features = self(parts, ids[:, :-1], vector).to(self.bias.dtype)
        labels = ids[:, 1:].masked_fill(mask[:, 1:] == 0, IGNORED)
        return token_cross_entropy(
            features.flatten(0, 1), parts.table, self.bias, labels.flatten(), dtype
        )


def _told(norm: nn.Module, told: Tensor, x: Tensor) -> Tensor:
    mixed: Tensor = norm(x + told[:, None]).to(x.dtype)
    return mixed


def _look_back(attention: Any, x: Tensor) -> Tensor:
    """The encoder's self-attention, each position seeing itself and those before it."""
    own = attention.self
    n, width, _ = x.shape
    query, key, value = (
        part(x).view(n, width, own.num_attention_heads, -1).transpose(1, 2)
        for part in (own.query, own.key, own.value)
    )
    dropout = own.dropout.p if own.training else 0.0
    mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True, dropout_p=dropout)
    looked: Tensor = attention.output(mixed.transpose(1, 2).reshape(n, width, -1), x)
    return looked


def know_words(encoder: Encoder) -> None:
    """Let the encoder keep the word of each token; refuse one that no decoder fits."""
    if isinstance(encoder, SentenceEncoder):
        _shared(encoder)
        encoder.keep_words = True
    elif not isinstance(encoder, VectorEncoder):
        raise UsageError(
            f"`encoder`: what a {encoder.kind!r} encoder reads cannot be reconstructed."
        )


def forget_words(encoder: Encoder) -> None:
    """Prediction needs no words."""
    if isinstance(encoder, SentenceEncoder):
        encoder.keep_words = False


def make_decoder(encoder: Encoder) -> nn.Module:
    """A decoder with the encoder's own layers; one linear layer where the input are numbers."""
    if isinstance(encoder, SentenceEncoder):
        return TokenDecoder(_shared(encoder))
    return nn.Linear(encoder.dim, encoder.dim)


def add_noise(encoder: Any, features: Features, ratio: float) -> Features:
    """The texts without a share of their words; rows of numbers lose entries instead."""
    if "vectors" in features:
        return {"vectors": delete_entries(features["vectors"], ratio)}
    ids, mask, words = (features[key] for key in ("input_ids", "attention_mask", "word_ids"))
    ids, mask = delete_words(ids, mask, words, ratio, encoder.tokenizer.pad_token_id or 0)
    return (
        one_a_row(ids, mask) if encoder.fuses(ids) else {"input_ids": ids, "attention_mask": mask}
    )


def reconstruction_loss(encoder: Any, decoder: Any, features: Features, z: Tensor) -> Tensor:
    """Cross entropy of the clean tokens, written again from the vectors ``z`` of shape (n, d).

    For rows of numbers it is the squared error over the rows' own squares: 1 is what an output of
    zeros costs, whatever the scale of the numbers.
    """
    if "vectors" in features:
        rows = features["vectors"]
        error: Tensor = (decoder(z) - rows).square().sum()
        return error / rows.square().sum().clamp(min=1e-12)
    ids, mask = features["input_ids"], features["attention_mask"]
    dtype = encoder.compute_dtype
    if encoder.fuses(ids):
        fused: Tensor = decoder.fused_loss(encoder.model[0].auto_model, features, z, dtype)
        return fused
    loss: Tensor = decoder.loss(_shared(encoder), ids, mask, z, dtype)
    return loss


def _shared(encoder: SentenceEncoder) -> Shared:
    return shared_parts(encoder.model[0].auto_model)


class StageRecord(nn.Module):
    """Labels, silhouette and Dunn index per stage; buffers, so that a checkpoint holds them.

    Parameters
    ----------
    names : list of str
        Of the stages, in order; an empty list keeps nothing.
    rows : ndarray of shape (n,)
        Number of each text among the different ones.
    """

    labels: Tensor  # (stages, n), -1 until taken
    scores: Tensor  # (stages, 2)

    def __init__(self, names: list[str], rows: Ints) -> None:
        super().__init__()
        self.names, self.rows = names, rows
        self.register_buffer("labels", torch.full((len(names), len(rows)), -1))
        self.register_buffer("scores", torch.full((len(names), 2), torch.nan))

    def take(self, name: str, vectors: Floats, labels: Ints) -> None:
        """Record a clustering; a name that is not wanted costs nothing."""
        if name in self.names:
            number = self.names.index(name)
            scores = silhouette(vectors, labels), dunn(vectors, labels)
            self.labels[number].copy_(torch.from_numpy(labels))
            self.scores[number].copy_(torch.tensor(scores))

    def to_list(self, rows: Ints) -> list[dict[str, Any]]:
        """Plain values, one dict per recorded stage.

        ``rows`` are the texts as they were passed in, by their number; that of -1 has label -1.
        """
        out = []
        for name, labels, scores in zip(
            self.names, self.labels.cpu().numpy(), self.scores.tolist(), strict=True
        ):
            if labels.min() >= 0:
                every = np.full(self.rows.max() + 2, -1)  # the last is for no text
                every[self.rows] = labels
                values = [value if math.isfinite(value) else None for value in scores]
                record = {"stage": name, "silhouette": values[0], "dunn": values[1]}
                out.append({**record, "labels": every[rows].tolist()})
        return out


class ClusterBERTNet(nn.Module):
    """An encoder, a decoder that writes the text again, and a linear head over the clusters."""

    labels: Tensor  # (n,), cluster of each text in the newest k-means
    log_q: Tensor  # (n, k), log targets of the hardening

    def __init__(self, encoder: Encoder, n: int, k: int, record: StageRecord) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = make_decoder(encoder)
        self.head = nn.Linear(encoder.dim, k)
        self.record = record
        self.register_buffer("labels", torch.zeros(n, dtype=torch.long))
        self.register_buffer("log_q", torch.zeros(n, k))
        self.trained: Floats | None = None  # vectors of the distinct texts after training


def soft_cross_entropy(log_q: Tensor, log_p: Tensor) -> Tensor:
    """Mean over rows of ``-sum_j q_j log p_j``.

    Parameters
    ----------
    log_q, log_p : Tensor of shape (n, k)
        Log of the target and of the prediction.

    Returns
    -------
    Tensor of shape ()
        At least the entropy of the target, which it has when both are equal.
    """
    return -(log_q.exp() * log_p).sum(dim=1).mean()


def cluster_term(net: ClusterBERTNet, z: Tensor, index: Tensor, *, soft: bool) -> Tensor:
    """Eq. (3) on noisy vectors ``z`` of the texts ``index``: the targets are Q, hard or soft."""
    log_p = net.head(z).log_softmax(dim=1)  # (n, k)
    if soft:
        return soft_cross_entropy(net.log_q[index], log_p)
    return F.nll_loss(log_p, net.labels[index])


@torch.no_grad()
def harden(net: ClusterBERTNet, vectors: Tensor) -> None:
    """Eq. (5): targets from the head on all clean texts, with corpus-wide cluster sizes."""
    log_p = net.head(vectors).log_softmax(dim=1)  # (n, k)
    floor = math.log(FLOOR * log_p.shape[0] / log_p.shape[1])
    net.log_q.copy_(log_target(log_p, log_frequency(log_p).clamp(min=floor)))


@torch.no_grad()
def put_centers(head: nn.Linear, centers: Floats, scale: float) -> None:
    """Let the softmax of the head be that of ``-|z - c_j|^2 / scale`` over the centers.

    ``W_j = s c_j`` and ``b_j = -s c_j.c_j / 2`` with ``s = 2 / scale`` do that, up to a number that
    all clusters share. So the mean of all rows is taken off: vectors of a transformer have much in
    common, and large weights that cancel each other lose digits.

    Parameters
    ----------
    head : nn.Linear
        From d to k.
    centers : ndarray of shape (k, d)
    scale : float
        How far apart, squared, is far.
    """
    exact = centers.astype(np.float64)
    squares = np.square(exact).sum(axis=1)
    head.weight.copy_(torch.from_numpy(2 / scale * (exact - exact.mean(axis=0))))
    head.bias.copy_(torch.from_numpy(-1 / scale * (squares - squares.mean())))


def align(new: Ints, old: Ints, n_clusters: int) -> Ints:
    """Number in ``old`` for each cluster of ``new``, so that most texts keep their number.

    Parameters
    ----------
    new, old : ndarray of shape (n,)
        Labels from 0 to ``n_clusters - 1`` of the same texts.
    n_clusters : int

    Returns
    -------
    ndarray of shape (n_clusters,)
        A permutation; ``align(...)[new]`` are the aligned labels.

    Examples
    --------
    >>> align(np.array([2, 2, 0, 1]), np.array([0, 0, 1, 2]), 3).tolist()
    [1, 2, 0]
    """
    overlap = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    np.add.at(overlap, (new, old), 1)
    return best_partners(overlap)


@dataclass(eq=False, repr=False, kw_only=True)
class ClusterBERT(TunedClusterer):
    """Adapt the encoder to the texts, train it on the clusters of k-means, then sharpen them.

    Parameters
    ----------
    adapt_epochs : int, default=2
        Stage 1: reconstruction alone.
    batch_size : int, default=8
    cluster_weight : float, default=0.8
        Stage 2: weight of the cluster term; the reconstruction has the rest.
    deletion : float, default=0.6
        Share of words that the noise deletes.
    harden_epochs : int, default=2
        Stage 3, with new targets at the start of each epoch.
    harden_weight : float, default=0.75
        Stage 3: weight of the cluster term.
    head_lr : float, default=2e-5
        Learning rate of the head and of the decoder's own weights.
    head_start : {"kmeans", "random"}, default="kmeans"
        The head begins with the classes of k-means, or at random.
    labels_from : {"kmeans", "head"}, default="kmeans"
        Final labels by k-means on the trained vectors, as in the paper, or by the head.
    lr : float, default=2e-5
        Learning rate of the encoder, and so of the layers that the decoder shares with it.
    max_length : int, default=64
    normalize : bool, default=False
        The paper takes the encoder's vectors as they are.
    reconstruction : bool, default=True
        False trains stages 2 and 3 on the cluster term alone (Figure 4).
    record_stages : bool, default=False
        Fill ``stages_``: one k-means, silhouette and Dunn index per stage (Figure 3).
    reinit_head : bool, default=False
        Start the head anew in every round instead of aligning the new clusters with the old ones.
    round_epochs : int, default=2
        Epochs of each round of stage 2.
    rounds : int, default=2
        Stage 2: how often k-means gives new labels; 0 with ``harden_epochs=0`` is TSDAE.
    tol : float, default=0.001
        End stage 3 when a smaller share of the head's labels changed in an epoch.

    Attributes
    ----------
    stages_ : list of dict
        ``stage`` ("start", "adapt", "cluster-1", ..., "harden"), ``silhouette``, ``dunn`` and the
        k-means ``labels`` of all samples after it; empty unless ``record_stages``.

    Notes
    -----
    From the paper: rates, batch size, epochs, both weights. It chose rounds in {1, 2} and their
    epochs in {2, 4} with labels; here both are 2. From TSDAE: deletion ratio, shared layers.
    The paper's encoder is roberta-base, further trained on Wikipedia, with the vector of the first
    token: ``pooling="cls"``. Sentence encoders such as the default one were trained with mean
    pooling, which ``pooling="auto"`` keeps. Preset "paper" names roberta-base; "fast" has batches
    of 64, rates times ``sqrt(8)``; "tsdae" is stage 1 alone. Ours, where the paper is silent:
    length, start of the head, alignment of rounds, clipping at norm 1, Adam's moments kept over the
    stages, ``tol``.
    Deviations: Q is the target in Eq. (3), whose arguments are printed the other way round; stage 2
    re-clusters per round, as the appendix has it, not per epoch as algorithm 1 does; words are what
    white space separates, TSDAE has a word tokenizer; attention to one vector has no queries and
    keys, which cannot matter. Encoders without tokens get a linear decoder over their rows.

    References
    ----------
    .. [1] Anonymous (2022). ClusterBERT: Multi-Stage Fine-Tuning of Transformers for Deep Text
       Clustering. Under review.
    .. [2] Wang, Reimers, Gurevych (2021). TSDAE. Findings of EMNLP.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    >>> model = ClusterBERT(2, encoder="tfidf", random_state=0).fit(texts)
    >>> model.predict(["a car", "an apple"])
    array([1, 0])
    """

    name: ClassVar[str] = "cluster-bert"
    _kmeans_on_vectors: ClassVar[bool] = True
    _needs_tokens: ClassVar[bool] = True
    _saved_attributes: ClassVar[tuple[str, ...]] = ("stages_",)
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"encoder": "roberta-base", "pooling": "cls"},
        "fast": {"batch_size": 64, "lr": 2e-5 * math.sqrt(8), "head_lr": 2e-5 * math.sqrt(8)},
        "tsdae": {"rounds": 0, "harden_epochs": 0, "lr": 3e-5, "head_lr": 3e-5, "pooling": "cls"},
    }

    adapt_epochs: NonNegativeInt = 2
    batch_size: PositiveInt = 8
    cluster_weight: PositiveShare = 0.8
    deletion: Share = 0.6
    harden_epochs: NonNegativeInt = 2
    harden_weight: PositiveShare = 0.75
    head_lr: NonNegativeFloat = 2e-5
    head_start: Literal["kmeans", "random"] = "kmeans"
    labels_from: Literal["kmeans", "head"] = "kmeans"
    lr: NonNegativeFloat = 2e-5
    max_length: Length = 64
    normalize: bool | None = False
    reconstruction: bool = True
    record_stages: bool = False
    reinit_head: bool = False
    round_epochs: PositiveInt = 2
    rounds: NonNegativeInt = 2
    tol: NonNegativeFloat = 0.001

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.rounds == 0 and (self.harden_epochs > 0 or self.labels_from == "head"):
            raise UsageError(
                "`rounds=0` trains no head: use `rounds=1` or more, or `harden_epochs=0` and "
                "`labels_from='kmeans'`."
            )

    def _make_encoder(self, seed: int) -> Encoder:
        encoder = super()._make_encoder(seed)
        know_words(encoder)
        return encoder

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> ClusterBERTNet:
        names = ["start", *(stage.name for stage in self._training_stages(context))]
        assert context.rows is not None
        record = StageRecord(names if self.record_stages else [], context.rows)
        return ClusterBERTNet(encoder, context.n, self._k, record)

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        plan = [("adapt", self.adapt_epochs, 0.0)] if self.adapt_epochs else []
        second, third = self.cluster_weight, self.harden_weight
        if not self.reconstruction:
            second = third = 1.0
        plan += [(f"cluster-{r + 1}", self.round_epochs, second) for r in range(self.rounds)]
        plan += [("harden", self.harden_epochs, third)] if self.harden_epochs else []
        before = ["start", *(name for name, _, _ in plan)]
        return [self._stage(*stage, before[i], context) for i, stage in enumerate(plan)]

    def _final_assigner(self, net: Any, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        net.trained = vectors
        if self.labels_from == "kmeans":
            return self._initial_assigner(vectors, weights, seed)
        head = (p.detach().cpu().numpy() for p in (net.head.weight, net.head.bias))
        return LinearAssigner(*head)

    def _after_fit(self, order: Ints) -> None:
        net = self.net_
        forget_words(self.encoder_)
        self.stages_ = []
        if net is None or not self.record_stages:
            return
        if net.trained is not None:  # training did not break down
            vectors = net.trained[net.record.rows]
            labels = self._kmeans(vectors, derive_seed(self.seed_, "look"))[1]
            net.record.take(net.record.names[-1], vectors, labels)
        self.stages_ = net.record.to_list(self.rows_)

    def _stage(
        self, name: str, epochs: int, weight: float, before: str, context: TrainingContext
    ) -> Stage:
        parts = ["decoder"] * (weight < 1) + ["head"] * (weight > 0)
        last = name == "harden"
        setup = partial(self._set_up, name=name, before=before, seed=context.seed)
        return Stage(
            name=name,
            steps=steps_for(epochs, context.n, self.batch_size),
            loss=self._loss(weight, soft=last),
            lr={"encoder": self.lr, **dict.fromkeys(parts, self.head_lr)},
            setup=setup if weight > 0 or self.record_stages else None,
            refresh=harden if last else None,
            labels=(lambda net, vectors: net.head(vectors).argmax(dim=1)) if last else None,
            refresh_every=steps_for(1, context.n, self.batch_size) if last else 0,
            stop_below=self.tol,
            clip=CLIP,
            continues=True,
        )

    def _loss(self, weight: float, *, soft: bool) -> Callable[[ClusterBERTNet, Batch], Terms]:
        """Eq. (4), with ``weight`` as lambda; one pass of the noisy texts serves both terms."""

        def loss(net: ClusterBERTNet, batch: Batch) -> Terms:
            noisy = add_noise(net.encoder, batch.features, self.deletion)
            z = net.encoder(noisy)
            terms: Terms = {}
            if weight < 1:
                term = reconstruction_loss(net.encoder, net.decoder, batch.features, z)
                terms["reconstruction"] = (1 - weight) * term
            if weight > 0:
                terms["cluster"] = weight * cluster_term(net, z, batch.index, soft=soft)
            return terms

        return loss

    def _set_up(
        self, net: ClusterBERTNet, vectors: Tensor, name: str, before: str, seed: int
    ) -> None:
        """Record the corpus and make the targets of the stage ``name``."""
        if name == "harden":
            harden(net, vectors)
        rounds = name.startswith("cluster")
        if not rounds and not self.record_stages:
            return
        points = vectors.cpu().numpy()
        assigner, labels = self._kmeans(points, derive_seed(seed, name))
        net.record.take(before, points, labels)
        if not rounds:
            return
        if name != "cluster-1":
            numbers = align(labels, net.labels.cpu().numpy(), self._k)
            assigner, labels = assigner.reordered(np.argsort(numbers)), numbers[labels]
        net.labels.copy_(torch.from_numpy(labels))
        if name != "cluster-1" and not self.reinit_head:
            return
        if self.head_start == "random":
            net.head.reset_parameters()
        else:
            some = points[:: -(-len(points) // MEASURED)]
            put_centers(net.head, assigner.centers, assigner.calibrated(some, CONFIDENCE).scale)

    def _kmeans(self, vectors: Floats, seed: int) -> tuple[CenterAssigner, Ints]:
        assigner = kmeans_assigner(self, vectors, np.ones(len(vectors), dtype=np.float32), seed)
        return assigner, assigner.logits(vectors).argmax(axis=1)
