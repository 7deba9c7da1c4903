"""The base of methods that cluster the codes of an autoencoder over a frozen encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn

from coterie._errors import UsageError
from coterie._types import Terms
from coterie._validation import check_fields, check_integer, check_number
from coterie.base.clusterer import TextClusterer
from coterie.base.facts import TrainingContext
from coterie.blocks.autoencoder import Activation, pair_error, reconstruction_error
from coterie.encoders import Encoder, make_code_encoder
from coterie.encoders.code import Scaling
from coterie.engine import Batch, Stage, steps_for

HIDDEN = (500, 500, 2000)  # of DEC, and of all that followed it
FEWEST, MOST = 500, 3000  # batches of the autoencoder where nothing else is said
EPOCHS = 100


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
class AutoencoderClusterer(TextClusterer):
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
    ae_dropout: float = 0.0
    ae_layers: Sequence[int] | None = None
    ae_lr: float = 1e-3
    ae_steps: int | None = None
    pretrain: str = "joint"
    scaling: Scaling = "rms"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fields(
            self,
            choices={
                "activation": ["relu", "leaky-relu"],
                "pretrain": ["joint", "layerwise"],
                "scaling": ["rms", "minmax"],
            },
            integers={"ae_steps": 0},
            least=["ae_lr"],
        )
        if check_number("ae_dropout", self.ae_dropout) >= 1:
            raise UsageError(f"ae_dropout should be below 1, got {self.ae_dropout!r}.")
        check_layers(self.ae_layers)

    def _make_encoder(self, seed: int) -> Encoder:
        return make_code_encoder(super()._make_encoder(seed), self.scaling)

    def _build_pretraining_network(self, encoder: Any, context: TrainingContext) -> nn.Module:
        encoder.make_coder(self._layers(), self.activation)
        return CoderNet(encoder)

    def _pretraining_stages(self, context: TrainingContext) -> list[Stage]:
        steps = self.ae_steps
        if steps is None:
            steps = min(MOST, max(FEWEST, steps_for(EPOCHS, context.n, self.batch_size)))
        loss = partial(whole_loss, dropout=self.ae_dropout)
        whole = ae_stage("autoencoder", steps, loss, self.ae_lr)
        if self.pretrain == "joint":
            return [whole]
        number = len(self._layers())
        pairs = [
            ae_stage(
                f"layer {i + 1}",
                steps,
                partial(pair_loss, layer=i, dropout=self.ae_dropout),
                self.ae_lr,
                parts=(f"encoder.coder.{2 * i}", f"encoder.decoder.{2 * (number - 1 - i)}"),
            )
            for i in range(number)
        ]
        # The paper's own: what is learned by damaged pairs is refined without damage.
        return [
            *pairs,
            ae_stage("autoencoder", steps, partial(whole_loss, dropout=0.0), self.ae_lr),
        ]

    def _layers(self) -> list[int]:
        if self.ae_layers is not None:
            return list(self.ae_layers)
        return [*HIDDEN, max(10, self.n_clusters + 1)]


def check_layers(layers: Any) -> None:
    """Refuse anything but None or a list of widths."""
    if layers is None:
        return
    if isinstance(layers, str) or not isinstance(layers, Sequence):
        raise UsageError(f"ae_layers should be a list of widths, got {layers!r}.")
    for width in layers or [0]:
        check_integer("each of ae_layers", width)


def ae_stage(
    name: str,
    steps: int,
    loss: Callable[[Any, Batch], Terms],
    lr: float,
    parts: Sequence[str] = ("encoder.coder", "encoder.decoder"),
) -> Stage:
    """A stage that trains parts of an autoencoder."""
    return Stage(name=name, steps=steps, loss=loss, lr=dict.fromkeys(parts, lr))
