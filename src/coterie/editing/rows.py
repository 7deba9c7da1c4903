"""A run with other rows in its clusters: from the draft of its edits to the next clustering."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coterie._types import Bools, Floats, Ints
from coterie.base import TextClusterer
from coterie.base.edited import Merge, Step, correct, edited
from coterie.blocks.assign import probabilities
from coterie.clustering import Clustering, describe_rows, renamed, with_results
from coterie.description import Cluster, names_by_number, rename_clusters
from coterie.editing.apply import Draft
from coterie.errors import DataError
from coterie.hierarchy import (
    Hierarchy,
    build_hierarchy,
    build_themes,
    carry_names,
    rename_levels,
)
from coterie.masking import folded_words, mask
from coterie.metrics import silhouette
from coterie.outliers import OutlierLimit
from coterie.report.folder import SILHOUETTE, make_map
from coterie.run_files import result_columns

MISMATCHED = 0.05  # share of rows on which table and model may differ by rounding


def take_edits(run: Clustering, draft: Draft) -> Clustering:
    """The run with the edits of a draft; what else changed by them is added to its notes.

    Where no row has moved, only names change, and the model is not loaded.
    """
    before = run.facts.get("editing", {})
    editing = {**before, "edits": before.get("edits", 0) + len(draft.done), **draft.facts}
    made = _moved(run, draft) if draft.moved else _renamed(run, draft)
    facts = {**made.facts, "editing": editing}
    if "names" in facts:  # of a namer; those that edits have changed are not its own
        same = {str(c.id) for c in made.clusters if run.names.get(c.id) == c.name}
        given = {i: pair for i, pair in facts["names"]["clusters"].items() if i in same}
        facts["names"] = {**facts["names"], "clusters": given}
    return replace(made, facts=facts)


def _renamed(run: Clustering, draft: Draft) -> Clustering:
    clusters, levels = rename_clusters(run.clusters, draft.names), run.hierarchy
    if clusters == run.clusters:
        return run
    if levels is not None:
        levels, _ = rename_levels(levels, run.names, {c.id: c.name for c in clusters})
    return renamed(run, clusters, levels)


def _moved(run: Clustering, draft: Draft) -> Clustering:
    """Model, table, clusters, levels and map; changes the facts about outliers and given names."""
    model, p = edit_model(run, draft)
    labels, facts = draft.marked, dict(run.facts)
    clusters, hierarchy = _describe(run, draft, p), run.hierarchy
    levels = run.facts.get("handover", {}).get("levels")
    if levels:
        hierarchy, clusters = build_hierarchy(run.texts, labels, run.vectors, clusters, levels)
    elif hierarchy is not None and hierarchy.themes and hierarchy.levels:
        n_themes = len(hierarchy.levels[0])
        hierarchy, clusters = build_themes(
            run.texts, labels, run.vectors, clusters, n_themes, run.seed
        )
    if hierarchy is not None and hierarchy is not run.hierarchy:
        if run.hierarchy is not None:
            pairs = same_groups(run.hierarchy, run.labels, hierarchy, labels)
            _tell_dropped(run.hierarchy, pairs, draft)
            hierarchy, clusters = carry_names(run.hierarchy, hierarchy, pairs, clusters)
            if "levels" in facts.get("names", {}):
                given = _still_given(facts["names"]["levels"], pairs)
                facts["names"] = {**facts["names"], "levels": given}
    unknown = np.full(len(p), np.nan)
    called = names_by_number(clusters, p.shape[1])
    results = result_columns(draft.labels, p, called, unknown, draft.outliers, hierarchy)
    del results["outlier_score"]  # edits do not change it
    if "outliers" in facts:
        facts["outliers"] = {**facts["outliers"], "marked": int(draft.outliers.sum())}
    return replace(
        run,
        facts=facts,
        table=with_results(run.table, results, hierarchy),
        clusters=clusters,
        hierarchy=hierarchy,
        map=remap(run, draft),
        fitted=model,
    )


def edit_model(run: Clustering, draft: Draft) -> tuple[TextClusterer, Floats]:
    """The model with the edits in it, and the probabilities of all rows.

    Where the model on this machine would put a text elsewhere than the table does, by another
    rounding, the table is right: the text is bound to its cluster.
    """
    model = copy.copy(run.model)
    assigner = edited(model.assigner_, model.n_clusters_).then(*draft.steps)
    model.assigner_, model.n_clusters_ = assigner, len(draft.names)
    filled = np.array([text != "" for text in draft.texts])
    p = np.zeros((len(filled), assigner.width))
    p[filled] = probabilities(assigner.logits(run.vectors[filled]))
    model.outlier_limit_ = edited_limit(model.outlier_limit_, draft.steps)
    bound = [row for row, _ in draft.bound_rows()]
    wrong = (draft.labels >= 0) & (p.argmax(axis=1) != draft.labels)
    wrong |= _wrongly_odd(model, run, draft, filled)
    wrong[bound] = False
    if wrong.sum() > max(1, MISMATCHED * filled.sum()):
        raise DataError(
            f"{run.folder}: the model puts {int(wrong.sum()):,} of {int(filled.sum()):,} rows "
            "elsewhere than assignments.csv does; the two do not belong together. Undo what was "
            "changed in the table, or run coterie cluster again."
        )
    for row in np.flatnonzero(wrong):
        draft.correct(np.array([row]), int(draft.labels[row]))
    model.corrections_ = draft.corrections
    model.corrected_rows_ = dict(draft.bound_rows())
    p = np.asarray(correct(model, p))
    left = np.flatnonzero((draft.labels >= 0) & (p.argmax(axis=1) != draft.labels))
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
            kept |= dict.fromkeys(step.into, kept[step.cluster])
    return replace(limit, kept=kept)


def _wrongly_odd(model: TextClusterer, run: Clustering, draft: Draft, filled: Bools) -> Bools:
    """Rows that the limit would call outliers, and the table does not."""
    out = np.zeros(len(filled), dtype=bool)
    if model.outlier_limit_ is None or model._neighbor_index is None:
        return out
    scores = model._outlier_index().scores(run.vectors[filled])
    out[filled] = model.outlier_limit_.marks(scores, np.asarray(draft.labels[filled]))
    return np.asarray(out & ~draft.outliers)


def _describe(run: Clustering, draft: Draft, p: Floats) -> list[Cluster]:
    topics, said = {}, {}
    for cluster in run.clusters:
        was, now = run.nearest == cluster.id, draft.labels == cluster.id
        if np.array_equal(was, now):
            topics[cluster.id] = cluster.topics
        if cluster.id in draft.described:
            left, here = np.flatnonzero(was & ~now), np.flatnonzero(now)
            quotes = [
                quote
                for quote in cluster.quotes
                if not is_quoted(quote, run.texts, left) or is_quoted(quote, run.texts, here)
            ]
            said[cluster.id] = replace(cluster, quotes=quotes)
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


def is_quoted(quote: str, texts: Sequence[str], rows: Ints) -> bool:
    """Whether a quote is in one of the rows, in any case, once personal data is masked."""
    words = " ".join(folded_words(quote))
    return any(words in " ".join(folded_words(mask(texts[row]))) for row in rows)


def same_groups(old: Hierarchy, before: Ints, new: Hierarchy, after: Ints) -> list[dict[int, int]]:
    """For each new level, the groups that are old ones, and which.

    A group is an old one if it holds the same rows, as after a merge inside it, or the same
    clusters, as after a move of some rows.

    Parameters
    ----------
    old, new : Hierarchy
    before, after : ndarray of shape (n,)
        Cluster of each row below each of them, -1 for none.
    """
    out: list[dict[int, int]] = [{} for _ in new.levels]
    for number in range(min(len(old.levels), len(new.levels))):
        was, now = old.above[number], new.above[number]
        groups_before = np.array([was.get(int(label), -1) for label in before])
        groups_after = np.array([now.get(int(label), -1) for label in after])
        for group, parts in new.parts(number).items():
            if len(parts) == 1:  # it is called as that is
                continue
            rows = groups_after == group
            for other in set(groups_before[rows].tolist()) - {-1}:
                same_rows = np.array_equal(groups_before == other, rows)
                if same_rows or _inside(was, other) == _inside(now, group):
                    out[number][group] = other
    return out


def _inside(above: Mapping[int, int], group: int) -> set[int]:
    return {cluster for cluster, place in above.items() if place == group}


def _tell_dropped(old: Hierarchy, pairs: Sequence[Mapping[int, int]], draft: Draft) -> None:
    """Say which descriptions of coarser levels do not fit any more."""
    for number, level in enumerate(old.levels):
        kept = set(pairs[number].values()) if number < len(pairs) else set()
        for group in level:
            if group.id not in kept and (group.description or group.quotes):
                kind = "theme" if old.themes else f"cluster of level {number + 1}"
                draft.notes.append(f"the description of the {kind} {group.name} is dropped")


def _still_given(
    given: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[int, int]]
) -> list[dict[str, Any]]:
    """What a namer gave to the groups of each level, by their new numbers."""
    return [
        {str(new): names[str(old)] for new, old in same.items() if str(old) in names}
        for names, same in zip(given, pairs, strict=False)
    ]


def remap(run: Clustering, draft: Draft) -> dict[str, Any] | None:
    """Texts keep their places on the map, unless the places are those of the clusters."""
    if run.map is None:
        return None
    if run.map["layout"] == "discs":
        return make_map(run.vectors, draft.labels, run.seed, draft.outliers, run.texts)
    inside = draft.marked >= 0
    value = silhouette(run.vectors[inside], draft.marked[inside], SILHOUETTE)
    return {**run.map, "silhouette": round(value, 4) if np.isfinite(value) else None}
