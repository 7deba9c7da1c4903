"""Autoencoders over a frozen encoder, and what is clustered in their codes.

- Autoencoder: k-means or Ward's linkage on the codes.
- DEC (Xie et al., ICML 2016): confident assignments pull codes and centers, ``KL(p || q)`` with the
  Student-t assignment ``q`` and its target ``p`` over the whole corpus (``blocks/student_t.py``).
- IDEC (Guo et al., IJCAI 2017): DEC that keeps the decoder; codes go on to reconstruct the vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._util.types import Floats, Terms
from coterie._util.validation import (
    Dropout,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Widths,
)
from coterie.arrays.assign import Assigner, StudentTAssigner
from coterie.encoders import Encoder
from coterie.methods.code import make_code_encoder
from coterie.methods.losses.layers import Activation
from coterie.methods.losses.student_t import StudentTHead, kl_to_target, log_target
from coterie.methods.train import Batch, Stage, TrainedClusterer, TrainingContext, steps_for
from coterie.models.core import second_step

HIDDEN = (500, 500, 2000)  # of DEC, and of all that followed it
AE_FEWEST, AE_MOST = 500, 3000  # batches of the autoencoder where nothing is given
AE_EPOCHS = 100
EPOCHS, MAX_STEPS = 100, 8000  # where the number of steps is not given


def reconstruction_error(
    coder: nn.Module, decoder: nn.Module, x: Tensor, dropout: float = 0.0
) -> Tensor:
    """Mean squared error of the whole: of the rows from their own, perhaps damaged, codes.

    Parameters
    ----------
    coder, decoder : nn.Sequential
    x : Tensor of shape (n, d)
    dropout : float, default=0.0
        Share of the input's numbers that are left out.

    Returns
    -------
    Tensor of shape ()
    """
    return F.mse_loss(decoder(coder(F.dropout(x, dropout))), x)


def pair_error(
    coder: nn.Sequential, decoder: nn.Sequential, x: Tensor, layer: int, dropout: float
) -> Tensor:
    """Mean squared error of one pair of layers as a shallow autoencoder (layer-wise training).

    The layers below are fixed. What they give is to be given back by the pair, from a damaged
    copy and through a damaged code: ``h = act(W1 drop(y) + b1)``, ``y' = act(W2 drop(h) + b2)``,
    where the activation is left out at the code of the whole and at its output.

    Parameters
    ----------
    coder, decoder : nn.Sequential
        Of mirrored widths, from :func:`coterie.methods.losses.layers.mlp`.
    x : Tensor of shape (n, d)
    layer : int
        Number of the layer of the coder, from zero.
    dropout : float
        Share of numbers left out of ``y`` and of ``h``.

    Returns
    -------
    Tensor of shape ()
    """
    last = len(coder) // 2  # the number of layers less one
    with torch.no_grad():
        y = coder[: 2 * layer](x)
    code = coder[2 * layer](F.dropout(y, dropout))
    if layer < last:
        code = coder[2 * layer + 1](code)
    back = decoder[2 * (last - layer)](F.dropout(code, dropout))
    if layer > 0:
        back = decoder[2 * (last - layer) + 1](back)
    return F.mse_loss(back, y)


class CoderNet(nn.Module):
    """The encoder with its two halves; what the autoencoder is trained in."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder


def whole_loss(net: Any, batch: Batch, *, dropout: float) -> Terms:
    """Squared error of the whole autoencoder."""
    encoder = net.encoder
    rows = encoder.rows(batch.features)
    error = reconstruction_error(encoder.coder, encoder.decoder, rows, dropout)
    return {"reconstruction": error}


def pair_loss(net: Any, batch: Batch, *, layer: int, dropout: float) -> Terms:
    """Squared error of one pair of layers."""
    encoder = net.encoder
    rows = encoder.rows(batch.features)
    return {"reconstruction": pair_error(encoder.coder, encoder.decoder, rows, layer, dropout)}


