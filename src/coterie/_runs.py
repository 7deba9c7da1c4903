"""The folder of a run as a whole: which of its files are coterie's, and how they are changed.

The manifest lists the files that coterie wrote with their digests. Whatever else lies in the
folder is the user's: it is never removed, and stays when the run is replaced. A change is made on
a copy of the folder (of links: nothing large is copied), which then takes its place.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from coterie._errors import DataError
from coterie._files import LOCK, sha256_file, write_json
from coterie._folders import is_litter, replace_folder
from coterie._trust import check_file, read_json

MANIFEST = "manifest.json"
NEXT = ".next"  # where the run grows that is to replace the one in the folder
KEPT = "kept"  # where files go that the user changed, when the run is replaced
TABLE = r"assignments(-no-texts|-spreadsheet)?\.(csv|tsv|jsonl|parquet|xlsx)"
RESULT = re.compile(
    rf"{TABLE}|(clusters|levels|map)\.json|clusters(-no-texts)?\.xlsx|report(-no-texts)?\.html"
    r"|history\.jsonl|model/.+"
)
# Files that change without the manifest: logs, snapshots, and what an unfinished run needs.
RUNNING = re.compile(
    r"manifest\.json|(names|edits)\.jsonl|earlier/.+|\.?checkpoint.*|\.lock|\.next/.+"
    r"|\.?assignments\.partial\..+"
)


def is_run(manifest: Any) -> bool:
    """Whether this is the manifest of a clustering run, and not of another program."""
    return isinstance(manifest, dict) and {"status", "method", "parameters", "data"} <= set(
        manifest
    )


def run_files(folder: Path) -> dict[str, Path]:
    """All files below a folder by their names in it; links are files, and are not followed."""
    found: dict[str, Path] = {}
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in (*names, *links):
            path = Path(place) / name
            found[path.relative_to(folder).as_posix()] = path
    return dict(sorted(found.items()))


def own_files(folder: Path) -> set[str]:
    """Names of the files that coterie wrote and nobody has changed since."""
    listed = _manifest(folder).get("files")
    own = set()
    for name, path in run_files(folder).items():
        if RUNNING.fullmatch(name) or is_litter(Path(name).parts[0]):
            own.add(name)
        elif RESULT.fullmatch(name) and path.is_file() and not path.is_symlink():
            if listed is None or listed.get(name) == sha256_file(path):  # None: of version 0.1
                own.add(name)
    return own


def seal(folder: Path, manifest: dict[str, Any], before: Path | None = None) -> None:
    """Write the manifest with the digests of all results, as the last step of a change.

    Parameters
    ----------
    folder : Path
    manifest : dict
    before : Path, optional
        The run that was changed: what is the user's there is the user's here.
    """
    known = {} if before is None else run_files(before)
    listed = None if before is None else _manifest(before).get("files")
    files = {}
    for name, path in run_files(folder).items():
        if not RESULT.fullmatch(name) or path.is_symlink():
            continue
        same = name in known and not differ(known[name], path)
        if same and listed is not None and name in listed:
            files[name] = listed[name]
        elif not same or listed is None:
            files[name] = sha256_file(path)
    write_json(folder / MANIFEST, {**manifest, "files": files})


def swap_run(run: Path, change: Callable[[Path], None]) -> None:
    """Let ``change`` work on a copy of the run, and swap the copy in.

    ``change`` must replace files, not write into them: they are shared with the old folder.
    """
    run = run.resolve()

    def fill(fresh: Path) -> None:
        link_files(run, fresh, (n for n in run_files(run) if not is_litter(Path(n).parts[0])))
        change(fresh)
        if (fresh / MANIFEST).exists():
            seal(fresh, _manifest(fresh), run)

    replace_folder(run, fill)


def replace_run(run: Path, new: Path, manifest: dict[str, Any]) -> list[str]:
    """Put the finished run in ``new`` in the place of ``run``; the user's own files stay.

    Returns
    -------
    list of str
        Results that the user had changed, which lie in a folder of their own now.
    """
    run = run.resolve()
    changed: list[str] = []

    def fill(fresh: Path) -> None:
        own, files = own_files(run), run_files(run)
        link_files(new, fresh, (name for name in run_files(new) if RESULT.fullmatch(name)))
        seal(fresh, manifest)
        link_files(run, fresh, {LOCK} & files.keys())
        theirs = [name for name in files if name not in own]
        changed.extend(name for name in theirs if (fresh / name).exists())
        place = _free(fresh / KEPT, {Path(name).parts[0] for name in theirs})
        for name in theirs:
            _link(files[name], (place / name) if name in changed else (fresh / name))

    replace_folder(run, fill)
    return changed


def _free(path: Path, taken: set[str]) -> Path:
    number, found = 1, path
    while found.name in taken:
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found


def link_files(source: Path, target: Path, names: Iterable[str]) -> None:
    """Put files of one folder into another, as links where the file system has them.

    A link of the user's stays a link; where a file of the run should be, it is refused, as a
    change would reach what it leads to.
    """
    for name in names:
        path = source / name
        if path.is_symlink() and (RESULT.fullmatch(name) or name in (MANIFEST, "model")):
            raise DataError(
                f"{path} is a link. Runs with links are not changed: put the files themselves "
                f"there, or run coterie cluster with another --out."
            )
        if name == LOCK:
            with suppress(OSError):  # a copy would not be locked
                os.link(path, target / name)
        else:
            _link(path, target / name)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(source.readlink())
        return
    check_file(source)  # a pipe would be waited for
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)


def differ(one: Path, other: Path) -> bool:
    """Whether two files hold something else."""
    if one.is_symlink() or other.is_symlink():
        return not (one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink())
    return not one.samefile(other) and not filecmp.cmp(one, other, shallow=False)


def _manifest(folder: Path) -> dict[str, Any]:
    file = folder / MANIFEST
    found = read_json(file) if file.exists() else {}
    return found if isinstance(found, dict) else {}
