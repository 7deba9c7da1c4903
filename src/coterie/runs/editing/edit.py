"""Edits on a run folder: from a draft of the edits to the next clustering."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from coterie._util.types import Bools, Floats
from coterie._util.validation import check_path
from coterie.arrays.assign import probabilities
from coterie.arrays.metrics import silhouette
from coterie.arrays.outliers import OutlierLimit
from coterie.describe import Cluster, describe_nodes, names_by_number
from coterie.describe.tree import TreeRows, by_number, node_names, rename_nodes, with_parents
from coterie.errors import DataError, counted
from coterie.models.clusterer import TextClusterer
from coterie.models.edited import Merge, Step, correct, edited
from coterie.runs.clustering import (
    Clustering,
    as_said,
    describe_rows,
    renamed,
    with_results,
)
from coterie.runs.editing.apply import Draft, apply_edits, prune
from coterie.runs.editing.parse import read_edits
from coterie.runs.page_data import SILHOUETTE, make_map
from coterie.runs.store import opened, save
from coterie.runs.store import undo as undo_change
from coterie.runs.table import result_columns

MISMATCHED = 0.05  # share of rows on which table and model may differ by rounding


@dataclass(frozen=True)
class Edited:
    """What edits did to a run.

    Attributes
    ----------
    run : Path
    done : tuple of str
        In sentences, one for each edit.
    clusters : dict of int to str
        Names of the clusters there are now.
    notes : tuple of str
        What else changed by them, in sentences: descriptions that were dropped.
    """

    run: Path
    done: tuple[str, ...]
    clusters: dict[int, str]
    notes: tuple[str, ...] = ()


def edit(
    run: str | Path,
    edits: object,
    *,
    dry_run: bool = False,
    version: str | None = None,
) -> Edited:
    """Merge, split, rename or delete clusters of a run; move texts.

    All edits are checked before anything changes. Numbers are stable: a merge keeps the number of
    the first cluster named, and a number that is retired is never used again. A split shows the
    parts that the tree has, if there are so many, else parts with new numbers; the cluster itself
    is there again when a coarser cut shows it.

    Parameters
    ----------
    run : str or Path
        The folder of a finished run, whose files are written anew and whose earlier state is kept
        for :func:`undo`.
    edits : str, Path, mapping or list of mappings
        A YAML or JSON file, or the same as values: ``[{"merge": [3, 7], "name": "Refunds"}]``.
    dry_run : bool, default=False
        Check the edits of a run and say what they would do, without writing.
    version : str, optional
        Edit the run only if this is its ``Run.version``: nobody has changed it since it was read.

    Returns
    -------
    Edited
        What was done.
    """
    wanted = read_edits(edits)
    folder = check_path("run", run)
    with opened(folder, version=version, to_write=not dry_run) as before:
        draft = Draft.of(before)
        apply_edits(wanted, draft)
        names = {i: name or "" for i, name in sorted(draft.names.items())}
        if not dry_run:
            after = take_edits(before, draft)
            save(before, after, done=draft.done)
            names = after.names
    return Edited(folder, tuple(draft.done), names, tuple(draft.notes))


def cut(run: str | Path, clusters: int | str, *, version: str | None = None) -> int:
    """Show another cut of the merge tree of a run: so many clusters, or a named level.

    Table, page and model change together; numbers, names and edits stay with the clusters.
    :func:`undo` takes it back.

    Parameters
    ----------
    run : str or Path
        The folder of a finished run.
    clusters : int or str
        Number of clusters, or the name of a level: "broad", "medium", "fine", "level_1".
    version : str, optional
        Only if this is the ``Run.version`` of the run.

    Returns
    -------
    int
        How many clusters are shown now.
    """
    folder = check_path("run", run)
    with opened(folder, version=version) as before:
        tree = before.tree.at_level(clusters)
        draft, places = Draft.of(before), {**tree.cut(), -1: -1}
        draft.labels = np.array([places[leaf] for leaf in draft.finest.tolist()], dtype=np.int64)
        draft.corrections = {mark: places[leaf] for mark, leaf in draft.led_to.items()}
        draft.names = {i: draft.known.get(i) for i in tree.shown()}
        draft.tree, draft.moved = tree, True
        done = [f"cut into {counted(tree.at, 'cluster')}"]
        save(before, take_edits(before, draft), done=done)
    return tree.at


def undo(run: str | Path, *, version: str | None = None) -> int:
    """Put a run back into its state before the last edits; all its files are the same.

    Parameters
    ----------
    run : str or Path
    version : str, optional
        Undo only if this is the ``Run.version`` of the run.

    Returns
    -------
    int
        Number of the change that was undone.
    """
    return undo_change(check_path("run", run), version=version)


def take_edits(run: Clustering, draft: Draft) -> Clustering:
    """The run with the edits of a draft; what else changed by them is added to its notes.

    Changes facts, and all else if a row has moved; else names alone, and the model is not loaded.
    """
    before = run.facts.get("editing", {})
    editing = {**before, "edits": before.get("edits", 0) + len(draft.done), **draft.facts}
    made = _moved(run, draft) if draft.moved else renamed(run, draft.names)
    return replace(made, facts={**made.facts, "editing": editing})


def _moved(run: Clustering, draft: Draft) -> Clustering:
    """Model, table, clusters, levels and map; changes the facts about outliers and given names."""
    model, p = edit_model(run, draft)
    facts, (nodes, clusters) = dict(run.facts), _describe_tree(run, draft, p)
    levels = TreeRows(draft.tree, node_names(nodes), draft.finest)
    unknown = np.full(len(p), np.nan)
    called = names_by_number(clusters, p.shape[1])
    results = result_columns(draft.labels, p, called, unknown, draft.outliers, levels)
    del results["outlier_score"]  # edits do not change it
    if "outliers" in facts:
        facts["outliers"] = {**facts["outliers"], "marked": int(draft.outliers.sum())}
    return replace(
        run,
        facts=facts,
        table=with_results(run.table, results),
        clusters=clusters,
        tree=draft.tree,
        nodes=nodes,
        map=remap(run, draft),
        fitted=model,
    )


def _describe_tree(
    run: Clustering, draft: Draft, p: Floats
) -> tuple[dict[int, Cluster], list[Cluster]]:
    """All clusters of the tree, described anew if they changed; and those that are shown."""
    given, tree = draft.given_names(), draft.tree
    here = {*tree.leaves, *tree.inside()}
    nodes = rename_nodes({i: c for i, c in run.nodes.items() if i in here}, given)
    marked, before = (np.where(r.outliers, -1, r.finest) for r in (draft, run))
    if tree.merges != run.tree.merges or not np.array_equal(marked, before):
        names = {**node_names(nodes), **dict.fromkeys(draft.renewed & nodes.keys()), **given}
        kept = {i: name for i, name in names.items() if name is not None}
        said = {i: c for i, c in nodes.items() if i in draft.described}
        found = describe_nodes(run.texts, marked, tree.inside(), run.vectors, names=kept)
        nodes = by_number({}, as_said(list(found.values()), said))
    draft.names = {i: nodes[i].name if i in nodes else name for i, name in draft.names.items()}
    clusters = with_parents(tree, nodes, _describe(run, draft, p))
    return by_number(nodes, clusters), clusters


def edit_model(run: Clustering, draft: Draft) -> tuple[TextClusterer, Floats]:
    """The model with the edits in it, and the probabilities of all rows.

    Where the model on this machine would put a text elsewhere than the table does, by another
    rounding, the table is right: the text is bound to its cluster.
    """
    draft.tree, steps = prune(draft.tree, draft.finest, draft.outliers)
    draft.steps += steps
    model = copy.copy(run.model)
    assigner = edited(model.assigner_, model.n_clusters_).then(*draft.steps)
    filled = np.array([text != "" for text in draft.texts])
    assigner = replace(assigner, cut=draft.tree.cut())
    model.assigner_, model.n_clusters_ = assigner, len(draft.names)
    p = np.zeros((len(filled), assigner.width))
    p[filled] = probabilities(assigner.logits(run.vectors[filled]))
    model.outlier_limit_ = edited_limit(model.outlier_limit_, draft.steps)
    bound = [row for row, _ in draft.bound_rows()]
    wrong = (draft.labels >= 0) & (p.argmax(axis=1) != draft.labels)
    finest = assigner.finest_logits(run.vectors[filled]).argmax(axis=1)
    wrong[filled] |= finest != draft.finest[filled]
    wrong |= _wrongly_odd(model, run, draft, filled)
    wrong[bound], wrong[draft.outliers] = False, False  # to bind an outlier would make it none
    if wrong.sum() > max(1, MISMATCHED * filled.sum()):
        raise DataError(
            f"{run.folder}: the model puts {int(wrong.sum()):,} of {int(filled.sum()):,} rows "
            "elsewhere than assignments.csv does; the two do not belong together. Undo what was "
            "changed in the table, or run coterie cluster again."
        )
    for row in np.flatnonzero(wrong):
        draft.correct(np.array([row]), int(draft.labels[row]))
    model.corrections_ = draft.finest_corrections()
    model.corrected_rows_ = {row: int(draft.finest[row]) for row, _ in draft.bound_rows()}
    p = np.asarray(correct(model, p))
    left = (draft.labels >= 0) & ~draft.outliers & (p.argmax(axis=1) != draft.labels)
    left = np.flatnonzero(left)
    if len(left):
        raise DataError(
            f"{run.folder}: row {left[0] + 1} of assignments.csv is in cluster "
            f"{draft.labels[left[0]]}, but a row with the same text is in another one; identical "
            "texts share a cluster. Undo what was changed in the table."
        )
    return model, p


def edited_limit(limit: OutlierLimit | None, steps: Sequence[Step]) -> OutlierLimit | None:
    """The limit for outliers after merges and splits.

    Clusters that would have lost all their texts have a limit of their own. The parts of a split
    inherit it; a merged cluster has the common one, as it is no such cluster any more.
    """
    if limit is None:
        return None
    kept = dict(limit.kept)
    for step in steps:
        if isinstance(step, Merge):
            kept = {c: value for c, value in kept.items() if c not in step.clusters}
        elif step.cluster in kept:
            kept |= dict.fromkeys(step.after, kept[step.cluster])
    return replace(limit, kept=kept)


def _wrongly_odd(model: TextClusterer, run: Clustering, draft: Draft, filled: Bools) -> Bools:
    """Rows that the limit would call outliers, and the table does not."""
    out = np.zeros(len(filled), dtype=bool)
    if model.outlier_limit_ is None:
        return out
    scores = model._outlier_index().scores(run.vectors[filled])
    out[filled] = model.outlier_limit_.marks(scores, np.asarray(draft.finest[filled]))
    return np.asarray(out & ~draft.outliers)


def _describe(run: Clustering, draft: Draft, p: Floats) -> list[Cluster]:
    topics, said = {}, {}
    for cluster in run.nodes.values():
        if cluster.id not in draft.names:
            continue
        was, now = run.rows_in(cluster.id), draft.labels == cluster.id
        if np.array_equal(was, now):
            topics[cluster.id] = cluster.topics
        if cluster.id in draft.described:
            said[cluster.id] = cluster
    return describe_rows(
        run.input,
        (run.text_column, run.id_column),
        run.texts,
        draft.marked,
        run.vectors,
        p,
        draft.names,
        topics,
        said,
    )


def remap(run: Clustering, draft: Draft) -> dict[str, Any] | None:
    """Texts keep their places on the map, unless the places are those of the clusters."""
    if run.map is None:
        return None
    if run.map["layout"] == "discs":
        return make_map(run.vectors, draft.labels, run.seed, draft.outliers, run.texts)
    inside = draft.marked >= 0
    value = silhouette(run.vectors[inside], draft.marked[inside], SILHOUETTE)
    return {**run.map, "silhouette": round(value, 4) if np.isfinite(value) else None}
