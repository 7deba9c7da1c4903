"""Whether the files of a run or of a saved model are whole and belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from coterie._folders import one_state, refuse_held
from coterie._trust import LARGE, check_digests, check_run_folder, check_shape, inside, read_json
from coterie.base import TextClusterer
from coterie.base.edited import edited
from coterie.base.storage import read_config
from coterie.errors import CoterieError, DataError, UsageError
from coterie.methods import load
from coterie.run_files import MANIFEST, RunFiles, read_status, table_of
from coterie.run_history import EARLIER, INDEX, LOG, SHAPE, last_change

PAGE = "report.html"
MODEL = "digests, numbers and shapes of the model"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a run or a model."""

    what: str  # in a sentence, with the file
    remedy: str = ""  # what repairs it; empty if nothing here does


@dataclass(frozen=True)
class Checked:
    """What a check found."""

    folder: Path
    kind: str  # run, model
    looked_at: list[str]  # what was compared, in a few words each
    findings: list[Finding]  # empty if all is well


def check_integrity(folder: str | Path) -> Checked:
    """Compare the files of a run or of a saved model with what they say about each other.

    Nothing is changed. Of a run: its manifest, table, clusters, merge tree, levels, map and model,
    and what edits have kept for an undo. Of a model: the digests of its files, that all numbers
    are finite, and that all parts fit together.

    Parameters
    ----------
    folder : str or Path
        Of a run, or of a saved model.

    Returns
    -------
    Checked
    """
    path = Path(folder)
    return one_state([path], lambda: _check(path))


def _check(path: Path) -> Checked:
    if not path.is_dir():
        raise DataError(f"there is no folder {path}; name that of a run or of a saved model.")
    if (path / MANIFEST).exists() or (path / MANIFEST).is_symlink():
        run = _Check(path, "run")
        run.check_run()
        return run.out
    if (path / "config.json").exists():
        model = _Check(path, "model")
        model.look(MODEL, lambda: load(path))
        return model.out
    raise DataError(
        f"{path} is neither a run nor a saved model: it holds no manifest.json and no config.json."
    )


