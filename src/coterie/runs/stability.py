"""How stable the clusters of a run are, and how coherent their words.

The method is fitted again with other seeds, and on halves of the texts. A cluster is stable if each
of these clusterings has one that is nearly the same: the largest Jaccard index (rows in both over
rows in either), averaged over the clusterings (Hennig, 2007, "Cluster-wise assessment of cluster
stability"). Below 0.5 a cluster is unstable. Texts are also reworded a little, with words
left out and letters swapped, and assigned by the model of the run. Themes and labels of the run are
given to each fit again, as far as they are about its texts. Where the clusters of
the run are a cut of a merge tree, a fine clustering is fitted and merged down to as many.

Coherence of the words of a cluster is the mean NPMI of pairs of its words, counted in the texts of
the run, and the mean cosine of their embeddings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from coterie._util.folders import held
from coterie._util.progress import make_progress, working
from coterie._util.random import derive_seed, numpy_generator
from coterie._util.types import Floats, Ints
from coterie._util.validation import check_integer
from coterie.arrays.metrics import contingency, external_scores
from coterie.arrays.outliers import choose_rows
from coterie.describe import text_order
from coterie.methods.augmentation import augment
from coterie.models.clusterer import TextClusterer
from coterie.options import ClusterOptions
from coterie.runs.clustering import Clustering
from coterie.runs.guide import kept_guidance
from coterie.runs.measured import ClusterStability, Stability, to_file
from coterie.runs.store import read, save
from coterie.texts.words.cutting import tokens

OF_THE_RUN = {"n_clusters", "random_state", "views"}  # other fits have others
SAMPLED = 20_000  # rows that are looked at
REWORDED = ("deletion@0.1", "charswap@0.05")  # one after the other
WORDS = 10  # of each cluster
SURVIVES = 0.5  # least mean Jaccard index


def stability(
    run: str | Path, *, seeds: int = 3, halves: int = 4, write: bool = True, verbose: int = 0
) -> Stability:
    """Fit a run again with other seeds and on halves of its texts, and compare the clusters.

    Parameters
    ----------
    run : str or Path
        Folder of a finished run.
    seeds : int, default=3
        Fits with other seeds.
    halves : int, default=4
        Fits on random halves of the texts.
    write : bool, default=True
        Write ``stability.json`` and the page of the run anew.
    verbose : int, default=0

    Returns
    -------
    Stability
    """
    check_integer("seeds", seeds)
    check_integer("halves", halves)
    before = read(Path(run))
    found = _measure(before, seeds, halves, verbose)
    if write:
        with held(before.folder):
            save(before, replace(before, stability=to_file(found, before.labels)))
    return found


def _measure(run: Clustering, seeds: int, halves: int, verbose: int) -> Stability:
    about = run.facts.get("guidance")
    order = text_order(run.texts)
    placed = order[run.labels[order] >= 0]
    rows = placed[choose_rows(len(placed), None, SAMPLED, 0)]
    texts, labels = [run.texts[i] for i in rows], run.labels[rows]
    ids, codes = np.unique(labels, return_inverse=True)
    parameters = {n: v for n, v in run.facts["parameters"].items() if n not in OF_THE_RUN}
    options = ClusterOptions(
        method=run.facts["method"], encoder=parameters.pop("encoder", None), settings=parameters
    )
    seed, finest = run.seed, max(run.tree.finest, len(ids))
    progress = make_progress(verbose)
    matches: dict[str, list[Floats]] = {"seeds": [], "halves": []}
    agreement: dict[str, list[float]] = {"seeds": [], "halves": []}
    with working(progress, "fit again", seeds + halves):
        for i in range(seeds + halves):
            kind, part = "seeds", np.arange(len(rows))
            if i >= seeds:
                kind = "halves"
                draw = numpy_generator(derive_seed(seed, "half", i), "stability")
                part = np.sort(draw.choice(len(rows), max(len(rows) // 2, 1), replace=False))
            k = min(finest, len({texts[j] for j in part}))
            model = options.make_model(k)
            if "fine" in run.tree.levels:
                model.n_clusters = model._fit_finer(len(ids), k)
            model.random_state, model.verbose = derive_seed(seed, "again", i), 0
            known = {} if about is None else kept_guidance(about, rows[part])
            again = _fit_again(model, [texts[j] for j in part], known, len(ids))
            matches[kind].append(best_jaccard(codes[part], again, len(ids)))
            agreement[kind].append(external_scores(codes[part], again)["ari"])
            progress.advance(i + 1)
    reworded = texts
    for kind in REWORDED:
        reworded = augment(reworded, kind, random_state=seed)
    kept = np.asarray(run.model.predict(list(reworded))) == run.nearest[rows]
    words = [[word for word, _ in c.words[:WORDS]] for c in run.clusters]
    npmi = dict(zip((c.id for c in run.clusters), word_npmi(texts, words), strict=True))
    names = {c.id: c.name for c in run.clusters}
    near = dict(zip(names, (_embedding(run.model, some) for some in words), strict=True))
    means = {kind: np.nanmean(np.array(found), axis=0) for kind, found in matches.items()}
    clusters = [
        ClusterStability(
            id=int(cluster),
            name=names[int(cluster)],
            size=int((codes == i).sum()),
            seeds=_round(means["seeds"][i]),
            halves=_round(means["halves"][i]),
            wording=_round(kept[codes == i].mean()),
            npmi=npmi[int(cluster)],
            embedding=near[int(cluster)],
            survives=bool(min(means["seeds"][i], means["halves"][i]) >= SURVIVES),
        )
        for i, cluster in enumerate(ids)
    ]
    clusters.sort(key=lambda c: (min(c.seeds, c.halves), c.id))
    both = {kind: _round(np.mean(values)) for kind, values in agreement.items()}
    return Stability(len(rows), both["seeds"], both["halves"], _round(kept.mean()), clusters)


def _fit_again(
    model: TextClusterer, texts: Sequence[str], given: Mapping[str, Any], n: int
) -> Ints:
    """The labels of a fit; of one with more clusters, those of its cut into so many."""
    model.fit(texts, **given)
    if model.n_clusters_ <= n:
        return np.asarray(model.labels_)
    cut = model.tree_.cut(n)
    return np.array([cut[leaf] for leaf in model.leaf_labels_.tolist()])


def best_jaccard(codes: Ints, again: Ints, k: int) -> Floats:
    """For each of ``k`` clusters, the largest Jaccard index with a cluster of another clustering.

    Not a number for clusters that have none of the rows.

    Examples
    --------
    >>> best_jaccard(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 7]), 3).round(2)
    array([0.67, 0.5 ,  nan])
    """
    out = np.full(k, np.nan)
    used = np.unique(codes)
    both = contingency(codes, again)
    either = both.sum(axis=1, keepdims=True) + both.sum(axis=0, keepdims=True) - both
    out[used] = (both / either).max(axis=1)
    return out


def word_npmi(texts: Sequence[str], words: Sequence[Sequence[str]]) -> list[float | None]:
    """Mean normalised pointwise mutual information of the pairs of words in each list.

    A pair counts where both are in one text; pairs that never are count as -1. None for lists of
    fewer than two words.

    Examples
    --------
    >>> word_npmi(["red apple", "red apple", "old car"], [["red", "apple"], ["red", "car"], ["x"]])
    [1.0, -1.0, None]
    """
    places: dict[str, set[int]] = {}
    for i, text in enumerate(texts):
        for word in set(tokens(text)):
            places.setdefault(word, set()).add(i)
    n, out = max(len(texts), 1), list[float | None]()
    for some in words:
        # A pair such as "gift card" counts in texts that hold both of its words.
        found = [_holding(places, word) for word in some]
        scores = [_npmi(a, b, n) for a, b in combinations([f for f in found if f], 2)]
        out.append(round(float(np.mean(scores)), 4) if scores else None)
    return out


def _holding(places: dict[str, set[int]], word: str) -> set[int]:
    parts = [places.get(part, set()) for part in tokens(word)]
    return set.intersection(*parts) if parts else set()


def _npmi(a: set[int], b: set[int], n: int) -> float:
    both = len(a & b)
    if not both:
        return -1.0
    if both == n:
        return 1.0
    return float(np.log(both * n / (len(a) * len(b))) / -np.log(both / n))


def _embedding(model: TextClusterer, words: Sequence[str]) -> float | None:
    """Mean cosine of the embeddings of words; None where fewer than two have one."""
    if len(words) < 2:
        return None
    x = np.asarray(model.transform(list(words)), dtype=np.float64)
    norms = np.linalg.norm(x, axis=1)
    x = x[norms > 0] / norms[norms > 0, None]
    m = len(x)
    if m < 2:
        return None
    return round(float((np.square(x.sum(axis=0)).sum() - m) / (m * (m - 1))), 4)


def _round(value: Any) -> float:
    return round(float(np.nan_to_num(value)), 4)
