"""DEC: Unsupervised Deep Embedding for Clustering Analysis (Xie et al., ICML 2016).

The autoencoder is in ``base/coded.py``, the sharpening of clusters in ``base/sharpened.py``, the
formulas in ``blocks/student_t.py``: DEC is these three as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from coterie.base import DECClusterer


@dataclass(eq=False, repr=False, kw_only=True)
class DEC(DECClusterer):
    """Cluster the codes of an autoencoder, then let sure assignments pull codes and centers.

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
    citation: ClassVar[str] = (
        "Xie, Girshick, Farhadi (2016). Unsupervised Deep Embedding for Clustering Analysis. ICML."
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "ae_dropout": 0.2,
            "ae_layers": (500, 500, 2000, 10),
            "ae_steps": 50_000,
            "pretrain": "layerwise",
            "steps": 20_000,
        }
    }

    batch_size: int = 256
