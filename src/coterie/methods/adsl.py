"""ADSL: document-level attention based on dynamic soft labels (Chen et al., Interspeech 2020).

An autoencoder over TF-IDF and agglomerative clustering of its codes give soft labels. A network
over word vectors learns them, each document with a weight, and corrects them every few epochs::

    y_ij ~ (1 / s_ij)^a,  s_ij = |h_i - c_j|^2                             Eq. (1)-(3)
    y    = norm(y_ori + delta^((T - t) / period) p),  p from the network   Eq. (4)-(5)
    L    = sum_i beta_i CE(y_i, p_i)                                       Eq. (7)-(9)
    beta_i = v_i^2 / sum of v^2 over its cluster                           Eq. (10)

The network over words is :class:`coterie.encoders.WordEncoder`, Eq. (6). Functions of tensors are
over the whole corpus: ``n`` documents, ``k`` clusters.

Reading order: networks, labels, weights and losses, estimator. Deviations are in the notes of
:class:`ADSL`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._errors import UsageError
from coterie._types import Floats, Terms
from coterie._validation import check_fields, check_integer, check_number
from coterie.base import TextClusterer, TrainingContext
from coterie.blocks.assign import Assigner, NeighborAssigner
from coterie.blocks.layers import mlp
from coterie.blocks.linkage import agglomerate, memory_needed
from coterie.encoders import Encoder, OneWordEncoder, WordEncoder
from coterie.engine import Batch, Stage, steps_for

Norm = Literal["softmax", "sum"]
log = logging.getLogger(__name__)
Variant = Literal["one", "soft", "dynamic", "attention"]


class AutoencoderNet(nn.Module):
    """The encoder in its face "code", and the way back to the rows."""

    def __init__(self, encoder: Any, layers: Sequence[int]) -> None:
        super().__init__()
        encoder.make_coder(*layers)
        self.encoder = encoder
        self.decoder = mlp(*reversed(layers), encoder.width)


class ADSLNet(nn.Module):
    """The network over words with its output layer, and the labels and weights of all texts.

    ``labels`` of shape (n, k) are those of the start, ``y_ori``; ``attend`` tells whether texts
    are weighted, Eq. (9)-(10), or all count the same.
    """

    original: Tensor
    target: Tensor
    v: Tensor
    weight: Tensor
    losses: Tensor
    epoch: Tensor

    def __init__(self, encoder: Encoder, labels: Tensor, dropout: float, *, attend: bool) -> None:
        super().__init__()
        n, k = labels.shape
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(encoder.dim, k)
        self.attend = attend
        for name in ("original", "target"):
            self.register_buffer(name, labels.clone())
        for name in ("v", "weight", "losses"):  # the losses are those when last seen
            self.register_buffer(name, torch.ones(n))
        self.register_buffer("epoch", torch.zeros(()))
        self.weigh()

    def weigh(self) -> None:
        """Weights from ``v``, Eq. (10), times n / k: one on average if clusters are equal."""
        if self.attend:
            n, k = self.target.shape
            self.weight.copy_(n / k * attention(self.v, self.target.argmax(dim=1), k))


def center_distances(vectors: Tensor, labels: Tensor, weights: Tensor, n_clusters: int) -> Tensor:
    """Squared distances to the means of the clusters, Eq. (1), of shape (n, k).

    Parameters
    ----------
    vectors : Tensor of shape (n, d)
    labels : Tensor of shape (n,)
        Every cluster has a member.
    weights : Tensor of shape (n,)
        How often each row counts in the mean.
    n_clusters : int
    """
    sums = vectors.new_zeros(n_clusters, vectors.shape[1])
    sums.index_add_(0, labels, vectors * weights[:, None])
    centers = sums / cluster_sums(weights, labels, n_clusters)[:, None]
    # One center at a time: the difference itself, since a product form loses small distances.
    return torch.stack([(vectors - center).square().sum(dim=1) for center in centers], dim=1)


def soft_labels(distances: Tensor, sharpness: float, eps: float = 1e-12) -> Tensor:
    """Soft labels of squared distances, Eq. (2)-(3): ``(1 / s) ** sharpness``, rows sum to one.

    The smallest distance of a row, which Eq. (2) divides by, cancels; logs keep the tenth power
    in range. A document that is a center itself (distance zero) gets a one.

    Parameters
    ----------
    distances : Tensor of shape (n, k)
    sharpness : float
        0 is uniform; large values are one-hot.
    eps : float, default=1e-12
        Keeps the log of zero away.
    """
    return F.softmax(-sharpness * (distances + eps).log(), dim=1)


def refresh_share(epoch: Tensor, epochs: int, period: int, decay: float) -> Tensor:
    """Weight of the posterior in Eq. (4): ``decay ** ((epochs - epoch) / period)``."""
    return decay ** ((epochs - epoch) / period)


def refreshed(original: Tensor, posterior: Tensor, share: Tensor | float, norm: Norm) -> Tensor:
    """Labels after an update, Eq. (4)-(5): ``original + share * posterior``, normalised.

    Parameters
    ----------
    original, posterior : Tensor of shape (n, k)
    share : Tensor or float
        Weight of the posterior.
    norm : {"softmax", "sum"}
        "softmax" is Eq. (5) as printed and very flat; "sum" divides by ``1 + share``.
    """
    mixed = original + share * posterior
    return F.softmax(mixed, dim=1) if norm == "softmax" else mixed / (1 + share)


def cluster_sums(values: Tensor, groups: Tensor, n_clusters: int) -> Tensor:
    """Sum of the values of each cluster, shape (k,)."""
    return values.new_zeros(n_clusters).index_add_(0, groups, values)


def attention(v: Tensor, groups: Tensor, n_clusters: int) -> Tensor:
    """Weight of each document in its cluster, Eq. (10); the weights of a cluster sum to one.

    Parameters
    ----------
    v : Tensor of shape (n,)
    groups : Tensor of shape (n,)
        Cluster of each document.
    n_clusters : int
    """
    return v.square() / cluster_sums(v.square(), groups, n_clusters)[groups]


def attention_gradient(v: Tensor, loss: Tensor, groups: Tensor, n_clusters: int) -> Tensor:
    """Gradient of the sum of ``attention * loss`` in ``v``: worse than the cluster's mean is > 0.

    Equal to ``2 v / S * (loss - mean)`` with ``S`` the sum of ``v ** 2`` and ``mean`` the weighted
    mean loss of the cluster.
    """
    squares = cluster_sums(v.square(), groups, n_clusters)
    mean = cluster_sums(attention(v, groups, n_clusters) * loss, groups, n_clusters)
    return 2 * v / squares[groups] * (loss - mean[groups])


def attention_step(v: Tensor, loss: Tensor, groups: Tensor, n_clusters: int, lr: float) -> Tensor:
    """What to take off ``v`` after an epoch: ``lr * size / 2`` times the gradient.

    The gradient of a document falls with the size of its cluster, so the step grows with it: with
    equal ``v`` it is ``lr`` times the distance of its loss from the cluster's mean.
    """
    size = cluster_sums(torch.ones_like(v), groups, n_clusters)[groups]
    return lr * size / 2 * attention_gradient(v, loss, groups, n_clusters)


def soft_cross_entropy(log_p: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of each document with its soft label, Eq. (8), shape (n,)."""
    return -(target * log_p).sum(dim=1)


