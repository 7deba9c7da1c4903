"""SCCL: Supporting Clustering with Contrastive Learning (Zhang et al., NAACL 2021).

The objective over a batch of ``n`` texts, each with two views, Eq. (7)::

    L = L_Cluster + eta L_Instance

    L_Instance  NT-Xent of the projected views: the two views of a text are positives, the
                2n - 2 views of the other texts negatives                  Eq. (1)-(2)
    L_Cluster   mean KL(p || q) of the Student-t assignment q of the text
                to its sharpened target p ~ q^2 / f                        Eq. (3)-(6)

Reading order: network, losses, estimator. NT-Xent and the Student-t assignment are shared with
other methods and stand in ``blocks/``. Deviations from the paper and from the authors' code are in
the notes of :class:`SCCL`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from coterie._util.types import Floats, Terms
from coterie._util.validation import (
    Length,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)
from coterie.arrays.assign import Assigner, StudentTAssigner
from coterie.encoders import Encoder
from coterie.methods.losses.layers import mlp
from coterie.methods.losses.nt_xent import nt_xent
from coterie.methods.losses.student_t import StudentTHead, kl_to_target, log_frequency, log_target
from coterie.methods.train import Batch, Stage, TrainingContext, TunedClusterer, usual_steps
from coterie.models.core import kmeans_assigner

Objective = Literal["joint", "instance", "clustering", "sequential"]
ClusteringLoss = Literal["original", "crossed", "to-views"]
Frequency = Literal["batch", "running", "corpus"]
# The encoder and the views of the paper; the weights of the three models are fetched by the user.
PAPER = {
    "encoder": "distilbert-base-nli-stsb-mean-tokens",
    "mask_duplicates": False,
    "views": ("contextual@0.1:roberta-base", "contextual@0.1:bert-base-uncased"),
}
MOMENTUM = 0.95  # of the running frequency; at batch size 400 a memory of 8,000 texts


class SCCLNet(nn.Module):
    """An encoder with two heads: ``project`` for instances, ``assign`` for clusters."""

    def __init__(self, encoder: Encoder, centers: Tensor, alpha: float, projection: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.project = mlp(encoder.dim, encoder.dim, projection)
        self.assign = StudentTHead(centers, alpha)
        self.register_buffer("log_f", torch.zeros(len(centers)))  # log cluster shares
        self.log_f: Tensor


def contrast_term(net: SCCLNet, e1: Tensor, e2: Tensor, groups: Tensor | None, t: float) -> Tensor:
    """Instance loss, Eq. (1)-(2), on two views of a batch."""
    return nt_xent(net.project(e1), net.project(e2), t, groups=groups)


def cluster_term(net: SCCLNet, e: tuple[Tensor, ...], kind: str, frequency: str) -> Tensor:
    """Cluster loss on the original, Eq. (3)-(6), or one of the two of the appendix, Eq. (8)-(9).

    Parameters
    ----------
    net : SCCLNet
    e : tuple of one to three Tensors of shape (n, d)
        The original first, then the two views; the original stands in for a view not given.
    kind : {"original", "crossed", "to-views"}
    frequency : {"batch", "running", "corpus"}
        Where the cluster sizes in the target come from.
    """
    log_q = net.assign(e[0])  # (n, k)
    log_f = _frequency(net, log_q, frequency)
    if kind == "original":
        return kl_to_target(log_target(log_q, log_f), log_q)
    first, second = net.assign(e[-2]), net.assign(e[-1])  # (n, k) each
    if kind == "crossed":  # Eq. (8): each view learns the target of the other
        targets = log_target(second, log_f), log_target(first, log_f)
    else:  # Eq. (9): both views learn the target of the original
        targets = log_target(log_q, log_f), log_target(log_q, log_f)
    return kl_to_target(targets[0], first) + kl_to_target(targets[1], second)


def _frequency(net: SCCLNet, log_q: Tensor, kind: str) -> Tensor | None:
    if kind == "batch":
        return None
    if kind == "running":
        with torch.no_grad():
            share = log_frequency(log_q).softmax(dim=0)
            net.log_f.copy_((MOMENTUM * net.log_f.exp() + (1 - MOMENTUM) * share).log())
    return net.log_f


def count_clusters(net: SCCLNet, vectors: Tensor) -> None:
    """Take the cluster shares from the vectors of the whole corpus."""
    with torch.no_grad():
        net.log_f.copy_(log_frequency(net.assign(vectors)).log_softmax(dim=0))


@dataclass(eq=False, repr=False, kw_only=True)
class SCCL(TunedClusterer):
    """Contrast instances and sharpen clusters at the same time.

    Parameters
    ----------
    alpha : float, default=1.0
        Degrees of freedom of the Student-t kernel (10 for Biomedical in the paper).
    batch_size : int, default=400
    cluster_weight : float, default=1.0
        Weight of the cluster term.
    clustering_loss : {"original", "crossed", "to-views"}, default="original"
        Eq. (5), or the untested alternatives of the appendix, Eq. (8) and (9).
    eta : float, default=10.0
        Weight of the contrast.
    frequency : {"batch", "running", "corpus"}, default="batch"
        Cluster sizes in the target: of the batch as in the paper, a running mean, or of the whole
        corpus every ``refresh_every`` steps. With many more clusters than fit into a batch the
        batch alone knows little of them.
    head_lr : float, default=5e-4
        Learning rate of both heads.
    labels_from : {"kmeans", "head"}, default="kmeans"
        Final labels by k-means on the trained vectors, as in the paper, or by the clustering head.
    lr : float, default=5e-6
        Learning rate of the encoder.
    mask_duplicates : bool, default=True
        Identical texts are not each other's negatives.
    max_length : int, default=32
    normalize : bool, default=False
        The paper takes pooled vectors as they are.
    objective : {"joint", "instance", "clustering", "sequential"}, default="joint"
        Both terms; one of them; or first the contrast, then the clustering, half the steps each.
    projection_dim : int, default=128
    refresh_every : int, default=100
        Steps between two passes over the whole corpus, where ``frequency`` or ``tol`` ask for it.
    steps : int, optional
        Default: 1,000, but no fewer than 30 epochs, no more than 100, and never over 3,000.
    temperature : float, default=0.5
    tol : float, default=0.0
        Stop when a smaller share of the head's labels changed since the last pass; 0 is never.
    views : "virtual", kind, file or sequence of two kinds or lists, default="virtual"
        The pair to contrast: the text under two dropout masks, or two augmentations of each text,
        made here ("eda", "contextual:FOLDER", see :func:`coterie.augment`) or read from a file
        (columns ``text1`` and ``text2``).

    Notes
    -----
    From the paper, section 4 and appendix A.1: batch size, temperature, eta, alpha, length, both
    rates. Its views are contextual; dropout masks are from the authors' later code. It gives no
    number of steps, only that training settles within 20 to 100 epochs (A.5); on a thousand texts,
    1,000 steps are 330 epochs and do harm. The preset
    "official-code" has the rates and the 3,000 steps of the authors' README, which passes
    ``eta=10`` (their parser's default is 1); "official-code-virtual" has its 1,000 steps for
    dropout pairs and halves the cluster term as ``train_step_virtual`` does. All three name the
    paper's encoder, the first two its views; give others where those weights are not at hand.
    Deviations: duplicates are masked from the negatives (``mask_duplicates=False`` for the
    paper's form); everything is computed in logs, without the 1e-8 and 1e-9 of the code; vectors
    of an encoder that normalises, such as the default one, are taken before that step, as the
    authors' pooling does; with one augmentation per text the original is the second view.

    References
    ----------
    .. [1] Zhang, Nan, Wei, Li, Zhu, McKeown, Nallapati, Arnold, Xiang (2021). Supporting
       Clustering with Contrastive Learning. NAACL-HLT.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    >>> model = SCCL(2, encoder="tfidf", steps=5, random_state=0).fit(texts)
    >>> model.predict(["a car", "an apple"])
    array([1, 0])
    """

    name: ClassVar[str] = "sccl"
    _kmeans_on_vectors: ClassVar[bool] = True
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": PAPER,
        "official-code": {**PAPER, "lr": 1e-5, "head_lr": 1e-3, "steps": 3000},
        "official-code-virtual": {
            **PAPER,
            "lr": 1e-5,
            "head_lr": 1e-3,
            "steps": 1000,
            "cluster_weight": 0.5,
            "views": "virtual",
        },
    }

    alpha: PositiveFloat = 1.0
    batch_size: PositiveInt = 400
    cluster_weight: NonNegativeFloat = 1.0
    clustering_loss: ClusteringLoss = "original"
    eta: NonNegativeFloat = 10.0
    frequency: Frequency = "batch"
    head_lr: NonNegativeFloat = 5e-4
    labels_from: Literal["kmeans", "head"] = "kmeans"
    lr: NonNegativeFloat = 5e-6
    mask_duplicates: bool = True
    max_length: Length = 32
    normalize: bool | None = False
    objective: Objective = "joint"
    projection_dim: PositiveInt = 128
    refresh_every: PositiveInt = 100
    steps: NonNegativeInt | None = None
    temperature: PositiveFloat = 0.5
    tol: NonNegativeFloat = 0.0
    views: Any = "virtual"

    def _uses_guidance(self) -> bool:
        return True

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> SCCLNet:
        return SCCLNet(encoder, torch.from_numpy(start.centers), self.alpha, self.projection_dim)

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        steps = self.steps
        if steps is None:
            steps = usual_steps(context.n, self.batch_size)
        if self.objective == "sequential":
            first = self._stage("instance", steps // 2, context)
            return [first, self._stage("clustering", steps - steps // 2, context, restart=True)]
        return [self._stage(self.objective, steps, context)]

    def _final_assigner(self, net: Any, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        if self.labels_from == "kmeans":
            return self._initial_assigner(vectors, weights, seed)
        return StudentTAssigner(net.assign.centers.detach().cpu().numpy(), self.alpha)

    def _stage(
        self, objective: str, steps: int, context: TrainingContext, *, restart: bool = False
    ) -> Stage:
        contrast, cluster = objective != "clustering", objective != "instance"
        views: tuple[int, ...] = (0,)
        if contrast or self.clustering_loss != "original":
            views = context.pair
        if cluster and views == (1, 2):
            views = (0, 1, 2)  # the original comes first, the pair last
        heads = ["project"] * contrast + ["assign"] * cluster
        passes = cluster and (self.frequency == "corpus" or self.tol > 0)

        def setup(net: SCCLNet, vectors: Tensor) -> None:
            if restart:
                assigner = kmeans_assigner(
                    self, vectors.cpu().numpy(), np.ones(context.n), context.seed
                )
                net.assign.centers.data = torch.from_numpy(assigner.centers).to(vectors.device)
            if cluster:
                count_clusters(net, vectors)

        return Stage(
            name=objective,
            steps=steps,
            loss=self._loss(contrast, cluster),
            lr={"encoder": self.lr, **dict.fromkeys(heads, self.head_lr)},
            views=views,
            setup=setup if restart or (cluster and self.frequency != "batch") else None,
            refresh=count_clusters if passes and self.frequency == "corpus" else None,
            labels=(lambda net, vectors: net.assign(vectors).argmax(dim=1)) if passes else None,
            refresh_every=self.refresh_every if passes else 0,
            stop_below=self.tol,
        )

    def _loss(self, contrast: bool, cluster: bool) -> Callable[[SCCLNet, Batch], Terms]:
        def loss(net: SCCLNet, batch: Batch) -> Terms:
            e = batch.encode(net.encoder)  # (n, d) per view
            groups = batch.groups if self.mask_duplicates else None
            terms: Terms = {}
            if contrast:
                term = contrast_term(net, e[-2], e[-1], groups, self.temperature)
                terms["contrast"] = self.eta * term
            if cluster:
                term = cluster_term(net, e, self.clustering_loss, self.frequency)
                terms["cluster"] = self.cluster_weight * term
            return terms

        return loss
