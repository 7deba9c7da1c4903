"""The files of a run, written anew after edits."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from coterie._files import atomic_path, write_json, write_text
from coterie._trust import check_file
from coterie._types import Floats, Ints
from coterie.base.storage import save_clusters
from coterie.description import Cluster, describe_numbered, guess_columns, rename_clusters
from coterie.editing.remodel import edit_model, marked_labels
from coterie.editing.run import EditableRun
from coterie.editing.snapshots import LOG
from coterie.editing.state import State
from coterie.editing.table import write_table
from coterie.exports import write_exports
from coterie.hierarchy import Hierarchy, build_hierarchy, build_themes
from coterie.metrics import silhouette
from coterie.report import read_run, without_texts, write_map, write_report
from coterie.report.folder import SILHOUETTE
from coterie.run_files import read_map

CLOSE = 0.1  # a margin below this is a close call
LOG_LIMIT = 16 << 20  # bytes of the log of edits, which is read whole


def write_run(run: EditableRun, state: State, folder: Path) -> None:
    """Write an edited clustering into a copy of the run's folder."""
    run.check_unchanged(folder)
    manifest = dict(run.manifest)
    if state.moved or run.levels or run.n_themes:
        clusters = _write_clustering(run, state, folder, manifest)
    else:
        clusters = rename_clusters(run.clusters, state.names)
        write_table(folder, run, state, clusters)
    count = manifest.get("editing", {}).get("edits", 0) + len(state.done)
    manifest["summary"] = _edited_sentence(manifest["summary"], count)
    manifest["editing"] = {
        **manifest.get("editing", {}),
        "edits": count,
        "locked": sorted(state.locked),
        "named": sorted(state.named),
        "next_id": state.next_id,
    }
    if "names" in manifest:  # of a namer; those that edits have changed are not its own
        manifest["names"] = _still_named(manifest["names"], run.clusters, clusters)
    write_json(folder / "clusters.json", [cluster.to_dict() for cluster in clusters])
    write_json(folder / "manifest.json", manifest)
    data = read_run(folder, manifest, clusters)
    write_report(folder / "report.html", data)
    if (folder / "report-no-texts.html").exists():
        write_report(folder / "report-no-texts.html", without_texts(data))
    _write_exports(folder)


def _write_clustering(
    run: EditableRun, state: State, folder: Path, manifest: dict[str, Any]
) -> list[Cluster]:
    """Model, table, levels and map; changes the summary of the manifest."""
    p = edit_model(run, state)
    labels = marked_labels(state)
    clusters, hierarchy = _describe(run, state, p, labels), None
    if run.levels or run.n_themes:
        hierarchy, clusters = _nest(run, labels, clusters)
        write_json(folder / "levels.json", hierarchy.to_dict())
    save_clusters(run.model, folder / "model")
    write_table(folder, run, state, clusters, p, hierarchy)
    _write_map(run, state, labels, folder / "map.json")
    manifest["summary"] = _summary(manifest["summary"], labels, p, len(clusters), state)
    if run.n_themes:
        manifest["summary"] = _about_themes(manifest["summary"], hierarchy)
    if "outliers" in manifest:
        manifest["outliers"] = {**manifest["outliers"], "marked": int(state.outliers.sum())}
    return clusters


def _describe(run: EditableRun, state: State, p: Floats, labels: Ints) -> list[Cluster]:
    import pyarrow as pa

    own = set(run.own.values())
    table = pa.table({n: pa.array(v) for n, v in run.columns.items() if n not in own})
    date, categories = guess_columns(table, run.text_column, run.id_column)
    known = {c.id: c.topics for c in run.clusters}
    same = {i for i in known if np.array_equal(run.labels == i, state.labels == i)}
    return describe_numbered(
        run.texts,
        labels,
        run.vectors,
        state.names,
        probabilities=p,
        dates=None if date is None else table.column(date),
        columns={name: table.column(name) for name in categories},
        topics={i: known[i] for i in same},
    )


