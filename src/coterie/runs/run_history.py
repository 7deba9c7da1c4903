"""Earlier states of a run, and the log of what was done to it.

What a change replaced lies in ``earlier/0001``, ``earlier/0002`` and so on, inside the run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from coterie._util.files import atomic_path, write_json
from coterie._util.trust import LARGE, check_file, check_shape, inside, read_json
from coterie.errors import DataError
from coterie.runs.run_files import LOGS, MANIFEST, differ, link_files, run_files, swap_run

EARLIER = "earlier"
INDEX = "changed.json"
LOG = "edits.jsonl"  # only ever grows, also by an undo
LOG_LIMIT = 16 << 20  # bytes of the log, which is read whole
LINE_LIMIT = 10_000  # characters of a line, so that no edit of many rows fills the log
NUMBER = re.compile(r"[0-9]{4,9}")
SHAPE = {"replaced": [str], "added": [str], "left": {str: str}}


def append_log(folder: Path, entry: dict[str, Any]) -> None:
    """Add a line to the log of a copy of the run, replacing the file."""
    file = folder / LOG
    if os.path.lexists(file):
        check_file(file, LOG_LIMIT)
    before = file.read_bytes() if file.exists() else b""
    before += b"" if before.endswith(b"\n") or not before else b"\n"
    when = datetime.now(UTC).isoformat(timespec="seconds")
    line = json.dumps({"when": when, **entry}, ensure_ascii=False, default=str)
    if len(line) > LINE_LIMIT:
        done = entry["done"]
        brief = {"change": entry["change"], "done": [f"{done[0]:.500}"], "of": len(done)}
        line = json.dumps({"when": when, **brief}, ensure_ascii=False)
    with atomic_path(file) as temporary:
        temporary.write_bytes(before + f"{line}\n".encode("utf-8", "backslashreplace"))


def undoable(run: Path) -> str:
    """What the last change that can be undone has done, in a sentence; empty if there is none."""
    number, file = last_change(run), inside(run, LOG)
    if not number or not file.exists():
        return ""
    check_file(file, LOG_LIMIT)
    for line in reversed(file.read_bytes().splitlines()):
        with suppress(AttributeError, TypeError, ValueError):  # written by somebody else
            entry = json.loads(line)
            if entry.get("change") == number:
                return "; ".join(map(str, entry["done"]))
    return f"change {number}"


def change_run(run: Path, change: Callable[[Path], None]) -> None:
    """Let ``change`` work on a copy of the run, keep what it replaces, and swap the copy in.

    ``change`` must replace files, not write into them: they are shared with the old folder.
    """
    run = run.resolve()

    def keeping(fresh: Path) -> None:
        change(fresh)
        _keep_replaced(run, fresh)

    swap_run(run, keeping)


def undo_run(run: Path, refresh: Callable[[Path], None] | None = None) -> int:
    """Put back what the last change replaced; returns the number of the change.

    ``refresh`` writes pages and exports anew that were made after the change.
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
        if refresh is not None:
            refresh(fresh)
        append_log(fresh, {"undo": number})

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
        if digest != _mark(path):
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
    return {n: p for n, p in found.items() if n == MANIFEST or not LOGS.fullmatch(n)}
