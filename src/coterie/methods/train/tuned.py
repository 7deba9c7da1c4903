"""The base of methods that train a sentence encoder: how much of it they change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from coterie.encoders import Encoder
from coterie.errors import UsageError
from coterie.methods.train.layers import STILL, check_tune, moving_layers
from coterie.methods.train.trained import TrainedClusterer


@dataclass(eq=False, repr=False, kw_only=True)
class TunedClusterer(TrainedClusterer):
    """A method that trains the encoder, all of it or a part.

    Parameters
    ----------
    tune : str, default="full"
        What of the encoder moves: "full", all of it; "last-2" (or another number), its last
        layers and what follows them; "heads", nothing. The encoder's dropout stays on in training
        with all of these, so that two passes of a text still differ. "frozen" moves nothing
        either, and computes the vectors of all texts and views once, without dropout: by far the
        quickest on a CPU.

    Notes
    -----
    With "heads" and "frozen" the vectors of the texts stay as they are. "frozen" needs views in
    other words (``views="eda"``, or pairs): two passes of a text are alike without dropout.
    """

    _kmeans_on_vectors: ClassVar[bool] = False  # whether labels_from="kmeans" uses only them
    _needs_tokens: ClassVar[bool] = False  # whether a step uses the layers of the encoder

    tune: str = "full"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        moving_layers(self.tune)
        if self.tune in STILL and self._kmeans_on_vectors:
            if getattr(self, "labels_from", "") == "kmeans":
                raise UsageError(
                    f"`tune={self.tune!r}` does not change the embeddings, and "
                    "`labels_from='kmeans'` uses nothing else: use `labels_from='head'`, or "
                    "`tune='last-2'`."
                )
        if self.tune == "frozen" and self._needs_tokens:
            raise UsageError(
                f"`tune='frozen'`: a step of {self.name} uses the inside of the encoder; use "
                "`tune='heads'` or `tune='last-1'`."
            )

    def _make_encoder(self, seed: int) -> Encoder:
        encoder = super()._make_encoder(seed)
        check_tune(encoder, self.tune)
        return encoder
