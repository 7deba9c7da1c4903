"""The files of a finished run: read to be edited, written anew after edits, and changed back.

A change is made on a copy of the folder (of links: nothing large is copied) which then takes the
place of the folder, so a reader sees the old run or the new one and a crash leaves the old one.
What the change replaced lies in ``earlier/0001``, ``earlier/0002`` and so on, inside the run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from coterie._files import atomic_path, sha256_file, write_json, write_text
from coterie._trust import LARGE, check_file, check_shape, inside, read_json
from coterie._types import Bools, Floats, Ints
from coterie.base import TextClusterer
from coterie.base.edited import Merge, Step, correct, edited
from coterie.base.storage import read_config, save_clusters
from coterie.blocks.assign import probabilities
from coterie.corpus import write_rows
from coterie.description import (
    Cluster,
    describe_numbered,
    guess_columns,
    names_by_number,
    rename_clusters,
)
from coterie.editing.apply import State
from coterie.errors import DataError
from coterie.exports import refresh, write_sentence_rows
from coterie.hierarchy import (
    LEVEL_COLUMN,
    Hierarchy,
    build_hierarchy,
    build_themes,
    carry_names,
    rename_levels,
)
from coterie.masking import folded_words, mask
from coterie.metrics import silhouette
from coterie.outliers import OutlierLimit
from coterie.report import write_map
from coterie.report.folder import SILHOUETTE
from coterie.report.quality import about_labels, about_themes
from coterie.run_files import (
    MANIFEST,
    RUNNING,
    RunFiles,
    check_known,
    differ,
    link_files,
    model_folder,
    replace_columns,
    result_columns,
    run_files,
    swap_run,
)

ODD = 0.05  # share of rows on which table and model may differ by rounding
# How sentences of a summary begin whose figures change.
FIGURES = (
    r"[\d,]+ of [\d,]+ texts are in",
    r"Mean confidence is",
    r"[\d,]+ texts (are outliers|fit none of the clusters)",  # the latter: an earlier version
    r"The \d+ clusters form \d+ broad themes",
)
EARLIER = "earlier"
INDEX = "changed.json"
LOG = "edits.jsonl"  # only ever grows, also by an undo
LOG_LIMIT = 16 << 20  # bytes of the log, which is read whole
NUMBER = re.compile(r"[0-9]{4,9}")
SHAPE = {"replaced": [str], "added": [str], "left": {str: str}}


class EditableRun(RunFiles):
    """The files of a run; the model is loaded only if an edit needs it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.check()
        self.stamp = (folder / MANIFEST).read_bytes()
        self.id_column = self.manifest["data"].get("id_column")
        needed = ["name", "outlier"] if "nearest_cluster" in self.own else ["name"]
        for name in needed:
            if name not in self.own:
                raise DataError(f"{folder}: assignments.csv has no column {name!r}.")
        self.ids = None if self.id_column is None else self.column(self.id_column)

    @cached_property
    def model(self) -> TextClusterer:
        """The saved model."""
        from coterie.methods import load

        return load(inside(self.folder, "model"))

    @cached_property
    def vectors(self) -> Floats:
        """Vectors of all rows."""
        return np.asarray(self.model.transform(self.texts))

    @property
    def outliers(self) -> Bools:
        """Which rows fit no cluster."""
        if "nearest_cluster" not in self.own:
            return np.zeros(len(self.table), dtype=bool)
        return np.array([value == "yes" for value in self.column(self.own["outlier"])], dtype=bool)

    @property
    def nearest(self) -> Ints:
        """Cluster of each row; of outliers, the nearest one."""
        labels, odd = self.labels, self.outliers
        if odd.any():
            near = self.table[self.own["nearest_cluster"]].fill_null(-1).to_numpy()
            labels = np.where(odd, near, labels)
            check_known(labels.tolist(), self.clusters, self.folder)
        return labels

    @property
    def levels(self) -> list[int]:
        """Clusters of each nested level that the run was asked for."""
        return list(self.manifest.get("handover", {}).get("levels", []))

    @property
    def n_themes(self) -> int | None:
        """Broad themes that the run has; None if its clusters were not grouped into themes."""
        above = self.hierarchy
        if above is None or not above.themes:
            return None
        return len(above.levels[0]) if above.levels else 0

    def state(self) -> State:
        """A working copy to edit."""
        config = read_config(model_folder(self.folder))
        earlier = self.manifest.get("editing", {})
        labels = self.nearest
        highest = max(int(labels.max(initial=-1)), config["n_clusters"] - 1)
        return State(
            texts=self.texts,
            labels=labels,
            get_vectors=lambda: self.vectors,
            names={c.id: c.name for c in self.clusters},
            next_id=earlier.get("next_id", highest + 1),
            ids=self.ids,
            outliers=self.outliers,
            locked=set(earlier.get("locked", [])),
            named=set(earlier.get("named", [])),
            finished=set(earlier.get("done", [])),
            described={c.id for c in self.clusters if c.description or c.quotes},
            corrections=dict(config.get("corrections", {})),
            seed=int(self.manifest.get("seed") or 0),
        )

    def check_unchanged(self, folder: Path) -> None:
        """Refuse to write over what somebody else has changed meanwhile."""
        if (folder / MANIFEST).read_bytes() != self.stamp:
            raise DataError(
                f"{self.folder} was changed by another command in the meantime; try again.",
                code="edit.changed_meanwhile",
            )


