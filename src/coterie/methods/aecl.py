"""AECL: Attention-Enhanced Contrastive Learning for Short Text Clustering (Yao and Li).

Reading order: the network, the estimator with its three stages, their losses. Attention runs
between the texts of a batch; its weights say which other texts are positives, its outputs are
what the clustering head sees (``blocks/attention.py``, ``blocks/guided_contrast.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._types import Floats, Ints, Terms
from coterie._validation import check_fields
from coterie.base import TrainingContext, TunedClusterer, kmeans_assigner
from coterie.blocks import entropy
from coterie.blocks.assign import Assigner
from coterie.blocks.attention import (
    AttentionAssigner,
    AttentionHeads,
    same_cluster,
    stray_similarity,
)
from coterie.blocks.guided_contrast import Views, guided_contrast
from coterie.blocks.nt_xent import nt_xent
from coterie.engine import Batch, Stage, steps_for

CHOICES = {
    "attention": ["layer", "matrices"],
    "compat": ["none", "official"],
    "early_positives": ["head", "kmeans"],
    "form": ["row", "text"],
    "head": ["mlp", "linear"],
    "positives": ["shared", "all", "none"],
}


class AECLNet(nn.Module):
    """An encoder with the heads, and a label for every text for the second stage."""

    def __init__(self, encoder: Any, heads: AttentionHeads, n: int) -> None:
        super().__init__()
        self.encoder, self.heads = encoder, heads
        self.register_buffer("labels", torch.zeros(n, dtype=torch.long))
        self.labels: Tensor


@dataclass(eq=False, repr=False, kw_only=True)
class AECL(TunedClusterer):
    """Let the texts of a batch attend to each other; similar ones become each other's positives.

    Parameters
    ----------
    attention : {"layer", "matrices"}, default="layer"
        A transformer layer between texts, as released, or three matrices, Eq. (1)-(3).
    balance_weight : float, optional
        Weight of even clusters. Default: by the sizes of the start clusters, see Notes.
    batch_size : int, default=400
    cluster_temperature : float, default=1.0
        Of the contrast between clusters.
    compat : {"none", "official"}, default="none"
        "official" repeats four slips of the released code: ratios of all rows are added to those
        of all others, all pairs of a cluster are positives, similarities are taken after dropout,
        and the first stage lasts an epoch longer.
    contrast_epochs : int, optional
        Length of the first stage, 0 to leave it out. Default: 2 from 15,000 texts on, 10 from
        5,000 on, else 20; at most a third of all.
    contrast_weight : float, default=10.0
    early_positives : {"head", "kmeans"}, default="kmeans"
        Who says in the first stage which texts share a cluster: k-means at the start, or the
        untrained head, as released.
    entropy_weight : float, default=0.01
        Keeps single assignments from becoming sure too early; 0 leaves it out.
    epochs : int, default=70
        Of all three stages.
    form : {"row", "text"}, default="row"
        A logarithm for each row, or for each text as in Eq. (9).
    head : {"mlp", "linear"}, default="mlp"
        Three layers with dropout and a projector of two as released, or one each as printed.
    head_lr : float, default=5e-4
    label_epochs : int, optional
        Length of the second stage, 0 to leave it out. Default: 1 up to 50 clusters; with more,
        6 from 5,000 texts on, else 10; and at least two steps per cluster, up to half of all.
    label_weight : float, default=5.0
        Weight of the pseudo-labels; 0 leaves them out.
    lr : float, default=5e-6
        Learning rate of the encoder.
    max_length : int, default=32
    normalize : bool, default=False
    positives : {"shared", "all", "none"}, default="shared"
        Companions in the contrast: pairs of a projection and a shared representation, Eq. (7); all
        pairs, as released; or none.
    references : int, default=5
        Sets of training texts, each a batch less one, that prediction looks at.
    spherical : bool, default=True
        K-means by direction: vectors are taken to unit length for it.
    temperature : float, default=0.5
        Of the contrast between texts.
    threshold : float, default=0.95
        Least probability of a pseudo-label in the third stage.
    views : "virtual", kind, file or sequence of lists, default="virtual"
        One augmentation of each text ("eda", or column ``text1``), or another dropout mask.

    Notes
    -----
    Rates, batch size, length, weights, threshold and epochs are those of the paper; temperatures,
    layers and heads those of the released code, which has the stated number of parameters and the
    usual temperatures (the paper's are most likely swapped). The default balance weight is the
    paper's for balanced sets (10) if the largest start cluster has less than 3 times the texts of
    the smallest, that for skewed ones (0.18) up to 20 times, else 0.09. Signs of both entropy
    terms are those of the code; as printed they would collapse the clusters.
    Deviations: labels come from attention to fixed sets of training texts instead of the batch
    mates (:meth:`predict_in_batches` has the paper's way); k-means has ten starts and looks at
    directions, as the default encoder is meant to be used; it names the first positives, as those
    of a random head are arbitrary (presets: the paper's way); stage 2 has two steps per cluster.

    References
    ----------
    .. [1] Yao and Li. Attention-Enhanced Contrastive Learning for Short Text Clustering.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    >>> model = AECL(2, encoder="tfidf", epochs=4, random_state=0).fit(texts)
    >>> model.predict(["a car", "an apple"])
    array([1, 0])
    """

    name: ClassVar[str] = "aecl"
    citation: ClassVar[str] = (
        "Yao, Li. Discriminative Representation learning via Attention-Enhanced Contrastive "
        "Learning for Short Text Clustering."
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "attention": "matrices",
            "head": "linear",
            "form": "text",
            "temperature": 1.0,
            "cluster_temperature": 0.5,
            "early_positives": "head",
            "spherical": False,
        },
        "official-code": {"compat": "official", "early_positives": "head", "spherical": False},
    }
    _assigners: ClassVar[dict[str, type[Any]]] = {AttentionAssigner.kind: AttentionAssigner}
    _saved_attributes: ClassVar[tuple[str, ...]] = ("balance_",)
    wordings: ClassVar[int] = 1  # views that are made of each text where a kind is named

    attention: Literal["layer", "matrices"] = "layer"
    balance_weight: float | None = None
    batch_size: int = 400
    cluster_temperature: float = 1.0
    compat: Literal["none", "official"] = "none"
    contrast_epochs: int | None = None
    contrast_weight: float = 10.0
    early_positives: Literal["head", "kmeans"] = "kmeans"
    entropy_weight: float = 0.01
    epochs: int = 70
    form: Literal["row", "text"] = "row"
    head: Literal["mlp", "linear"] = "mlp"
    head_lr: float = 5e-4
    label_epochs: int | None = None
    label_weight: float = 5.0
    lr: float = 5e-6
    max_length: int = 32
    normalize: bool | None = False
    positives: Literal["shared", "all", "none"] = "shared"
    references: int = 5
    spherical: bool = True
    temperature: float = 0.5
    threshold: float = 0.95
    views: Any = "virtual"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fields(
            self,
            choices=CHOICES,
            integers={"references": 1, "epochs": 0, "contrast_epochs": 0, "label_epochs": 0},
            above=("cluster_temperature", "temperature", "threshold"),
            least="balance_weight contrast_weight entropy_weight head_lr label_weight lr".split(),
        )

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        return kmeans_assigner(self, vectors, weights, seed, spherical=self.spherical)

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> AECLNet:
        heads = AttentionHeads(encoder.dim, self.n_clusters, self.attention, self.head)
        return AECLNet(encoder, heads, context.n)

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        weight = self.balance_weight
        self.balance_ = entropy.balance_for(context.sizes) if weight is None else weight
        first, second = self._lengths(context.n)
        early = self.early_positives == "kmeans"
        plan = [
            self._stage("contrast", first, self._contrast_loss, context, label=early),
            self._stage("labels", second, self._label_loss, context, label=True),
            self._stage("cluster", self.epochs - first - second, self._cluster_loss, context),
        ]
        return [stage for stage in plan if stage.steps > 0]

    def _stage(
        self, name: str, epochs: int, loss: Any, context: TrainingContext, *, label: bool = False
    ) -> Stage:
        heads = ["heads.project", "heads.attend"] + ["heads.classify"] * (name != "contrast")

        def setup(net: AECLNet, vectors: Tensor) -> None:
            assigner = self._initial_assigner(
                vectors.cpu().numpy(), np.ones(context.n, np.float32), context.seed
            )
            labels = assigner.logits(vectors.cpu().numpy()).argmax(axis=1)
            net.labels.copy_(torch.from_numpy(labels))

        return Stage(
            name=name,
            steps=steps_for(max(0, min(epochs, self.epochs)), context.n, self.batch_size),
            loss=loss,
            lr={"encoder": self.lr, **dict.fromkeys(heads, self.head_lr)},
            views=(0, 1) if context.n_views > 1 else (0, 0),
            setup=setup if label else None,
            continues=True,
        )

    def _final_assigner(self, net: Any, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        return AttentionAssigner.make(
            net.heads, vectors, self.batch_size - 1, self.references, seed
        )

    def remarks(self) -> list[str]:
        chosen = "as asked" if self.balance_weight is not None else "by the sizes at the start"
        return [f"Even sizes of clusters had the weight {self.balance_:g} ({chosen})."]

    def predict_in_batches(self, X: Any, rounds: int = 5) -> Ints:
        """Labels as in the paper: texts attend to the others of their batch.

        The probabilities of ``rounds`` random orders are averaged; one is what the paper does.
        """
        if not isinstance(self.assigner_, AttentionAssigner):
            return self.predict(X)
        inputs, distinct = self._encoded(X)
        vectors, filled = np.asarray(inputs.spread(distinct, 0.0)), inputs.filled
        p = self.assigner_.in_batches(vectors[filled], self.batch_size, rounds, self.seed_)
        labels = np.full(len(vectors), -1, dtype=np.int64)
        labels[filled] = p.argmax(axis=1)
        return labels

    def _lengths(self, n: int) -> tuple[int, int]:
        """Epochs of the first and the second stage, as in section 4.2 of the paper."""
        first, second = self.contrast_epochs, self.label_epochs
        if first is None:
            first = min(2 if n >= 15_000 else 10 if n >= 5_000 else 20, self.epochs // 3)
        if second is None:
            second = 1 if self.n_clusters <= 50 else 6 if n >= 5_000 else 10
            enough = -(-2 * self.n_clusters // steps_for(1, n, self.batch_size))
            second = min(max(second, enough), self.epochs // 2)
        more = self.compat == "official" and first > 0
        return first + more, second

    def _contrast_loss(self, net: AECLNet, batch: Batch) -> Terms:
        return self._contrast(net, batch, early=True)[0]

    def _label_loss(self, net: AECLNet, batch: Batch) -> Terms:
        terms, _, log_p1 = self._contrast(net, batch)
        nll = F.nll_loss(log_p1, net.labels[batch.index])
        return {**terms, "labels": self.label_weight * nll}

    def _cluster_loss(self, net: AECLNet, batch: Batch) -> Terms:
        terms, log_p0, log_p1 = self._contrast(net, batch)
        c0, c1 = (entropy.without_empty(p.exp().T) for p in (log_p0, log_p1))  # (k, n) each
        terms["cluster"] = nt_xent(
            c0,
            c1,
            self.cluster_temperature,
            positive_in_denominator=self.form == "row" or self.compat == "official",
        )
        terms["labels"] = self.label_weight * entropy.trusted_nll(log_p1, log_p0, self.threshold)
        terms["entropy"] = self.entropy_weight * entropy.negative_entropy(log_p0)
        terms["balance"] = self.balance_ * (entropy.imbalance(log_p0) + entropy.imbalance(log_p1))
        return terms

    def _contrast(
        self, net: AECLNet, batch: Batch, *, early: bool = False
    ) -> tuple[Terms, Tensor, Tensor]:
        """The guided contrast, and the log probabilities of both views."""
        z = net.heads.project(torch.stack(batch.encode(net.encoder)))  # (2, n, d), both views
        h, s, dropped = net.heads.attend(z)
        log_p0, log_p1 = net.heads.log_p(h)
        official = self.compat == "official"
        companions = same_cluster(log_p0)
        if early and self.early_positives == "kmeans":
            labels = net.labels[batch.index]
            companions = labels[:, None] == labels[None, :]
        term = guided_contrast(
            Views(z, h, dropped if official else s),
            companions,
            self.temperature,
            positives="all" if official else self.positives,
            form="broadcast" if official else self.form,
        )
        stray = stray_similarity(s[0].detach(), log_p0.detach().argmax(dim=1))
        return {"contrast": self.contrast_weight * term, "~stray": stray}, log_p0, log_p1
