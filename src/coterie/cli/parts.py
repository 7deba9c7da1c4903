"""Labelling a corpus that lies in many Parquet files: one file in, one file out.

A part is whole or not there: it grows under a name of its own and is renamed at its end. Its footer
says of which file and by which model it was made, so that nothing else is needed to go on after a
stop. Labelled twice, it is the same file; so a worker that dies costs time and nothing else.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie._errors import DataError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from coterie.cli.labelling import Labeller

KEY = "coterie.part"  # in the footer of a labelled part
UNFINISHED = ".unfinished"
READERS = 16  # footers read at a time; on a network drive most of it is waiting


@dataclass(frozen=True)
class Part:
    """One file of the corpus.

    Attributes
    ----------
    name : str
        Its path below the folder, the same before and after.
    source, target : Path
    rows : int
    digest : str
        Of its size and footer, which tell changes without reading the texts.
    """

    name: str
    source: Path
    target: Path
    rows: int = 0
    digest: str = ""


@dataclass(frozen=True)
class Job:
    """What is the same for all parts.

    Attributes
    ----------
    folder : Path
        Of a run, or of a saved model.
    model : str
        Digest of what is read from it.
    text_column : str
    id_column : str or None
    outlier_limit : float or None
    cache : bool
        Whether vectors may be kept on disk.
    """

    folder: Path
    model: str
    text_column: str
    id_column: str | None = None
    outlier_limit: float | None = None
    cache: bool = True

    def stamp(self, part: Part) -> dict[str, Any]:
        """What decides the content of a labelled part."""
        own = asdict(self)
        decisive = {key: own[key] for key in ("model", "text_column", "outlier_limit")}
        return {**decisive, "source": part.digest}


@dataclass(frozen=True)
class Outcome:
    """What became of a part.

    Attributes
    ----------
    part : Part
    facts : dict or None
        Of a labelled part, as :func:`label_part` returns them.
    error : str
        Why there are none.
    tries : int
    """

    part: Part
    facts: dict[str, Any] | None
    error: str = ""
    tries: int = 1


class PartWorker:
    """A process that holds the model, loaded once, and labels the parts it is given."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._labeller: Labeller | None = None

    def load(self) -> int:
        """Read the model, unless it is another one than that of the run; the process id."""
        from coterie.cli.labelling import Labeller

        folder = self.job.folder
        found = Labeller.read(folder, self.job.outlier_limit) if folder.is_dir() else None
        if found is None or found.digest != self.job.model:
            raise DataError(
                f"a worker finds no model, or another one, in {folder}; all machines must "
                "see the same folders under the same path."
            )
        self._labeller = found
        return os.getpid()

    def label(self, part: Part) -> dict[str, Any]:
        """Write a part; its counts."""
        from coterie._cache import no_cache

        if self._labeller is None:
            self.load()
        assert self._labeller is not None
        with nullcontext() if self.job.cache else no_cache():
            return label_part(self._labeller, self.job, part)


def is_parts(said: str) -> bool:
    """Whether a folder or a pattern is meant, not one file."""
    path = Path(said)
    return path.is_dir() or (glob.has_magic(said) and not path.exists())


def find_parts(said: str, out: Path) -> list[Part]:
    """The files of a folder, those that match a pattern, or one file, by name.

    Files and folders whose names begin with a dot or an underscore are left out, as readers of
    such folders do.
    """
    base, files = _files(said)
    whole, out = base.resolve(), out.resolve()
    if not files:
        raise UsageError(f"{said}: there is no Parquet file; name a folder of them or a pattern.")
    if Path(said).is_dir() and out.is_relative_to(whole):
        raise UsageError(f"--out: {out} is inside {whole}; name a folder outside of it.")
    parts: dict[str, Part] = {}
    for name in sorted(file.relative_to(base).as_posix() for file in files):
        file = whole / name
        name += "" if file.suffix.lower() == ".parquet" else ".parquet"
        if file.is_relative_to(out) or name in parts:
            raise UsageError(f"{said}: {file} would meet a labelled part; name another --out.")
        parts[name] = Part(name, file, out / name)
    return list(parts.values())


def look_at(parts: Sequence[Part]) -> list[Part]:
    """The parts with their rows and digests."""
    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(_look, parts))


