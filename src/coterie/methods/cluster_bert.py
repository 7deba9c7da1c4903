"""ClusterBERT: multi-stage fine-tuning of transformers for text clustering (2022, under review).

Reading order: the network, the cluster term and its targets, the estimator with its stages. The
denoising autoencoder is that of TSDAE (Wang et al., 2021) and lies in ``base/denoising.py``, on top
of ``blocks/noise.py`` and ``blocks/token_decoder.py``. Equation numbers are ClusterBERT's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._errors import UsageError, param
from coterie._random import derive_seed
from coterie._types import Floats, Ints, Terms
from coterie._validation import check_choice, check_integer, check_number
from coterie.base import TrainingContext, TunedClusterer, denoising, kmeans_assigner
from coterie.base.looks import Looks
from coterie.blocks.align import align
from coterie.blocks.assign import Assigner, CenterAssigner, LinearAssigner
from coterie.blocks.linear_head import put_centers, soft_cross_entropy
from coterie.blocks.student_t import log_frequency, log_target
from coterie.encoders import Encoder
from coterie.engine import Batch, Stage, steps_for

CLIP = 1.0  # largest gradient norm
FLOOR = 1e-6  # smallest cluster size in a target, as a share of the mean size
SURE = 0.5  # mean top probability of a head that starts from k-means
ROWS = 5000  # texts that this probability is measured on


class ClusterBERTNet(nn.Module):
    """An encoder, a decoder that writes the text again, and a linear head over the clusters."""

    labels: Tensor  # (n,), cluster of each text in the newest k-means
    log_q: Tensor  # (n, k), log targets of the hardening

    def __init__(self, encoder: Encoder, n: int, k: int, looks: Looks) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = denoising.make_decoder(encoder)
        self.head = nn.Linear(encoder.dim, k)
        self.looks = looks
        self.register_buffer("labels", torch.zeros(n, dtype=torch.long))
        self.register_buffer("log_q", torch.zeros(n, k))
        self.trained: Floats | None = None  # vectors of the distinct texts after training


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


@dataclass(eq=False, repr=False, kw_only=True)
class ClusterBERT(TunedClusterer):
    """Adapt the encoder to the texts, teach it k-means' clusters, then sharpen them.

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
    labels : {"kmeans", "head"}, default="kmeans"
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
    pooling, which ``pooling="auto"`` keeps. Preset "fast": batches of 64, rates times ``sqrt(8)``;
    "tsdae": stage 1 alone. Ours, where the paper is silent: length, start of the head, alignment
    of rounds, clipping at norm 1, Adam's moments kept over the stages, ``tol``.
    Deviations: Q is the target in Eq. (3), whose arguments are printed the other way round; stage 2
    re-clusters per round, as the appendix has it, not per epoch as algorithm 1 does; words are what
    white space separates, TSDAE has a word tokenizer; attention to one vector has no queries and
    keys, which cannot matter. Encoders without tokens get a linear decoder over their rows.

    References
    ----------
    .. [1] ClusterBERT: Multi-Stage Fine-Tuning of Transformers for Deep Text Clustering (2022).
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
    citation: ClassVar[str] = (
        "Anonymous (2022). ClusterBERT: Multi-Stage Fine-Tuning of Transformers for Deep Text "
        "Clustering. Under review."
    )
    _saved_attributes: ClassVar[tuple[str, ...]] = ("stages_",)
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {},
        "fast": {"batch_size": 64, "lr": 2e-5 * math.sqrt(8), "head_lr": 2e-5 * math.sqrt(8)},
        "tsdae": {"rounds": 0, "harden_epochs": 0, "lr": 3e-5, "head_lr": 3e-5, "pooling": "cls"},
    }

    adapt_epochs: int = 2
    batch_size: int = 8
    cluster_weight: float = 0.8
    deletion: float = 0.6
    harden_epochs: int = 2
    harden_weight: float = 0.75
    head_lr: float = 2e-5
    head_start: Literal["kmeans", "random"] = "kmeans"
    labels: Literal["kmeans", "head"] = "kmeans"
    lr: float = 2e-5
    max_length: int = 64
    normalize: bool | None = False
    reconstruction: bool = True
    record_stages: bool = False
    reinit_head: bool = False
    round_epochs: int = 2
    rounds: int = 2
    tol: float = 0.001

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("head_start", self.head_start, ["kmeans", "random"])
        check_choice("labels", self.labels, ["kmeans", "head"])
        for name in ("adapt_epochs", "harden_epochs", "rounds"):
            check_integer(name, getattr(self, name), 0)
        check_integer("round_epochs", self.round_epochs)
        for name in ("head_lr", "lr", "tol"):
            check_number(name, getattr(self, name))
        for name in ("cluster_weight", "harden_weight", "deletion"):
            check_number(name, getattr(self, name), above=name != "deletion")
            if getattr(self, name) > 1:
                raise UsageError(f"{name} should be at most 1, got {getattr(self, name)!r}.")
        if self.rounds == 0 and (self.harden_epochs > 0 or self.labels == "head"):
            raise UsageError(
                f"{param('rounds', 0)} trains no head: use {param('rounds', 1)} or more, or "
                f"{param('harden_epochs', 0)} and "
                f"{param('labels', 'kmeans')}."
            )

    def _make_encoder(self, seed: int) -> Encoder:
        encoder = super()._make_encoder(seed)
        denoising.know_words(encoder)
        return encoder

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> ClusterBERTNet:
        names = ["start", *(stage.name for stage in self._training_stages(context))]
        looks = Looks(names if self.record_stages else [], context.n)
        return ClusterBERTNet(encoder, context.n, self.n_clusters, looks)

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
        if self.labels == "kmeans":
            return self._initial_assigner(vectors, weights, seed)
        head = (p.detach().cpu().numpy() for p in (net.head.weight, net.head.bias))
        return LinearAssigner(*head)

    def _after_fit(self, net: Any, order: Ints) -> None:
        denoising.forget_words(self.encoder_)
        self.stages_ = []
        if net is None or not self.record_stages:
            return
        filled = self.rows_ >= 0
        if net.trained is not None:  # training did not break down
            vectors = net.trained[self.rows_[filled]]
            labels = self._kmeans(vectors, derive_seed(self.seed_, "look"))[1]
            net.looks.take(net.looks.names[-1], vectors, labels)
        self.stages_ = net.looks.to_list(filled)

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
            noisy = denoising.add_noise(net.encoder, batch.features, self.deletion)
            z = batch.apply(net.encoder, noisy)
            terms: Terms = {}
            if weight < 1:
                term = denoising.reconstruction_loss(net.encoder, net.decoder, batch.features, z)
                terms["reconstruction"] = (1 - weight) * term
            if weight > 0:
                terms["cluster"] = weight * cluster_term(net, z, batch.index, soft=soft)
            return terms

        return loss

    def _set_up(
        self, net: ClusterBERTNet, vectors: Tensor, name: str, before: str, seed: int
    ) -> None:
        """Look at the corpus and make the targets of the stage ``name``."""
        if name == "harden":
            harden(net, vectors)
        rounds = name.startswith("cluster")
        if not rounds and not self.record_stages:
            return
        points = vectors.cpu().numpy()
        assigner, labels = self._kmeans(points, derive_seed(seed, name))
        net.looks.take(before, points, labels)
        if not rounds:
            return
        if name != "cluster-1":
            numbers = align(labels, net.labels.cpu().numpy(), self.n_clusters)
            assigner, labels = assigner.reordered(np.argsort(numbers)), numbers[labels]
        net.labels.copy_(torch.from_numpy(labels))
        if name != "cluster-1" and not self.reinit_head:
            return
        if self.head_start == "random":
            net.head.reset_parameters()
        else:
            some = points[:: -(-len(points) // ROWS)]
            put_centers(net.head, assigner.centers, assigner.calibrated(some, SURE).scale)

    def _kmeans(self, vectors: Floats, seed: int) -> tuple[CenterAssigner, Ints]:
        assigner = kmeans_assigner(self, vectors, np.ones(len(vectors), dtype=np.float32), seed)
        return assigner, assigner.logits(vectors).argmax(axis=1)