def reconstruction(net: AutoencoderNet, batch: Batch) -> Terms:
    """Squared error of the autoencoder."""
    rows = batch.features["rows"]
    code = net.encoder.coder(rows)  # not of unit length, whatever is clustered later
    return {"reconstruction": F.mse_loss(net.decoder(code), rows)}


def label_term(net: ADSLNet, batch: Batch) -> Terms:
    """Weighted cross-entropy with the soft labels, Eq. (7)-(9)."""
    (h,) = batch.encode(net.encoder)
    log_p = F.log_softmax(net.head(net.dropout(h)), dim=1)
    losses = soft_cross_entropy(log_p, net.target[batch.index])
    net.losses[batch.index] = losses.detach()
    return {"labels": (net.weight[batch.index] * losses).mean()}


@dataclass(eq=False, repr=False, kw_only=True)
class ADSL(TextClusterer):
    """Train a network over words on soft labels that it corrects itself.

    Parameters
    ----------
    ae_layers : tuple of int, default=(500, 2000, 200)
        Widths of the autoencoder between the stems and the code; the last is the code's.
    ae_lr : float, default=5e-5
        Learning rate of the autoencoder.
    ae_steps : int, default=1500
        Training batches of the autoencoder.
    attention_lr : float, default=0.5
        Step of the weights of texts after each epoch.
    attention_min : float, default=0.05
        Least value of the number whose square is a text's weight.
    batch_size : int, default=64
    decay : float, default=0.85
        The posterior's share in the labels shrinks by this for each refresh that is still to come.
    dense_input : bool, default=False
        Let the later layers of the network see the word vectors, too.
    dropout : float, default=0.5
        Before the output layer.
    encoder : {"words", "precomputed"}, default="words"
        Texts as words, or rows of numbers, each read as a text of one word.
    epochs : int, default=30
        Passes over the texts of the network; 0 returns the clustering of the codes.
    label_norm : {"softmax", "sum"}, default="sum"
        How refreshed labels come to sum to one: Eq. (5), or divided by their sum.
    lr : float, default=1e-3
        Learning rate of the network, word vectors and output layer included.
    max_features : int, default=3000
        Stems that the autoencoder sees.
    max_length : int, default=400
        Words that the network reads of each text.
    normalize : bool, default=True
        Cluster codes of unit length.
    refresh_epochs : int, default=6
        Epochs between two refreshes of the labels.
    sharpness : float, default=10.0
        Power of the inverse distance in the soft labels.
    variant : {"one", "soft", "dynamic", "attention"}, default="attention"
        Train on one-hot labels, on soft ones, on soft ones that are refreshed, or on these with
        weights: NN+one, NN+SL, NN+DSL and NN+ADSL of the paper.
    word_vectors : {"auto", "skipgram", "ppmi"} or file, default="auto"
        Learned from the texts, or read from a file with a word and its numbers on each line.

    Notes
    -----
    From the paper, section 3.3: stems, layers, windows, batch size, ``lr``, ``sharpness``,
    ``decay``, ``refresh_epochs``, and ``ae_lr`` for titles ("paper-long": for long documents). It
    gives no epochs, linkage, dropout or length; these are ours. ``ae_steps`` is where the clusters
    agree most with neighbours by TF-IDF (``benchmarks/autoencoder_steps.py`` reads no labels).
    Deviations, undone by the preset "paper": codes of unit length, since their length tells how
    many known words a text has; labels divided by their sum: Eq. (5) makes them nearly flat.
    Kept by the preset: labels are normalised when they are refreshed, not in every epoch; the
    first layer sees the word vectors, which Eq. (6) leaves out; weights take a plain gradient
    step after each epoch over whole clusters, not one of Adam on a batch; word vectors are learned
    from the texts unless a file is given; rows are scaled.

    References
    ----------
    .. [1] Chen et al. (2020). Neural Text Clustering with Document-level Attention. Interspeech.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    >>> ADSL(2, ae_steps=20, epochs=5, random_state=0).fit_predict(texts)
    array([0, 0, 0, 1, 1])
    """

    name: ClassVar[str] = "adsl"
    citation: ClassVar[str] = (
        "Chen, Guo, Dai, Ling, Du (2020). Neural Text Clustering with Document-level Attention "
        "based on Dynamic Soft Labels. Interspeech."
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"label_norm": "softmax", "normalize": False},
        "paper-long": {"ae_lr": 5e-4, "label_norm": "softmax", "normalize": False},
    }

    ae_layers: Sequence[int] = (500, 2000, 200)
    ae_lr: float = 5e-5
    ae_steps: int = 1500
    attention_lr: float = 0.5
    attention_min: float = 0.05
    batch_size: int = 64
    decay: float = 0.85
    dense_input: bool = False
    dropout: float = 0.5
    encoder: Any = "words"
    epochs: int = 30
    label_norm: Norm = "sum"
    lr: float = 1e-3
    max_features: int = 3000
    max_length: int = 400
    normalize: bool | None = True
    refresh_epochs: int = 6
    sharpness: float = 10.0
    variant: Variant = "attention"
    word_vectors: Any = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fields(
            self,
            choices={
                "encoder": ["words", "precomputed"],
                "label_norm": ["softmax", "sum"],
                "variant": ["one", "soft", "dynamic", "attention"],
            },
            integers={"ae_steps": 0, "epochs": 0, "max_features": 1, "refresh_epochs": 1},
            above=["attention_min", "decay"],
            least=["ae_lr", "attention_lr", "lr", "sharpness"],
        )
        if isinstance(self.ae_layers, str) or not isinstance(self.ae_layers, Sequence):
            raise UsageError(f"ae_layers should be a list of widths, got {self.ae_layers!r}.")
        for width in self.ae_layers or [0]:
            check_integer("each of ae_layers", width)
        if check_number("dropout", self.dropout) >= 1:
            raise UsageError(f"dropout should be below 1, got {self.dropout!r}.")

    def _make_encoder(self, seed: int) -> Encoder:
        kind = OneWordEncoder if self.encoder == "precomputed" else WordEncoder
        return kind(
            max_features=self.max_features,
            max_length=self.max_length,
            word_vectors=self.word_vectors,
            dense_input=self.dense_input,
            normalize=bool(self.normalize),
            seed=seed,
        )

    def _pretraining_stages(self, context: TrainingContext) -> list[Stage]:
        rates = {"encoder": self.ae_lr, "decoder": self.ae_lr}
        return [Stage(name="autoencoder", steps=self.ae_steps, loss=reconstruction, lr=rates)]

    def _build_pretraining_network(self, encoder: Any, context: TrainingContext) -> AutoencoderNet:
        return AutoencoderNet(encoder, self.ae_layers)

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        n, d = vectors.shape
        log.info("linkage of %d texts takes about %d MB", n, memory_needed(n, d) >> 20)
        return NeighborAssigner(vectors, agglomerate(vectors, self.n_clusters, "ward", weights))

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> ADSLNet:
        assert context.rows is not None
        labels = torch.from_numpy(start.labels)
        if self.variant == "one":
            soft = F.one_hot(labels, self.n_clusters).float()
        else:
            weights = torch.from_numpy(np.bincount(context.rows).astype(np.float32))
            distances = center_distances(
                torch.from_numpy(start.vectors), labels, weights, self.n_clusters
            )
            soft = soft_labels(distances, self.sharpness)
        rows = torch.from_numpy(context.rows)
        return ADSLNet(encoder, soft[rows], self.dropout, attend=self.variant == "attention")

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        if self.epochs == 0:
            return []
        period = 0
        if self.variant in ("dynamic", "attention"):
            period = steps_for(self.refresh_epochs, context.n, self.batch_size)
        return [
            Stage(
                name=self.variant,
                steps=steps_for(self.epochs, context.n, self.batch_size),
                loss=label_term,
                lr={"encoder": self.lr, "head": self.lr},
                refresh=self._refresh,
                labels=lambda net, vectors: net.target.argmax(dim=1),
                refresh_every=period,
                after_epoch=self._after_epoch,
            )
        ]

    def _after_epoch(self, net: ADSLNet, epoch: int) -> None:
        net.epoch.fill_(epoch)
        if net.attend:
            groups, k = net.target.argmax(dim=1), self.n_clusters
            step = attention_step(net.v, net.losses, groups, k, self.attention_lr)
            net.v.sub_(step).clamp_(min=self.attention_min)
            net.weigh()

    def _refresh(self, net: ADSLNet, vectors: Tensor) -> None:
        """New labels from the posteriors of all texts, Eq. (4)-(5); all weights start anew."""
        if net.epoch >= self.epochs:
            return  # nothing is trained on them any more
        share = refresh_share(net.epoch, self.epochs, self.refresh_epochs, self.decay)
        posterior = F.softmax(net.head(vectors), dim=1)
        net.target.copy_(refreshed(net.original, posterior, share, self.label_norm))
        net.v.fill_(1)
        net.weigh()
