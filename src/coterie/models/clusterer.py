"""The estimator that every method extends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, Self, TypedDict, TypeVar, Unpack, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie._util.threads import one_blas_thread
from coterie._util.types import Floats, Ints
from coterie._util.validation import check_choice, check_path
from coterie.arrays.assign import probabilities
from coterie.arrays.tree import Tree, grow
from coterie.errors import UsageError
from coterie.models import storage
from coterie.models.core import ClustererCore
from coterie.models.edited import correct
from coterie.models.estimator import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from coterie.models.fitting import Fitting
from coterie.models.guidance import Guidance, theme_texts
from coterie.models.outliers import OutlierMixin

P = ParamSpec("P")
R = TypeVar("R")


class FitOptions(TypedDict, total=False):
    """What may be known about the texts of a fit; see :meth:`TextClusterer.fit`."""

    labels: object
    sample_weight: object  # of a WeightedClusterer
    views: Sequence[Sequence[str]] | None
    themes: Sequence[str | Mapping[str, object]] | None


class TextClusterer(
    OutlierMixin,
    ClusterMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClustererCore,
):
    """Base of all methods: texts (or vectors) in, one cluster per text out.

    A method overrides :meth:`_initial_assigner`, which is k-means by default; one that trains
    extends :class:`~coterie.methods.train.TrainedClusterer`. All other hooks have defaults.
    Clusters are numbered by size, 0 is the largest; texts without a word get -1 and probabilities
    of zero.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Exactly so many clusters. "auto" estimates the number from the texts, as
        :func:`coterie.choose_n_clusters` does.
    encoder : str, Path, Encoder or SentenceTransformer, default="all-MiniLM-L6-v2"
        A name, a folder, "tfidf", "tfidf-svd", "bow", or "precomputed" if X is an
        array of vectors. "hub:NAME" allows a download; nothing else does.
    max_length : int, default=128
        Tokens read of each text.
    pooling : {"auto", "mean", "cls"}, default="auto"
        How token vectors become one; "auto" follows the encoder's folder.
    normalize : bool, optional
        Vectors of unit length; default: follows the encoder's folder.
    n_init : int, default=10
        Starts of k-means; the best by inertia is kept.
    device : {"auto", "cpu", "cuda"}, default="auto"
    precision : {"auto", "float32"}, default="auto"
        Of the encoder. In training "auto" is bfloat16 on a GPU, float32 elsewhere. A method that
        trains nothing encodes in 8 bits on a CPU with "auto", in float32 on a GPU; what this
        machine and the encoder cannot do is done in float32.
    random_state : int, Generator, RandomState or None, default=None
        Drives everything; the global random state is left alone.
    verbose : int, default=0
        1 shows progress on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    n_clusters_ : int
    n_clusters_choice_ : Choice or None
        How ``n_clusters="auto"`` was decided.
    encoder_ : Encoder
    assigner_ : Assigner
        How vectors become labels.
    tree_ : Tree
        How clusters merge; see :mod:`coterie.arrays.tree`. Grown when it is asked for.
    leaf_labels_ : ndarray of shape (n_samples,)
        The leaf of the tree that each text lies in.
    distinct_vectors_ : ndarray of shape (n_distinct, d)
        Vectors of the different texts; ``vectors_`` and ``probabilities_`` spread them to all.
    rows_ : ndarray of shape (n_samples,)
        Number of each text among the different ones; -1 for texts without a word.
    classes_ : tuple of str
        Names of the known classes, which are the first clusters; empty without labels.
    empty_classes_ : tuple of str
        Themes that were given, but that no text fits; they are no clusters.
    corrections_ : dict of str to int
        Clusters that a person gave to single texts, by fingerprint; see :func:`coterie.edit`.
    seed_ : int
    seconds_ : dict of str to float, time spent by phase
    """

    _fitting: ClassVar[type[Fitting]] = Fitting

    @classmethod
    def from_preset(cls: Callable[P, R], preset: str, *args: P.args, **parameters: P.kwargs) -> R:
        """The method with a named set of parameters, such as "paper" or "official-code"."""
        presets = cast("type[TextClusterer]", cls).presets
        check_choice("preset", preset, presets)
        return cls(*args, **{**presets[preset], **parameters})

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        labels: Any = None,
        themes: Any = None,
    ) -> Self:
        """Cluster the texts ``X``.

        Parameters
        ----------
        X : list of str, ndarray, Series, DataFrame, Arrow array; or array of shape (n, d)
            Texts, or vectors with ``encoder="precomputed"``.
        y : ignored
            As by every clusterer of scikit-learn; pipelines hand it over.
        labels : sequence of shape (n_samples,), optional
            Class of each text, as far as it is known; None, -1, NaN and empty strings are
            unlabelled. Class ``c`` of ``classes_`` becomes cluster ``c``, and its texts stay in it;
            further clusters are found beside the classes up to ``n_clusters``. Methods that
            cannot use labels warn and ignore them.
        themes : list of str or mapping, optional
            Names of known themes, or mappings with ``name``, ``description``, ``keywords`` and
            ``examples``. Texts that fit go there; ``classes_`` begins with them, and
            ``empty_classes_`` has those that no text fits.
        """
        return self._fit(X, read_guidance(labels, themes))

    def fit_predict(self, X: Any, y: Any = None, **options: Unpack[FitOptions]) -> Ints:
        """Cluster the texts, and give the cluster of each; as ``fit``, then ``labels_``."""
        return self.fit(X, y, **options).labels_  # type: ignore[misc]

    def fit_transform(self, X: Any, y: Any = None, **options: Unpack[FitOptions]) -> Floats:
        """Cluster the texts, and give the vectors of each; ``y`` is ignored.

        Pipelines call this and hand over what their last step is to learn.
        """
        return self.fit(X, **options).transform(X)  # type: ignore[misc]

    @one_blas_thread()
    def _fit(
        self,
        X: Any,
        guidance: Guidance | None = None,
        sample_weight: Any = None,
        **more: Any,
    ) -> Self:
        self._check_parameters()
        self._forget_outliers()
        for name in ("tree_", "_leaf_labels"):
            self.__dict__.pop(name, None)
        self._fitting(self, X, sample_weight, guidance, **more).run()
        return self

    def predict(self, X: Any, *, outliers: bool | float = False) -> Ints:
        """Cluster of each text; -1 for texts without a word.

        With ``outliers=True`` also for those above the limit of ``mark_outliers``, or above the
        score that is given instead of True.
        """
        if outliers is not False:
            return self._labels_without_outliers(X, outliers)
        inputs, vectors = self._encoded(X)
        labels = inputs.spread(probabilities(self.assigner_.logits(vectors)).argmax(axis=1), -1)
        return np.asarray(correct(self, labels, inputs))

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each cluster; rows sum to one, those of empty texts are zero."""
        inputs, vectors = self._encoded(X)
        p = inputs.spread(probabilities(self.assigner_.logits(vectors)), 0.0)
        return np.asarray(correct(self, p, inputs))

    def transform(self, X: Any) -> Floats:
        """Vector of each text; zero for texts without a word."""
        inputs, vectors = self._encoded(X)
        return np.asarray(inputs.spread(vectors, 0.0))

    def save(self, folder: str | Path, *, include_encoder: bool = False) -> None:
        """Write the fitted model as a folder of safetensors and JSON.

        Parameters
        ----------
        folder : str or Path
        include_encoder : bool, default=False
            Put the encoder into the folder even if it was not trained; otherwise an unchanged one
            is named, with a digest of its weights, and must be there when the model is loaded.
        """
        check_is_fitted(self, "assigner_")
        storage.save(self, Path(folder), include_encoder=include_encoder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model back; it predicts the same labels."""
        model = storage.load(cls, check_path("folder", folder))
        if not isinstance(model, cls):
            raise UsageError(f"{folder} contains another method than {cls.__name__}.")
        return model

    @property
    def leaf_labels_(self) -> Ints:
        """The leaf of ``tree_`` that each text lies in; -1 for texts without a word."""
        check_is_fitted(self, "labels_")
        found: Ints = self.__dict__.get("_leaf_labels", self.labels_)
        return found

    @cached_property
    def tree_(self) -> Tree:
        """How clusters merge, two at a time, down to one; its leaves are the finest clusters."""
        check_is_fitted(self, "distinct_vectors_")
        places = self._on_distinct(self.labels_)
        around = self.__dict__.get("_near")
        return grow(self.distinct_vectors_, places, self.n_clusters_, self.seed_, around, keep=True)

    def _on_distinct(self, labels: Ints) -> Ints:
        """Labels of the samples as labels of the different texts."""
        out = np.zeros(len(self.distinct_vectors_), dtype=np.int64)
        out[self.rows_[labels >= 0]] = labels[labels >= 0]
        return out

    @property
    def _n_features_out(self) -> int:
        """Width of ``transform``, for ``get_feature_names_out`` and ``set_output``."""
        check_is_fitted(self, "assigner_")
        return self.encoder_.dim

    @property
    def cluster_centers_(self) -> Floats:
        """Centers of the clusters, as wide as ``transform``; not there if the model has none.

        A model that assigns texts by a classifier, by the nearest text, or by distances
        in another space than that of ``transform``, has no such centers; nor has an edited one.
        """
        check_is_fitted(self, "assigner_")
        centers: Floats | None = getattr(self.assigner_, "centers", None)
        if centers is None:
            raise AttributeError(
                f"cluster_centers_: this {type(self).__name__} has no centers in the space of "
                f"transform (its assigner is {self.assigner_.kind!r}); the means of vectors_ by "
                "labels_ may stand for them."
            )
        return centers


class WeightedClusterer(TextClusterer):
    """A method that can count texts more or less than once."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        themes: Any = None,
    ) -> Self:
        """Cluster the texts ``X``, as :meth:`TextClusterer.fit` does.

        Parameters
        ----------
        X, y, labels, themes : as there
        sample_weight : array of shape (n_samples,), optional
            How often each text counts. Texts with a weight of 0 do not shape the clusters, but are
            assigned to them.
        """
        if sample_weight is not None:
            self._check_weights()
        return self._fit(X, read_guidance(labels, themes), sample_weight)

    def _check_weights(self) -> None:
        """Refuse parameters with which texts cannot be weighed."""


def read_guidance(labels: Any, themes: Any) -> Guidance | None:
    """What is known about the texts of a fit."""
    return Guidance.make(labels, None if themes is None else theme_texts(themes))