@dataclass(eq=False, repr=False, kw_only=True)
class AutoencoderClusterer(TrainedClusterer):
    """A method over the codes of an autoencoder; the encoder below it is never changed.

    Parameters
    ----------
    activation : {"relu", "leaky-relu"}, default="relu"
        Between the layers; the code and the output have none.
    ae_dropout : float, default=0.0
        Share of numbers left out of what the autoencoder sees.
    ae_layers : list of int, optional
        Widths of the autoencoder between the vectors and the code; the last is the code's.
        Default: 500, 500, 2,000, and one more than there are clusters, but at least 10.
    ae_lr : float, default=1e-3
        Learning rate of the autoencoder.
    ae_steps : int, optional
        Training batches of the autoencoder, of each pair of layers and of the whole. Default: 100
        epochs, but no fewer than 500 and no more than 3,000.
    pretrain : {"joint", "layerwise"}, default="joint"
        Train the whole autoencoder at once, or first every pair of layers by itself.
    scaling : {"rms", "minmax"}, default="rms"
        Of the vectors before the autoencoder: one factor for all, so that their mean square is
        one, or each number to the range from 0 to 1.
    """

    activation: Activation = "relu"
    ae_dropout: Dropout = 0.0
    ae_layers: Widths | None = None
    ae_lr: NonNegativeFloat = 1e-3
    ae_steps: NonNegativeInt | None = None
    pretrain: Literal["joint", "layerwise"] = "joint"
    scaling: Literal["rms", "minmax"] = "rms"

    def _make_encoder(self, seed: int) -> Encoder:
        return make_code_encoder(super()._make_encoder(seed), self.scaling)

    def _build_pretraining_network(self, encoder: Any, context: TrainingContext) -> nn.Module:
        encoder.make_coder(self._layers(), self.activation)
        return CoderNet(encoder)

    def _pretraining_stages(self, context: TrainingContext) -> list[Stage]:
        steps = self.ae_steps
        if steps is None:
            steps = min(AE_MOST, max(AE_FEWEST, steps_for(AE_EPOCHS, context.n, self.batch_size)))
        if self.pretrain == "joint":
            return [self._ae_stage("autoencoder", steps, whole_loss, dropout=self.ae_dropout)]
        pairs = [
            self._ae_stage(f"layer {i + 1}", steps, pair_loss, layer=i, dropout=self.ae_dropout)
            for i in range(len(self._layers()))
        ]
        # The paper's own: what is learned by damaged pairs is refined without damage.
        return [*pairs, self._ae_stage("autoencoder", steps, whole_loss, dropout=0.0)]

    def _ae_stage(self, name: str, steps: int, loss: Callable[..., Terms], **more: Any) -> Stage:
        """Train the autoencoder, or the pair of layers that is named."""
        places = ("", "")
        if (layer := more.get("layer")) is not None:
            places = f".{2 * layer}", f".{2 * (len(self._layers()) - 1 - layer)}"
        parts = f"encoder.coder{places[0]}", f"encoder.decoder{places[1]}"
        rates = dict.fromkeys(parts, self.ae_lr)
        return Stage(name=name, steps=steps, loss=partial(loss, **more), lr=rates)

    def _layers(self) -> list[int]:
        if self.ae_layers is not None:
            return list(self.ae_layers)
        return [*HIDDEN, max(10, self._k + 1)]


@dataclass(eq=False, repr=False, kw_only=True)
class Autoencoder(AutoencoderClusterer):
    """Train an autoencoder on the vectors of the texts and cluster its codes.

    Parameters
    ----------
    cluster : {"kmeans", "ward"}, default="kmeans"
        How the codes are clustered.

    Notes
    -----
    The autoencoder is that of :class:`DEC`; with ``cluster="ward"``, ``encoder="tfidf"`` and
    ``ae_layers=(500, 2000, 200)`` it is the row AE of ADSL's tables. There is no paper to deviate
    from. Clusters are made once, after the training, so there is no start to go back to, and the
    guard has nothing to do.

    See Also
    --------
    DEC, IDEC : Go on from here.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    >>> model = Autoencoder(2, encoder="tfidf", ae_layers=(20, 5), ae_steps=60, random_state=0)
    >>> model.fit(texts).predict(["a fast car", "an apple"])
    array([1, 0])
    """

    name: ClassVar[str] = "autoencoder"

    cluster: Literal["kmeans", "ward"] = "kmeans"

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        return second_step(self, vectors, weights, seed, self.cluster)