def _nest(
    run: EditableRun, labels: Ints, clusters: Sequence[Cluster]
) -> tuple[Hierarchy, list[Cluster]]:
    if run.levels:
        return build_hierarchy(run.texts, labels, run.vectors, clusters, run.levels)
    seed = run.manifest.get("seed", 0)
    return build_themes(run.texts, labels, run.vectors, clusters, run.n_themes, seed)


def _write_map(run: EditableRun, state: State, labels: Ints, file: Path) -> None:
    """Texts keep their places on the map, unless the places are those of the clusters."""
    saved = read_map(file.parent)
    if saved is None:
        return
    if saved["layout"] == "discs":
        write_map(file, run.vectors, state.labels, state.seed, state.outliers)
        return
    inside = labels >= 0
    value = silhouette(run.vectors[inside], labels[inside], SILHOUETTE)
    saved["silhouette"] = round(value, 4) if np.isfinite(value) else None
    write_text(file, json.dumps(saved, separators=(",", ":")) + "\n")


def _write_exports(folder: Path) -> None:
    """Tables in other forms that lie in the folder, so that none of them is out of date."""
    for ending, texts in (("", True), ("-no-texts", False)):
        forms = [form for form in ("xlsx", "parquet", "jsonl", "tsv")
                 if (folder / f"assignments{ending}.{form}").exists()]  # fmt: skip
        name = "assignments-spreadsheet.csv" if texts else f"assignments{ending}.csv"
        forms += ["csv"] if (folder / name).exists() else []
        if forms:
            write_exports(folder, forms, texts=texts)


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


def _summary(old: Sequence[str], labels: Ints, p: Floats, k: int, state: State) -> list[str]:
    """The sentences of the run with new figures; others stay."""
    placed = labels >= 0
    top = np.sort(p[placed], axis=1)[:, ::-1]
    margin = top[:, 0] - (top[:, 1] if top.shape[1] > 1 else 0.0)
    sizes = np.unique(labels[placed], return_counts=True)[1]
    odd = int(state.outliers.sum())
    figures = {
        r"^[\d,]+ of [\d,]+ texts are in \d+ clusters; the largest holds \d+ ?%":
            f"{int(placed.sum()):,} of {len(labels):,} texts are in {k} clusters; the largest "
            f"holds {100 * sizes.max() / placed.sum():.0f}%",
        r"^Mean confidence is [\d.]+; \d+ ?% of":
            f"Mean confidence is {float(top[:, 0].mean()):.2f}; "
            f"{100 * float((margin < CLOSE).mean()):.0f}% of",
        r"^[\d,]+ texts fit none of the clusters \([\d.]+ ?%\)":
            f"{odd:,} texts fit none of the clusters ({100 * odd / len(labels):.1f}%)",
    }  # fmt: skip
    out = list(old)
    for pattern, new in figures.items():
        out = [re.sub(pattern, new, sentence) for sentence in out]
    return out


def _about_themes(summary: Sequence[str], hierarchy: Hierarchy | None) -> list[str]:
    """The summary with the number of themes that there are now."""
    pattern = re.compile(r"The \d+ clusters form \d+ broad themes")
    out = []
    for sentence in summary:
        if pattern.match(sentence) and hierarchy is not None:
            if not hierarchy.levels:
                continue
            k, n = len(hierarchy.above[0]), len(hierarchy.levels[0])
            sentence = pattern.sub(f"The {k} clusters form {n} broad themes", sentence)
        out.append(sentence)
    return out


def _edited_sentence(summary: Sequence[str], count: int) -> list[str]:
    kept = [sentence for sentence in summary if not sentence.startswith("Edited by hand:")]
    times = "1 edit" if count == 1 else f"{count} edits"
    return [*kept, f"Edited by hand: {times}, listed in {LOG}."]
