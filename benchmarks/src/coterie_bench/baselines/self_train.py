"""Self-Train (Hadifar et al., 2019): DEC on an autoencoder over SIF vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from coterie._util.validation import NonNegativeFloat, PositiveFloat, PositiveInt, Widths
from coterie.encoders import Encoder
from coterie.methods.code import make_code_encoder
from coterie.methods.dec import DECClusterer
from coterie.methods.losses.layers import Activation
from coterie.methods.word_vectors import Source, width_of
from coterie_bench.baselines.encoders import SIFEncoder


@dataclass(eq=False, repr=False, kw_only=True)
class SelfTrain(DECClusterer):
    """Weighted means of word vectors, an autoencoder, and clusters that sharpen themselves.

    Parameters
    ----------
    activation : {"relu", "leaky-relu"}, default="leaky-relu"
    ae_layers : list of int, default=(500, 500, 2000, 20)
        Widths of the autoencoder; the last is the code's.
    batch_size : int, default=64
    encoder : "sif", default="sif"
        Word vectors are what this method is about; for any other encoder take DEC.
    refresh_every : int, default=300
        Steps between two passes over the whole corpus, which give new targets.
    rare : float, default=0.1
        A word of probability p counts ``rare / (rare + p)`` times (a in SIF).
    scaling : {"rms", "minmax"}, default="minmax"
    tol : float, default=1e-4
        Stop when a smaller share of labels changed between two passes.
    word_dim : int, default=48
        Width of word vectors that are learned from the texts.
    word_vectors : {"auto", "skipgram", "ppmi"} or file, default="auto"
        See :func:`coterie.texts.words.make_word_vectors`.

    Notes
    -----
    From the authors' code: layers, activation, batch size, weighting of words, scaling, passes
    (500, 100 and 300 steps on their three sets), ``tol``. Deviations: Adam takes the place of
    stochastic gradient descent; word vectors are learned from the texts unless a file is given;
    the number of steps does not depend on the data set, the stop rule does the work (the authors
    have at most 1,500, 100 and 1,000); ten starts of k-means, not a hundred; the common direction
    is the first singular vector of the vectors as they are, for all texts (the authors centre them
    on one set); all texts are trained on, not a random nine tenths.

    References
    ----------
    .. [1] Hadifar, Sterckx, Demeester, Develder (2019). A Self-Training Approach for Short Text
       Clustering. RepL4NLP.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car", "old car"]
    >>> model = SelfTrain(2, word_dim=10, ae_layers=(20, 5), ae_steps=60, steps=20, random_state=0)
    >>> len(set(model.fit_predict(texts)))
    2
    """

    name: ClassVar[str] = "self-train"
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {"n_init": 100, "steps": 1500}}

    activation: Activation = "leaky-relu"
    ae_layers: Widths | None = (500, 500, 2000, 20)
    batch_size: PositiveInt = 64
    encoder: Literal["sif"] = "sif"
    rare: PositiveFloat = 0.1
    refresh_every: PositiveInt = 300
    scaling: Literal["rms", "minmax"] = "minmax"
    tol: NonNegativeFloat = 1e-4
    word_dim: PositiveInt = 48
    word_vectors: Source = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        width_of(self.word_vectors, self.word_dim)

    def _make_encoder(self, seed: int) -> Encoder:
        words = SIFEncoder(self.word_vectors, self.rare, self.word_dim, seed)
        return make_code_encoder(words, self.scaling)
