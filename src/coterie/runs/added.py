"""New rows in a finished run: where they belong, the clusters that are new, and the grown model.

A ridge classifier learns the clusters of all rows and assigns later texts; a text that it would put
elsewhere than the table does is bound to its cluster.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._util.facts import now
from coterie._util.types import Bools, Floats, Ints
from coterie.arrays.assign import LinearAssigner, probabilities
from coterie.arrays.graph import principal_directions
from coterie.arrays.novelty import THEME_TEXTS, Placement, n_components, place_new
from coterie.arrays.outliers import choose_rows
from coterie.arrays.ridge import RidgeClassifier
from coterie.arrays.tree import Tree
from coterie.describe import Cluster, describe_nodes, names_by_number, text_order
from coterie.describe.drift import Drift, find_drift
from coterie.describe.tree import TreeRows, by_number, node_names, with_parents
from coterie.models.edited import EditedAssigner, correct, fingerprint
from coterie.runs.clustering import Clustering, as_said, describe_rows
from coterie.runs.editing.apply import Draft
from coterie.runs.page_data import make_map
from coterie.runs.table import result_columns
from coterie.texts import Corpus
from coterie.texts.corpus import texts_digest
from coterie.texts.write import result_kind

COMPARED = 20_000  # old texts, and as many new ones, that are compared with each other
FITS = 3  # of the classifier, after the first to its own predictions
FOLDS = 5  # classifiers, each of which leaves a part of the texts out
DIGITS = 3  # to which the vectors of texts agree that the encoder cannot tell apart


@dataclass(frozen=True)
class Updated:
    """What an update did to a run, or would do.

    Attributes
    ----------
    run : Path
    number : int
        Of the update, counted from 1; 0 if the run had these rows already.
    rows : int
        Rows that were added.
    new : tuple of Cluster
        The clusters that are new.
    drift : Drift or None
        How the new texts differ from the old ones; None if the run had these rows already.
    written : bool
    notes : tuple of str
        What was noticed about the new rows.
    """

    run: Path
    number: int
    rows: int
    new: tuple[Cluster, ...] = ()
    drift: Drift | None = None
    written: bool = False
    notes: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """What happened, in a few sentences."""
        if not self.number:
            return [f"{self.run} has these rows already; nothing was changed."]
        inside = sum(cluster.size for cluster in self.new)
        made = f"{len(self.new)} new cluster{'' if len(self.new) == 1 else 's'}"
        new = f", {inside:,} of them in {made}" if self.new else ", none of them in a new cluster"
        out = [f"{self.rows:,} rows added{new}. Old rows stay where they were."]
        return out if self.drift is None else [*out, *self.drift.sentences()]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "run": str(self.run),
            "update": self.number,
            "rows": self.rows,
            "new": [{"id": c.id, "name": c.name, "size": c.size} for c in self.new],
            "drift": None if self.drift is None else self.drift.to_dict(),
            "written": self.written,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Learned:
    """New texts with their clusters, and the classifier that has learned all texts.

    Attributes
    ----------
    placed : Placement
        Cluster of each new text, the clusters that are new, and texts that fit nowhere.
    bound : bool
        Whether the new texts keep these clusters, whatever the classifier finds.
    classifier : LinearAssigner
    ids : list of int
        Cluster of each of its columns.
    """

    placed: Placement
    bound: bool
    classifier: LinearAssigner
    ids: list[int]


def learn_new(  # noqa: PLR0913 - old texts, new ones, and the numbers of clusters
    old: Floats,
    labels: Ints,
    new: Floats,
    ids: Sequence[int],
    next_id: int,
    seed: int = 0,
    cut: Mapping[int, int] | None = None,
) -> Learned:
    """Put new texts into clusters, and fit a ridge classifier to the clusters of all texts.

    :func:`coterie.arrays.novelty.place_new` finds the new clusters. The classifier then decides
    about all new texts: what it cannot learn from so many was chance. New clusters that it leaves
    with too few texts are given up. It is not asked where clusters are too small to learn them.

    Parameters
    ----------
    old : ndarray of shape (m, d)
    labels : ndarray of shape (m,)
        Clusters of the old texts.
    new : ndarray of shape (n, d)
        Of different texts.
    ids : sequence of int
        All clusters there are, ascending.
    next_id : int
        Number of the first new cluster.
    seed : int, default=0
        Chooses the texts that are compared, where there are more than 20,000.
    cut : mapping of int to int, optional
        Of a run with a merge tree, whose finest clusters are learned: where each of them is shown.
        New clusters are those that are not among what is shown.
    """
    n = len(new)
    shown = labels if cut is None else np.array([cut[i] for i in labels.tolist()], dtype=np.int64)
    placed = Placement(np.full(n, -1, dtype=np.int64), [], np.zeros(n, dtype=bool))
    if n and len(old):
        rows = choose_rows(len(old), np.searchsorted(ids, labels), COMPARED, seed)
        part = choose_rows(n, None, COMPARED, seed)
        found = place_new(old[rows], shown[rows], new[part], next_id)
        finest = found.labels
        if cut is not None:
            finest = _finest(new[part], found.labels, cut, old[rows], labels[rows])
        placed.labels[part], placed.strange[part] = finest, found.strange
        placed = replace(placed, new=found.new, fewest=found.fewest)
    seen, bound = placed.labels >= 0, placed.fewest < THEME_TEXTS
    vectors = np.concatenate([old, new[seen]])
    answers, made = placed.labels, placed.new
    while True:
        every = [*ids, *made]
        kept = np.isin(answers[seen], every)
        known = np.concatenate([labels, answers[seen][kept]])
        rows = np.concatenate([np.ones(len(old), dtype=bool), kept])
        codes = np.searchsorted(every, known)
        classifier = fit_classifier(vectors[rows], codes, len(every), len(old))
        if bound or not n:
            break
        found = np.array(every)[classifier.logits(new).argmax(axis=1)]
        large = [i for i in made if (found == i).sum() >= placed.fewest]
        if large == made:
            answers = found
            break
        made = large
    if (answers < 0).any():  # more texts than are compared
        found = np.array(every)[classifier.logits(new).argmax(axis=1)]
        answers = np.where(answers < 0, found, answers)
    numbers = {i: next_id + j for j, i in enumerate(made)}
    answers = np.array([numbers.get(i, i) for i in answers.tolist()], dtype=np.int64)
    made = list(numbers.values())
    return Learned(replace(placed, labels=answers, new=made), bound, classifier, [*ids, *made])


def _finest(new: Floats, places: Ints, cut: Mapping[int, int], old: Floats, labels: Ints) -> Ints:
    """The finest cluster of new texts, inside those of a cut that they are in: the nearest mean."""
    out, known = places.copy(), {*labels.tolist()}
    for cluster in {*places.tolist()} & {*cut.values()}:
        inside = np.array([i for i, place in cut.items() if place == cluster and i in known])
        means = np.array([old[labels == i].mean(axis=0) for i in inside])
        rows = np.flatnonzero(places == cluster)
        far = np.linalg.norm(new[rows][:, None] - means, axis=2)
        out[rows] = inside[far.argmin(axis=1)]
    return out


def fit_classifier(x: Floats, codes: Ints, k: int, n_old: int) -> LinearAssigner:
    """A ridge classifier in few directions, for clusters of which some are new.

    With all directions it would learn each text by heart. A cluster counts by the square root of
    its size, so that small ones are not lost beside those that have grown for long, and by the
    fourth root of its new texts: what comes now is most of what will be asked. It is fitted again
    to its own predictions, as in ``auto``, as long as no cluster loses all its texts: what the
    first few texts of a run got wrong then weighs less.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        Old texts, then new ones.
    codes : ndarray of shape (n,)
        Cluster of each text, below ``k``.
    k : int
    n_old : int
    """
    kept = n_components(k)
    directions = None if x.shape[1] <= kept else principal_directions(x, kept)
    few = x if directions is None else x @ directions.T
    for _ in range(FITS):
        sizes, new = (np.bincount(part, minlength=k) for part in (codes, codes[n_old:]))
        weights = ((new + 1) ** 0.25 / np.sqrt(np.maximum(sizes, 1)))[codes]
        ridge = RidgeClassifier(few, (weights / weights.mean()).astype(np.float32))
        found = LinearAssigner(*ridge.fit(codes, k))
        codes = np.asarray(found.logits(few).argmax(axis=1), dtype=np.int64)
        if (np.bincount(codes, minlength=k)[sizes > 0] == 0).any():
            break
    if directions is None:
        return found
    return LinearAssigner(found.weight @ directions, found.bias)


def held_out(vectors: Floats, labels: Ints) -> Ints:
    """The cluster of each text by a classifier that was fitted to other texts.

    Most texts of a loose cluster, which holds what fits nowhere else, are put elsewhere then. So
    are new texts: their shares are to be compared with shares of these labels.
    """
    ids, codes = np.unique(labels, return_inverse=True)
    out, folds = codes.copy(), np.arange(len(codes)) % FOLDS
    for fold in range(FOLDS if len(codes) > FOLDS else 0):
        part = folds == fold
        rest = vectors[~part], codes[~part]
        found = fit_classifier(*rest, len(ids), len(rest[0]))
        out[part] = found.logits(vectors[part]).argmax(axis=1)
    return np.asarray(ids[out], dtype=np.int64)


class AddedRows:
    """New rows of a run: their clusters, and the model that assigns later texts.

    Parameters
    ----------
    run : Clustering
    corpus : Corpus
        The new rows, with the columns of the run.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Cluster of each new row, -1 for those without a text; of outliers, the nearest one.
    finest : ndarray of shape (n,)
        The same in the finest clusters of the tree.
    new : list of int
        Clusters that are new.
    strange : ndarray of shape (n,)
        New rows that fit nowhere.
    alarm : bool
        Whether there is a new theme.
    """

    def __init__(self, run: Clustering, corpus: Corpus) -> None:
        self.run, self.corpus = run, corpus
        self.draft = Draft.of(run)
        self.known = self.draft.finest  # what is learned
        self.model = copy.copy(run.model)
        old, new = run.vectors, np.asarray(self.model.transform(corpus.texts))
        self.n_old = len(old)
        self.vectors = np.concatenate([old, new]).astype(np.float32)
        self.texts = [*run.texts, *corpus.texts]
        filled = np.array([text != "" for text in corpus.texts])
        settled = (self.draft.labels >= 0) & ~self.draft.outliers
        keys = [row.tobytes() for row in np.round(self.vectors, DIGITS)]
        known = {keys[i]: int(self.known[i]) for i in np.flatnonzero(settled)}
        by_text = text_order(corpus.texts)
        first = {keys[self.n_old + i]: i for i in by_text[filled[by_text]][::-1].tolist()}
        unknown = [i for key, i in first.items() if key not in known]
        fresh = np.array(unknown[::-1], dtype=np.int64)
        order = text_order(run.texts)
        order = order[settled[order]]
        found = learn_new(
            old[order],
            self.known[order],
            new[fresh].astype(np.float32),
            sorted(run.tree.leaves),
            self.draft.next_id,
            run.seed,
            run.tree.cut(),
        )
        self._take(found, settled)
        if found.bound:
            pairs = zip(fresh.tolist(), found.placed.labels.tolist(), strict=True)
            known |= {keys[self.n_old + i]: label for i, label in pairs}
        self._assign(filled, known, keys)
        strange = set(fresh[found.placed.nowhere].tolist())
        odd = np.array([first.get(key) in strange for key in keys[self.n_old :]], dtype=bool)
        self.strange = filled & odd
        self._compare_with(fresh)

    def _take(self, found: Learned, settled: Bools) -> None:
        """Let the classifier assign later texts, as sure of itself as the run was."""
        self.new, self.alarm = found.placed.new, found.placed.alarm
        self.draft.next_id += len(self.new)
        self.draft.names |= dict.fromkeys(self.new)
        usual = self.run.table[self.run.own["confidence"]].to_numpy()
        self.sure = float(np.nanmean(usual[settled])) if settled.any() else 0.5
        linear = found.classifier.calibrated(self.vectors[: self.n_old][settled], self.sure)
        self.model.assigner_ = EditedAssigner(linear, tuple(found.ids))
        self.model.n_clusters_ = len(found.ids)

    def _assign(self, filled: Bools, known: Mapping[bytes, int], keys: Sequence[bytes]) -> None:
        """Label the new rows, and bind texts that the classifier would put elsewhere."""
        draft, n = self.draft, self.n_old
        there = np.concatenate([draft.labels >= 0, filled])
        assigner = self.model.assigner_
        assert isinstance(assigner, EditedAssigner)
        found = np.full(len(self.vectors), -1, dtype=np.int64)
        found[there] = assigner.logits(self.vectors[there]).argmax(axis=1)
        corrections, self.finest = dict(draft.led_to), found[n:].copy()
        for i in np.flatnonzero(filled).tolist():
            same = known.get(keys[n + i])  # of an old text that the encoder cannot tell apart
            bound = corrections.get(fingerprint(self.corpus.texts[i]), same)
            self.finest[i] = self.finest[i] if bound is None else bound
        right = np.concatenate([self.known, self.finest])
        settled = np.concatenate([~draft.outliers, filled])
        for row in np.flatnonzero(settled & (found != right)):
            corrections[fingerprint(self.texts[row])] = int(right[row])
        self.grown = self._grow(self.run.tree, right)
        cut = {**self.grown.cut(), -1: -1}
        self.labels = np.array([cut[i] for i in self.finest.tolist()], dtype=np.int64)
        before = self.vectors[:n][self.known >= 0]
        assigner = replace(assigner, cut=self.grown.cut()).calibrated(before, self.sure)
        self.model.assigner_, self.model.n_clusters_ = assigner, self.grown.at
        self.nearest = np.concatenate([draft.labels, self.labels])  # of all rows
        self.model.corrections_ = corrections
        both = replace(draft, texts=self.texts, corrections=corrections)
        self.model.corrected_rows_ = dict(both.bound_rows())
        p = np.zeros((len(self.vectors), assigner.width))
        p[there] = probabilities(assigner.logits(self.vectors[there]))
        self.p = np.asarray(correct(self.model, p))

    def _grow(self, tree: Tree, finest: Ints) -> Tree:
        """The tree with the new clusters, each beside the most similar that is shown."""
        places = {**tree.cut(), **{i: i for i in self.new}, -1: -1}
        labels = np.array([places[i] for i in finest.tolist()], dtype=np.int64)
        free = count(self.draft.next_id)
        for new, near in self._nearest(labels).items():
            tree = tree.with_new(new, near, free)
        self.draft.next_id = next(free)
        return tree

    def _nearest(self, labels: Ints) -> dict[int, int]:
        """The old cluster that is most similar to each new one."""
        old = [c.id for c in self.run.clusters if (labels == c.id).any()]
        means = np.array([self.vectors[labels == i].mean(axis=0) for i in [*old, *self.new]])
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        similar = means[len(old) :] @ means[: len(old)].T
        return {new: old[int(similar[i].argmax())] for i, new in enumerate(self.new)}

    def _compare_with(self, fresh: Ints) -> None:
        """Later texts are compared with the new ones, too; some new rows may be outliers."""
        self.scores = np.full(len(self.corpus), np.nan)
        outliers = np.zeros(len(self.corpus), dtype=bool)
        index = self.model._outlier_index()
        total = max(len(set(self.run.texts)), len(index.vectors))
        vectors = self.vectors[self.n_old + fresh]
        index = self.model._neighbor_index = index.extended(vectors, total, self.run.seed)
        filled = self.labels >= 0
        if filled.any():
            self.scores[filled] = index.scores(self.vectors[self.n_old :][filled])
        if self.run.marks and self.model.outlier_limit_ is not None:
            rows = self.model.corrected_rows_
            outliers = self.model.outlier_limit_.marks(self.scores, self.finest)
            outliers[[row - self.n_old for row in rows if row >= self.n_old]] = False
            for new in self.new:  # a cluster has rows
                if outliers[self.finest == new].all():
                    outliers[self.finest == new] = False
        self.outliers = np.concatenate([self.draft.outliers, outliers])  # of all rows
        self.all_labels = np.where(self.outliers, -1, self.nearest)

    @cached_property
    def input(self) -> pa.Table:
        """The columns of the input, of old and new rows."""
        old = self.run.input
        return pa.concat_tables([old, self.corpus.table.select(old.column_names)])

    @cached_property
    def nodes(self) -> dict[int, Cluster]:
        """All clusters of the tree, described anew; old ones keep their names."""
        finest = np.where(self.outliers, -1, np.concatenate([self.known, self.finest]))
        inside, names = self.grown.inside(), node_names(self.run.nodes)
        found = describe_nodes(self.texts, finest, inside, self.vectors, names=names)
        return by_number({}, as_said([*found.values()], self.run.nodes))

    @cached_property
    def clusters(self) -> list[Cluster]:
        """The clusters that are shown, described anew; old ones keep their names."""
        run, said = self.run, {c.id: c for c in self.run.clusters}
        called = node_names(self.nodes)
        names = {i: called.get(i, name) for i, name in self.draft.names.items()}
        found = describe_rows(
            self.input,
            (run.text_column, run.id_column),
            self.texts,
            self.all_labels,
            self.vectors,
            self.p,
            names,
            {i: c.topics for i, c in said.items()},
            said,  # old rows stay where they are, so it still holds
        )
        return with_parents(self.grown, self.nodes, found)

    @cached_property
    def drift(self) -> Drift:
        """How the new texts differ from the old ones."""
        names = {c.id: c.name for c in self.clusters}
        labels, n = self.all_labels, self.n_old
        parts = [np.arange(n), np.arange(n, len(labels))]
        few = [part[choose_rows(len(part), None, COMPARED, self.run.seed)] for part in parts]
        before, after = (([self.texts[i] for i in rows], labels[rows]) for rows in few)
        old = few[0][labels[few[0]] >= 0]
        unseen = held_out(self.vectors[old], labels[old])
        return find_drift(*before, *after, names, int(self.strange.sum()), self.alarm, unseen)

    @property
    def clustering(self) -> Clustering:
        """The run with the new rows. Changes all parts."""
        run, saved = self.run, self.run.map
        if saved is not None:
            odd = self.outliers if run.marks else None
            saved = make_map(self.vectors, self.nearest, run.seed, odd, self.texts)
        return replace(
            run,
            facts=self.facts(),
            table=self._table(),
            clusters=self.clusters,
            tree=self.grown,
            nodes=by_number(self.nodes, self.clusters),
            map=saved,
            fitted=self.model,
        )

    def _table(self) -> pa.Table:
        """The table of the run with the new rows at its end."""
        run, p = self.run, self.p[self.n_old :]
        results = result_columns(
            self.labels,
            p,
            names_by_number(self.clusters, p.shape[1]),
            self.scores,
            self.outliers[self.n_old :] if run.marks else None,
            TreeRows(self.grown, node_names(self.nodes), self.finest),
        )
        bare = {written: name for name, written in run.own.items()}
        columns = {
            name: pa.array(results.get(bare[name], [None] * len(p)), result_kind(name))
            if name in bare
            else self.corpus.table.column(name)
            for name in run.table.column_names
        }
        return pa.concat_tables([run.table, pa.table(columns, schema=run.table.schema)])

    def facts(self) -> dict[str, Any]:
        """The manifest of the run with the new rows."""
        before = self.run.facts
        entry = {
            "when": now(),
            "rows": len(self.corpus),
            "sha256": self.corpus.sha256,
            "new": self.new,
            "fit_nowhere": int(self.strange.sum()),
            "loose": self.drift.loose,
            "first": self.n_old,
        }
        facts = {
            **before,
            "data": {**before["data"], "rows": len(self.texts), "sha256": texts_digest(self.texts)},
            "editing": {**before.get("editing", {}), **self.draft.facts},
            "updates": [*before.get("updates", []), entry],
        }
        if self.run.marks and "outliers" in facts:
            facts["outliers"] = {**facts["outliers"], "marked": int(self.outliers.sum())}
        return facts
