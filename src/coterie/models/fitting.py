"""How a method is fitted: number of clusters, clustering, labels.

Methods that train add their steps in :mod:`coterie.methods.train.fitting`.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from coterie._util.progress import Progress, make_progress
from coterie._util.random import derive_seed, resolve_seed
from coterie._util.torch import need_torch
from coterie._util.types import Floats, Ints
from coterie._util.validation import check_device
from coterie.arrays.assign import Assigner, probabilities
from coterie.arrays.guided import theme_hints
from coterie.arrays.neighbors import unit_rows
from coterie.encoders import (
    AUTO,
    DEFAULT,
    Encoder,
    EndpointEncoder,
    GivenVectors,
    LexicalEncoder,
    MixedEncoder,
    MultilingualViews,
    SentenceEncoder,
    StaticEncoder,
    UniversalEncoder,
)
from coterie.encoders.lexical import MixedItems
from coterie.errors import DataError, UsageError, counted
from coterie.models.choose import Choice, choose_n_clusters
from coterie.models.confidence import calibrate
from coterie.models.core import ClustererCore
from coterie.models.edited import correct, fingerprint
from coterie.models.guidance import Guidance, TextGuidance
from coterie.models.inputs import Inputs, read_texts, read_vectors
from coterie.texts import texts_from

log = logging.getLogger(__name__)

EMBEDDING = (SentenceEncoder, StaticEncoder, UniversalEncoder, EndpointEncoder, GivenVectors)


@dataclass(frozen=True)
class Start:
    """A clustering of the distinct texts.

    Attributes
    ----------
    assigner : Assigner
    labels : ndarray of shape (n,)
        Cluster of each distinct text, as the assigner puts it.
    vectors : ndarray of shape (n, d)
    texts : list of str, optional
        The distinct texts; None if vectors were passed in.
    """

    assigner: Assigner
    labels: Ints
    vectors: Floats
    texts: list[str] | None


def number_encoder(model: ClustererCore) -> object:
    """The encoder that the number of clusters is estimated with, as the command does.

    For a method with its own encoder, such as LDA, that is the default one.
    """
    own = type(model).encoder
    mine = isinstance(model.encoder, str) and model.encoder == own
    return AUTO if mine and own not in (AUTO, DEFAULT) else model.encoder


class Fitting:
    """One fit: what its phases share."""

    def __init__(
        self,
        model: ClustererCore,
        X: Any,
        sample_weight: Any = None,
        guidance: Guidance | None = None,
    ) -> None:
        need_torch(f"`method={model.name!r}`: clustering")
        self.model = model
        self.device = check_device(model.device)
        self.seed = resolve_seed(model.random_state)
        self.progress: Progress = make_progress(model.verbose)
        self.seconds: dict[str, float] = {}
        self._vectors: Floats | None = None
        self._embeddings: Floats | None = None  # the encoder's own, where vectors hold more
        self.choice: Choice | None = None
        with self.phase("prepare"):
            if model.n_clusters == "auto" and number_encoder(model) is not model.encoder:
                X = texts_from(X)  # the method's own encoder may depend on the number
                self.use(self._choose(X))
            self.encoder, self.inputs = self._read(X)
            self.weights = self._weigh(X, sample_weight)
            self.known = self._on_texts(guidance)

    def run(self) -> None:
        """Run the phases and set the attributes of the model."""
        model = self.model
        self._tell_known()
        if model.n_clusters == "auto" and self.choice is None:
            self.use(self.find_number())
        self._check_enough()
        self.encoder.to(self.device)
        self.prepare()
        vectors = self.vectors()
        with self.phase("start"):
            texts = self._distinct_texts()
            model._on_texts(texts)
            weights, counted = self.weights, self._counted(vectors)
            seed = derive_seed(self.seed, "start")
            if self.known is not None and not weights.all():
                model._known = self.known.part(weights > 0)
            assigner = model._initial_assigner(counted, weights[weights > 0], seed)
            start = Start(assigner, labels_of(assigner, vectors), vectors, texts)
        self.finish(start)
        model.__dict__.pop("_known", None)

    def prepare(self) -> None:
        """Do what has to come before the start solution; nothing by default."""

    def finish(self, start: Start) -> None:
        """Go from the start solution to the fitted model; by default the start is the result."""
        self._set_attributes(start.assigner, start.labels, start.vectors)

    def vectors(self) -> Floats:
        """Vectors of the distinct texts, encoded on first use."""
        if self._vectors is None:
            self.encoder.to(self.device)
            items, distinct = self.inputs.items.to(self.device), np.arange(self.inputs.n_distinct)
            with self.phase("encode"):
                self._vectors = self.encoder.encode(items, distinct, progress=self.progress)
            self._embeddings = items.embeddings if isinstance(items, MixedItems) else None
        return self._vectors

    def _tell_known(self) -> None:
        """Let the method see what is known."""
        model, known = self.model, self.find_themes()
        model._known = known
        if known is not None and model.n_clusters != "auto" and model.n_clusters < known.n_classes:
            more = UsageError(
                f"there are {known.n_classes} known classes, but "
                f"`n_clusters={model.n_clusters!r}`; each class is a cluster, so there are "
                f"{known.n_classes} clusters."
            )
            warnings.warn(str(more), stacklevel=5)

    def find_themes(self) -> TextGuidance | None:
        """What is known about the texts, also which of them seem to fit the themes."""
        known = self.known
        if known is None or not known.themes:
            return known
        vectors = self.vectors()
        with self.phase("themes"):
            texts = [text for theme in known.themes for text in theme]
            items, rows = self.encoder.prepare(texts)
            encoded = self.encoder.encode(items)[rows]
            ends = np.cumsum([len(theme) for theme in known.themes])
            wanted = self.model.n_clusters
            alone = wanted != "auto" and wanted <= known.n_classes
            hints = theme_hints(vectors, np.split(encoded, ends[:-1]), alone=alone)
            self.known = known.with_hints(hints)
        return self.known

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the seconds of a phase."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(time.perf_counter() - begun, 3)

    def _read(self, X: Any) -> tuple[Encoder, Inputs]:
        model = self.model
        encoder = model._make_encoder(derive_seed(self.seed, "encoder"))
        for one in encoder.modules():
            if isinstance(one, SentenceEncoder):
                one.encode_precision = self._encode_precision()
                one.encode_precision = one.precision_here()  # what this machine can do
        if encoder.kind == "precomputed":
            checked = validate_data(model, X, dtype=np.float32, ensure_min_samples=2)
            return encoder, read_vectors(encoder, checked)
        texts = texts_from(X)
        some = sorted(text for text in texts if text)
        encoder = model._suit_encoder(encoder, some, derive_seed(self.seed, "encoder"))
        return encoder, read_texts(encoder, texts, self._views(texts), learn=True)

    def _views(self, texts: list[str]) -> list[list[str]]:
        """Augmented texts; none by default."""
        return []

    def _encode_precision(self) -> str:
        """8 bits on a CPU if nothing is trained."""
        model = self.model
        exact = model.precision == "float32" or model._trains or self.device.type != "cpu"
        return "float32" if exact else "int8"

    def _weigh(self, X: Any, sample_weight: Any) -> Floats:
        """How often each distinct text counts."""
        rows = self.inputs.views[0]
        given = None
        if sample_weight is not None:
            given = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if not given.any():
                raise DataError(
                    "sample_weight is zero for all texts; give at least one above zero."
                )
            given = given[self.inputs.rows]
            order = np.lexsort((given, rows))  # so that the last digit of a sum is always the same
            rows, given = rows[order], given[order]
        counts = np.bincount(rows, weights=given, minlength=self.inputs.n_distinct)
        return counts.astype(np.float32)

    def _on_texts(self, guidance: Guidance | None) -> TextGuidance | None:
        """What is known about the different texts."""
        if guidance is None:
            return None
        if not self.model._uses_guidance():
            warnings.warn(
                f"{self.model.name} cannot use labels or themes and ignores them; auto, "
                "kmeans and sccl use them.",
                stacklevel=4,
            )
            return None
        if guidance.themes and self.encoder.kind == "precomputed":
            raise UsageError(
                "`themes` are compared with the texts by the encoder; give texts instead of "
                "vectors, or known classes as labels."
            )
        places = self.inputs.spread(np.arange(self.inputs.n_distinct, dtype=np.int64), -1)
        return guidance.on_texts(places, self.inputs.n_distinct)

    def _counted(self, vectors: Floats) -> Floats:
        """The vectors whose weight is above zero; all, if no weights were given."""
        return vectors if self.weights.all() else vectors[self.weights > 0]

    def use(self, choice: Choice) -> None:
        """Fit the number of clusters that was found; the model's own is "auto"."""
        self.choice = choice
        fine = choice.levels.get("fine", choice.n_clusters)
        self.model._found_k = self.model._fit_finer(choice.n_clusters, fine)

    def find_number(self) -> Choice:
        """Estimate the number of clusters, from the vectors of the fit where possible.

        A bag of words is learnt from a sample of the texts, so it is made anew.
        """
        inputs, encoder = self.inputs, self.encoder
        inner = encoder.inner if isinstance(encoder, MixedEncoder) else encoder
        if inputs.texts is None:
            return self._choose(self.vectors())
        if number_encoder(self.model) is not self.model.encoder:
            return self._choose(inputs.texts)
        if isinstance(encoder, LexicalEncoder):
            universal = isinstance(encoder, MultilingualViews)
            name = UniversalEncoder.kind if universal else encoder.kind
            return self._choose(inputs.texts, encoder=name)
        if not isinstance(inner, EMBEDDING):
            return self._choose(inputs.texts)
        vectors, rows = self.vectors(), inputs.views[0]
        if self._embeddings is not None:  # the vectors hold more than these
            assert isinstance(inputs.items, MixedItems)
            vectors, rows = self._embeddings, inputs.items.pairs[rows, 0]
        return self._choose(inputs.texts, unit_rows(vectors)[rows])

    def _choose(
        self, X: Any, embeddings: Floats | None = None, encoder: str | None = None
    ) -> Choice:
        with self.phase("number of clusters"):
            return choose_n_clusters(
                X,
                encoder=encoder or number_encoder(self.model),
                embeddings=embeddings,
                random_state=self.seed,
                progress=self.progress,
            )

    def _check_enough(self) -> None:
        k, rows = self.model._k, self.inputs.n_rows
        distinct = int((self.weights > 0).sum())
        if distinct < k:
            raise DataError(
                f"`n_clusters={k!r}` is more than the {counted(distinct, 'different text')} in "
                f"{counted(rows, 'sample')}, as the encoder reads them; ask for at most "
                f"{counted(distinct, 'cluster')}."
            )

    def _distinct_texts(self) -> list[str] | None:
        """One text for each distinct item."""
        if self.inputs.texts is None:
            return None
        first = np.unique(self.inputs.views[0], return_index=True)[1]
        return [self.inputs.texts[i] for i in first]

    def _set_attributes(self, assigner: Assigner, labels: Ints, vectors: Floats) -> None:
        model = self.model
        sizes = np.bincount(labels, weights=self.weights, minlength=model._k)
        first = 0 if self.known is None else self.known.n_classes  # known classes stay in front
        order = np.append(np.arange(first), first + np.argsort(-sizes[first:], kind="stable"))
        ordered = assigner.reordered(order)
        with self.phase("calibrate"):
            ordered = calibrate(ordered, self._counted(vectors), self.seed, self.device)
        model.distinct_vectors_ = vectors
        model.rows_ = self.inputs.spread(np.arange(len(vectors)), -1)
        model.encoder_ = self.encoder
        model.assigner_ = ordered
        model.corrections_, model.corrected_rows_ = {}, {}  # by a person, see edited.py
        model.seed_ = self.seed
        model.n_clusters_, model.n_clusters_choice_ = model._k, self.choice
        model.labels_ = self.inputs.spread(labels_of(ordered, vectors), -1)
        model.classes_ = model.empty_classes_ = ()
        if self.known is not None:
            self._keep_guidance(self.known, vectors)
        model.seconds_ = self.seconds
        model._after_fit(order)

    def _keep_guidance(self, known: TextGuidance, vectors: Floats) -> None:
        """Put labelled texts into their classes; they count as corrected by a person."""
        model, inputs = self.model, self.inputs
        model.classes_, model.empty_classes_ = known.names, known.empty
        logits = model.assigner_.logits(vectors)
        wanted = inputs.spread(known.settle(logits), -1)
        rows = np.flatnonzero(wanted != model.labels_)
        model.corrected_rows_ = {int(row): int(wanted[row]) for row in rows}
        if inputs.texts is not None:
            texts = dict(zip(inputs.rows.tolist(), inputs.texts, strict=True))
            model.corrections_ = {
                fingerprint(texts[row]): label for row, label in model.corrected_rows_.items()
            }
        model.labels_ = correct(model, model.labels_)


def labels_of(assigner: Assigner, vectors: Floats) -> Ints:
    """Labels as prediction gives them."""
    return np.asarray(probabilities(assigner.logits(vectors)).argmax(axis=1), dtype=np.int64)
