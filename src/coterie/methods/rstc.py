"""RSTC: robust pseudo-labels by self-adaptive optimal transport (Zheng et al., ACL 2023).

A head learns the labels ``y`` that a transport of all texts to the clusters gives, while two views
of each text are contrasted. The objective over a batch of texts with views 1 and 2::

    L = eta L_contrast + CE(head(e_1), y) + CE(head(e_2), y),   y_i = argmax_j pi_ij

    pi, b = argmin <pi, -log p> + eps1 <pi, log pi - 1> + eps2 sum_j (-log b_j - log(1 - b_j))

The plan ``pi`` of shape (n, k) has rows that sum to ``1 / n`` and column sums ``b``; ``p`` are the
probabilities of the head. The last term keeps clusters from running empty without making them even.
With ``b = sigmoid(t)`` its slope is ``2 eps2 sinh(t)``: nothing is divided by a difference that may
be zero, and no power is taken of what may be large.

Reading order: network, losses, transport, assigner, estimator. Deviations are in the notes of
:class:`RSTC`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._util.types import Floats, Ints, Terms
from coterie._util.validation import (
    Length,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    check_device,
)
from coterie.arrays.assign import Assigner
from coterie.arrays.shares import by_skew, estimate_shares
from coterie.encoders import Encoder
from coterie.methods.losses.layers import deep_head, mlp
from coterie.methods.losses.nt_xent import nt_xent
from coterie.methods.train import (
    Batch,
    Stage,
    TrainingContext,
    TunedClusterer,
    kmeans_labels,
    usual_steps,
)
from coterie.models.core import kmeans_assigner

SHORTEST = 1e-6  # share of a Newton step
EVEN = 1e8  # eps2 / eps1 that makes columns even to the last digits; more would drown the rest
BARRIERS = 0.1, 0.01, 0.001  # weights by the skew of the clusters: uneven ones want less
log = logging.getLogger(__name__)


class DeepHead(nn.Module):
    """Dropout, d to d, ReLU, twice, then d to k; the forward pass gives log probabilities."""

    def __init__(self, dim: int, n_clusters: int) -> None:
        super().__init__()
        self.layers = deep_head(dim, dim, n_clusters)

    def forward(self, z: Tensor) -> Tensor:
        logits: Tensor = self.layers(z)
        return logits.log_softmax(dim=1)

    @torch.no_grad()
    def steady(self, z: Tensor) -> Tensor:
        """Log probabilities without dropout and without a gradient."""
        training = self.training
        self.eval()
        try:
            log_p: Tensor = self(z)
        finally:
            self.train(training)
        return log_p


class RSTCNet(nn.Module):
    """An encoder with two heads, and the pseudo-label of every text."""

    labels: Tensor
    step: Tensor
    refreshes: Tensor
    shares: Tensor

    def __init__(self, encoder: Encoder, n: int, n_clusters: int, projection: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.project = mlp(encoder.dim, encoder.dim, projection)
        self.head = DeepHead(encoder.dim, n_clusters)
        self.register_buffer("labels", torch.zeros(n, dtype=torch.long))
        self.register_buffer("step", torch.zeros((), dtype=torch.long))  # of the last stage
        self.register_buffer("refreshes", torch.zeros((), dtype=torch.long))
        self.register_buffer("shares", torch.full((n_clusters,), 1 / n_clusters))  # b


def contrast_term(net: Any, e: Sequence[Tensor], groups: Tensor | None, t: float) -> Tensor:
    """Instance loss on two views: the means of both directions are added."""
    return 2 * nt_xent(net.project(e[-2]), net.project(e[-1]), t, groups=groups)


def label_term(net: Any, e: Sequence[Tensor], labels: Tensor) -> Tensor:
    """Cross-entropy of both views with the pseudo-labels."""
    return F.nll_loss(net.head(e[-2]), labels) + F.nll_loss(net.head(e[-1]), labels)


def adaptive_plan(
    log_p: Tensor, eps1: float, eps2: float, *, rounds: int = 100, tol: float = 1e-6
) -> tuple[Tensor, Tensor]:
    """Log of the plan whose column sums are found along with it.

    Given prices ``v`` of the clusters, the best plan is ``softmax(log_p / eps1 + v) / n`` by rows,
    and the barrier wants column sums ``b`` with ``v = -2 (eps2 / eps1) sinh(t)``,
    ``b = sigmoid(t)``. At the solution both have the same column sums. Their difference is the
    gradient of a convex function of the prices, which Newton's method minimises.

    Parameters
    ----------
    log_p : Tensor of shape (n, k)
        Log probabilities of the clusters; their negatives are the cost.
    eps1 : float
        Smoothness of the plan: small is near to hard labels.
    eps2 : float
        Weight of the barrier against empty clusters; 0 leaves the columns free, a large one makes
        them even.
    rounds : int, default=100
        Most steps; a handful is enough, unless ``eps1`` is tiny.
    tol : float, default=1e-6
        Stop when column sums and wanted sums differ by less, in sum.

    Returns
    -------
    log_plan : Tensor of shape (n, k)
        In float64. The exponentials of each row sum to ``1 / n``.
    b : Tensor of shape (k,)
        Column sums.
    """
    # A probability that has come down to zero costs much, not infinitely much.
    log_k = (log_p.double() / eps1).clamp(min=-1e6)
    n, k = log_k.shape
    if k == 1 or eps2 == 0:
        free = log_k.log_softmax(dim=1)
        return free - math.log(n), free.exp().mean(dim=0)
    ratio = min(eps2 / eps1, EVEN)

    def look(v: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Log plan, wanted sums and their slope in ``v``, gradient."""
        rows = (log_k + v).log_softmax(dim=1)
        t = torch.asinh(-v / (2 * ratio))
        b = torch.sigmoid(t)
        return rows, b, b * (1 - b) / (2 * ratio * torch.cosh(t)), rows.exp().mean(dim=0) - b

    v = log_k.new_full((k,), 2 * ratio * math.sinh(math.log(k - 1)))  # even
    rows, b, slope, gradient = look(v)
    for _ in range(rounds):
        if float(gradient.abs().sum()) < tol:
            break
        p = rows.exp()
        curvature = torch.diag(p.mean(dim=0) + slope) - p.T @ p / n
        step = torch.linalg.solve(curvature, -gradient)
        fall, size = gradient @ step, 1.0
        while True:
            rows, b, slope, gradient = look(v + size * step)
            if float(gradient @ step / -fall) <= 0.5 or size < SHORTEST:
                break  # not far beyond the lowest point along the step
            size /= 2
        v = v + size * step
    return rows - math.log(n), b


