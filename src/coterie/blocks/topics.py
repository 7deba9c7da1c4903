"""Topics made from cluster centers: the decoder of DECCRL, an embedded topic model, in logs.

Symbols follow Yin et al. (2022): centers ``c``, topic seeds ``u``, topic vectors ``alpha``, word
vectors ``rho``, word distributions ``beta`` of the topics, topic shares ``theta`` of a text. The
words of a batch are two tensors of shape (n, w): ``ids`` of the different words of each text, and
how often the text has each (``counts``, zero where a shorter text is padded).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

HIDDEN = 800  # width of the inference network, as in the embedded topic model
CLAMP = 10.0  # the log variance stays within plus and minus this
CHUNK = 1 << 24  # most entries of (text, word, cluster, topic) held at a time


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
        Word vectors; they stay as they are.
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


def choose(log_q: Tensor, assign: str) -> Tensor:
    """The most probable cluster of each text ("argmax"), or one drawn from ``softmax(q)``."""
    if assign == "argmax":
        return log_q.argmax(dim=1)
    gumbel = -torch.empty_like(log_q).exponential_().log()  # the largest sum is such a draw
    return (log_q.exp() + gumbel).argmax(dim=1)


def top_words(log_beta: Tensor, words: Sequence[str], n: int) -> list[list[list[str]]]:
    """The ``n`` most probable words of every topic of every cluster, best first."""
    best = log_beta.topk(min(n, log_beta.shape[2]), dim=2).indices.tolist()
    return [[[words[i] for i in topic] for topic in cluster] for cluster in best]
