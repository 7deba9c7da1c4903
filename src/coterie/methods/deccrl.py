"""DECCRL: deep embedded clustering with cluster-level representations (Yin et al., COLING 2022).

SCCL, and a topic model whose topics are made from the cluster centers, so that the centers have to
explain the words of their texts. The objective, Eq. (16), is a mean over the texts of a batch::

    L = L_CL + lambda_c L_Cluster + lambda_r L_RC

    L_CL       contrast of two views, both directions                     Eq. (2)-(4)
    L_Cluster  KL(t || o) of the Student-t assignment o to its target t   Eq. (5), (7)-(9)
    L_RC       -log p(words | cluster) + KL(N(mu, sigma) || N(0, 1))      Eq. (15)

    alpha_kz = FC_g([c_k; u_z]),  beta_k = softmax over words of rho alpha_k   Eq. (10)-(11)
    theta = softmax(mu + eps sigma),  p(w) = [beta_k theta]_w                  Eq. (12)-(14)

Symbols: centers ``c``, topic seeds ``u``, topic vectors ``alpha``, word vectors ``rho``, word
distributions ``beta`` of the topics, topic shares ``theta`` of a text. The words of a batch are two
tensors of shape (n, w): ``ids`` of the different words of each text, and how often the text has
each (``counts``, zero where a shorter text is padded). Everything is in logs.

Reading order: network, losses, estimator. Deviations are in the notes of :class:`DECCRL`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from coterie._util.types import Floats, Ints, Terms
from coterie._util.validation import (
    Length,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)
from coterie.arrays.assign import Assigner, CenterAssigner, MappedAssigner, StudentTAssigner
from coterie.arrays.pca import principal_map
from coterie.encoders import Encoder
from coterie.methods.losses.layers import mlp
from coterie.methods.losses.nt_xent import nt_xent
from coterie.methods.losses.student_t import StudentTHead, kl_to_target, log_target
from coterie.methods.train import Batch, Stage, TrainingContext, TunedClusterer, steps_for
from coterie.methods.word_vectors import Source, make_word_vectors, width_of
from coterie.models.core import kmeans_assigner
from coterie.texts.words import Vocabulary

HIDDEN = 800  # width of the inference network, as in the embedded topic model
CLAMP = 10.0  # the log variance stays within plus and minus this
TINY = 1e-12  # a single cluster has no gradient of its own
CHUNK = 1 << 24  # most entries of (text, word, cluster, topic) held at a time
log = logging.getLogger(__name__)
TOP_WORDS = 10
# The encoder and the views of the paper; the weights of the three models are fetched by the user.
PAPER = {
    "encoder": "distilbert-base-nli-stsb-mean-tokens",
    "mask_duplicates": False,
    "views": ("contextual:bert-base-uncased", "contextual:roberta-base"),
}
NEGATIVES: dict[str, dict[str, Any]] = {
    "ntxent": {},
    "cross-view-decoupled": {"negatives": "cross", "positive_in_denominator": False},
}


class WordBags(nn.Module):
    """Words of all texts end to end, looked up by the number of the text.

    Parameters
    ----------
    counts : sparse matrix of shape (n_texts, n_words)
        How often each text has each word.
    """

    def __init__(self, counts: Any) -> None:
        super().__init__()
        counts = counts.tocsr()
        lengths = torch.from_numpy(counts.indptr[1:] - counts.indptr[:-1]).long()
        self.width = max(int(lengths.max()), 1)
        # Made from the texts again when a run is resumed, so they need not be in its checkpoint.
        flat = torch.from_numpy(counts.indices).long(), torch.from_numpy(counts.data).float()
        spare = torch.zeros(self.width)  # a text at the end is padded with what follows it
        for name, value in (
            ("words", torch.cat([flat[0], spare.long()])),
            ("amounts", torch.cat([flat[1], spare])),
            ("starts", torch.from_numpy(counts.indptr[:-1]).long()),
            ("lengths", lengths),
        ):
            self.register_buffer(name, value, persistent=False)
        self.words: Tensor
        self.amounts: Tensor
        self.starts: Tensor
        self.lengths: Tensor

    def forward(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Words and counts of the texts, shape (n, width) each, without asking the device."""
        across = torch.arange(self.width, device=index.device)
        place = self.starts[index][:, None] + across  # (n, width)
        inside = across < self.lengths[index][:, None]
        return self.words[place] * inside, self.amounts[place] * inside


