"""HAC-SD: linkage on the similarities that stand out, and a classifier that corrects it.

Improving Short Text Clustering by Similarity Matrix Sparsification (Rakib et al., DocEng 2018) and
Enhancement of Short Text Clustering by Iterative Classification (Rakib et al., NLDB 2020).

1. A pair of texts is kept if its similarity is far above the mean of either text (``kept_pairs``).
2. Average linkage on the kept pairs; what is not kept counts as zero (``sparse_average``). Clusters
   that are each other's nearest are joined, all such pairs at once: for average linkage a join
   brings no cluster nearer to another than its nearer half was, so that the same tree comes out as
   by joining the best pair at a time. A round is one product of sparse matrices, so memory is that
   of the kept pairs, whatever the number of texts.
3. In each round the outliers of every cluster are left out, a classifier is trained on a part of
   the others, and all texts outside its training set get the label it predicts
   (``iterative_classification``).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from coterie._util.random import derive_seed, numpy_generator
from coterie._util.types import Floats, Ints
from coterie._util.validation import NonNegativeInt, check_device
from coterie.arrays.assign import Assigner, NeighborAssigner
from coterie.arrays.linkage import agglomerate, cut
from coterie.arrays.metrics import cluster_means
from coterie.arrays.neighbors import top_k
from coterie.models.clusterer import TextClusterer

CANDIDATES = 1 << 24  # pairs looked at in all; rows give their nearest where all are too many
Merge = tuple[float, int, int]  # similarity, the row that stands for a cluster, and the one gone
LOWEST, HIGHEST, APART = 70, 85, 5  # per cent of an equal cluster to train on; step between rounds
OUTLIERS = 0.1  # share of outliers in each cluster
TREES = 100
FEW = 10  # texts below which a tenth of a cluster is none


@dataclass(frozen=True)
class Pairs:
    """Kept pairs of rows, each once, the smaller number first, with their cosines."""

    first: Ints
    second: Ints
    similarities: Floats


def row_statistics(unit: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the cosines of each row of unit length with all others.

    ``weights`` say how often each row counts; a row that occurs twice has itself for an other.
    Found from sums and products of the rows, without the matrix of all pairs.
    """
    x, w = unit.double(), weights.double()
    others = w.sum() - 1
    own = x.square().sum(dim=1)  # one, or zero for rows of zeros
    total = x @ (w @ x) - own  # sums of cosines with all but itself
    squares = ((x @ (x.T @ (w[:, None] * x))) * x).sum(dim=1) - own.square()
    mean = total / others.clamp(min=1)
    variance = (squares / others.clamp(min=1) - mean.square()).clamp(min=0)
    return mean, variance.sqrt().clamp(min=1e-6)


def kept_pairs(x: Floats | Tensor, n_clusters: int, weights: Floats) -> Pairs:
    """The pairs of rows (n, d) that stand out most, as many as equal clusters would have.

    A pair counts as often as ``weights`` say that it occurs. At most 2 ** 24 are looked at: beyond
    4,096 rows each row brings its nearest ones.
    """
    unit = F.normalize(torch.as_tensor(x, dtype=torch.float32), dim=1)
    n = len(unit)
    w = torch.from_numpy(weights.astype(np.float32)).to(unit.device)
    mean, deviation = row_statistics(unit, w)
    rows, columns, similarities, scores = _candidates(unit, mean.float(), deviation.float())
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    # The better of the two scores of a pair comes first, so that it is the one kept.
    order = np.lexsort((high, low, -scores))
    _, first = np.unique(low[order] * n + high[order], return_index=True)
    best = order[np.sort(first)]  # by falling score
    counts = weights[low[best]].astype(np.float64) * weights[high[best]]
    total = float(weights.sum())
    inside = total * (total / n_clusters - 1) / 2  # pairs of equal clusters
    inside -= float((weights * (weights - 1)).sum()) / 2  # those of a row with itself
    number = int(np.searchsorted(np.cumsum(counts), inside, side="right"))
    kept = best[: max(number, 1)]
    kept = kept[np.lexsort((high[kept], low[kept]))]
    return Pairs(low[kept], high[kept], similarities[kept])


