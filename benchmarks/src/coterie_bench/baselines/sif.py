"""SIF (Arora et al., ICLR 2017): weighted means of word vectors, then a classical clustering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from coterie.encoders import Encoder
from coterie.models.two_step import TwoStep
from coterie_bench.baselines.encoders import SIFEncoder


@dataclass(eq=False, repr=False, kw_only=True)
class SIF(TwoStep):
    """Cluster weighted means of word vectors, without the direction that all have in common.

    Parameters
    ----------
    encoder : "sif", default="sif"
        The method is its own encoder.

    Notes
    -----
    All else is as in :class:`coterie.TwoStep`. Deviations: word vectors are learned from the texts.

    References
    ----------
    .. [1] Arora, Liang, Ma (2017). A Simple but Tough-to-Beat Baseline for Sentence Embeddings.
       ICLR.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "fast car", "slow car", "old car"]
    >>> SIF(2, random_state=0).fit_predict(texts).shape
    (5,)
    """

    name: ClassVar[str] = "sif-kmeans"

    encoder: Literal["sif"] = "sif"

    def _load_encoder(self, spec: Any, seed: int) -> Encoder:
        return SIFEncoder(seed=seed)