def check_version(run: Path, version: str | None) -> None:
    """Refuse a run that is not in the state that the caller has seen; None is any state."""
    if version is not None and version != RunFiles(run).version:
        raise DataError(
            f"{run} is not in the state {version:.40} any more: somebody has changed it since "
            "you read it. Nothing was written; look at it again.",
            code="edit.other_version",
        )


def edit_model(run: EditableRun, state: State) -> Floats:
    """Put the edits into the model of the run; returns the probabilities of all rows.

    Where the model on this machine would put a text elsewhere than the table does, by another
    rounding, the table is right: the text is bound to its cluster.
    """
    model = run.model
    model.assigner_ = edited(model.assigner_, model.n_clusters_).then(*state.steps)
    model.n_clusters_ = len(state.names)
    filled = np.array([text != "" for text in state.texts])
    p = np.zeros((len(filled), model.assigner_.width))
    p[filled] = probabilities(model.assigner_.logits(run.vectors[filled]))
    model.outlier_limit_ = edited_limit(model.outlier_limit_, state.steps)
    wrong = _unlike(state, p) | _wrongly_odd(model, run, state, filled)
    if wrong.sum() > max(1, ODD * filled.sum()):
        raise DataError(
            f"{run.folder}: the model puts {int(wrong.sum()):,} of {int(filled.sum()):,} rows "
            "elsewhere than assignments.csv does; the two do not belong together. Undo what was "
            "changed in the table, or run coterie cluster again."
        )
    for row in np.flatnonzero(wrong):
        state.correct(np.array([row]), int(state.labels[row]))
    model.corrections_ = state.corrections
    model.corrected_rows_ = dict(state.bound_rows())
    p = np.asarray(correct(model, p))
    left = np.flatnonzero((state.labels >= 0) & (p.argmax(axis=1) != state.labels))
    if len(left):
        raise DataError(
            f"{run.folder}: row {left[0] + 1} of assignments.csv is in cluster "
            f"{state.labels[left[0]]}, but a row with the same text is in another one; identical "
            "texts share a cluster. Undo what was changed in the table."
        )
    return p


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


def _unlike(state: State, p: Floats) -> Bools:
    """Rows that the assigner puts elsewhere than the table, and no correction does."""
    bound = [row for row, _ in state.bound_rows()]
    out = (state.labels >= 0) & (p.argmax(axis=1) != state.labels)
    out[bound] = False
    return np.asarray(out)


def _wrongly_odd(model: TextClusterer, run: EditableRun, state: State, filled: Bools) -> Bools:
    """Rows that the limit would call outliers, and the table does not."""
    out = np.zeros(len(filled), dtype=bool)
    if model.outlier_limit_ is None or model._neighbor_index is None:
        return out
    scores = model._outlier_index().scores(run.vectors[filled])
    out[filled] = model.outlier_limit_.marks(scores, np.asarray(state.labels[filled]))
    out[[row for row, _ in state.bound_rows()]] = False
    return np.asarray(out & ~state.outliers)


def marked_labels(state: State) -> Ints:
    """Cluster of each row, -1 for outliers."""
    return np.where(state.outliers, -1, state.labels)


