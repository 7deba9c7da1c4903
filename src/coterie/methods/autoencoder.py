"""An autoencoder and a classical clustering of its codes: what DEC and ADSL start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from coterie._types import Floats
from coterie._validation import check_choice
from coterie.base import AutoencoderClusterer, second_step
from coterie.blocks.assign import Assigner


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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("cluster", self.cluster, ["kmeans", "ward"])

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        return second_step(self, vectors, weights, seed, self.cluster)
