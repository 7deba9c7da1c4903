"""Earlier states of a run, and the log of what was done to it.

What a change replaced lies in ``earlier/0001``, ``earlier/0002`` and so on, inside the run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from coterie._files import atomic_path, write_json
from coterie._trust import LARGE, check_file, check_shape, inside, read_json
from coterie.errors import DataError
from coterie.run_files import LOGS, MANIFEST, differ, link_files, run_files, swap_run

EARLIER = "earlier"
INDEX = "changed.json"
LOG = "edits.jsonl"  # only ever grows, also by an undo
LOG_LIMIT = 16 << 20  # bytes of the log, which is read whole
NUMBER = re.compile(r"[0-9]{4,9}")
NOTED: ContextVar[Mapping[str, str]] = ContextVar("noted", default=MappingProxyType({}))
SHAPE = {"replaced": [str], "added": [str], "left": {str: str}}


def append_log(folder: Path, entry: dict[str, Any]) -> None:
    """Add a line to the log of a copy of the run, replacing the file."""
    file = folder / LOG
    if os.path.lexists(file):
        check_file(file, LOG_LIMIT)
    before = file.read_bytes() if file.exists() else b""
    before += b"" if before.endswith(b"\n") or not before else b"\n"
    when = datetime.now(UTC).isoformat(timespec="seconds")
    line = json.dumps({"when": when, **NOTED.get(), **entry}, ensure_ascii=False, default=str)
    with atomic_path(file) as temporary:
        temporary.write_bytes(before + f"{line}\n".encode("utf-8", "backslashreplace"))


@contextmanager
def noted(**facts: str) -> Iterator[None]:
    """Lines that the block adds to the log say this, too: who asked, and by which id."""
    token = NOTED.set(facts)
    try:
        yield
    finally:
        NOTED.reset(token)


@dataclass(frozen=True)
class Logged:
    """A line of the log.

    Attributes
    ----------
    said : str
        What was done, in a sentence; empty where the line does not say it.
    id : str
        Of the request that asked for it; else made of the number of the line.
    by : str
        Who asked for it: a name, or of which kind.
    change : int
        The number of the change that was made, or taken back.
    undoes : bool
        Whether it was taken back.
    edits : tuple of dict
        As they were asked for.
    """

    said: str
    id: str
    by: str = "a command"
    change: int = 0
    undoes: bool = False
    edits: tuple[Any, ...] = ()


def read_log(folder: Path) -> list[Logged]:
    """The log of a run, line by line; of a line that somebody has written by hand, nothing."""
    file = inside(folder, LOG)
    if not file.exists():
        return []
    check_file(file, LOG_LIMIT)
    out: list[Logged] = []
    for line in file.read_bytes().splitlines():
        try:
            out.append(_logged(json.loads(line), f"line-{len(out)}", out))
        except (KeyError, TypeError, ValueError, AttributeError):
            out.append(Logged("", f"line-{len(out)}"))
    return out


def _logged(entry: dict[str, Any], number: str, before: list[Logged]) -> Logged:
    by = "another page" if "id" in entry else "a command"
    request = str(entry.get("id", number)), str(entry.get("by", by))
    if "undo" in entry:
        change = int(entry["undo"])
        undone = [line for line in before if line.change == change][-1:]
        said = undone[0].said if undone else f"change {change}"
        edits = undone[0].edits if undone else ()
        return Logged(f"took back: {said}", *request, change, True, edits)
    said = "; ".join([*entry["done"], *entry.get("notes", ())])
    return Logged(said, *request, int(entry["change"]), edits=tuple(entry.get("edits", ())))


def can_undo(log: Sequence[Logged]) -> list[Logged]:
    """The changes that can be taken back, the last one at the end."""
    found: dict[int, Logged] = {}
    for line in log:
        if line.undoes:
            found.pop(line.change, None)
        elif line.change:
            found[line.change] = line
    return [found[change] for change in sorted(found)]


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
