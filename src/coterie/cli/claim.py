"""Taking a run's folder: what may be replaced, how it is cleared, and what a kill left in it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from coterie._errors import UsageError
from coterie._files import is_litter, read_json, recover_folder, write_json
from coterie._locks import NAME

MANIFEST = "manifest.json"


def refuse_taken(path: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse a folder that holds something; a failed run without a checkpoint is nothing."""
    if not path.exists() or all(p.name == NAME or is_litter(p) for p in path.iterdir()):
        return
    file = path / MANIFEST
    if not file.exists():
        raise UsageError(f"--out {path} is not empty and holds no run; choose another folder.")
    status = read_json(file)["status"]
    nothing = status == "failed" and not any(path.glob("checkpoint*"))
    if not (resume or overwrite or nothing):
        raise UsageError(
            f"--out {path} holds a run ({status}); "
            + ("" if status == "done" else "--resume continues it, ")
            + "--overwrite replaces it."
        )


def clear(path: Path, manifest: dict[str, Any]) -> None:
    """Delete an earlier run; the manifest says so from the first file to the last."""
    path.mkdir(parents=True, exist_ok=True)
    write_json(path / MANIFEST, {**manifest, "clearing": True})
    for inside in path.iterdir():
        if inside.name not in (NAME, MANIFEST):
            delete(inside)


def sweep(path: Path) -> None:
    """Mend what a killed process left half done, and delete the remains."""
    recover_folder(path / "model")
    for inside in path.iterdir():
        if is_litter(inside) and "checkpoint" not in inside.name:  # training looks at those
            delete(inside)


def check_there(path: Path) -> None:
    """Refuse to call a run done whose files somebody has deleted meanwhile."""
    for name in ("clusters.json", "assignments.csv", "map.json", "model", "report.html"):
        if not (path / name).exists():
            raise OSError(f"{path / name} has vanished while the run was writing its folder")


def drop_checkpoints(path: Path) -> None:
    """Delete the checkpoints of a run that is over."""
    for pattern in ("checkpoint*", ".checkpoint*"):
        for inside in path.glob(pattern):
            delete(inside)


def delete(path: Path) -> None:
    """Remove a file or a folder with all it holds; never what a link leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
