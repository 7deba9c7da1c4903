"""The folder of a run while the run is made: who may write there, where it grows, how it resumes.

``manifest.json`` is written first and last, and everything else in between. A run that replaces an
earlier one grows in the sub-folder ``.next`` and takes the place of the earlier one when it is
finished; until then the earlier one stays as it is.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie._facts import versions
from coterie._files import write_json
from coterie._folders import LOCK, check_replaceable, delete, is_litter, mend_folder
from coterie._trust import Count, check_shape, inside, read_json
from coterie.base import TextClusterer
from coterie.choose import Choice
from coterie.corpus import Corpus
from coterie.errors import CoterieError, DataError, UsageError
from coterie.options import Options
from coterie.run_files import (
    MANIFEST,
    NEXT,
    RESULT,
    RUNNING,
    SHARDS,
    is_run,
    replace_run,
    run_files,
    seal,
    table_of,
)

CHOICE = {
    "n_clusters": Count,
    "low": Count,
    "high": Count,
    "curve": [dict],
    "reason": str,
    "levels?": {"broad?": Count, "medium?": Count, "fine?": Count},
}
STARTED = {
    "status": str,
    "started?": str,
    "method": str,
    "parameters": dict,
    "data": {"sha256?": str},
    "number_of_clusters?": (CHOICE, None),
}
# Parameters of an estimator that do not change the result.
NOT_DECISIVE = {"verbose", "checkpoint", "checkpoint_every", "device"}


class RunFolder:
    """Claims a folder for a run and ends with a finished run in it, or with one to resume.

    ``choice`` is that of the number of clusters, where it was found.
    """

    def __init__(
        self,
        path: Path,
        options: Options,
        model: TextClusterer,
        corpus: Corpus,
        choice: Choice | None = None,
        guidance: str | None = None,
    ) -> None:
        self.path = self.work = path  # it grows in ``path``, or in ``.next`` there
        self.remarks: list[str] = []  # about single files, in sentences
        self.manifest: dict[str, Any] = {
            "status": "running",
            "started": now(),
            "method": options.method,
            "parameters": _parameters(model),
            "handover": options.handover() | ({"guidance": guidance} if guidance else {}),
            "data": {
                "rows": len(corpus),
                "text_column": corpus.text_column,
                "id_column": corpus.id_column,
                "sha256": corpus.sha256,
                "notes": [note.message for note in corpus.notes],
                **_types(corpus.table.schema),
            },
            "versions": versions(),
        }
        self.manifest["number_of_clusters"] = None if choice is None else choice.to_dict()
        if corpus.large is not None:
            found = corpus.large.survey
            self.manifest["fit_sample"] = len(found.texts)
            self.manifest["data"] |= {"texts": found.filled, "different_texts": found.distinct}

    def locate(self, *, resume: bool, overwrite: bool) -> None:
        """Find where the run grows."""
        if not resume:
            self.work = inside(self.path, NEXT) if overwrite or is_void(self.path) else self.path
            return
        found = {place: read_started(place) for place in (inside(self.path, NEXT), self.path)}
        reasons: list[CoterieError] = []
        for self.work, earlier in found.items():
            if earlier is None:
                continue
            try:
                self._check_same(earlier)
                return
            except CoterieError as error:
                reasons.append(error)
        if reasons:
            raise reasons[0]
        self.work = self.path if found[self.path] is None else self.path / NEXT

    def begin(self, *, resume: bool, overwrite: bool) -> str:
        """Claim the folder; returns "new", "resumed" or "done"."""
        earlier = read_started(self.work) if resume else None
        if earlier is None:
            refuse_taken(self.path, resume=resume, overwrite=overwrite)
            if self.work != self.path:
                check_replaceable(self.path)
                withdraw(self.work)
        elif earlier["status"] == "done":
            drop_checkpoints(self.path)  # a kill may have come before they were deleted
            return "done"
        else:
            kept = {"started", "fitted"} & earlier.keys()
            self.manifest |= {key: earlier[key] for key in kept}
        self.work.mkdir(parents=True, exist_ok=True)
        mend_folder(self.work / "model")
        for found in self.work.iterdir():  # remains of a killed process; training sees to its own
            if is_litter(found.name) and "checkpoint" not in found.name:
                delete(found)
        self.write_manifest()
        return "new" if earlier is None else "resumed"

    def stopped(self, status: str, reason: str) -> None:
        """Say in the manifest how the run came to an early end: "interrupted" or "failed".

        A run that failed with nothing to resume leaves nothing behind.
        """
        if status == "failed" and not _has_progress(self.work, self.manifest):
            withdraw(self.work)
            return
        self.manifest |= {"status": status, "reason": reason}
        self.write_manifest()

    def complete(self) -> None:
        """Say that the run is done, and put it into its place."""
        table = table_of(self.work).name
        for name in ("clusters.json", table, "map.json", "model", "report.html"):
            if not (self.work / name).exists():
                raise OSError(
                    f"{self.work / name} has vanished while the run was writing its folder"
                )
        if self.work == self.path:
            seal(self.path, self.manifest)
        else:
            changed = replace_run(self.path, self.work, self.manifest)
            self.work = self.path
            if changed:
                self.remarks.append(
                    f"Changed by hand since coterie wrote them, so kept in {self.path}/kept*: "
                    + ", ".join(changed)
                )
        drop_checkpoints(self.path)

    def write_manifest(self) -> None:
        """Write the manifest of a run that goes on."""
        write_json(self.work / MANIFEST, self.manifest)

    def _check_same(self, earlier: dict[str, Any]) -> None:
        """Reject a run with other settings or other texts: it cannot be resumed."""
        mine = self.manifest
        keys = ("method", "parameters", "handover")
        pairs = {key: (earlier.get(key, mine[key]), mine[key]) for key in keys}
        ids = (facts.get("data", {}).get("id_column") for facts in (earlier, mine))
        pairs["id_column"] = tuple(ids)
        for key, (before, asked) in pairs.items():
            if before != asked:
                raise UsageError(
                    f"`resume`: the run in {self.path} has other settings ({key}: "
                    f"{_difference(before, asked)}); repeat the same command."
                )
        if earlier.get("data", {}).get("sha256") != mine["data"]["sha256"]:
            raise DataError(f"`resume`: the texts differ from those of the run in {self.path}.")
        before = earlier.get("fit_sample")
        if "fit_sample" in mine and before != mine["fit_sample"]:
            fitted = "all" if before is None else format(before, ",")
            raise UsageError(
                f"`resume`: the run in {self.work} was fitted on {fitted} texts, not "
                f"{mine['fit_sample']:,}; repeat the same command."
            )


def now() -> str:
    """The time in a manifest."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def refuse_taken(path: Path, *, resume: bool, overwrite: bool) -> None:
    """Reject a folder that holds something; a failed run without a checkpoint is nothing."""
    mend_folder(path)
    if path.exists() and not path.is_dir():
        raise UsageError(f"`folder={str(path)!r}` is a file; a run needs a folder.")
    if not path.exists() or all(p.name == LOCK or is_litter(p.name) for p in path.iterdir()):
        return
    manifest = read_started(path)
    if not is_run(manifest) and not (path / NEXT / MANIFEST).exists():
        raise UsageError(
            f"`folder={str(path)!r}` is not empty and holds no run; choose another folder."
        )
    status = (manifest or {}).get("status", "interrupted")
    if not (resume or overwrite or is_void(path)):
        if status == "done":
            raise UsageError(
                f"`folder={str(path)!r}` holds a run (done); `overwrite=True` replaces it."
            )
        raise UsageError(
            f"`folder={str(path)!r}` holds a run ({status}); `resume=True` continues it, "
            "`overwrite=True` replaces it."
        )


