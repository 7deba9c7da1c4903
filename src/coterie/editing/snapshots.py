"""Changing a run folder as a whole, and changing it back.

A change is made on a copy of the folder (of links: nothing large is copied) which then takes the
place of the folder, so a reader sees the old run or the new one and a crash leaves the old one.
What the change replaced lies in ``earlier/0001``, ``earlier/0002`` and so on, inside the run.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from coterie._errors import DataError
from coterie._files import sha256_file, write_json
from coterie._runs import RUNNING, differ, link_files, run_files, swap_run
from coterie._trust import LARGE, check_file, check_shape, inside, read_json

EARLIER = "earlier"
LOG = "edits.jsonl"  # only ever grows, also by an undo
INDEX = "changed.json"
NUMBER = re.compile(r"[0-9]{4,9}")
SHAPE = {"replaced": [str], "added": [str], "left": {str: str}}
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

    def change(fresh: Path) -> None:
        kept = fresh / EARLIER / f"{number:04}"
        index = check_shape(read_json(kept / INDEX, LARGE), SHAPE, str(kept / INDEX))
        added = [inside(fresh, name) for name in index["added"]]
        pairs = [(inside(kept / "files", name), inside(fresh, name)) for name in index["replaced"]]
        for path in (*added, *(source for source, _ in pairs)):
            check_file(path)
        _refuse_newer(run, index)
        for path in added:
            path.unlink()
        for source, target in pairs:
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)
        shutil.rmtree(kept)
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
    left = {MARK: _mark(after[MARK])} if MARK in after else {}
    write_json(kept / INDEX, {"replaced": replaced, "added": added, "left": left})


def _refuse_newer(run: Path, index: dict[str, Any]) -> None:
    """An undo must not take back what another command has done to the run since."""
    for name, digest in index["left"].items():
        path = inside(run, name)
        check_file(path)
        if digest not in (_mark(path), sha256_file(path)):  # the latter: version 0.1
            raise DataError(
                f"{run} was changed by another command after its last edits (such as coterie "
                "name); undoing them would lose that. Take it back first, or edit the run again."
            )


def _mark(manifest: Path) -> str:
    """Digest of what a manifest says, without the digests of files that others may add."""
    said = check_shape(read_json(manifest), dict, str(manifest))
    said = {key: value for key, value in said.items() if key != "files"}
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _files(folder: Path) -> dict[str, Path]:
    """Files of a run by their names in it; without logs and what was kept before."""
    found = run_files(folder)
    return {n: p for n, p in found.items() if n == MARK or not RUNNING.fullmatch(n)}