class TopicDecoder(nn.Module):
    """Topic vectors from centers and seeds, and the network that infers the topics of a text.

    Parameters
    ----------
    rho : Tensor of shape (n_words, width)
        Word vectors, as :mod:`coterie.methods.word_vectors` scales them; they are not trained.
    centers : Tensor of shape (k, dim)
        Of the start. Their size is taken out of what the network sees, so that neither the scale
        of an encoder nor the seeds beside them are lost: with seeds much smaller than centers all
        topics of a cluster stay the same.
    n_topics : int
    hidden : int, default=800
        Width of the inference network.
    """

    def __init__(self, rho: Tensor, centers: Tensor, n_topics: int, hidden: int = HIDDEN) -> None:
        super().__init__()
        (n_words, width), dim = rho.shape, centers.shape[1]
        size = float(centers.detach().square().mean().sqrt())
        size = size if size > 1e-3 else 1.0  # a single center may be the mean of all texts: zero
        self.register_buffer("rho", rho.detach().clone().float())
        self.rho: Tensor
        self.register_buffer("size", torch.tensor(size))
        self.size: Tensor
        self.seeds = nn.Parameter(torch.randn(n_topics, dim))
        self.mix = nn.Sequential(  # FC_g
            nn.Linear(2 * dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, 2 * dim)
        )
        # A map of the word vectors to the width of the topic vectors is, transposed, a map of the
        # far fewer topic vectors to the width of the words.
        same = width == 2 * dim
        self.widen = nn.Identity() if same else nn.Linear(2 * dim, width, bias=False)
        first = nn.Linear(n_words, hidden)  # for its initial values
        self.bag = nn.EmbeddingBag.from_pretrained(
            first.weight.detach().T.contiguous(), freeze=False, mode="sum"
        )
        self.bias = nn.Parameter(first.bias.detach().clone())
        self.infer = nn.Sequential(
            nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2 * n_topics)
        )

    def log_beta(self, centers: Tensor) -> Tensor:
        """Log of the word distribution of every topic of every cluster, Eq. (10)-(11).

        Parameters
        ----------
        centers : Tensor of shape (k, dim)

        Returns
        -------
        Tensor of shape (k, n_topics, n_words)
        """
        k, t = len(centers), len(self.seeds)
        centers = centers / self.size
        pairs = [centers[:, None].expand(k, t, -1), self.seeds[None].expand(k, t, -1)]
        alpha = self.widen(self.mix(torch.cat(pairs, dim=2)))  # (k, t, width)
        logits: Tensor = alpha @ self.rho.T
        return logits.log_softmax(dim=2)

    def posterior(self, ids: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log variance of the topics of each text, from its words as shares of one.

        Returns
        -------
        mean, log_variance : Tensor of shape (n, n_topics)
        """
        share = counts / counts.sum(dim=1, keepdim=True).clamp(min=1)
        mean, log_variance = self.infer(self.bag(ids, per_sample_weights=share) + self.bias).chunk(
            2, dim=1
        )
        return mean, log_variance.clamp(-CLAMP, CLAMP)


class EmptyClusters(nn.Module):
    """Watches the batches of an epoch; all of it stays on the device.

    Parameters
    ----------
    n_clusters, dim : int
        Number and width of the centers.
    """

    def __init__(self, n_clusters: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("used", torch.zeros(n_clusters, dtype=torch.bool))
        self.register_buffer("doubt", torch.full((n_clusters,), torch.inf))
        self.register_buffer("vectors", torch.zeros(n_clusters, dim))
        self.register_buffer("moved", torch.zeros((), dtype=torch.long))
        self.used: Tensor
        self.doubt: Tensor
        self.vectors: Tensor
        self.moved: Tensor

    @torch.no_grad()
    def watch(self, z: Tensor, log_q: Tensor) -> None:
        """Note which clusters the texts choose, and keep the texts of lowest probability.

        Parameters
        ----------
        z : Tensor of shape (n, dim)
        log_q : Tensor of shape (n, n_clusters)
        """
        best, chosen = log_q.max(dim=1)
        self.used.index_fill_(0, chosen, True)
        doubt = torch.cat([self.doubt, best])
        least = doubt.topk(len(self.doubt), largest=False).indices
        self.vectors.copy_(torch.cat([self.vectors, z])[least])
        self.doubt.copy_(doubt[least])

    @torch.no_grad()
    def reseed(self, centers: Tensor) -> None:
        """Move empty clusters, the first to the text of lowest probability; forget the epoch."""
        empty = ~self.used
        rank = (empty.cumsum(dim=0) - 1).clamp(min=0)
        move = empty & self.doubt[rank].isfinite()  # an epoch may have fewer texts than clusters
        centers.copy_(torch.where(move[:, None], self.vectors[rank], centers))
        self.moved += move.sum()
        self.used.fill_(False)
        self.doubt.fill_(torch.inf)


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
        assert isinstance(start.inner, CenterAssigner)
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


def draw_log_theta(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Log of the topic shares ``theta = softmax(mean + eps * sigma)``, Eq. (14)."""
    noise = torch.randn_like(mean)
    return (mean + noise * (0.5 * log_variance).exp()).log_softmax(dim=1)


def kl_to_normal(mean: Tensor, log_variance: Tensor) -> Tensor:
    """``KL(N(mean, variance) || N(0, 1))`` summed over the topics, shape (n,)."""
    return -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(dim=1)


def log_likelihood(
    log_beta: Tensor, log_theta: Tensor, ids: Tensor, counts: Tensor, cluster: Tensor
) -> Tensor:
    """Log likelihood of the words of each text in the cluster it has, Eq. (12)-(13).

    ``sum_w count_w log sum_t theta_t beta_tw``: the logarithm is outside of the sum over topics,
    where the print has it inside.

    Parameters
    ----------
    log_beta : Tensor of shape (k, t, v)
    log_theta : Tensor of shape (n, t)
    ids, counts : Tensor of shape (n, w)
    cluster : Tensor of shape (n,)

    Returns
    -------
    Tensor of shape (n,)
    """
    words = log_beta[cluster[:, None], :, ids]  # (n, w, t)
    return (counts * (log_theta[:, None] + words).logsumexp(dim=2)).sum(dim=1)


def log_likelihood_of_each(
    log_beta: Tensor, log_theta: Tensor, ids: Tensor, counts: Tensor
) -> Tensor:
    """:func:`log_likelihood` of each text in every cluster, shape (n, k).

    Clusters are taken some at a time, and again in the backward pass, so that never all words of
    all texts in all clusters are held at once.
    """
    k, t, _ = log_beta.shape
    step = max(1, CHUNK // max(ids.numel() * t, 1))

    def some(part: Tensor) -> Tensor:
        words = part[:, :, ids]  # (part, t, n, w)
        mixed = (log_theta.T[None, :, :, None] + words).logsumexp(dim=1)  # (part, n, w)
        return (counts * mixed).sum(dim=2).T

    if step >= k:
        return some(log_beta)
    parts = [
        checkpoint(some, part, use_reentrant=False, preserve_rng_state=False)
        for part in log_beta.split(step)
    ]
    return torch.cat(parts, dim=1)


def choose(log_q: Tensor, assign: str) -> Tensor:
    """The most probable cluster of each text ("argmax"), or one drawn from ``softmax(q)``."""
    if assign == "argmax":
        return log_q.argmax(dim=1)
    gumbel = -torch.empty_like(log_q).exponential_().log()  # the largest sum is such a draw
    return (log_q.exp() + gumbel).argmax(dim=1)


def reconstruction_terms(
    decoder: TopicDecoder, centers: Tensor, log_q: Tensor, bag: tuple[Tensor, Tensor], assign: str
) -> list[Tensor]:
    """What it costs to explain the words of a batch by the topics of its clusters, Eq. (15).

    Parameters
    ----------
    decoder : TopicDecoder
    centers : Tensor of shape (k, dim)
    log_q : Tensor of shape (n, k)
        Log assignment of the texts to the clusters.
    bag : tuple of two Tensors of shape (n, w)
        Words and counts.
    assign : {"argmax", "soft", "gumbel", "paper"}
        Whose topics: of the most probable cluster; of all, weighted; of one drawn, with a
        straight-through gradient to the assignment; of one drawn from ``softmax(q)``, Eq. (6).

    Returns
    -------
    list of two Tensors of shape ()
        Minus the log likelihood and the divergence of the topics from their prior, as means over
        the texts that have a word.
    """
    ids, counts = bag
    mean, log_variance = decoder.posterior(ids, counts)
    parts = decoder.log_beta(centers), draw_log_theta(mean, log_variance), ids, counts
    if assign in ("argmax", "paper"):
        likelihood = log_likelihood(*parts, choose(log_q.detach(), assign))
    elif assign == "soft":
        likelihood = (log_q.detach().exp() * log_likelihood_of_each(*parts)).sum(dim=1)
    else:
        chosen = F.gumbel_softmax(log_q, hard=True)  # (n, k)
        likelihood = (chosen * log_likelihood_of_each(*parts)).sum(dim=1)
    filled = (counts.sum(dim=1) > 0).to(likelihood)
    share = filled / filled.sum().clamp(min=1)
    return [-(share * likelihood).sum(), (share * kl_to_normal(mean, log_variance)).sum()]


def topic_terms(net: Any, log_o: Tensor, index: Tensor, assign: str, warmup: int) -> list[Tensor]:
    """Both parts of Eq. (15); in the first ``warmup`` steps the centers do not feel them."""
    centers = net.assign.centers
    # The decoder divides centers by their size; multiplied with it their gradient is the same for
    # vectors of any length. On the device: asking it for the step would make the host wait.
    pull = (net.step >= warmup) * net.topics.size
    centers = centers.detach() + pull * (centers - centers.detach())
    return reconstruction_terms(net.topics, centers, log_o, net.bags(index), assign)


def gradient_ratio(words: Tensor, cluster: Tensor, centers: Tensor) -> Tensor:
    """Length of the gradient of one term on the centers over that of another.

    Parameters
    ----------
    words, cluster : Tensor of shape ()
        Weighted terms of the loss; their graph is kept.
    centers : Tensor of shape (k, dim)

    Returns
    -------
    Tensor of shape ()
        Without gradient. Above one, the words move the centers more than the clusters do.
    """
    lengths: list[Tensor] = [
        torch.autograd.grad(term, centers, retain_graph=True)[0].norm() for term in (words, cluster)
    ]
    return lengths[0] / lengths[1].clamp(min=TINY)


def top_words(log_beta: Tensor, words: Sequence[str], n: int) -> list[list[list[str]]]:
    """The ``n`` most probable words of every topic of every cluster, best first."""
    best = log_beta.topk(min(n, log_beta.shape[2]), dim=2).indices.tolist()
    return [[[words[i] for i in topic] for topic in cluster] for cluster in best]


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
    labels_from : {"head", "kmeans"}, default="head"
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
    views : "virtual", kind, file or sequence of two kinds or lists, default="virtual"
        The pair to contrast: dropout masks, or augmentations ("eda"; ``text1``, ``text2``).
    warmup_steps : int, default=200
        Steps, at most a tenth of all, before the centers feel the reconstruction.
    word_dim : int, default=300
        Width of word vectors that are learned from the texts.
    word_vectors : {"auto", "skipgram", "ppmi"} or file, default="auto"
        See :func:`coterie.texts.words.make_word_vectors`.

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
    preset "as-printed" has contrast and draw of a cluster as printed; all presets name the paper's
    encoder and views. Deviations: duplicates are masked from the negatives; the divergence of Eq.
    (15) fades in over a third of the steps; the decoder sees centers and seeds at the same size;
    the pull of the words on the centers is that of unscaled ones. Without texts
    (``encoder="precomputed"``) nothing is reconstructed.
    ``history_`` has the length of the gradient of the words on the centers over that of the cluster
    term as ``~ratio``; much above one, the words decide where the centers go.

    References
    ----------
    .. [1] Yin, Wang, Song, Xu, Niu, Bai, Guo, Yang (2022). Improving Deep Embedded Clustering via
       Learning Cluster-level Representations. COLING.

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
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": PAPER,
        "paper-biomedical": {**PAPER, "alpha": 10.0, "n_topics": 20},
        "as-printed": {
            **PAPER,
            "negatives": "cross-view-decoupled",
            "assign": "paper",
        },
    }
    _saved_attributes: ClassVar[tuple[str, ...]] = ("topics_",)

    alpha: PositiveFloat = 1.0
    assign: Literal["argmax", "soft", "gumbel", "paper"] = "argmax"
    batch_size: PositiveInt = 200
    cluster_weight: NonNegativeFloat = 0.2
    head_lr: NonNegativeFloat = 5e-4
    labels_from: Literal["head", "kmeans"] = "head"
    latent_dim: PositiveInt | None = None
    lr: NonNegativeFloat = 5e-6
    mask_duplicates: bool = True
    max_length: Length = 32
    n_topics: PositiveInt = 5
    negatives: Literal["ntxent", "cross-view-decoupled"] = "ntxent"
    normalize: bool | None = False
    projection_dim: PositiveInt = 128
    reconstruction: Literal["topics", "latent", "none"] = "topics"
    reseed: bool = True
    steps: NonNegativeInt | None = None
    temperature: PositiveFloat = 0.5
    topic_weight: NonNegativeFloat = 1e-3
    views: Any = "virtual"
    warmup_steps: NonNegativeInt = 200
    word_dim: PositiveInt = 300
    word_vectors: Source = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
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
        pair = context.pair if context.n_views < 3 else (0, 1, 2)
        rates = {"encoder": self.lr, **dict.fromkeys(sorted(parts), self.head_lr)}
        move = (lambda net, _: net.empty.reseed(net.assign.centers)) if self.reseed else None
        joint = Stage(
            name="joint",
            steps=steps,
            loss=self._loss(steps),
            lr=rates,
            views=pair,
            after_epoch=move,
            counts=True,
        )
        return [joint]

    def _final_assigner(self, net: Any, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        weight, bias = (p.detach().cpu().numpy() for p in net.reduce.parameters())
        if self.labels_from == "kmeans":
            return self._kmeans(weight, bias, (vectors, weights, seed))
        centers = net.assign.centers.detach().cpu().numpy()
        return MappedAssigner(StudentTAssigner(centers, self.alpha), weight, bias)

    def _after_fit(self, order: Ints) -> None:
        net = self.net_
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
                centers = net.assign.centers
                if centers.requires_grad and torch.is_grad_enabled():
                    terms["~ratio"] = gradient_ratio(terms["words"], terms["cluster"], centers)
            elif self.reconstruction == "latent":
                error = (net.latent(h[0]) - h[0]).square().sum(dim=1).mean()
                terms["latent"] = self.topic_weight * error
            if self.reseed:
                net.empty.watch(h[0], log_o)
            return terms

        return loss
