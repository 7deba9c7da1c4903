"""Changes that clients ask for: each is done once, and none over what another has just done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie.editing import read_edits
from coterie.errors import CoterieError, counted
from coterie.run_history import Logged, can_undo, noted, read_log
from coterie.runs import Run
from coterie.serve.errors import ServeError
from coterie.serve.schema import Cut, Edit

MARKS = {"lock", "unlock", "done", "reopen"}  # edits that hinder no other; locks tell themselves


def seen(made: str, logged: int) -> str:
    """What a client has seen of a run: which run, and how many lines of its log."""
    return f"{made}#{logged}"


def make_change(
    folder: Path, wanted: Edit | Cut, version: str | None = None, by: str = ""
) -> dict[str, Any]:
    """Edit, cut or undo as a request wants it, unless that was done already; what the answer says.

    Parameters
    ----------
    folder : Path
    wanted : Edit or Cut
    version : str, optional
        Only if the run is in this state.
    by : str
        Who asks for it, by name.
    """
    run = Run(folder)
    run.check()
    state, log = version or run.version, read_log(folder)
    same = [line for line in log if line.id == wanted.id]
    if same:
        return {"undone": same[0].change} if same[0].undoes else {"done": [same[0].said]}
    _check_seen(run, log, wanted)
    with noted(**{key: value for key, value in (("id", wanted.id), ("by", by)) if value}):
        if isinstance(wanted, Cut):
            run.cut(wanted.clusters, version=version)
            return {"done": [f"cut into {counted(len(run.clusters), 'cluster')}"]}
        if wanted.undo:
            _check_last(log, wanted.undo)
            return {"undone": run.undo(version=version if wanted.undo is True else state)}
        done = run.edit(wanted.edits, dry_run=wanted.dry_run, version=version)
    return {
        "done": list(done.done),
        "notes": list(done.notes),
        "clusters": {str(number): name for number, name in done.clusters.items()},
        "written": not wanted.dry_run,
    }


def _check_last(log: Sequence[Logged], wanted: str | bool) -> None:
    """Refuse to undo another change than the one that was named."""
    last = can_undo(log)[-1:]
    if wanted is not True and [line.id for line in last] != [wanted]:
        said = f"{last[0].by} {last[0].said}" if last else "there is none"
        raise ServeError(
            409,
            "other_change",
            f"the last change is another one by now ({said}), so nothing was undone.",
        )


def _check_seen(run: Run, log: Sequence[Logged], wanted: Edit | Cut) -> None:
    """Refuse an edit of clusters that another client has changed since this one has seen them."""
    if wanted.seen is None:
        return
    made, _, count = wanted.seen.rpartition("#")
    known = int(count) if count.isdecimal() else -1
    if made != run.manifest["finished"] or not 0 <= known <= len(log):
        said = "another run has taken the place of the one that you saw; load the page again."
        raise ServeError(409, "other_run", said)
    mine = _touched(wanted.edits) or set() if isinstance(wanted, Edit) else set()
    for line in log[known:]:
        if wanted.id is not None and _client(line.id) == _client(wanted.id):
            continue
        theirs = _touched(line.edits)
        if theirs is None or mine & theirs:
            raise ServeError(
                409,
                "changed_by_another",
                f"{line.by} {line.said} meanwhile, so this was not done; look at the clusters, "
                "then do it again.",
            )


def _touched(edits: Any) -> set[int] | None:
    """Clusters that edits change; None for all."""
    if any("cut" in edit for edit in edits if isinstance(edit, dict)):
        return None
    try:
        found = read_edits(edits) if edits else []
    except CoterieError:  # whoever does it says what is wrong
        return set()
    return {cluster for edit in found if edit.kind not in MARKS for cluster in edit.clusters}


def _client(request: str) -> str:
    return request.rpartition("-")[0]
