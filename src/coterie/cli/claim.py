"""Taking a run's folder: what may be replaced, where the new run grows, what a kill left in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coterie._errors import UsageError
from coterie._files import LOCK
from coterie._folders import delete, is_litter, mend_folder
from coterie._runs import MANIFEST, NEXT, RESULT, RUNNING, is_run, run_files
from coterie._trust import check_shape, inside, read_json

STARTED = {
    "status": str, "started?": str, "method": str, "parameters": dict, "data": {"sha256?": str},
}  # fmt: skip


def refuse_taken(path: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse a folder that holds something; a failed run without a checkpoint is nothing."""
    mend_folder(path)
    if path.exists() and not path.is_dir():
        raise UsageError(f"--out {path} is a file; a run needs a folder.")
    if not path.exists() or all(p.name == LOCK or is_litter(p.name) for p in path.iterdir()):
        return
    manifest = read_manifest(path)
    if not is_run(manifest) and not (path / NEXT / MANIFEST).exists():
        raise UsageError(f"--out {path} is not empty and holds no run; choose another folder.")
    status = (manifest or {}).get("status", "interrupted")
    if not (resume or overwrite or is_void(path)):
        raise UsageError(
            f"--out {path} holds a run ({status}); "
            + ("" if status == "done" else "--resume continues it, ")
            + "--overwrite replaces it."
        )


def read_manifest(path: Path) -> dict[str, Any] | None:
    """The manifest in a folder, if there is one."""
    file = inside(path, MANIFEST)
    if not file.exists():
        return None
    found = read_json(file)
    if is_run(found):
        check_shape(found, STARTED, str(file))
    return found if isinstance(found, dict) else {}


def is_void(path: Path) -> bool:
    """Whether a folder holds a run that failed before there was anything to go on with."""
    manifest = read_manifest(path) or {}
    return manifest.get("status") == "failed" and not has_progress(path, manifest)


def has_progress(path: Path, manifest: dict[str, Any]) -> bool:
    """Whether an unfinished run can go on from more than its beginning."""
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
    delete_empty(path / "model")


def delete_empty(folder: Path) -> None:
    """Remove a folder and those below it as far as they hold no file."""
    for place in sorted(folder.rglob("*"), reverse=True):
        if place.is_dir() and not any(place.iterdir()):
            place.rmdir()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def sweep(path: Path) -> None:
    """Mend what a killed process left half done, and delete the remains."""
    mend_folder(path / "model")
    for found in path.iterdir():
        if is_litter(found.name) and "checkpoint" not in found.name:  # training looks at those
            delete(found)


def check_there(path: Path) -> None:
    """Refuse to call a run done whose files somebody has deleted meanwhile."""
    for name in ("clusters.json", "assignments.csv", "map.json", "model", "report.html"):
        if not (path / name).exists():
            raise OSError(f"{path / name} has vanished while the run was writing its folder")


def drop_checkpoints(path: Path) -> None:
    """Delete the checkpoints of a run that is over."""
    for pattern in ("checkpoint*", ".checkpoint*"):
        for found in path.glob(pattern):
            delete(found)
