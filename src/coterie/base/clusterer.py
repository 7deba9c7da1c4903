"""The estimator that every method extends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from coterie._errors import UsageError
from coterie._random import check_seed
from coterie._types import Floats, Ints
from coterie._validation import check_choice, check_integer, check_number
from coterie.base import storage
from coterie.base.edited import correct
from coterie.base.facts import TrainingContext
from coterie.base.fitting import fit
from coterie.base.inputs import Inputs, read_texts, read_vectors
from coterie.base.outlying import OutlierMixin, without_outliers
from coterie.base.shown import DisplayMixin
from coterie.base.start import kmeans_assigner
from coterie.blocks.assign import Assigner, probabilities
from coterie.encoders import DEFAULT, Encoder, Pooling, load_encoder
from coterie.encoders.load import Loaders
from coterie.engine import SHORTCUTS, Stage, chosen_shortcuts

Self = TypeVar("Self", bound="TextClusterer")


@dataclass(eq=False, repr=False, kw_only=True)
class TextClusterer(DisplayMixin, OutlierMixin, ClusterMixin, TransformerMixin, BaseEstimator):
    """Base of all methods: texts (or vectors) in, one cluster per text out.

    A method that trains overrides :meth:`_build_network`, :meth:`_training_stages` and
    :meth:`_final_assigner`; one that does not start from k-means, :meth:`_initial_assigner`. All
    other hooks have defaults. Clusters are numbered by size, 0 is the largest; texts without a word
    get -1 and probabilities of zero.

    Parameters
    ----------
    n_clusters : int, default=8
        Honoured exactly.
    encoder : str, Path, Encoder or SentenceTransformer, default="all-MiniLM-L6-v2"
        A name, a folder, "tfidf", "tfidf-svd", "bow", "sif", "lda", or "precomputed" if X is an
        array of vectors. "hub:NAME" allows a download; nothing else does.
    max_length : int, default=128
        Tokens read of each text.
    pooling : {"auto", "mean", "cls"}, default="auto"
        How token vectors become one; "auto" is as the encoder's folder says.
    normalize : bool, optional
        Vectors of unit length; default: as the encoder's folder says.
    batch_size : int, default=256
        Texts per training step.
    n_init : int, default=10
        Starts of k-means; the best by inertia is kept.
    device : {"auto", "cpu", "cuda"}, default="auto"
    precision : {"auto", "float32", "bfloat16"}, default="auto"
        Of the encoder in training; "auto" is bfloat16 on a GPU, float32 elsewhere.
    shortcuts : bool or list of str, default=True
        Ways to train faster on a GPU: any of "graphs" (a step is launched at once), "packing"
        (short texts share rows), "fused" (layers in few kernels), "one-pass" (all views at once),
        "fused-adam", "device-tokens", "tf32" (rounder products of heads). True is all of them.
    random_state : int, Generator, RandomState or None, default=None
        Drives everything; the global random state is left alone.
    guard : bool, default=True
        Return the start solution if training collapsed or tore similar texts apart.
    verbose : int, default=0
        1 shows progress on stderr.
    checkpoint : str or Path, optional
        Folder for checkpoints; a fit that finds one there continues it.
    checkpoint_every : float, default=60.0
        Seconds between checkpoints at ends of epochs; there is always one per stage.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    n_clusters_ : int
    encoder_ : Encoder
    assigner_ : Assigner
        How vectors become labels.
    distinct_vectors_ : ndarray of shape (n_distinct, d)
        Vectors of the different texts; ``vectors_`` and ``probabilities_`` spread them to all.
    rows_ : ndarray of shape (n_samples,)
        Number of each text among the different ones; -1 for texts without a word.
    start_labels_ : ndarray of shape (n_samples,)
        The clustering before training.
    trained_labels_ : ndarray of shape (n_samples,) or None
        The clustering after training, also where the guard kept the start.
    guard_ : Verdict or None
        What the start guard saw; None if nothing was trained.
    history_ : History
        Loss terms over the training.
    corrections_ : dict of str to int
        Clusters that a person gave to single texts, by fingerprint; see :func:`coterie.edit`.
    seed_ : int
    seconds_ : dict of str to float, time spent by phase
    """

    name: ClassVar[str]
    citation: ClassVar[str] = ""
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {}}
    _assigners: ClassVar[dict[str, type[Any]]] = {}  # kinds of rules only this method has
    _encoders: ClassVar[Loaders] = {}  # readers of encoders only this method has
    _saved_attributes: ClassVar[
        tuple[str, ...]
    ] = ()  # fitted attributes, plain values, saved with the model

    n_clusters: int = field(default=8, kw_only=False)
    encoder: Any = DEFAULT
    max_length: int = 128
    pooling: Pooling = "auto"
    normalize: bool | None = None
    batch_size: int = 256
    n_init: int = 10
    device: str = "auto"
    precision: str = "auto"
    shortcuts: bool | Sequence[str] = True
    random_state: Any = None
    guard: bool = True
    verbose: int = 0
    checkpoint: str | Path | None = None
    checkpoint_every: float = 60.0

    @classmethod
    def from_preset(cls: type[Self], preset: str, **parameters: Any) -> Self:
        """The method with a named set of parameters, such as "paper" or "official-code"."""
        check_choice("preset", preset, cls.presets)
        return cls(**{**cls.presets[preset], **parameters})

    # What a method may override ------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse impossible parameters; called at the start of ``fit``."""
        check_integer("n_clusters", self.n_clusters)
        check_integer("batch_size", self.batch_size)
        check_integer("max_length", self.max_length, 3)
        check_integer("n_init", self.n_init)
        check_choice("pooling", self.pooling, ["auto", "mean", "cls"])
        check_choice("precision", self.precision, ["auto", "float32", "bfloat16"])
        for name in chosen_shortcuts(self.shortcuts):
            check_choice("each of shortcuts", name, SHORTCUTS)
        check_number("checkpoint_every", self.checkpoint_every)
        check_seed(self.random_state)

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        """Cluster the distinct texts before training; row ``i`` counts ``weights[i]`` times."""
        return kmeans_assigner(self, vectors, weights, seed)

    def _make_encoder(self, seed: int) -> Encoder:
        """The encoder, fresh; ``seed`` is for encoders that draw random numbers."""
        return load_encoder(
            self.encoder,
            max_length=self.max_length,
            normalize=self.normalize,
            pooling=self.pooling,
            seed=seed,
        )

    def _pretraining_stages(self, context: TrainingContext) -> list[Stage]:
        """Training that the start solution needs, such as an autoencoder's."""
        return []

    def _build_pretraining_network(self, encoder: Any, context: TrainingContext) -> nn.Module:
        """The network of :meth:`_pretraining_stages`; its child ``encoder`` is the encoder."""
        raise NotImplementedError(f"{type(self).__name__} has pretraining but no network for it")

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> nn.Module:
        """The network to train; its child ``encoder`` is the encoder, ``start`` an assigner."""
        raise NotImplementedError(f"{type(self).__name__} has stages but no network")

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        """The training; an empty list trains nothing."""
        return []

    def _final_assigner(
        self, net: nn.Module, vectors: Floats, weights: Floats, seed: int
    ) -> Assigner:
        """Cluster the distinct texts after training."""
        return self._initial_assigner(vectors, weights, seed)

    def _after_fit(self, net: nn.Module | None, order: Ints) -> None:
        """Set attributes of the method's own; cluster ``j`` was ``order[j]`` in training.

        The network is None if nothing was trained; see :attr:`kept_start`, too.
        """

    def _on_texts(self, texts: list[str] | None) -> None:
        """See the distinct texts before the start solution; None if vectors were passed in."""

    def remarks(self) -> list[str]:
        """What the fitted method wants its user to know, in sentences."""
        return []

    # What users call -----------------------------------------------------------------------

    def fit(self: Self, X: Any, y: Any = None, *, views: Any = None) -> Self:
        """Cluster the texts ``X``.

        Parameters
        ----------
        X : list of str, ndarray, Series, DataFrame, Arrow array; or array of shape (n, d)
            Texts, or vectors with ``encoder="precomputed"``.
        y : ignored
        views : sequence of lists of str, optional
            Augmented texts, row by row; overrides the parameter ``views`` where there is one.
        """
        self._check_parameters()
        fit(self, X, views)
        return self

    def predict(self, X: Any, *, outliers: bool | float = False) -> Ints:
        """Cluster of each text; -1 for texts without a word.

        With ``outliers=True`` also for those above the limit of ``mark_outliers``, or above the
        score that is given instead of True.
        """
        if outliers is not False:
            return without_outliers(self, X, outliers)
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
    def load(cls: type[Self], folder: str | Path) -> Self:
        """Read a model back; it predicts the same labels."""
        model = storage.load(cls, Path(folder))
        if not isinstance(model, cls):
            raise UsageError(f"{folder} holds another method than {cls.__name__}.")
        return model

    # Inside ----------------------------------------------------------------------------------

    @property
    def kept_start(self) -> bool:
        """Whether the guard returned the start solution instead of the trained one."""
        return self.guard and self.guard_ is not None and self.guard_.fired

    @property
    def cluster_centers_(self) -> Floats:
        """Centers of the clusters, as wide as ``transform``; not there if the model has none.

        A model that puts texts where a classifier says, where the nearest text is, or by distances
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

    @property
    def vectors_(self) -> Floats:
        """Vectors of the training texts, shape (n_samples, d); zero for texts without a word."""
        check_is_fitted(self, "distinct_vectors_")
        return self._to_samples(self.distinct_vectors_)

    @property
    def probabilities_(self) -> Floats:
        """Probabilities of the training texts, shape (n_samples, n_clusters)."""
        check_is_fitted(self, "distinct_vectors_")
        p = self._to_samples(probabilities(self.assigner_.logits(self.distinct_vectors_)))
        return np.asarray(correct(self, p))

    def _to_samples(self, values: Floats) -> Floats:
        out = values[self.rows_]
        out[self.rows_ < 0] = 0
        return out

    def _inputs(self, X: Any) -> Inputs:
        if self.encoder_.kind != "precomputed":
            return read_texts(self.encoder_, X)
        checked = validate_data(self, X, dtype=np.float32, reset=False)
        return read_vectors(self.encoder_, checked)

    def _parameters(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        texts = not (isinstance(self.encoder, str) and self.encoder == "precomputed")
        tags.input_tags.string = texts
        tags.input_tags.two_d_array = not texts
        tags.input_tags.one_d_array = texts
        tags.no_validation = texts
        tags.non_deterministic = self.random_state is None
        return tags
