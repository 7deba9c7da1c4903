"""The folder that a run is made for: what it may replace, and what a stopped training leaves there.

A run is written into a new folder, which takes its place when all is there. Before that only a
method that trains leaves something: its checkpoints, in ``training``, which ``resume`` continues.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie._util.facts import versions
from coterie._util.folders import is_litter, mend_folder
from coterie._util.trust import inside, read_json
from coterie.errors import UsageError
from coterie.models.choose import Choice
from coterie.models.clusterer import TextClusterer
from coterie.options import ClusterOptions
from coterie.runs.run_files import LOGS, MANIFEST, RESULT, is_run, run_files
from coterie.texts import Corpus

TRAINING = "training"  # where the checkpoints of a method lie, and its history
# Parameters of an estimator that do not change the result.
NOT_DECISIVE = {"verbose", "checkpoint", "checkpoint_every", "device"}


def begin_facts(
    options: ClusterOptions, model: TextClusterer, corpus: Corpus, choice: Choice | None
) -> dict[str, Any]:
    """What the manifest says about a run before it is fitted."""
    facts: dict[str, Any] = {
        "started": now(),
        "method": options.method,
        "parameters": _parameters(model),
        "handover": options.handover(),
        "data": {
            "rows": len(corpus),
            "text_column": corpus.text_column,
            "id_column": corpus.id_column,
            "sha256": corpus.sha256,
            "notes": [note.message for note in corpus.notes],
            **_types(corpus.table.schema),
        },
        "versions": versions(),
        "number_of_clusters": None if choice is None else choice.to_dict(),
    }
    if corpus.large is not None:
        found = corpus.large.survey
        facts["fit_sample"] = len(found.texts)
        facts["data"] |= {"texts": found.filled, "different_texts": found.distinct}
    return facts


def now() -> str:
    """The time in a manifest."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def refuse_taken(path: Path, *, resume: bool = False, overwrite: bool = False) -> None:
    """Reject a folder that holds something; ``overwrite`` replaces a run and nothing else."""
    mend_folder(path)
    if path.exists() and not path.is_dir():
        raise UsageError(f"`folder={str(path)!r}` is a file; a run needs a folder.")
    names = [name for name in run_files(path) if not is_litter(name)]
    if not names:
        return
    trained = [name for name in names if name.startswith(f"{TRAINING}/")]
    has_run = MANIFEST in names and is_run(read_json(inside(path, MANIFEST)))
    known = {*trained, *(n for n in names if RESULT.fullmatch(n) or LOGS.fullmatch(n))}
    other = [name for name in names if name not in known]
    if other or not (has_run or trained):
        raise UsageError(
            f"`folder={str(path)!r}` holds {min(other or names)}, which is no file of a run; "
            "choose another folder."
        )
    if overwrite or (resume and trained):
        return
    if trained:
        raise UsageError(
            f"`folder={str(path)!r}` holds a training that was stopped; `resume` continues it, "
            "`overwrite` starts again."
        )
    raise UsageError(f"`folder={str(path)!r}` holds a run; `overwrite` replaces it.")


def _parameters(model: TextClusterer) -> dict[str, Any]:
    """Parameters that decide the result, as JSON reads them back."""
    given = model.get_params(deep=False).items()
    simple = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, simple) else str(value)
        for name, value in given
        if name not in NOT_DECISIVE
    }


def _types(schema: pa.Schema) -> dict[str, dict[str, str]]:
    """What the manifest says about the columns that are no texts, by their names; or nothing."""
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    kinds = (*numbers, pa.types.is_temporal, pa.types.is_dictionary)
    types = {kind.name: str(kind.type) for kind in schema if any(is_a(kind.type) for is_a in kinds)}
    return {"types": types} if types else {}