def transport_labels(net: Any, vectors: Tensor, eps1: float, eps2: float) -> None:
    """New pseudo-labels for all texts: the largest part of each row of the plan."""
    plan, shares = adaptive_plan(net.head.steady(vectors), eps1, eps2)
    net.labels.copy_(plan.argmax(dim=1))
    net.shares.copy_(shares)
    net.refreshes += 1


@dataclass(frozen=True)
class HeadAssigner:
    """The probabilities of a trained :class:`DeepHead`."""

    kind: ClassVar[str] = "head"
    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]

    @classmethod
    def make(cls, head: DeepHead) -> HeadAssigner:
        """The assigner of a trained head."""
        linear = [part for part in head.layers if isinstance(part, nn.Linear)]
        return cls(
            tuple(part.weight.detach().cpu().numpy() for part in linear),
            tuple(part.bias.detach().cpu().numpy() for part in linear),
        )

    def logits(self, vectors: Floats) -> Floats:
        # In float64 a text alone gets to the last digit what it gets in a crowd.
        x = vectors.astype(np.float64)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = np.maximum(x @ weight.T.astype(np.float64) + bias, 0)
        return np.asarray(x @ self.weights[-1].T.astype(np.float64) + self.biases[-1])

    def reordered(self, order: Ints) -> HeadAssigner:
        return replace(
            self,
            weights=(*self.weights[:-1], self.weights[-1][order]),
            biases=(*self.biases[:-1], self.biases[-1][order]),
        )

    def arrays(self) -> dict[str, Any]:
        pairs = enumerate(zip(self.weights, self.biases, strict=True))
        return {f"{kind}.{i}": a for i, pair in pairs for kind, a in zip("wb", pair, strict=True)}

    def numbers(self) -> dict[str, Any]:
        return {"layers": len(self.weights)}

    @classmethod
    def restore(cls, arrays: dict[str, Any], numbers: dict[str, Any]) -> HeadAssigner:
        """Make the assigner again from what :meth:`arrays` and :meth:`numbers` gave."""
        every = range(numbers["layers"])
        return cls(tuple(arrays[f"w.{i}"] for i in every), tuple(arrays[f"b.{i}"] for i in every))


