"""Topic shares as vectors: latent Dirichlet allocation, by scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from coterie._types import Floats
from coterie.encoders.vectors import BagOfWords

MAX_WORDS = 20_000


class TopicShares(BagOfWords):
    """Shares of the topics of a text, from the counts of its words (LDA).

    Parameters
    ----------
    n_topics : int, default=50
    prior : float, default=0.1
        Of the topics of a text (alpha): small values give a short text few topics.
    max_iter : int, default=20
        Rounds of variational inference over all texts.
    seed : int, default=0

    Attributes
    ----------
    components : ndarray of shape (n_topics, words)
        Counts that each topic has of each word, the prior's included.
    """

    kind: ClassVar[str] = "lda"

    def __init__(
        self, n_topics: int = 50, prior: float = 0.1, max_iter: int = 20, seed: int = 0
    ) -> None:
        super().__init__("counts", max_features=MAX_WORDS, seed=seed, stop_words=True)
        self.n_topics, self.prior, self.max_iter = n_topics, prior, max_iter

    def learn(self, texts: Sequence[str]) -> None:
        super().learn(texts)
        model = self._make(random_state=self.seed % 2**32).fit(self._counts(texts))
        self.components = model.components_
        self.dim = self.n_topics

    def reduced(self, counts: Any) -> Floats:
        """Shares of the topics of each row, as inferred by the topics found."""
        from scipy.special import psi

        assert self.components is not None
        model = self._make()
        model.components_, model.n_features_in_ = self.components, counts.shape[1]
        expected = psi(self.components) - psi(self.components.sum(axis=1))[:, None]
        model.exp_dirichlet_component_, model.doc_topic_prior_ = np.exp(expected), self.prior
        return np.asarray(model.transform(counts), dtype=np.float32)

    def _make(self, **more: Any) -> Any:
        from sklearn.decomposition import LatentDirichletAllocation

        return LatentDirichletAllocation(
            self.n_topics,
            doc_topic_prior=self.prior,
            max_iter=self.max_iter,
            learning_method="batch",
            **more,
        )

    def top_words(self, n: int) -> list[list[str]]:
        """The ``n`` words that each topic has most of, best first."""
        assert self.components is not None
        order = np.argsort(-self.components, axis=1, kind="stable")[:, :n]
        return [[self.vocabulary[i] for i in topic] for topic in order]

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "n_topics": self.n_topics, "prior": self.prior}

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        self.n_topics, self.prior = int(saved["n_topics"]), float(saved["prior"])
        super().restore(saved, arrays)
