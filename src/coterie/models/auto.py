"""The default: a consensus of k-means runs on smoothed vectors, and a classifier that learns it.

1. Each text has several views, side by side (``encoders/views.py``): its embedding, together with
   the same in which frequent tokens count less; the middle layers of the encoder; an LSA of its
   character n-grams; and one of its words.
2. k-NN smoothing: each vector moves towards those of its nearest texts, in 100 directions, of
   which the weaker ones are strengthened a little.
3. k-means runs twenty times from different starts. Average linkage joins the texts that most runs
   keep together (consensus).
4. Where cluster sizes are very unequal, k-means with twice as many centers, which average linkage
   joins, keeps clearly more neighbours together; its clusters are then taken as they are, and a new
   text goes to the cluster of the nearest one.
5. Elsewhere a ridge classifier learns the clusters and reassigns the texts it would put into
   others. It also assigns new texts.

The classifier is fitted to the labels that the clustering gave, and then predicts the same texts.
What it cannot learn from so many examples was chance, so the labels it predicts are cleaner than
those it was fitted to. (Rakib et al., 2020, "Enhancement of short text clustering by iterative
classification", do so with another classifier and with texts held out.) Smoothing and consensus
are shared with the start guard and stand in ``consensus.py``.

All settings are the same for all texts; sizes are the one choice that is made. They were chosen
on development sets that are none of the benchmarks (``results/pages/generalization.md``).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar, Literal

import numpy as np

from coterie._util.progress import make_progress
from coterie._util.random import derive_seed, numpy_generator, some_rows
from coterie._util.torch import torch
from coterie._util.types import Bools, Floats, Ints
from coterie._util.validation import check_device
from coterie.arrays.assign import (
    Assigner,
    LinearAssigner,
    MappedAssigner,
    NeighborAssigner,
    scale_for,
)
from coterie.arrays.consensus import (
    DIRECTIONS,
    EXACT,
    FLATTEN,
    ROUNDS,
    TINY,
    by_sizes,
    linked,
    neighborhood,
    smoothed_runs,
    without_tiny,
)
from coterie.arrays.graph import principal_directions, principal_part
from coterie.arrays.guided import Guided
from coterie.arrays.kmeans import KMeans
from coterie.arrays.metrics import accuracy, cluster_means
from coterie.arrays.neighbors import nearest_by_distance
from coterie.arrays.ridge import RidgeClassifier
from coterie.arrays.tree import Tree, grow
from coterie.encoders import (
    AUTO,
    BagOfWords,
    CharNgrams,
    Encoder,
    LexicalEncoder,
    MixedEncoder,
    MultilingualViews,
    SentenceEncoder,
    ViewsEncoder,
    look,
    universal_for,
)
from coterie.encoders.lexical import NGRAM_WEIGHT
from coterie.encoders.reading import WHOLE
from coterie.models.clusterer import WeightedClusterer
from coterie.models.core import kmeans_assigner, metric_assigner
from coterie.models.edited import EditedAssigner, Merge

log = logging.getLogger(__name__)
Effort = Literal["quick", "standard", "best"]
CLUSTERED = {"quick": 10_000, "standard": 10_000, "best": 60_000}  # texts that are clustered
PER_CLUSTER, CEILING = 75, 25_000  # but at least so many per cluster, up to this
RUNS = {"quick": 6, "standard": 20, "best": 40}  # of k-means that are combined
FINE_RUNS = {"quick": 6, "standard": 6, "best": 20}  # for the fine clusters of a merge tree
PENALTIES = 1.0, 0.1, 0.01  # of the classifier, tried in turn
LABELLED = 3.0  # weight of a text with a known class in the classifier
LOOKED_AT = 5_000  # texts on which plain k-means is compared with the result
# Share of texts that agree with plain k-means -> share in the right cluster: logistic regression
# on the development sets (``coterie-bench settings --table``).
CONFIDENCE = -5.31, 8.34


@dataclass(eq=False, repr=False, kw_only=True)
class Auto(WeightedClusterer):
    """Consensus of k-means runs on smoothed embeddings and character n-grams.

    Parameters
    ----------
    encoder : str, Path, Encoder or SentenceTransformer, default="auto"
        "auto" is all-MiniLM-L6-v2. Where its tokenizer cuts the texts into single letters or
        unknown tokens, character n-grams and words take its place ("lexical"); in the languages
        that "use-multilingual" knows, its vectors stand beside them if it is installed.
    effort : {"quick", "standard", "best"}, default="standard"
        6, 20 or 40 runs of k-means, on at most 10,000 different texts ("best": 60,000), drawn at
        random, or 75 per cluster up to 25,000.
        Other texts go where the classifier puts them, which then learns from all.

    Attributes
    ----------
    choice_ : dict
        ``neighbors`` and ``rounds`` of the smoothing; ``runs`` of k-means and ``stability``, the
        mean share of texts on which a run agrees with the consensus; ``sizes``, "even" or
        "unequal", decided by the ``modularity`` of the consensus and of linkage, which joined
        ``centers``; ``moved``, the share that the classifier reassigned; ``plain``, the share that
        plain k-means on the embeddings puts into matching clusters (with unequal sizes, the mean of
        it and of k-means joined by linkage), from which the mean confidence is computed;
        ``guided``, with labels: where clusters start from, the weights of the scores that are
        added, and the share of labelled texts left out that they get right.

    Notes
    -----
    A sentence encoder gives three views in one pass (:class:`coterie.encoders.ViewsEncoder`); other
    encoders give one. The number of neighbours is ``n / (2 * n_clusters)``, at least 4 and at most
    10, and never more than a cluster of mean size has other members; among more than 5,000 texts
    they are searched in 300 principal components. Smoothing has 8 rounds on the
    same graph, each with a share of 0.1 of the first vector. Consensus is average linkage of the
    share of runs that keep two texts together. Linkage takes its place where what it lacks to a
    modularity of one, on the graph of 15 neighbours, is less than 0.83 of what the consensus lacks.
    The classifier is a ridge regression, fitted to the consensus and then to its own predictions;
    where it would leave a cluster empty, the consensus is kept. Then, and after linkage, new texts
    go to the cluster of the nearest text. Vectors of your own
    (``encoder="precomputed"``) are clustered by plain k-means, since nothing is known about them;
    with labels for all clusters, in the metric of the labels.
    Nothing in the encoder is trained. Deviations: none, there is no paper.

    Examples
    --------
    >>> model = Auto(2, encoder="tfidf", random_state=0)
    >>> model.fit_predict(["red apple", "green apple", "fast car", "slow car", "old car"])
    array([1, 1, 0, 0, 0])
    """

    name: ClassVar[str] = "auto"
    _saved_attributes: ClassVar[tuple[str, ...]] = ("choice_",)

    encoder: Any = AUTO
    effort: Effort = "standard"

    def _uses_guidance(self) -> bool:
        return True

    def _make_encoder(self, seed: int) -> Encoder:
        encoder = self._load_encoder(self.encoder, seed)
        if isinstance(encoder, SentenceEncoder):
            encoder = ViewsEncoder(encoder, seed)
        elif encoder.kind != "precomputed" and not isinstance(encoder, BagOfWords):
            encoder = MixedEncoder(encoder, NGRAM_WEIGHT, seed, CharNgrams(seed=seed))
        self._encoder: Encoder = encoder
        return encoder

    def _suit_encoder(self, encoder: Encoder, texts: Sequence[str], seed: int) -> Encoder:
        """Lexical features, or the multilingual encoder, for what the default cannot read."""
        inner = encoder.inner if isinstance(encoder, MixedEncoder) else encoder
        free = isinstance(self.encoder, str) and self.encoder == AUTO
        reading = look(inner, texts, seed)
        universal = universal_for(inner, reading, texts, seed) if free else None
        self._tell(inner, reading, fallback=free, beside=universal is not None)
        if free and reading is not None and isinstance(inner, SentenceEncoder):
            lexical = MultilingualViews(seed) if universal else LexicalEncoder(seed)
            if reading.level == "not":
                encoder = lexical
            elif reading.level == "mixed":
                weight = 0.5 if reading.whole >= WHOLE else 1.0
                encoder = ViewsEncoder(inner, seed, lexical, weight=weight, gated=True)
            elif reading.level == "partly":
                encoder = ViewsEncoder(inner, seed, lexical)
        self._encoder = encoder
        return encoder

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        self.choice_: dict[str, Any] = {}
        if self._encoder.kind == "precomputed" or self._k == 1:
            by_labels = metric_assigner(self, vectors, weights, seed)
            return by_labels or kmeans_assigner(self, vectors, weights, seed)
        known = self._known
        seeds = np.full(len(vectors), -1, dtype=np.int64) if known is None else known.seeds
        rows = self._rows(len(vectors), seed, seeds >= 0)
        part = vectors[rows]
        labels = self._cluster(part, weights[rows], seed, seeds[rows])
        assigner = None
        if not self._unequal():  # it would give small clusters up
            assigner = self._classifier(vectors, weights, rows, labels, seeds)
        if assigner is None:
            log.info("no classifier that keeps all clusters: the nearest text decides")
            self._expected = self._confidence(part, labels, seed)
            return _nearest_text(part, labels)
        answers = np.asarray(assigner.logits(vectors).argmax(axis=1), dtype=np.int64)
        self.choice_["moved"] = round(float((answers[rows] != labels).mean()), 4)
        order = numpy_generator(seed, "confidence").permutation(len(vectors))
        expected = self._confidence(vectors, answers, seed)
        return assigner.calibrated(vectors[order[:LOOKED_AT]], expected)

    def _unequal(self) -> bool:
        return self.choice_.get("sizes") == "unequal"

    def _share(self) -> float | None:
        """How much the structure counts where themes were given; None if labels can tell."""
        known = self._known
        if known is None or (known.hints < 0).all():
            return None
        return 1.0 if known.n_classes == self._k else 3.0

    def _classifier(
        self, vectors: Floats, weights: Floats, rows: Ints, labels: Ints, seeds: Ints
    ) -> LinearAssigner | None:
        """A classifier of the labels of some rows that uses all clusters; None if none does.

        A weaker penalty keeps small clusters that a stronger one would give up. Texts with a known
        class keep it, and count more.
        """
        weights = np.where(seeds >= 0, LABELLED * weights, weights).astype(np.float32)
        for penalty in PENALTIES:
            part = RidgeClassifier(vectors[rows], weights[rows], penalty)
            assigner = LinearAssigner(*part.fit(labels, self._k))
            answers = np.asarray(assigner.logits(vectors).argmax(axis=1), dtype=np.int64)
            answers = np.where(seeds >= 0, seeds, answers)
            some = len(rows) < len(vectors)
            whole = RidgeClassifier(vectors, weights, penalty) if some else part
            # Of all texts, to its own predictions.
            assigner = LinearAssigner(*whole.fit(answers, self._k))
            answers = np.asarray(assigner.logits(vectors).argmax(axis=1), dtype=np.int64)
            if len(np.unique(answers)) == self._k:
                return assigner
        return None

    def _after_fit(self, order: Ints) -> None:
        expected = self.__dict__.pop("_expected", None)
        if expected is not None:  # the nearest text decides: only its scale is set anew
            assigner = self.__dict__["assigner_"]
            inner = assigner.inner
            distances = inner.distances(inner.vectors)[0]
            known = np.isfinite(distances).all(axis=1)  # a text alone in its cluster has none
            if known.any():
                scale = scale_for(distances[known], expected)
                self.__dict__["assigner_"] = replace(assigner, inner=replace(inner, scale=scale))
        self.__dict__.pop("_encoder", None)
        medium = self.__dict__.pop("_medium", None)
        if medium is not None and self.n_clusters_ > medium > 1:
            self._show(medium)

    def _fit_finer(self, shown: int, finest: int) -> int:
        """With nothing known about the texts, the finest clusters, of which a tree is made."""
        if self._known is not None:
            return shown
        self._medium = shown
        return finest

    def _show(self, medium: int) -> None:
        """Make a tree of the clusters, and show the cut that has so many."""
        x, fine = self.distinct_vectors_, self.labels_
        places, sizes = self._on_distinct(fine), np.bincount(fine[fine >= 0])
        into = small_into(x, places, sizes, medium)
        tree = grow(x, into[places], medium, self.seed_, self.__dict__.get("_near"))
        leaf = np.array(tree.leaves)[into]
        cut = tree.cut()
        shown = np.array([cut[i] for i in leaf.tolist()])
        self.__dict__["tree_"] = tree
        self._leaf_labels = np.append(leaf, -1)[fine]
        self.labels_ = np.append(shown, -1)[fine]
        self.n_clusters_ = medium
        assigner = _leaf_assigner(self.assigner_, tree, leaf)
        if self.choice_:  # not of vectors of the user's own, which are not clustered by it
            sure = self._confidence(x, shown[places], self.seed_, medium)
            assigner = assigner.calibrated(x, sure)
        self.assigner_ = assigner

    def n_fitted(self, n: int, n_clusters: int) -> int:
        """How many of ``n`` different texts are clustered; the others are classified."""
        least = 0 if self._medium else min(PER_CLUSTER * n_clusters, CEILING)
        return min(n, max(CLUSTERED[self.effort], least, n_clusters))

    def remarks(self) -> list[str]:
        choice = self.choice_
        if not choice:
            return ["k-means on the vectors."]
        smoothing = ""
        if choice["neighbors"]:
            k, rounds = choice["neighbors"], choice["rounds"]
            smoothing = f"after k-NN smoothing (k = {k}, {rounds} rounds) "
        seen = "the vectors"
        if isinstance(self.encoder_, MultilingualViews):
            seen = "multilingual embeddings, character n-grams and words"
        elif isinstance(self.encoder_, LexicalEncoder):
            seen = "character n-grams and words"
        elif isinstance(self.encoder_, ViewsEncoder):
            seen = "embeddings, character n-grams and words"
        elif isinstance(self.encoder_, MixedEncoder):
            seen = "embeddings and character n-grams"
        remarks = [
            f"Consensus of {choice['runs']} k-means runs {smoothing}on {seen}; "
            f"a k-means run agrees with it on {100 * choice['stability']:.0f}% of the texts."
        ]
        if self._unequal():
            remarks.append(
                f"Cluster sizes are very unequal: k-means with {choice['centers']} centers, joined "
                "by average linkage, keeps more neighbours together and is taken instead."
            )
        if choice.get("moved"):
            remarks.append(f"A linear classifier reassigned {100 * choice['moved']:.1f}% of them.")
        return remarks

    def _rows(self, n: int, seed: int, labelled: Bools | None = None) -> Ints:
        """The rows that are clustered: all, or a random choice and those with a label."""
        rows = some_rows(n, self.n_fitted(n, self._k), seed, "auto")
        return rows if labelled is None else np.union1d(rows, np.flatnonzero(labelled))

    def _cluster(self, x: Floats, weights: Floats, seed: int, seeds: Ints) -> Ints:
        """The consensus of k-means runs on smoothed vectors, guided by what is known."""
        runs = (FINE_RUNS if self._medium else RUNS)[self.effort]
        device = check_device(self.device)
        near = neighborhood(x, self._k, flatten=FLATTEN, device=device)
        # Outlier scores and the merge tree need no search of their own then.
        self._near = near if len(x) <= EXACT else None
        smoothed = near.smoothed()
        progress = make_progress(self.verbose)
        progress.start("k-means runs", runs)
        try:
            labels, labelings = smoothed_runs(
                x,
                smoothed,
                self._k,
                runs,
                weights,
                seed,
                device=device,
                advance=progress.advance,
            )
        finally:
            progress.stop()
        stability = float(np.mean([accuracy(labels, one) for one in labelings]))
        self.choice_ = {"neighbors": near.k, "rounds": ROUNDS if near.k else 0, "runs": runs}
        self.choice_["stability"] = round(stability, 4)
        if not self._medium:
            labels, sizes = by_sizes(x, near, labels, self._k, weights, seed, device=device)
            self.choice_.update(sizes)
            least = 2 if self._unequal() else TINY
            labels = without_tiny(smoothed, labels, self._k, weights, seed, least)
        if (seeds >= 0).any():
            smoothed = near.smoothed(weighted=self._unequal())
            guided = Guided(x, near.base, smoothed, labels, self._k, weights, seed)
            labels, self.choice_["guided"] = guided(seeds, self._share())
        return labels

    def _confidence(
        self, vectors: Floats, labels: Ints, seed: int, n_clusters: int | None = None
    ) -> float:
        """The share of texts that is expected to be in the right cluster.

        Predicted from the share that plain k-means on the embeddings, those of the multilingual
        encoder among them, puts into matching clusters.
        Where sizes are unequal, k-means cuts the large ones, and linkage errs in the same way as
        the result: the mean of both shares counts.
        """
        k = n_clusters or self._k
        width, encoder = vectors.shape[1], self.__dict__.get("_encoder") or self.encoder_
        gated = isinstance(encoder, ViewsEncoder) and encoder.gated
        if isinstance(encoder, MixedEncoder) and not gated:
            width = encoder.inner.dim
            if isinstance(encoder.lexical, MultilingualViews):  # its sentence vectors come first
                width += len(encoder.lexical.mean)
        rows = some_rows(len(vectors), max(LOOKED_AT, k), seed, "plain")
        embedding = principal_part(vectors[rows, :width], DIRECTIONS)
        kmeans = KMeans(n_clusters=k, seed=derive_seed(seed, "plain"), n_init=3)
        device = check_device(self.device)
        found = kmeans(torch.from_numpy(embedding).to(device))
        share = accuracy(labels[rows], found.labels)
        if self._unequal():
            centers = max(min(self.choice_["centers"], len(rows) // 2), k)
            joined = linked(embedding, k, centers, None, seed, device)
            share = (share + accuracy(labels[rows], joined)) / 2
        self.choice_["plain"] = round(share, 4)
        intercept, slope = CONFIDENCE
        return float(1 / (1 + np.exp(-(intercept + slope * share))))


def small_into(vectors: Floats, labels: Ints, sizes: Ints, medium: int) -> Ints:
    """What fine clusters of one or two texts are part of: the nearest of the others.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
        Of different texts.
    labels : ndarray of shape (n,)
        Their clusters.
    sizes : ndarray of shape (k,)
        Texts of each.
    medium : int
        Clusters that have to be left.

    Returns
    -------
    ndarray of shape (k,)
        New labels of the clusters, from 0 on.

    Examples
    --------
    >>> x = np.array([[0.0], [0.1], [8.0], [9.0]], dtype=np.float32)
    >>> small_into(x, np.array([0, 0, 1, 2]), np.array([3, 2, 4]), 1)
    array([0, 1, 1])
    """
    small, out = sizes < TINY, np.arange(len(sizes))
    n_large = int((~small).sum())
    if n_large == len(sizes) or n_large < medium:
        return out
    means = cluster_means(vectors, labels, len(sizes))[0].astype(np.float32)
    out[~small] = np.arange(n_large)
    out[small] = nearest_by_distance(means[small], means[~small])
    return out


def _leaf_assigner(inner: Any, tree: Tree, leaf: Ints) -> EditedAssigner:
    """The finest clusters as a tree numbers them, and the cut that it shows."""
    place, steps, free = [], [], count(tree.highest + 1)
    for i, number in enumerate(leaf.tolist()):
        place.append(next(free) if number in place else number)
        if place[i] != number:
            steps.append(Merge((place[i], number), number))
    return EditedAssigner(inner, tuple(place), tuple(steps), cut=tree.cut())


def _nearest_text(vectors: Floats, labels: Ints) -> Assigner:
    """The cluster of the nearest text, in few directions."""
    few = principal_directions(vectors, DIRECTIONS)
    inner = NeighborAssigner(vectors @ few.T, labels)
    return MappedAssigner(inner, few, np.zeros(len(few), dtype=np.float32))