@dataclass(eq=False, repr=False, kw_only=True)
class RSTC(TunedClusterer):
    """Contrast views while a head learns labels that optimal transport gives to all texts.

    Parameters
    ----------
    balance_weight : float, optional
        Weight of the barrier against empty clusters in the transport (eps2 over the scale of the
        authors' code). Default: by the estimated shares of the clusters, see Notes.
    batch_size : int, default=200
    contrast_steps : int, default=0
        Steps of contrast alone, before there are labels (600 on five of the paper's sets).
    eta : float, default=10.0
        Weight of the contrast.
    head_lr : float, default=5e-4
        Learning rate of both heads.
    label_steps : int, optional
        Steps in which the head learns the labels of k-means. Default: 40, but at least ten for
        each cluster, up to a third of ``steps``.
    labels_from : {"head", "kmeans"}, default="head"
        Final labels by the head, or by k-means on the trained vectors.
    lr : float, default=5e-6
        Learning rate of the encoder.
    mask_duplicates : bool, default=True
        Identical texts are not each other's negatives.
    max_length : int, default=32
    normalize : bool, default=False
    projection_dim : int, default=128
    refresh_every : int, default=50
        Steps between two passes over the whole corpus.
    refreshes : int, default=50
        How often the labels are refreshed, more often at first; never more than there are passes.
    smoothness : float, default=0.1
        Of the transport (eps1): small values are near to hard labels.
    spherical : bool, default=True
        K-means by direction: vectors are taken to unit length for it.
    steps : int, optional
        Of all stages. Default: 1,000, but no fewer than 30 epochs, no more than 100, and never
        over 3,000.
    temperature : float, default=1.0
    tol : float, default=0.01
        Stop when a smaller share of the head's labels changed since the last pass.
    views : "virtual", kind, file or sequence of two kinds or lists, default="virtual"
        The pair to contrast: two dropout masks, or two augmentations, made here ("eda") or read
        from a file (columns ``text1`` and ``text2``).

    Attributes
    ----------
    balance_ : float
        The weight of the barrier.
    shares_ : list of float
        Sizes of the clusters that the last transport found, as shares.

    Notes
    -----
    From the paper and the authors' scripts: batch size, rates, length, temperature, eta, both
    heads, eps1, ``tol``, passes every 50 steps, labels by k-means for 40 steps first. The default
    weight of the barrier is theirs for balanced sets (1 / 10) if the shares of the clusters have a
    coefficient of variation below 0.36, that for skewed ones (0.1 / 10) up to 0.39, else 0.1 / 100;
    the cuts are from the class sizes of the development sets.
    The shares are those of a mixture with free proportions on the vectors before training; sizes of
    k-means are flatter than the classes. Deviations: the transport is solved in logs and to its
    optimum, where the released code divides by ``delta`` and takes turns that may not settle;
    labels are refreshed without dropout; refreshes fall on the passes; the head has more steps for
    the first labels where there are many clusters, since 40 leave it guessing; k-means clusters
    directions; duplicates are masked from the negatives.

    References
    ----------
    .. [1] Zheng, Hu, Liu, Chen, Liao (2023). Robust Representation Learning with Reliable
       Pseudo-labels Generation via Self-Adaptive Optimal Transport for Short Text Clustering. ACL.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    >>> model = RSTC(2, encoder="tfidf", steps=60, head_lr=5e-3, random_state=0).fit(texts)
    >>> model.predict(["a car", "an apple"])
    array([1, 0])
    """

    name: ClassVar[str] = "rstc"
    _kmeans_on_vectors: ClassVar[bool] = True
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "encoder": "distilbert-base-nli-stsb-mean-tokens",
            "label_steps": 40,
            "mask_duplicates": False,
            "spherical": False,
            "steps": 3000,
            "views": "contextual@0.1:bert-base-uncased",
        }
    }
    _assigners: ClassVar[dict[str, type[Assigner]]] = {HeadAssigner.kind: HeadAssigner}
    _saved_attributes: ClassVar[tuple[str, ...]] = ("balance_", "shares_")

    balance_weight: NonNegativeFloat | None = None
    batch_size: PositiveInt = 200
    contrast_steps: NonNegativeInt = 0
    eta: NonNegativeFloat = 10.0
    head_lr: NonNegativeFloat = 5e-4
    label_steps: NonNegativeInt | None = None
    labels_from: Literal["head", "kmeans"] = "head"
    lr: NonNegativeFloat = 5e-6
    mask_duplicates: bool = True
    max_length: Length = 32
    normalize: bool | None = False
    projection_dim: PositiveInt = 128
    refresh_every: PositiveInt = 50
    refreshes: PositiveInt = 50
    smoothness: PositiveFloat = 0.1
    spherical: bool = True
    steps: NonNegativeInt | None = None
    temperature: PositiveFloat = 1.0
    tol: NonNegativeFloat = 0.01
    views: Any = "virtual"

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        found = kmeans_assigner(self, vectors, weights, seed, spherical=self.spherical)
        if self.balance_weight is None:
            labels, device = found.logits(vectors).argmax(axis=1), check_device(self.device)
            self._shares = estimate_shares(labels, vectors, weights, self._k, seed, device)
        return found

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> RSTCNet:
        return RSTCNet(encoder, context.n, self._k, self.projection_dim)

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        weight = self.balance_weight
        self.balance_ = by_skew(self._shares, BARRIERS) if weight is None else weight
        steps = self.steps
        if steps is None:
            steps = usual_steps(context.n, self.batch_size)
        first = min(self.contrast_steps, steps)
        second = self.label_steps
        if second is None:
            second = max(40, min(10 * self._k, steps // 3))
        second = min(second, steps - first)
        lengths = {"contrast": first, "labels": second, "transport": steps - first - second}
        return [self._stage(name, n, context) for name, n in lengths.items() if n > 0]

    def _final_assigner(self, net: Any, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        if self.labels_from == "kmeans":
            return kmeans_assigner(self, vectors, weights, seed, spherical=self.spherical)
        return HeadAssigner.make(net.head)

    def _after_fit(self, order: Any) -> None:
        net = self.net_
        self.shares_ = None
        if net is not None and not self.kept_start:
            self.shares_ = [round(float(net.shares[i]), 6) for i in order]
            log.info("labels were refreshed %d times", int(net.refreshes))

    def _stage(self, name: str, steps: int, context: TrainingContext) -> Stage:
        heads = ["project"] + ["head"] * (name != "contrast")
        due = (steps * np.linspace(0, 1, self.refreshes) ** 2).tolist()

        def transport(net: RSTCNet, vectors: Tensor) -> None:
            transport_labels(net, vectors, self.smoothness, self.balance_)

        def kmeans(net: RSTCNet, vectors: Tensor) -> None:
            found = kmeans_labels(self, vectors, context.seed, spherical=self.spherical)
            net.labels.copy_(found)

        def refresh(net: RSTCNet, vectors: Tensor) -> None:
            now = int(net.step)
            if any(now - self.refresh_every < step <= now for step in due):
                transport(net, vectors)

        last = name == "transport"
        return Stage(
            name=name,
            steps=steps,
            loss=self._loss(name != "contrast"),
            lr={"encoder": self.lr, **dict.fromkeys(heads, self.head_lr)},
            views=context.pair,
            setup={"labels": kmeans, "transport": transport}.get(name),
            refresh=refresh if last else None,
            labels=(lambda net, vectors: net.head.steady(vectors).argmax(dim=1)) if last else None,
            refresh_every=self.refresh_every if last else 0,
            stop_below=self.tol,
            continues=True,
            counts=last,
        )

    def _loss(self, cluster: bool) -> Callable[[RSTCNet, Batch], Terms]:
        def loss(net: RSTCNet, batch: Batch) -> Terms:
            e = batch.encode(net.encoder)  # (n, d) per view
            groups = batch.groups if self.mask_duplicates else None
            terms = {"contrast": self.eta * contrast_term(net, e, groups, self.temperature)}
            if cluster:
                terms["labels"] = label_term(net, e, net.labels[batch.index])
            return terms

        return loss
