"""The base of methods that train a sentence encoder: how much of it they change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from coterie._errors import UsageError
from coterie.base.clusterer import TextClusterer
from coterie.encoders import Encoder
from coterie.encoders.tuning import check_tune, read_tune


@dataclass(eq=False, repr=False, kw_only=True)
class TunedClusterer(TextClusterer):
    """A method that trains the encoder, all of it or a part.

    Parameters
    ----------
    tune : str, default="full"
        What of the encoder moves: "full", all of it; "last-2" (or another number), its last
        layers and what follows them; "lora", matrices of rank 8 beside queries and values, which
        are added to the weights at the end; "heads", nothing. The encoder's dropout stays on in
        training with all four, so that two passes of a text still differ.

    Attributes
    ----------
    trained_parameters_ : dict of str to int
        How many numbers of each part of the network were trained; empty if nothing was.

    Notes
    -----
    "lora" wants a larger ``lr`` than "full", since its matrices start at zero. With "heads" the
    vectors of the texts stay as they are.
    """

    kmeans_on_vectors: ClassVar[bool] = False  # whether labels="kmeans" looks at them alone

    tune: str = "full"

    def check_parameters(self) -> None:
        super().check_parameters()
        read_tune(self.tune)
        if self.kmeans_on_vectors and (self.tune, getattr(self, "labels", "")) == (
            "heads",
            "kmeans",
        ):
            raise UsageError(
                "tune='heads' leaves the vectors as they are, and labels='kmeans' looks at nothing "
                "else: set labels='head', or tune='lora'."
            )

    def make_encoder(self, seed: int) -> Encoder:
        encoder = super().make_encoder(seed)
        check_tune(encoder, self.tune)
        return encoder
