"""A fitted model's clusters, described by texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.base.edited import EditedAssigner
from coterie.base.outliers import OutlierMixin
from coterie.corpus import texts_from
from coterie.description import Cluster, describe, describe_numbered
from coterie.errors import UsageError

if TYPE_CHECKING:
    from coterie.description.describe import DescribeOptions


class DescribeMixin(OutlierMixin):
    """Names, words and examples of the clusters of a fitted model."""

    def describe(
        self, texts: Any, X: Any = None, **options: Unpack[DescribeOptions]
    ) -> list[Cluster]:
        """Describe the clusters by names, words and examples among ``texts``.

        Parameters
        ----------
        texts : list of str, Series, ...
            The texts of the training, or others: they are put into the clusters of the model.
            Texts above ``outlier_limit_``, if the model has one, are left out.
        X : ndarray of shape (n, d), optional
            Their vectors, for a model with ``encoder="precomputed"``.
        **options
            Of :func:`coterie.describe`.

        Returns
        -------
        list of Cluster
        """
        check_is_fitted(self, "assigner_")
        read = texts_from(texts)
        if self.encoder_.kind == "precomputed" and X is None:
            raise UsageError("X: this model takes vectors; pass those of the texts as X.")
        found = self.assess(read if X is None else X)
        if len(found.labels) != len(read):
            raise UsageError(
                f"X: {len(found.labels)} rows for {len(read)} texts; give one for each text."
            )
        labels, limit = found.labels, self.outlier_limit_
        if limit:
            labels = np.where(found.outliers(limit), -1, labels)
        topics = getattr(self, "topics_", None)  # only some methods find any
        settings: dict[str, Any] = {
            "probabilities": found.probabilities,
            "topics": topics,
            **options,
        }
        if not isinstance(self.assigner_, EditedAssigner):
            return describe(read, labels, found.vectors, **settings)
        if topics is not None:
            untouched = self.assigner_.untouched.items()
            settings["topics"] = {c: topics[i] for c, i in untouched}
        return describe_numbered(read, labels, found.vectors, {}, **settings)