def write_table(
    folder: Path,
    run: EditableRun,
    state: State,
    clusters: Sequence[Cluster],
    p: Floats | None = None,
    hierarchy: Hierarchy | None = None,
) -> None:
    """Write the table with new results; without probabilities, with new names alone."""
    if p is None:
        names, labels = {c.id: c.name for c in clusters}, marked_labels(state)
        pairs = zip(labels.tolist(), run.column(run.own["name"]), strict=True)
        fresh: dict[str, list[Any]] = {"name": [names.get(i, old) for i, old in pairs]}
        if hierarchy is not None:
            fresh |= hierarchy.columns(labels, fresh["name"])
    else:
        called, unknown = names_by_number(clusters, p.shape[1]), np.full(len(p), np.nan)
        fresh = result_columns(state.labels, p, called, unknown, state.outliers, hierarchy)
        del fresh["outlier_score"]  # edits do not change it
    table, levels = replace_columns(run.table, fresh), dict[str, list[Any]]()
    if hierarchy is not None:
        table = table.drop_columns([run.own[n] for n in run.own if LEVEL_COLUMN.fullmatch(n)])
        levels = {name: fresh[name] for name in fresh if LEVEL_COLUMN.fullmatch(name)}
    write_rows(folder / "assignments.csv", table, levels)
    if "split" in run.manifest:
        write_sentence_rows(folder, run.manifest["split"], run.manifest["data"]["text_column"])


def write_run(run: EditableRun, state: State, folder: Path) -> list[Cluster]:
    """Write an edited clustering into a copy of the run's folder; returns its clusters."""
    run.check_unchanged(folder)
    manifest = dict(run.manifest)
    write = _write_clustering if state.moved else _write_names
    clusters = write(run, state, folder, manifest)
    count = manifest.get("editing", {}).get("edits", 0) + len(state.done)
    manifest["summary"] = _edited_sentence(manifest["summary"], count)
    manifest["editing"] = {
        **manifest.get("editing", {}),
        "edits": count,
        "locked": sorted(state.locked),
        "named": sorted(state.named),
        "done": sorted(state.finished),
        "next_id": state.next_id,
    }
    if "names" in manifest:  # of a namer; those that edits have changed are not its own
        manifest["names"] = _still_named(manifest["names"], run.clusters, clusters)
    write_json(folder / "clusters.json", [cluster.to_dict() for cluster in clusters])
    write_json(folder / "manifest.json", manifest)
    refresh(folder, manifest, clusters)
    return clusters


def _write_names(
    run: EditableRun, state: State, folder: Path, manifest: dict[str, Any]
) -> list[Cluster]:
    """Names in the table and on the levels, where they have changed; all else stays."""
    clusters = rename_clusters(run.clusters, state.names)
    before, after = ({c.id: c.name for c in found} for found in (run.clusters, clusters))
    if before == after:
        return clusters
    levels = run.hierarchy
    if levels is not None:
        levels, _ = rename_levels(levels, before, after)
        clusters = levels.parented(clusters)
        write_json(folder / "levels.json", levels.to_dict())
    write_table(folder, run, state, clusters, hierarchy=levels)
    return clusters


def _write_clustering(
    run: EditableRun, state: State, folder: Path, manifest: dict[str, Any]
) -> list[Cluster]:
    """Model, table, levels and map; changes the summary of the manifest."""
    p = edit_model(run, state)
    labels = marked_labels(state)
    clusters, hierarchy = _describe(run, state, p, labels), None
    if run.levels or run.n_themes:
        hierarchy, clusters = _nest(run, labels, clusters)
        if run.hierarchy is not None:
            pairs = same_groups(run.hierarchy, run.labels, hierarchy, labels)
            _tell_dropped(run.hierarchy, pairs, state)
            hierarchy, clusters = carry_names(run.hierarchy, hierarchy, pairs, clusters)
            if "levels" in manifest.get("names", {}):
                given = manifest["names"]["levels"]
                manifest["names"] = {**manifest["names"], "levels": _still_given(given, pairs)}
        write_json(folder / "levels.json", hierarchy.to_dict())
    save_clusters(run.model, folder / "model")
    write_table(folder, run, state, clusters, p, hierarchy)
    _write_map(run, state, labels, folder / "map.json")
    odd = int(state.outliers.sum())
    manifest["summary"] = new_summary(manifest["summary"], labels, p, len(clusters), odd, hierarchy)
    if "outliers" in manifest:
        manifest["outliers"] = {**manifest["outliers"], "marked": int(state.outliers.sum())}
    return clusters