def read_started(path: Path) -> dict[str, Any] | None:
    """The manifest of a run that may not be finished; None where there is none."""
    file = inside(path, MANIFEST)
    if not file.exists():
        return None
    found = read_json(file)
    if is_run(found):
        check_shape(found, STARTED, str(file))
    return found if isinstance(found, dict) else {}


def is_void(path: Path) -> bool:
    """Whether a folder holds a run that failed before there was anything to resume."""
    manifest = read_started(path) or {}
    return manifest.get("status") == "failed" and not _has_progress(path, manifest)


def _has_progress(path: Path, manifest: dict[str, Any]) -> bool:
    return "fitted" in manifest or any(path.glob("checkpoint*"))


def withdraw(path: Path) -> None:
    """Delete what an unfinished run has written; files of the user stay."""
    if path.name == NEXT:
        delete(path)
        return
    for name, file in run_files(path).items():
        if (RESULT.fullmatch(name) or RUNNING.fullmatch(name)) and name != LOCK:
            file.unlink(missing_ok=True)
    drop_checkpoints(path)
    for folder in (path / "model", path / SHARDS, path / "places"):
        for place in (*sorted(folder.rglob("*"), reverse=True), folder):
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()


def drop_checkpoints(path: Path) -> None:
    """Delete the checkpoints of a run that is over."""
    for pattern in ("checkpoint*", ".checkpoint*"):
        for found in path.glob(pattern):
            delete(found)


def _parameters(model: TextClusterer) -> dict[str, Any]:
    """Parameters that decide the result, as JSON reads them back."""
    given = model.get_params(deep=False).items()
    simple = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, simple) else str(value)
        for name, value in given
        if name not in NOT_DECISIVE
    }


def _difference(a: Any, b: Any) -> str:
    if not isinstance(a, dict) or not isinstance(b, dict):
        return f"{a} there, {b} now"
    keys = [key for key in {*a, *b} if a.get(key) != b.get(key)]
    return ", ".join(f"`{key}`: {a.get(key)} there, {b.get(key)} now" for key in sorted(keys))


def _types(schema: pa.Schema) -> dict[str, dict[str, str]]:
    """What the manifest says about the columns that are no texts, by their names; or nothing."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_temporal)
    types = {kind.name: str(kind.type) for kind in schema if any(is_a(kind.type) for is_a in kinds)}
    return {"types": types} if types else {}
