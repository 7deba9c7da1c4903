"""KATE (Chen and Zaki, KDD 2017): one layer of neurons that compete for the words of each text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._util.types import Floats, Terms
from coterie._util.validation import NonNegativeFloat, NonNegativeInt, PositiveInt
from coterie.arrays.assign import Assigner
from coterie.encoders import BagOfWords, Encoder
from coterie.methods.code import make_code_encoder
from coterie.methods.train import Batch, Stage, TrainedClusterer, TrainingContext, steps_for
from coterie.models.core import second_step


def compete(z: Tensor, k: int, alpha: float) -> Tensor:
    """Activations (n, d) after the competition: at most ``k`` numbers of a row are not zero.

    ``k // 2`` positive ones and ``k - k // 2`` negative ones win, and get ``alpha`` times what the
    losers of their kind lose.
    """
    k = min(k, z.shape[1])
    return _won(z.clamp(min=0), k // 2, alpha) - _won((-z).clamp(min=0), k - k // 2, alpha)


def _won(part: Tensor, k: int, alpha: float) -> Tensor:
    """The competition among activations that are not negative."""
    if k == 0:
        return torch.zeros_like(part)
    best, where = part.topk(k, dim=1)
    lost = part.sum(dim=1, keepdim=True) - best.sum(dim=1, keepdim=True)
    # Where there are fewer neurons of a kind than winners, nothing is lost to be won.
    gained = best + alpha * lost * (best > 0)
    return torch.zeros_like(part).scatter(1, where, gained)


class TiedOutput(nn.Module):
    """The decoder: the transposed weights of a layer, with a bias of its own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, z: Tensor, weight: Tensor) -> Tensor:
        return z @ weight + self.bias


class KATENet(nn.Module):
    """The encoder with its one layer, and the decoder."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder
        self.output = TiedOutput(encoder.inner.dim)


def word_loss(net: Any, batch: Batch, *, winners: int, boost: float) -> Terms:
    """Cross-entropy of each word, summed over the words: mean over the texts."""
    rows = net.encoder.rows(batch.features)
    z = compete(net.encoder.coder(rows), winners, boost)
    logits = net.output(z, net.encoder.coder[0].weight)
    error = F.binary_cross_entropy_with_logits(logits, rows, reduction="sum")
    return {"words": error / len(rows)}


@dataclass(eq=False, repr=False, kw_only=True)
class KATE(TrainedClusterer):
    """Codes of a bag of words from neurons that compete, then a classical clustering.

    Parameters
    ----------
    batch_size : int, default=100
    boost : float, default=6.26
        How many times over winners get what the losers of their sign lose (alpha).
    cluster : {"kmeans", "ward"}, default="kmeans"
        How the codes are clustered.
    code_dim : int, default=128
        Neurons.
    encoder : "log-counts", default="log-counts"
        Logarithms of word counts over the largest of each text; the method is defined by them.
    epochs : int, default=50
    lr : float, default=1e-3
    max_features : int, default=2000
        The most frequent words are counted; English stop words are left out.
    winners : int, default=32
        Neurons that win for each text, half of them positive.

    Notes
    -----
    From the paper and its code: neurons, boost, batch size, input, activation, tied weights, loss,
    competition in training only. Deviations: Adam in place of Adadelta; a fixed number of epochs
    in place of up to a hundred with early stopping on held-out texts. Clusters are made once,
    after the training, so there is no start to go back to.

    References
    ----------
    .. [1] Chen, Zaki (2017). KATE: K-Competitive Autoencoder for Text. KDD.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car", "old car"]
    >>> model = KATE(2, code_dim=8, winners=4, epochs=80, lr=1e-2, random_state=0).fit(texts)
    >>> model.predict(["a car", "an apple"])[0] != model.predict(["an apple"])[0]
    np.True_
    """

    name: ClassVar[str] = "kate"
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {"epochs": 100}}

    batch_size: PositiveInt = 100
    boost: NonNegativeFloat = 6.26
    cluster: Literal["kmeans", "ward"] = "kmeans"
    code_dim: PositiveInt = 128
    encoder: Literal["log-counts"] = "log-counts"
    epochs: NonNegativeInt = 50
    lr: NonNegativeFloat = 1e-3
    max_features: PositiveInt = 2000
    winners: PositiveInt = 32

    def _make_encoder(self, seed: int) -> Encoder:
        words = BagOfWords("log-max", max_features=self.max_features, seed=seed, stop_words=True)
        return make_code_encoder(words, "none")

    def _build_pretraining_network(self, encoder: Any, context: TrainingContext) -> nn.Module:
        encoder.make_coder([self.code_dim], bounded=True)
        encoder.decoder = None  # the decoder has the same weights
        nn.init.xavier_uniform_(encoder.coder[0].weight)
        nn.init.zeros_(encoder.coder[0].bias)
        return KATENet(encoder)

    def _pretraining_stages(self, context: TrainingContext) -> list[Stage]:
        def loss(net: KATENet, batch: Batch) -> Terms:
            return word_loss(net, batch, winners=self.winners, boost=self.boost)

        steps = steps_for(self.epochs, context.n, self.batch_size)
        rates = {"encoder.coder": self.lr, "output": self.lr}
        return [Stage(name="competition", steps=steps, loss=loss, lr=rates)]

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        return second_step(self, vectors, weights, seed, self.cluster)
