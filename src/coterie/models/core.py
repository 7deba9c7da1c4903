"""What every method is made of: its parameters, its hooks, and what a fit leaves behind.

This is the lowest of the modules about estimators. Fitting, saving, outliers and display build on
it, and :class:`coterie.TextClusterer` puts them together.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie._util.random import check_seed
from coterie._util.torch import torch
from coterie._util.types import Floats, Ints
from coterie._util.validation import (
    Length,
    PositiveInt,
    check_device,
    check_parameters,
)
from coterie.arrays.assign import (
    Assigner,
    CenterAssigner,
    MappedAssigner,
    NeighborAssigner,
    probabilities,
)
from coterie.arrays.guided import class_factor, class_metric, examples, seeded_kmeans
from coterie.arrays.kmeans import KMeans
from coterie.arrays.linkage import agglomerate, memory_needed
from coterie.arrays.neighbors import unit_rows
from coterie.encoders import AUTO, DEFAULT, Encoder, Pooling, Reading, load_encoder, look
from coterie.models.choose import Choice
from coterie.models.edited import EditedAssigner, correct
from coterie.models.estimator import BaseEstimator
from coterie.models.guarded import GuardResult
from coterie.models.guidance import TextGuidance
from coterie.models.inputs import Inputs, read_texts, read_vectors

log = logging.getLogger(__name__)

Precision = Literal["auto", "float32"]


class FittedAttributes:
    """Types of what a fit sets; :class:`coterie.TextClusterer` describes them."""

    labels_: Ints
    n_clusters_: int
    n_clusters_choice_: Choice | None
    encoder_: Encoder
    assigner_: Assigner | EditedAssigner
    distinct_vectors_: Floats
    rows_: Ints
    reading_: Reading | None = None  # how the encoder reads the texts; None without a tokenizer
    encoder_notes_: tuple[str, ...] = ()  # what is said about that
    _trains: ClassVar[bool] = False  # whether the encoder's vectors are only the start
    corrections_: dict[str, int]  # by fingerprint of the text
    corrected_rows_: dict[int, int]  # of the training texts
    classes_: tuple[str, ...]
    empty_classes_: tuple[str, ...]
    guard_: GuardResult | None = None  # of a method that trains
    _known: TextGuidance | None = None  # labels and themes of the texts that are being clustered
    seed_: int
    _found_k: int  # for n_clusters="auto"
    # Clusters that ``auto`` shows of those that it fits, where their number was found. It then runs
    # k-means less often, and looks at the sizes when clusters are merged.
    _medium: int | None = None
    _leaf_labels: Ints  # where they differ from the labels
    seconds_: dict[str, float]
    n_features_in_: int


@dataclass(eq=False, repr=False, kw_only=True)
class ClustererCore(FittedAttributes, BaseEstimator):
    """Parameters and hooks of a method; see :class:`coterie.TextClusterer`."""

    name: ClassVar[str]
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {}}
    _assigners: ClassVar[dict[str, type[Assigner]]] = {}  # kinds that only this method has
    _fitting: ClassVar[Any]  # the steps of a fit
    _saved_attributes: ClassVar[tuple[str, ...]] = ()  # fitted, plain values, saved with the model

    n_clusters: PositiveInt | Literal["auto"] = field(default="auto", kw_only=False)
    encoder: Any = DEFAULT
    max_length: Length = 128
    pooling: Pooling = "auto"
    normalize: bool | None = None
    n_init: PositiveInt = 10
    device: str = "auto"
    precision: Precision = "auto"
    random_state: Any = None
    verbose: int = 0

    # What a method may override ------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse impossible parameters; called at the start of ``fit``."""
        check_parameters(self)
        check_seed(self.random_state)

    def _make_encoder(self, seed: int) -> Encoder:
        """The encoder, fresh; ``seed`` is for encoders that draw random numbers."""
        return self._load_encoder(self.encoder, seed)

    def _load_encoder(self, spec: Any, seed: int) -> Encoder:
        return load_encoder(
            spec,
            max_length=self.max_length,
            normalize=self.normalize,
            pooling=self.pooling,
            seed=seed,
        )

    def _suit_encoder(self, encoder: Encoder, texts: Sequence[str], seed: int) -> Encoder:
        """The encoder for these texts; this one, with a warning if it cannot read them."""
        self._tell(encoder, look(encoder, texts, seed), fallback=None)
        return encoder

    def _tell(
        self,
        encoder: Encoder,
        reading: Reading | None,
        *,
        fallback: bool | None,
        beside: bool = False,
    ) -> None:
        """Keep how an encoder reads the texts, and say so where it does not read them well.

        See :meth:`coterie.encoders.Reading.sentences`.
        """
        self.reading_, self.encoder_notes_ = reading, ()
        if reading is not None:
            given = self.encoder if isinstance(self.encoder, (str, Path)) else encoder.kind
            name = DEFAULT if given == AUTO else str(given)
            told = reading.sentences(name, fallback=fallback, beside=beside)
            self.encoder_notes_ = (" ".join(told),) if told else ()
        for note in self.encoder_notes_:
            log.warning(note)

    def _uses_guidance(self) -> bool:
        """Whether the method can be steered by labels and themes."""
        return False

    def _on_texts(self, texts: list[str] | None) -> None:
        """See the distinct texts before the start solution; None if vectors were passed in."""

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        """Cluster the distinct texts before training; row ``i`` counts ``weights[i]`` times."""
        return kmeans_assigner(self, vectors, weights, seed)

    def _fit_finer(self, shown: int, finest: int) -> int:
        """How many clusters to fit, at most ``finest``, where so many are to be shown."""
        return shown

    def _after_fit(self, order: Ints) -> None:
        """Set attributes of the method's own; cluster ``j`` was ``order[j]`` before."""

    def remarks(self) -> list[str]:
        """What the fitted method wants its user to know, in sentences."""
        return []

    # What the modules above share ----------------------------------------------------------

    @property
    def _k(self) -> int:
        """The number of clusters of this fit: ``n_clusters``, or the one found for "auto".

        There is one for each known class, at least.
        """
        found: int = self._found_k if self.n_clusters == "auto" else self.n_clusters
        return found if self._known is None else max(found, self._known.n_classes)

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

    def _parameters(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def _inputs(self, X: Any) -> Inputs:
        if self.encoder_.kind != "precomputed":
            return read_texts(self.encoder_, X)
        checked = validate_data(self, X, dtype=np.float32, reset=False)
        return read_vectors(self.encoder_, checked)

    def _encoded(self, X: Any) -> tuple[Inputs, Floats]:
        """The texts as the encoder takes them, and vectors of the different ones."""
        check_is_fitted(self, "assigner_")
        inputs = self._inputs(X)
        return inputs, self.encoder_.encode(inputs.items)

    def _to_samples(self, values: Floats) -> Floats:
        """Values of the different training texts, for all of them; zero without a word."""
        out = values[self.rows_]
        out[self.rows_ < 0] = 0
        return out

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        texts = not (isinstance(self.encoder, str) and self.encoder == "precomputed")
        tags.input_tags.string = texts
        tags.input_tags.two_d_array = not texts
        tags.input_tags.one_d_array = texts
        tags.no_validation = texts
        tags.non_deterministic = self.random_state is None
        return tags


def kmeans_assigner(
    model: ClustererCore, vectors: Floats, weights: Floats, seed: int, *, spherical: bool = False
) -> CenterAssigner:
    """K-means on the model's device.

    With labels or themes it is seeded: labelled texts stay with their class.
    """
    x, known, seeds, k = vectors, model._known, None, model._k
    if known is not None and len(known.labels) == len(vectors):
        x, seeds = unit_rows(x) if spherical else x, known.seeds
    kmeans = KMeans(n_clusters=k, seed=seed, n_init=model.n_init, spherical=spherical)
    found = kmeans(torch.from_numpy(x).to(check_device(model.device)), weights)
    centers = found.centers
    if seeds is not None and (seeds >= 0).any():
        _, centers = seeded_kmeans(
            x, k, weights, seeds, seed, n_init=model.n_init, factor=1.0, found=found.labels
        )
    return CenterAssigner(centers, normalize=spherical)


def metric_assigner(
    model: ClustererCore, vectors: Floats, weights: Floats, seed: int
) -> MappedAssigner | None:
    """Seeded k-means in the metric of the labels; None if they do not show it for all clusters."""
    known, k = model._known, model._k
    if known is None or len(known.labels) != len(vectors) or (known.hints >= 0).any():
        return None
    seeds = known.seeds
    scale = class_metric(vectors, examples(vectors, seeds))
    if scale is None or len(np.unique(seeds[seeds >= 0])) < k:
        return None
    factor = class_factor(seeds, weights, k)
    _, centers = seeded_kmeans(vectors @ scale, k, weights, seeds, seed, factor=factor)
    return MappedAssigner(CenterAssigner(centers), scale, np.zeros(len(scale), dtype=np.float32))


def second_step(
    model: ClustererCore, vectors: Floats, weights: Floats, seed: int, cluster: str
) -> Assigner:
    """The clustering that a method with its own vectors ends with: "kmeans" or "ward"."""
    if cluster == "kmeans":
        return kmeans_assigner(model, vectors, weights, seed)
    n, d = vectors.shape
    log.info("linkage of %d texts takes about %d MB", n, memory_needed(n, d) >> 20)
    return NeighborAssigner(vectors, agglomerate(vectors, model._k, "ward", weights))