def _candidates(unit: Tensor, mean: Tensor, deviation: Tensor) -> tuple[Ints, Ints, Floats, Floats]:
    """The nearest others of each row, with their cosines and how much they stand out in it."""
    n = len(unit)
    own = torch.arange(n, device=unit.device)
    columns, cosines = top_k(unit, min(n - 1, max(1, CANDIDATES // n)), itself=own)
    scores = (cosines - mean[:, None]) / deviation[:, None]
    rows = own[:, None].expand_as(columns)
    found = [part.reshape(-1).cpu().numpy() for part in (rows, columns, cosines, scores)]
    return found[0], found[1], found[2], found[3]


def sparse_average(
    first: Ints, second: Ints, similarities: Floats, weights: Floats
) -> tuple[list[Merge], Ints]:
    """All joins of clusters with a similarity above zero, and the part that each row ends in.

    Pairs of rows come once each; ``weights`` say how often each row counts. Joins are (similarity,
    smallest row of the joined cluster, row that is gone), in no order.
    """
    from scipy.sparse import coo_matrix

    n = len(weights)
    sizes = weights.astype(np.float64)
    able = similarities > 0
    first, second = first[able], second[able]
    sums = similarities[able].astype(np.float64) * sizes[first] * sizes[second]
    graph = coo_matrix((sums, (first, second)), shape=(n, n)).tocsr()
    graph = (graph + graph.T).tocsr()
    names = np.arange(n)  # the smallest row of each cluster
    groups = np.arange(n)
    merges: list[Merge] = []
    while graph.nnz:
        kept, gone, height = _mutual(graph, sizes)
        merges += zip(height.tolist(), names[kept].tolist(), names[gone].tolist(), strict=True)
        target = np.arange(len(sizes))
        target[gone] = kept
        alive, numbers = np.unique(target, return_inverse=True)
        sizes = np.bincount(numbers, sizes).astype(np.float64)
        names, groups = names[alive], numbers[groups]
        graph = _joined(graph, numbers, len(alive))
    return merges, groups


def _mutual(graph: Any, sizes: Floats) -> tuple[Ints, Ints, Floats]:
    """Pairs of clusters that are each other's nearest: lower number, higher number, similarity."""
    counts = np.diff(graph.indptr)
    rows = np.repeat(np.arange(len(sizes)), counts)
    values = graph.data / (sizes[rows] * sizes[graph.indices])
    some = np.flatnonzero(counts)
    best = np.zeros(len(sizes))
    best[some] = np.maximum.reduceat(values, graph.indptr[some])
    # An order of all pairs, by similarity and then by number, has no circles among the nearest.
    low, high = np.minimum(rows, graph.indices), np.maximum(rows, graph.indices)
    tied = np.flatnonzero(values == best[rows])
    order = tied[np.lexsort((high[tied], low[tied], rows[tied]))]
    chosen = order[np.unique(rows[order], return_index=True)[1]]
    nearest = np.full(len(sizes), -1)
    nearest[rows[chosen]] = graph.indices[chosen]
    at = np.flatnonzero(nearest >= 0)
    kept = at[(nearest[nearest[at]] == at) & (at < nearest[at])]
    return kept, nearest[kept], best[kept]


def _joined(graph: Any, numbers: Ints, n: int) -> Any:
    from scipy.sparse import coo_matrix

    wide = graph.tocoo()
    rows, columns = numbers[wide.row], numbers[wide.col]
    apart = rows != columns
    summed = coo_matrix((wide.data[apart], (rows[apart], columns[apart])), shape=(n, n)).tocsr()
    # Sums of many numbers depend on their order: without this, two clusters could disagree on how
    # near they are, and none would be another's nearest in turn.
    return (0.5 * (summed + summed.T)).tocsr()


def iterative_classification(
    x: Any, labels: Ints, n_clusters: int, weights: Floats, rounds: int, seed: int
) -> Ints:
    """Labels of the rows (n, d) after ``rounds`` of training and prediction.

    All of 0 to ``n_clusters - 1`` occur in ``labels``, and will. ``weights`` say how often each row
    counts.
    """
    if n_clusters == 1 or rounds == 0:
        return labels
    shares = limits(rounds, seed)
    for number, share in enumerate(shares):
        most = share / 100 * float(weights.sum()) / n_clusters
        chosen = choose_training(x, labels, weights, most, derive_seed(seed, "teach", number))
        rest = np.ones(len(labels), dtype=bool)
        rest[chosen] = False
        if not rest.any():
            break
        found = labels.copy()
        found[rest] = _predicted(x, labels, weights, chosen, rest)
        labels = found
    return labels


def limits(rounds: int, seed: int) -> list[int]:
    """Per cent of an equal cluster to train on in each round: 70 to 85, or a step beyond.

    A draw closer than 5 to the one before is moved by 5 away from it.
    """
    out: list[int] = []
    for draw in numpy_generator(seed, "limits").integers(LOWEST, HIGHEST + 1, rounds).tolist():
        if out and abs(draw - out[-1]) < APART:
            draw += APART if draw >= out[-1] else -APART
        out.append(draw)
    return out


def choose_training(x: Any, labels: Ints, weights: Floats, most: float, seed: int) -> Ints:
    """Rows to train on: inliers of each cluster, drawn until they count ``most``."""
    from sklearn.ensemble import IsolationForest

    generator = numpy_generator(seed, "teachers")  # another word would draw other rows
    chosen = []
    for j in np.unique(labels):
        rows = np.flatnonzero(labels == j)
        if len(rows) >= FEW:
            forest = IsolationForest(
                n_estimators=TREES,
                contamination=OUTLIERS,
                bootstrap=True,
                random_state=derive_seed(seed, "forest", int(j)),
            )
            rows = rows[forest.fit_predict(x[rows]) > 0]
        rows = generator.permutation(rows)
        number = int(np.searchsorted(np.cumsum(weights[rows]), most, side="right"))
        chosen.append(rows[: max(number, 1)])
    return np.sort(np.concatenate(chosen))


def _predicted(x: Any, labels: Ints, weights: Floats, chosen: Ints, rest: Any) -> Ints:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=300)  # multinomial, by L-BFGS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 300 rounds are the authors' limit
        model.fit(x[chosen], labels[chosen], sample_weight=weights[chosen])
    return np.asarray(model.predict(x[rest]), dtype=np.int64)


@dataclass(eq=False, repr=False, kw_only=True)
class HACSD(TextClusterer):
    """Average linkage on the pairs of texts whose similarity stands out, then a classifier.

    Parameters
    ----------
    iterations : int, default=0
        Rounds in which a classifier on the TF-IDF of the words is taught the clusters and corrects
        them (50 in the paper).

    Notes
    -----
    From the first paper: a pair is kept if its similarity is far enough above the mean of either
    of its texts, in standard deviations of that text, and as many are kept as equal clusters would
    have. From the second: rounds, shares, isolation forests, logistic regression. Any encoder may
    give the similarities; the papers take means of word vectors. Deviations: average linkage in
    place of Ward's, since it needs no more than the kept pairs; beyond 4,096 texts each text
    brings only its nearest ones, 16.8 million pairs in all, so that memory stays bounded; parts
    that no kept pair joins are joined by average linkage of their mean vectors, not at random.
    Nothing is trained, so there is no start to go back to. New texts go to the cluster of the
    nearest training text.

    References
    ----------
    .. [1] Rakib, Jankowska, Zeh, Milios (2018). Improving Short Text Clustering by Similarity
       Matrix Sparsification. DocEng.
    .. [2] Rakib, Zeh, Jankowska, Milios (2020). Enhancement of Short Text Clustering by Iterative
       Classification. NLDB.

    See Also
    --------
    TwoStep : Linkage on all similarities.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "apple tree", "fast car", "slow car"]
    >>> model = HACSD(2, encoder="tfidf", random_state=0).fit(texts)
    >>> model.predict(["a car", "an apple"])
    array([1, 0])
    """

    name: ClassVar[str] = "hac-sd"
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {}, "iterative": {"iterations": 50}}

    iterations: NonNegativeInt = 0

    def _on_texts(self, texts: list[str] | None) -> None:
        self._texts = texts

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        labels = self._linked(vectors, weights)
        if self.iterations:
            labels = iterative_classification(
                self._seen(vectors),
                labels,
                self._k,
                weights,
                self.iterations,
                derive_seed(seed, "iterations"),
            )
        return NeighborAssigner(vectors, labels)

    def _after_fit(self, order: Ints) -> None:
        self.__dict__.pop("_texts", None)

    def _linked(self, vectors: Floats, weights: Floats) -> Ints:
        if self._k == 1:
            return np.zeros(len(vectors), dtype=np.int64)
        x = torch.from_numpy(vectors).to(check_device(self.device))
        pairs = kept_pairs(x, self._k, weights)
        merges, parts = sparse_average(pairs.first, pairs.second, pairs.similarities, weights)
        number = int(parts.max()) + 1
        if number <= self._k:
            merges = [(-similarity, kept, gone) for similarity, kept, gone in merges]
            return cut(merges, self._k, len(vectors))
        means, sizes = cluster_means(vectors, parts, weights=weights)
        return np.asarray(agglomerate(means.astype(np.float32), self._k, "average", sizes)[parts])

    def _seen(self, vectors: Floats) -> Any:
        """Features of the classifier."""
        if self._texts is None:
            return vectors
        from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            return TfidfVectorizer().fit_transform(self._texts).tocsr()
        except ValueError:  # no text has a word of two letters
            return vectors