class DECNet(nn.Module):
    """The encoder, the centers, and the target of every text as of the last pass over all."""

    log_p: Tensor

    def __init__(self, encoder: Any, centers: Tensor, n: int, alpha: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.assign = StudentTHead(centers, alpha)
        self.register_buffer("log_p", torch.zeros(n, len(centers)))


def sharpen(net: DECNet, codes: Tensor) -> None:
    """Take new targets from the codes of the whole corpus, Eq. (3) of DEC."""
    with torch.no_grad():
        net.log_p.copy_(log_target(net.assign(codes)))


@dataclass(eq=False, repr=False, kw_only=True)
class DECClusterer(AutoencoderClusterer):
    """Clusters of codes, made sharper by their own confident assignments.

    Parameters
    ----------
    alpha : float, default=1.0
        Degrees of freedom of the Student-t kernel.
    lr : float, default=1e-4
        Learning rate of the network and of the centers.
    refresh_every : int, default=140
        Steps between two passes over the whole corpus, which give new targets.
    steps : int, optional
        Most training batches after the autoencoder. Default: 100 epochs, at most 8,000.
    tol : float, default=1e-3
        Stop when a smaller share of labels changed between two passes.
    """

    alpha: PositiveFloat = 1.0
    lr: NonNegativeFloat = 1e-4
    refresh_every: PositiveInt = 140
    steps: NonNegativeInt | None = None
    tol: NonNegativeFloat = 1e-3

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> DECNet:
        return DECNet(encoder, torch.from_numpy(start.centers), context.n, self.alpha)

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        steps = self.steps
        if steps is None:
            steps = min(MAX_STEPS, steps_for(EPOCHS, context.n, self.batch_size))
        if steps == 0:
            return []
        return [
            Stage(
                name="sharpen",
                steps=steps,
                loss=self._loss,
                lr=dict.fromkeys(self._trained_parts(), self.lr),
                setup=sharpen,
                refresh=sharpen,
                labels=lambda net, codes: net.assign(codes).argmax(dim=1),
                refresh_every=self.refresh_every,
                stop_below=self.tol,
            )
        ]

    def _trained_parts(self) -> list[str]:
        """What is trained."""
        return ["encoder.coder", "assign"]

    def _loss(self, net: Any, batch: Batch) -> Terms:
        """The divergence of the assignment from its target, Eq. (2) of DEC."""
        log_q = net.assign(net.encoder(batch.features))  # (n, k)
        return {"cluster": kl_to_target(net.log_p[batch.index], log_q)}

    def _final_assigner(self, net: Any, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        return StudentTAssigner(net.assign.centers.detach().cpu().numpy(), self.alpha)


@dataclass(eq=False, repr=False, kw_only=True)
class DEC(DECClusterer):
    """Cluster the codes of an autoencoder, then let confident assignments pull codes and centers.

    Parameters
    ----------
    batch_size : int, default=256

    Notes
    -----
    From the paper: layers, kernel, target over the whole corpus, stop at 0.1% of changed labels;
    140 steps between two targets are the authors' code. The preset "paper" has the layer-wise
    training with a fifth of the numbers left out, 50,000 steps per pair, and a code of 10.
    Deviations: Adam takes the place of stochastic gradient descent; by default the autoencoder is
    trained as a whole, and its code grows with the number of clusters, as others did later, since
    a code of 10 numbers has little room for a hundred clusters; vectors are divided by one number,
    so that the autoencoder has something to learn from rows of unit length.

    References
    ----------
    .. [1] Xie, Girshick, Farhadi (2016). Unsupervised Deep Embedding for Clustering Analysis. ICML.

    See Also
    --------
    IDEC : Keeps the decoder.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    >>> model = DEC(2, encoder="tfidf", ae_layers=(20, 5), ae_steps=60, steps=20, random_state=0)
    >>> model.fit(texts).predict(["a fast car", "an apple"])
    array([1, 0])
    """

    name: ClassVar[str] = "dec"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "ae_dropout": 0.2,
            "ae_layers": (500, 500, 2000, 10),
            "ae_steps": 50_000,
            "pretrain": "layerwise",
            "steps": 20_000,
        }
    }

    batch_size: PositiveInt = 256


@dataclass(eq=False, repr=False, kw_only=True)
class IDEC(DECClusterer):
    """Sharpen the clusters of codes that must go on to reconstruct their vectors.

    Parameters
    ----------
    batch_size : int, default=256
    cluster_weight : float, default=0.1
        Weight of the cluster term beside the reconstruction (gamma).

    Notes
    -----
    From the paper: gamma, layers, stop at 0.1% of changed labels. Passes are as in DEC, and so is
    all that goes for its autoencoder. The preset "paper" has the code of 10. Deviations: the code
    grows with the number of clusters, one number more than there are, as in ClusterBERT's table;
    the rate is 1e-4, also as there; vectors are divided by one number.

    References
    ----------
    .. [1] Guo, Gao, Liu, Yin (2017). Improved Deep Embedded Clustering with Local Structure
       Preservation. IJCAI.

    See Also
    --------
    DEC : Without the decoder.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    >>> model = IDEC(2, encoder="tfidf", ae_layers=(20, 5), ae_steps=60, steps=20, random_state=0)
    >>> model.fit(texts).predict(["a fast car", "an apple"])
    array([1, 0])
    """

    name: ClassVar[str] = "idec"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"ae_layers": (500, 500, 2000, 10), "steps": 20_000}
    }

    batch_size: PositiveInt = 256
    cluster_weight: NonNegativeFloat = 0.1

    def _trained_parts(self) -> list[str]:
        return [*super()._trained_parts(), "encoder.decoder"]

    def _loss(self, net: Any, batch: Batch) -> Terms:
        rows = net.encoder.rows(batch.features)
        code = net.encoder.coder(rows)
        divergence = kl_to_target(net.log_p[batch.index], net.assign(code))
        return {
            "reconstruction": (net.encoder.decoder(code) - rows).square().mean(),
            "cluster": self.cluster_weight * divergence,
        }