def _describe(run: EditableRun, state: State, p: Floats, labels: Ints) -> list[Cluster]:
    table, before = run.table.drop_columns(list(run.own.values())), run.nearest
    date, categories = guess_columns(table, run.manifest["data"]["text_column"], run.id_column)
    known = {c.id: c for c in run.clusters}
    same = {i for i in known if np.array_equal(before == i, state.labels == i)}
    found = describe_numbered(
        run.texts,
        labels,
        run.vectors,
        state.names,
        probabilities=p,
        dates=None if date is None else table.column(date),
        columns={name: table.column(name) for name in categories},
        topics={i: known[i].topics for i in same},
    )
    for place, cluster in enumerate(found):
        if cluster.id in state.described:
            said, here = known[cluster.id], state.labels == cluster.id
            left = np.flatnonzero((before == cluster.id) & ~here)
            quotes = _still_there(said.quotes, state.texts, left, np.flatnonzero(here))
            found[place] = replace(cluster, description=said.description, quotes=quotes)
    return found


def _still_there(quotes: Sequence[str], texts: Sequence[str], left: Ints, here: Ints) -> list[str]:
    """Quotes without those that are in the rows that left a cluster, and in none that is there."""
    return [q for q in quotes if not is_quoted(q, texts, left) or is_quoted(q, texts, here)]


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


def _tell_dropped(old: Hierarchy, pairs: Sequence[Mapping[int, int]], state: State) -> None:
    """Say which descriptions of coarser levels do not fit any more."""
    for number, level in enumerate(old.levels):
        kept = set(pairs[number].values()) if number < len(pairs) else set()
        for group in level:
            if group.id not in kept and (group.description or group.quotes):
                kind = "theme" if old.themes else f"cluster of level {number + 1}"
                state.notes.append(f"the description of the {kind} {group.name} is dropped")


def _still_given(
    given: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[int, int]]
) -> list[dict[str, Any]]:
    """What a namer gave to the groups of each level, by their new numbers."""
    return [
        {str(new): names[str(old)] for new, old in same.items() if str(old) in names}
        for names, same in zip(given, pairs, strict=False)
    ]


def _nest(
    run: EditableRun, labels: Ints, clusters: Sequence[Cluster]
) -> tuple[Hierarchy, list[Cluster]]:
    if run.levels:
        return build_hierarchy(run.texts, labels, run.vectors, clusters, run.levels)
    seed = run.manifest.get("seed", 0)
    return build_themes(run.texts, labels, run.vectors, clusters, run.n_themes, seed)


def _write_map(run: EditableRun, state: State, labels: Ints, file: Path) -> None:
    """Texts keep their places on the map, unless the places are those of the clusters."""
    if run.map is None:
        return
    saved = dict(run.map)
    if saved["layout"] == "discs":
        write_map(file, run.vectors, state.labels, state.seed, state.outliers, run.texts)
        return
    inside = labels >= 0
    value = silhouette(run.vectors[inside], labels[inside], SILHOUETTE)
    saved["silhouette"] = round(value, 4) if np.isfinite(value) else None
    write_text(file, json.dumps(saved, separators=(",", ":")) + "\n")


def _still_named(
    names: dict[str, Any], before: Sequence[Cluster], after: Sequence[Cluster]
) -> dict[str, Any]:
    """What a namer gave, without clusters that have another name now, or are gone."""
    old = {c.id: c.name for c in before}
    same = {str(c.id) for c in after if old.get(c.id) == c.name}
    return {**names, "clusters": {i: n for i, n in names["clusters"].items() if i in same}}


def append_log(folder: Path, entry: dict[str, Any]) -> None:
    """Add a line to the log of a copy of the run, replacing the file."""
    file = folder / LOG
    if os.path.lexists(file):
        check_file(file, LOG_LIMIT)
    before = file.read_bytes() if file.exists() else b""
    before += b"" if before.endswith(b"\n") or not before else b"\n"
    when = datetime.now(timezone.utc).isoformat(timespec="seconds")
    line = json.dumps({"when": when, **entry}, ensure_ascii=False, default=str)
    with atomic_path(file) as temporary:
        temporary.write_bytes(before + f"{line}\n".encode("utf-8", "backslashreplace"))


def last_logged(folder: Path) -> list[str]:
    """What the last edits of a run did, in sentences; nothing where the log does not say it."""
    file = inside(folder, LOG)
    if not file.exists():
        return []
    check_file(file, LOG_LIMIT)
    lines = file.read_bytes().splitlines()
    try:
        entry = json.loads(lines[-1])
        if "undo" in entry:
            return [f"change {int(entry['undo'])} was undone"]
        found = [*entry["done"], *entry.get("notes", ())]
    except (IndexError, KeyError, TypeError, ValueError):  # somebody has written into it
        return []
    return [sentence for sentence in found if isinstance(sentence, str)]