class _Check:
    """A run or a model that is looked at part by part; what cannot be read is a finding."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.files = folder, RunFiles(folder)
        self.out = Checked(folder, kind, [], [])
        number = last_change(folder)
        undone = number > 0 and (folder / EARLIER / f"{number:04}" / INDEX).is_file()
        self.back = f"coterie edit {folder} --undo" if undone else ""

    def look(self, name: str, work: Callable[[], Any], remedy: str = "") -> Any:
        """What ``work`` gives, or None and a finding."""
        self.out.looked_at.append(name)
        try:
            return work()
        except (CoterieError, OSError) as error:
            self.find(str(error), remedy)
            return None

    def find(self, what: str, remedy: str = "") -> None:
        """Note what is wrong; a file that several checks cannot read is one finding."""
        found = {one.what: one.remedy for one in self.out.findings}
        found[what] = found.get(what) or remedy
        self.out.findings[:] = [Finding(*one) for one in found.items()]

    def check_run(self) -> None:
        folder, files, back = self.folder, self.files, self.back
        self.look("kinds of files", lambda: check_run_folder(folder))
        self.look("lock", self._lock)
        status = self.look("manifest", lambda: read_status(folder), back)
        if status is None:
            return
        if status["status"] != "done":
            again = "coterie cluster ... --resume"
            self.find(f"the run is not finished ({status['status']}).", again)
            return
        manifest = self.look("manifest of a finished run", lambda: files.manifest, back)
        if manifest is not None and isinstance(manifest.get("files"), dict):
            self.look("digests of the files", lambda: self._digests(manifest))
        clusters = self.look("clusters", lambda: files.clusters, back)
        levels = self.look("levels", lambda: files.hierarchy, back)
        if levels is None and ((manifest or {}).get("handover") or {}).get("levels"):
            self.find(f"{folder / 'levels.json'} is missing.", back)
        page = f"delete {folder / 'map.json'}, then coterie report {folder}"
        map_ = self.look("map", lambda: files.map, page)
        model = self.look(MODEL, lambda: load(inside(folder, "model")), back)
        if manifest is not None and clusters is not None:
            labels = self.look(
                "rows and clusters of the table", lambda: files.labels.tolist(), back
            )
            if labels is not None:
                self._compare_table(labels)
                self._compare_tree(labels)
                if map_ is not None and max(map_["rows"], default=-1) >= len(labels):
                    self.find(f"{folder / 'map.json'} has rows that the table does not have.", page)
        if model is not None and clusters is not None:
            self._compare_model(model)
        self._history()
        if not (folder / PAGE).is_file():
            self.find(f"{folder / PAGE} is missing.", f"coterie report {folder}")

    def _lock(self) -> None:
        with suppress(UsageError):  # it is held, so it is one
            refuse_held(self.folder)

    def _digests(self, manifest: dict[str, Any]) -> None:
        files = check_shape(manifest["files"], {str: str}, str(self.folder / MANIFEST))
        # The model has a list of its own, which tells sizes before digests.
        own = read_config(inside(self.folder, "model")).get("files") is not None
        rest = {n: d for n, d in files.items() if not (own and n.startswith("model/"))}
        check_digests(self.folder, rest)

    def _compare_table(self, labels: list[int]) -> None:
        path, said = table_of(self.folder), self.files.manifest["data"]["rows"]
        if len(labels) != said:
            self.find(f"{path} has {len(labels):,} rows, the manifest says {said:,}.", self.back)
        sizes = Counter(labels)
        odd = [one for one in self.files.clusters if one.size != sizes[one.id]]
        for one in odd[:1]:
            self.find(
                f"{path} has {sizes[one.id]:,} rows in cluster {one.id}, but clusters.json says "
                f"{one.size:,}.",
                self.back,
            )

    def _compare_tree(self, labels: list[int]) -> None:
        """Every row is in the cluster that holds its finest one; other cuts are made of that."""
        tree = self.files.tree
        if tree is None:
            return
        self.out.looked_at.append("finest clusters of the table")
        path, column = table_of(self.folder), self.files.own.get(tree.column)
        if column is None:
            self.find(f"{path} has no column {tree.column!r}.", self.back)
            return
        cut, finest = tree.cut(), self.files.cells[column].to_pylist()
        both = enumerate(zip(finest, labels, strict=True), 1)
        odd = [(row, leaf) for row, (leaf, label) in both if label >= 0 and cut.get(leaf) != label]
        for row, leaf in odd[:1]:
            self.find(
                f"{path}: row {row} is in cluster {labels[row - 1]}, which does not hold its "
                f"finest one, {leaf}, in clusters.json.",
                self.back,
            )

    def _compare_model(self, model: TextClusterer) -> None:
        tree = self.files.tree
        assigner = edited(model.assigner_, model.n_clusters_)
        self.out.looked_at.append("clusters of the model")
        where = self.folder / "model"
        if strange := {cluster.id for cluster in self.files.clusters} - {*assigner.clusters}:
            self.find(f"{where} does not know cluster {min(strange)} of clusters.json.", self.back)
        elif tree is not None and (assigner.cut or {i: i for i in assigner.leaves}) != tree.cut():
            self.find(f"{where} has another merge tree than clusters.json.", self.back)

    def _history(self) -> None:
        """What edits have kept: all of it is needed to undo them one after the other."""
        if not (self.folder / EARLIER).is_dir():
            return
        for kept in sorted((self.folder / EARLIER).iterdir()):
            self.look(f"what {kept.name} of the edits has kept", partial(self._kept, kept))
        if not (self.folder / LOG).is_file():
            self.find(f"{self.folder / LOG}, the log of edits, is missing.")

    def _kept(self, kept: Path) -> None:
        index = check_shape(read_json(kept / INDEX, LARGE), SHAPE, str(kept / INDEX))
        for name in index["replaced"]:
            if not inside(kept / "files", name).is_file():
                self.find(f"{kept / 'files' / name} is missing; this change cannot be undone.")
        for name in (*index["added"], *index["left"]):
            inside(kept, name)