def label_part(labeller: Labeller, job: Job, part: Part) -> dict[str, Any]:
    """Label all rows of a part in their order and put the file in its place.

    Returns
    -------
    dict
        The stamp, ``rows``, ``placed`` and ``outliers``, as in the footer, and ``seconds``.
    """
    from coterie.corpus.growing import GrowingTable

    begun = time.monotonic()
    if _look(part) != part:
        raise DataError(f"{part.source} is not the file it was when the run began; start anew.")
    # Two workers may have the same part, if one that seemed lost is not; each has its own file.
    own = f"{os.getpid()}-{secrets.token_hex(4)}"
    unfinished = part.target.with_name(f".{part.target.stem}.{own}{UNFINISHED}.parquet")
    marked, placed = labeller.marked, labeller.placed
    table = GrowingTable(unfinished)
    try:
        with table:
            for rows, columns in _labelled(labeller, job, part):
                table.write(rows, columns)
            if table.rows != part.rows:
                raise DataError(f"{part.source}: {table.rows:,} of {part.rows:,} rows were read.")
            facts = {**job.stamp(part), "rows": table.rows}
            facts["placed"] = labeller.placed - placed
            facts["outliers"] = labeller.marked - marked
            table.facts[KEY] = json.dumps(facts)
        unfinished.replace(part.target)
    finally:
        table.discard()
        unfinished.unlink(missing_ok=True)
    return {**facts, "seconds": round(time.monotonic() - begun, 3)}


def read_facts(part: Part, job: Job) -> dict[str, Any] | None:
    """The counts of a part that is labelled already; None if it is not.

    Refuses what was made from other texts, by another model or with other settings.
    """
    import pyarrow.parquet

    if not part.target.exists():
        return None
    metadata = pyarrow.parquet.read_metadata(part.target)
    facts: dict[str, Any] = json.loads((metadata.metadata or {}).get(KEY.encode(), b"{}"))
    stamp = job.stamp(part)
    if {key: facts.get(key) for key in stamp} != stamp or metadata.num_rows != part.rows:
        raise DataError(
            f"--resume: {part.target} was made from other texts, by another model or with other "
            "settings; delete it, or name another folder."
        )
    return facts


def clear_unfinished(out: Path) -> None:
    """Remove what killed workers left."""
    for path in out.rglob(f".*{UNFINISHED}*.parquet"):
        path.unlink(missing_ok=True)


def _files(said: str) -> tuple[Path, list[Path]]:
    """The folder that names are relative to, and the files."""
    path = Path(said)
    if path.is_dir():
        return path, [file for file in path.rglob("*.parquet") if _is_seen(file, path)]
    if path.exists():
        return path.parent, [path]
    steps = path.parts
    plain = next((i for i, step in enumerate(steps) if glob.has_magic(step)), len(steps) - 1)
    base = Path(*steps[:plain])
    found = base.glob("/".join(steps[plain:]))
    return base, [file for file in found if file.is_file() and _is_seen(file, base)]


def _is_seen(file: Path, base: Path) -> bool:
    return not any(step.startswith((".", "_")) for step in file.relative_to(base).parts)


def _look(part: Part) -> Part:
    from coterie.corpus.source import Source

    rows = Source(part.source).most_rows("parquet")  # exact for Parquet; refuses what is none
    with part.source.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(-8, os.SEEK_END)  # the length of the footer and four letters
        footer = int.from_bytes(file.read(4), "little")
        file.seek(-8 - footer, os.SEEK_END)
        digest = hashlib.sha256(str(size).encode() + file.read(footer)).hexdigest()
    return replace(part, rows=rows, digest=digest)


def _labelled(
    labeller: Labeller, job: Job, part: Part
) -> Iterator[tuple[pa.Table, dict[str, list[Any]]]]:
    import pyarrow.parquet

    from coterie.corpus import TextStream

    if not part.rows:  # writers of many parts leave empty ones
        yield pyarrow.parquet.read_schema(part.source).empty_table(), labeller([])
        return
    stream = TextStream(
        part.source, text_column=job.text_column, id_column=job.id_column, format="parquet"
    )
    for chunk in stream:
        yield chunk.table, labeller(chunk.texts)