def new_summary(
    old: Sequence[str], labels: Ints, p: Floats, k: int, outliers: int, hierarchy: Hierarchy | None
) -> list[str]:
    """The sentences of the run with new figures; others stay."""
    new = [*about_labels(labels, p, k, outliers), *about_themes(hierarchy)]
    fresh = {start: next((s for s in new if re.match(start, s)), None) for start in FIGURES}
    out: list[str | None] = []
    for sentence in old:
        start = next((start for start in FIGURES if re.match(start, sentence)), None)
        out.append(sentence if start is None else fresh[start])
    return [sentence for sentence in out if sentence is not None]


def _edited_sentence(summary: Sequence[str], count: int) -> list[str]:
    kept = [sentence for sentence in summary if not sentence.startswith("Edited by hand:")]
    times = "1 edit" if count == 1 else f"{count} edits"
    return [*kept, f"Edited by hand: {times}, listed in {LOG}."]


def change_run(run: Path, change: Callable[[Path], None]) -> None:
    """Let ``change`` work on a copy of the run, keep what it replaces, and swap the copy in.

    ``change`` must replace files, not write into them: they are shared with the old folder.
    """
    run = run.resolve()

    def keeping(fresh: Path) -> None:
        change(fresh)
        _keep_replaced(run, fresh)

    swap_run(run, keeping)


def undo_run(run: Path, note: Callable[[Path], None]) -> int:
    """Put back what the last change replaced; returns the number of the change.

    ``note`` writes to the log, in the folder it is given.
    """
    run = run.resolve()
    number = last_change(run)
    if number == 0:
        raise DataError(f"{run} has no edits to undo.", code="edit.nothing_to_undo")

    kept = f"{EARLIER}/{number:04}"
    file = inside(run, f"{kept}/{INDEX}")
    index = check_shape(read_json(file, LARGE), SHAPE, str(file))
    for name in index["added"]:
        check_file(inside(run, name))
    for name in index["replaced"]:
        check_file(inside(run / kept / "files", name))
        inside(run, name)
    _refuse_newer(run, index)

    def change(fresh: Path) -> None:
        for name in index["added"]:
            (fresh / name).unlink()
        for name in index["replaced"]:
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / kept / "files" / name).replace(fresh / name)
        shutil.rmtree(fresh / kept)
        if not any((fresh / EARLIER).iterdir()):
            (fresh / EARLIER).rmdir()
        note(fresh)

    swap_run(run, change)
    return number


def last_change(run: Path) -> int:
    """Number of the last change that can be undone, 0 if there is none."""
    names = [path.name for path in (run / EARLIER).glob("[0-9]*")]
    return max((int(name) for name in names if NUMBER.fullmatch(name)), default=0)


def _keep_replaced(run: Path, fresh: Path) -> None:
    before, after = _files(run), _files(fresh)
    added = sorted(name for name in after if name not in before)
    replaced = sorted(
        name for name, file in before.items() if name not in after or differ(file, after[name])
    )
    kept = fresh / EARLIER / f"{last_change(run) + 1:04}"
    link_files(run, kept / "files", replaced)
    kept.mkdir(parents=True, exist_ok=True)
    left = {MANIFEST: _mark(after[MANIFEST])} if MANIFEST in after else {}
    write_json(kept / INDEX, {"replaced": replaced, "added": added, "left": left})


def _refuse_newer(run: Path, index: dict[str, Any]) -> None:
    """An undo must not take back what another command has done to the run since."""
    for name, digest in index["left"].items():
        path = inside(run, name)
        check_file(path)
        if digest not in (_mark(path), sha256_file(path)):  # the latter: version 0.1
            raise DataError(
                f"{run} was changed by another command after its last edits (such as coterie "
                "name); undoing them would lose that. Take it back first, or edit the run again.",
                code="edit.changed_since",
            )


def _mark(manifest: Path) -> str:
    """Digest of what a manifest says, without the digests of files that others may add."""
    said = check_shape(read_json(manifest), dict, str(manifest))
    said = {key: value for key, value in said.items() if key != "files"}
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _files(folder: Path) -> dict[str, Path]:
    """Files of a run by their names in it; without logs and what was kept before."""
    found = run_files(folder)
    return {n: p for n, p in found.items() if n == MANIFEST or not RUNNING.fullmatch(n)}
