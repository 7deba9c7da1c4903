"""DECCRL: deep embedded clustering with cluster-level representations (Yin et al., COLING 2022).

Reading order: the network, the losses, the estimator with its schedule. The topic model on the
centers is in ``blocks/topics.py``. Deviations are listed in the notes of :class:`DECCRL`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from coterie._types import Floats, Ints, Terms
from coterie._validation import check_choice, check_integer, check_number
from coterie.base import TrainingContext, TunedClusterer, kmeans_assigner
from coterie.blocks.assign import Assigner, MappedAssigner, StudentTAssigner
from coterie.blocks.nt_xent import nt_xent
from coterie.blocks.pca import principal_map
from coterie.blocks.projection import mlp
from coterie.blocks.reseed import EmptyClusters
from coterie.blocks.student_t import StudentTHead, kl_to_target, log_target
from coterie.blocks.topics import TopicDecoder, WordBags, reconstruction_terms, top_words
from coterie.encoders import Encoder
from coterie.engine import Batch, Stage, steps_for
from coterie.words import Source, Vocabulary, make_word_vectors, width_of

log = logging.getLogger(__name__)

TOP_WORDS = 10
NEGATIVES: dict[str, dict[str, Any]] = {
    "ntxent": {},
    "cross-view-decoupled": {"negatives": "cross", "positive_in_denominator": False},
}
CHOICES = {
    "assign": ["argmax", "soft", "gumbel", "paper"],
    "labels": ["head", "kmeans"],
    "negatives": list(NEGATIVES),
    "reconstruction": ["topics", "latent", "none"],
}
SMALLEST = {"n_topics": 1, "projection_dim": 1, "word_dim": 1, "warmup_steps": 0, "steps": 0,
            "latent_dim": 1}  # fmt: skip


class DECCRLNet(nn.Module):
    """An encoder, the map ``reduce`` to the space of the clusters, and what learns there."""

    def __init__(
        self, encoder: Encoder, start: MappedAssigner, alpha: float, projection: int
    ) -> None:
        super().__init__()
        dim, width = start.map_weight.shape
        self.encoder = encoder
        self.reduce = nn.Linear(width, dim)  # FC_e
        self.reduce.weight.data.copy_(torch.from_numpy(start.map_weight))
        self.reduce.bias.data.copy_(torch.from_numpy(start.map_bias))
        self.project = mlp(dim, dim, projection)
        self.assign = StudentTHead(torch.from_numpy(start.inner.centers), alpha)
        self.empty = EmptyClusters(*self.assign.centers.shape)
        self.topics, self.bags, self.latent = nn.Module(), nn.Module(), nn.Module()
        self.words: list[str] = []  # of the topics; none if nothing is reconstructed from words
        self.register_buffer("step", torch.zeros((), dtype=torch.long))
        self.step: Tensor


def contrast_term(net: Any, h: Sequence[Tensor], groups: Any, t: float, kind: str) -> Tensor:
    """Instance loss, Eq. (2)-(4), on the last two views: over both directions, twice the mean."""
    v1, v2 = net.project(h[-2]), net.project(h[-1])
    return 2 * nt_xent(v1, v2, t, groups=groups, **NEGATIVES[kind])


def topic_terms(net: Any, log_o: Tensor, index: Tensor, assign: str, warmup: int) -> list[Tensor]:
    """Both parts of Eq. (15); in the first ``warmup`` steps the centers do not feel them."""
    centers = net.assign.centers
    # The decoder divides centers by their size; multiplied with it their gradient is the same for
    # vectors of any length. On the device: asking it for the step would make the host wait.
    pull = (net.step >= warmup) * net.topics.size
    centers = centers.detach() + pull * (centers - centers.detach())
    return reconstruction_terms(net.topics, centers, log_o, net.bags(index), assign)


@dataclass(eq=False, repr=False, kw_only=True)
class DECCRL(TunedClusterer):
    """Contrast instances, sharpen clusters, and let the centers explain the words.

    Parameters
    ----------
    alpha : float, default=1.0
        Degrees of freedom of the Student-t kernel (10 for Biomedical in the paper).
    assign : {"argmax", "soft", "gumbel", "paper"}, default="argmax"
        Whose topics explain a text: of its most probable cluster; of all, weighted; of one drawn
        with a gradient to the encoder; of one drawn from the nearly uniform Eq. (6).
    batch_size : int, default=200
    cluster_weight : float, default=0.2
        Weight of the cluster term.
    head_lr : float, default=5e-4
        Learning rate of everything but the encoder.
    labels : {"head", "kmeans"}, default="head"
        Final labels by the assignment, or by k-means on the trained vectors.
    latent_dim : int, optional
        Of the space of the clusters. Default: half the width of the word vectors, cut to the data.
    lr : float, default=5e-6
        Learning rate of the encoder.
    mask_duplicates : bool, default=True
        Identical texts are not each other's negatives.
    max_length : int, default=32
    n_topics : int, default=5
        Topics per cluster (20 for Biomedical in the paper).
    negatives : {"ntxent", "cross-view-decoupled"}, default="ntxent"
        The contrast of SCCL, or Eq. (2) as printed.
    normalize : bool, default=False
    projection_dim : int, default=128
    reconstruction : {"topics", "latent", "none"}, default="topics"
        Of the words by topics; of the reduced vectors by an autoencoder; or nothing.
    reseed : bool, default=True
        Move centers that no text chose for an epoch to texts that fit nowhere.
    steps : int, optional
        Default: 3,000, but no fewer than 30 epochs and no more than 100.
    temperature : float, default=0.5
    topic_weight : float, default=1e-3
        Weight of the reconstruction.
    views : "virtual", kind, file or sequence of two lists, default="virtual"
        The pair to contrast: dropout masks, or augmentations ("eda"; ``text1``, ``text2``).
    warmup_steps : int, default=200
        Steps, at most a tenth of all, before the centers feel the reconstruction.
    word_dim : int, default=300
        Width of word vectors that are learned from the texts.
    word_vectors : {"auto", "skipgram", "ppmi"} or file, default="auto"
        See :func:`coterie.words.make_word_vectors`.

    Attributes
    ----------
    topics_ : list of list of list of str, or None
        Ten words of each topic of each cluster; None if the start guard stepped in.

    Notes
    -----
    From the paper, section 4.3: batch size, temperature, length, alpha, number of topics. It gives
    no rates, steps, widths or weights. Rates are those of SCCL; ``cluster_weight`` keeps its ratio
    of 10 to 1, as Eq. (4) is twice SCCL's contrast; ``topic_weight`` is small because the words of
    a text are about a hundred nats and would drag the centers off the texts. The linear map to the
    space of the clusters starts with the principal directions, the centers by k-means there.
    Corrections: the contrast is the one that the text describes; Eq. (7) is normalised over the
    clusters; the logarithm of Eq. (13) is outside of the sum; Eq. (15) is a mean over texts. The
    preset "as-printed" has contrast and draw of a cluster as printed. Deviations: duplicates are
    masked from the negatives; the divergence of Eq. (15) fades in over a third of the steps;
    the decoder sees centers and seeds at the same size; the pull of the words on the centers is
    that of unscaled ones. Without texts (``encoder="precomputed"``) nothing is reconstructed.

    References
    ----------
    .. [1] Yin et al. (2022). Improving Deep Embedded Clustering via Learning Cluster-level
       Representations. COLING.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    >>> model = DECCRL(2, encoder="tfidf", steps=5, word_dim=10, random_state=0, guard=False)
    >>> model.fit(texts).predict(["a car", "an apple"])
    array([1, 0])
    >>> len(model.topics_), len(model.topics_[0])
    (2, 5)
    """

    name: ClassVar[str] = "deccrl"
    citation: ClassVar[str] = (
        "Yin, Wang, Song, Xu, Niu, Bai, Guo, Yang (2022). Improving Deep Embedded Clustering via "
        "Learning Cluster-level Representations. COLING."
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"mask_duplicates": False},
        "paper-biomedical": {"mask_duplicates": False, "alpha": 10.0, "n_topics": 20},
        "as-printed": {
            "mask_duplicates": False, "negatives": "cross-view-decoupled", "assign": "paper"
        },
    }  # fmt: skip
    _saved_attributes: ClassVar[tuple[str, ...]] = ("topics_",)

    alpha: float = 1.0
    assign: Literal["argmax", "soft", "gumbel", "paper"] = "argmax"
    batch_size: int = 200
    cluster_weight: float = 0.2
    head_lr: float = 5e-4
    labels: Literal["head", "kmeans"] = "head"
    latent_dim: int | None = None
    lr: float = 5e-6
    mask_duplicates: bool = True
    max_length: int = 32
    n_topics: int = 5
    negatives: Literal["ntxent", "cross-view-decoupled"] = "ntxent"
    normalize: bool | None = False
    projection_dim: int = 128
    reconstruction: Literal["topics", "latent", "none"] = "topics"
    reseed: bool = True
    steps: int | None = None
    temperature: float = 0.5
    topic_weight: float = 1e-3
    views: Any = "virtual"
    warmup_steps: int = 200
    word_dim: int = 300
    word_vectors: Source = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        for name in ("alpha", "temperature"):
            check_number(name, getattr(self, name), above=True)
        for name in ("cluster_weight", "head_lr", "lr", "topic_weight"):
            check_number(name, getattr(self, name))
        for name, least in SMALLEST.items():
            if getattr(self, name) is not None or name not in ("latent_dim", "steps"):
                check_integer(name, getattr(self, name), least)
        width_of(self.word_vectors, self.word_dim)

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        width = width_of(self.word_vectors, self.word_dim)
        dim = self.latent_dim or max(width // 2, 1)
        return self._kmeans(*principal_map(vectors, weights, dim), (vectors, weights, seed))

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> DECCRLNet:
        net = DECCRLNet(encoder, start, self.alpha, self.projection_dim)
        dim, kind = net.reduce.out_features, self._reconstruction(context)
        if kind == "latent":
            net.latent = mlp(dim, max(dim // 2, 1), dim)
        if kind != "topics" or context.texts is None:
            return net
        texts, vocabulary = context.texts, Vocabulary.build(context.texts)
        if len(vocabulary):
            rho = make_word_vectors(
                self.word_vectors, texts, vocabulary, self.word_dim, context.seed
            )
            net.topics = TopicDecoder(torch.from_numpy(rho), net.assign.centers, self.n_topics)
            net.bags, net.words = WordBags(vocabulary.counts(texts)), vocabulary.words
        return net

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        steps = self.steps
        if steps is None:
            fewest, most = (steps_for(epochs, context.n, self.batch_size) for epochs in (30, 100))
            steps = min(max(3000, fewest), most)
        if self.reconstruction == "topics" and context.texts is None:
            log.warning("there are no words in vectors: nothing is reconstructed")
        parts = {"reduce", "project", "assign", self._reconstruction(context)} - {"none"}
        pair = {1: (0, 0), 2: (0, 1)}.get(context.n_views, (0, 1, 2))
        rates = {"encoder": self.lr, **dict.fromkeys(sorted(parts), self.head_lr)}
        move = (lambda net, _: net.empty.reseed(net.assign.centers)) if self.reseed else None
        loss = self._loss(steps)
        return [Stage(name="joint", steps=steps, loss=loss, lr=rates, views=pair, after_epoch=move,
                      counts=True)]  # fmt: skip

    def _final_assigner(self, net: Any, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        weight, bias = (p.detach().cpu().numpy() for p in net.reduce.parameters())
        if self.labels == "kmeans":
            return self._kmeans(weight, bias, (vectors, weights, seed))
        centers = net.assign.centers.detach().cpu().numpy()
        return MappedAssigner(StudentTAssigner(centers, self.alpha), weight, bias)

    def _after_fit(self, net: Any, order: Ints) -> None:
        self.topics_: list[list[list[str]]] | None = None
        if self.kept_start or not net.words:
            return
        assigner: Any = self.assigner_  # its centers have the final order
        centers = torch.from_numpy(assigner.inner.centers).to(net.topics.rho.device)
        with torch.no_grad():
            self.topics_ = top_words(net.topics.log_beta(centers), net.words, TOP_WORDS)
        log.info("%d times an empty cluster was moved", int(net.empty.moved))

    def _reconstruction(self, context: TrainingContext) -> str:
        no_words = self.reconstruction == "topics" and context.texts is None
        return "none" if no_words else self.reconstruction

    def _kmeans(
        self, weight: Floats, bias: Floats, data: tuple[Floats, Floats, int]
    ) -> MappedAssigner:
        vectors, weights, seed = data
        found = kmeans_assigner(self, vectors @ weight.T + bias, weights, seed)
        return MappedAssigner(found, weight, bias)

    def _loss(self, steps: int) -> Callable[[DECCRLNet, Batch], Terms]:
        warmup, third = min(self.warmup_steps, steps // 10), max(steps / 3, 1.0)

        def loss(net: DECCRLNet, batch: Batch) -> Terms:
            h = tuple(net.reduce(e) for e in batch.encode(net.encoder))  # (n, l) per view
            groups = batch.groups if self.mask_duplicates else None
            log_o = net.assign(h[0])  # (n, k)
            sharpen = kl_to_target(log_target(log_o), log_o)  # Eq. (5), (7)-(9)
            terms = {
                "contrast": contrast_term(net, h, groups, self.temperature, self.negatives),
                "cluster": self.cluster_weight * sharpen,
            }
            if net.words:
                words, prior = topic_terms(net, log_o, batch.index, self.assign, warmup)
                terms["words"] = self.topic_weight * words
                terms["prior"] = self.topic_weight * (net.step / third).clamp(max=1) * prior
            elif self.reconstruction == "latent":
                error = (net.latent(h[0]) - h[0]).square().sum(dim=1).mean()
                terms["latent"] = self.topic_weight * error
            if self.reseed:
                net.empty.watch(h[0], log_o)
            return terms

        return loss
