"""Changing a run folder as a whole, and changing it back.

A change is made on a copy of the folder (of links: nothing large is copied) which then takes the
place of the folder, so a reader sees the old run or the new one and a crash leaves the old one.
What the change replaced lies in ``earlier/0001``, ``earlier/0002`` and so on, inside the run.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coterie._errors import DataError
from coterie._files import read_json, replace_folder, sha256_file, write_json

EARLIER = "earlier"
LOG = "edits.jsonl"  # only ever grows, also by an undo
INDEX = "changed.json"
MARK = "manifest.json"  # every command that changes a run writes it


def change_run(run: Path, change: Callable[[Path], None]) -> None:
    """Let ``change`` work on a copy of the run, keep what it replaces, and swap the copy in.

    ``change`` must replace files, not write into them: they are shared with the old folder.
    """
    run = run.resolve()

    def keeping(fresh: Path) -> None:
        change(fresh)
        _keep_replaced(run, fresh)

    swap_run(run, keeping)


def swap_run(run: Path, change: Callable[[Path], None]) -> None:
    """The same for a change that has its own way back: nothing that it replaces is kept."""
    run = run.resolve()

    def fill(fresh: Path) -> None:
        _link_all(run, fresh)
        change(fresh)

    replace_folder(run, fill)


def undo_run(run: Path, note: Callable[[Path], None]) -> int:
    """Put back what the last change replaced; returns the number of the change.

    Parameters
    ----------
    run : Path
    note : callable
        Writes to the log, in the folder it is given.
    """
    run = run.resolve()
    number = last_change(run)
    if number == 0:
        raise DataError(f"{run} has no edits to undo.")

    def fill(fresh: Path) -> None:
        _link_all(run, fresh)
        kept = fresh / EARLIER / f"{number:04}"
        index = read_json(kept / INDEX)
        _refuse_newer(run, index)
        for name in index["added"]:
            (fresh / name).unlink()
        for name in index["replaced"]:
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (kept / "files" / name).replace(fresh / name)
        shutil.rmtree(kept)
        if not any((fresh / EARLIER).iterdir()):
            (fresh / EARLIER).rmdir()
        note(fresh)

    replace_folder(run, fill)
    return number


def last_change(run: Path) -> int:
    """Number of the last change that can be undone, 0 if there is none."""
    numbers = [int(path.name) for path in (run / EARLIER).glob("[0-9]*")]
    return max(numbers, default=0)


def _keep_replaced(run: Path, fresh: Path) -> None:
    before, after = _files(run), _files(fresh)
    added = sorted(name for name in after if name not in before)
    replaced = sorted(
        name for name, file in before.items() if name not in after or _differ(file, after[name])
    )
    kept = fresh / EARLIER / f"{last_change(run) + 1:04}"
    for name in replaced:
        _link(before[name], kept / "files" / name)
    kept.mkdir(parents=True, exist_ok=True)
    left = {MARK: sha256_file(after[MARK])} if MARK in after else {}
    write_json(kept / INDEX, {"replaced": replaced, "added": added, "left": left})


def _refuse_newer(run: Path, index: dict[str, Any]) -> None:
    """An undo must not take back what another command has done to the run since."""
    for name, digest in index["left"].items():
        if sha256_file(run / name) != digest:
            raise DataError(
                f"{run} was changed by another command after its last edits (such as coterie "
                "name); undoing them would lose that. Take it back first, or edit the run again."
            )


def _files(folder: Path) -> dict[str, Path]:
    """Files of a run by their names in it; without the log and what was kept before."""
    found = (path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder).as_posix(): path for path in found}
    return {n: p for n, p in named.items() if n != LOG and not n.startswith(f"{EARLIER}/")}


def _differ(one: Path, other: Path) -> bool:
    return not one.samefile(other) and not filecmp.cmp(one, other, shallow=False)


def _link_all(source: Path, target: Path) -> None:
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            _link(path, place)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)
