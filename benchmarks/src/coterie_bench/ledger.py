"""Result lines: one JSON line per run, the key of a run, and a file that several processes write.

The operating system keeps all locks, so those of a process that died are gone with it. A line is
appended whole while the file is locked. A run is claimed by a locked file beside the results,
and after a claim the results are read again: no run is done twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from filelock import lock_descriptor

from coterie._util.facts import hardware, versions
from coterie._util.files import open_own, open_regular, plain
from coterie.encoders import AUTO, DEFAULT
from coterie.errors import DataError
from coterie.models.registry import METHODS
from coterie_bench.datasets import PAIRS
from coterie_bench.suites import Job

if TYPE_CHECKING:
    from coterie.models.clusterer import TextClusterer
    from coterie_bench.data import Data

Row = dict[str, Any]
NOISE = 1e-3  # length of the noise over the length of the vector
LEFT_OUT = {"device", "verbose", "checkpoint", "checkpoint_every", "random_state"}
# Parameters of methods by their names in older result lines.
RENAMED = {"labels": "labels_from", "shortcuts": "optimizations"}
PUBLISHED = {pairs.file for pairs in PAIRS.values()}


def head(job: Job, model: TextClusterer, data: Data) -> Row:
    """The part of a line that is known before the run."""
    parameters = {k: v for k, v in model.get_params(deep=False).items() if k not in LEFT_OUT}
    # A path says where a file lay on one machine; its name is what matters.
    for key in ("encoder", "views"):
        if key in parameters and isinstance(parameters[key], str):
            parameters[key] = Path(parameters[key]).name
    if parameters.get("encoder") == AUTO:  # the line says where something else took its place
        parameters["encoder"] = DEFAULT
    if job.k == "found":
        parameters["n_clusters"] = None  # not known before the run
    return {
        "label": job.entry.label,
        "method": job.entry.method,
        "preset": job.entry.preset,
        "parameters": parameters,
        "views_source": views_source(parameters.get("views")),
        "protocol": "all" if data.train is None else "split",
        "k": job.k,
        "dataset": data.name,
        "dataset_sha256": data.sha256,
        "seed": job.seed,
        **({} if job.draw is None else {"noise": {"size": NOISE, "draw": job.draw}}),
    }


def views_source(views: Any) -> str | None:
    """Whether augmented texts were "published" or are our "own"; None if there are none.

    Examples
    --------
    >>> views_source("tweet.eda.csv"), views_source("eda"), views_source("virtual")
    ('published', 'own', None)
    """
    if views is None or views == "virtual":
        return None
    return "published" if views in PUBLISHED else "own"


def key_of(row: Row) -> str:
    """Two lines with the same key are the same run.

    Parameters at their default are left out: a line from before a parameter existed is the line
    of a run that does not set it. So are those that the method no longer has.
    """
    usual = _defaults(row["method"])
    raw = json.loads(json.dumps(row["parameters"], default=plain))
    given = {RENAMED.get(name, name): value for name, value in raw.items()}
    found = row.get("k", "given") == "found"
    parameters = {
        k: v
        for k, v in given.items()
        if (not usual or (k in usual and usual[k] != v)) and not (found and k == "n_clusters")
    }
    parts = {k: row[k] for k in ("label", "method", "preset", "dataset", "dataset_sha256", "seed")}
    parts |= {"protocol": row.get("protocol", "all"), "k": row.get("k", "given")}
    if row.get("noise"):
        parts["noise"] = row["noise"]
    return json.dumps({**parts, "parameters": parameters}, sort_keys=True)


@cache
def _defaults(method: str) -> dict[str, Any]:
    if method not in METHODS:
        return {}
    usual = {f.name: f.default for f in fields(METHODS[method].cls) if f.default is not MISSING}
    kept: dict[str, Any] = json.loads(json.dumps(usual, default=plain))
    return kept


log = logging.getLogger(__name__)


def read_results(files: Iterable[Path]) -> list[Row]:
    """All lines of the files that exist; a last line that was cut off is no result."""
    return [row for file in files if file.exists() for row in _read(file)]


def facts(device: str = "cpu") -> Row:
    """What every line says about machine, software, code and day."""
    return {
        "hardware": hardware(device),
        "versions": versions(),
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def _read(file: Path) -> Iterator[Row]:
    text = file.read_text("utf-8")
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            if number == len(lines):  # no line end: a write that did not come to its end
                log.warning("%s: the last line is incomplete and does not count", file)
                return
            raise DataError(f"{file}, line {number} is not JSON: {error}.") from error


@cache
def commit() -> str | None:
    """Commit of the checkout the code runs from; a copy without one is told by COTERIE_COMMIT."""
    if named := os.environ.get("COTERIE_COMMIT"):
        return named
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"],
            cwd=here,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()


class Ledger:
    """The result file of a suite, and the claims on runs that are under way.

    Parameters
    ----------
    file : Path
        Lines are read from it and appended to it.
    also : iterable of Path
        Further files whose lines count as done.
    """

    def __init__(self, file: Path, also: Iterable[Path] = ()) -> None:
        self.file, self.also = file, tuple(also)
        self.claims = file.with_name(f".{file.name}.claims")
        self._seen: tuple[Any, ...] = ()
        self._keys: set[str] = set()

    def files(self) -> list[Path]:
        """Those of the files that exist, without repeats."""
        return [f for f in dict.fromkeys((self.file, *self.also)) if f.exists()]

    def done(self) -> set[str]:
        """Keys of all lines; the files are read again when they have changed."""
        stamps = tuple((f, s.st_mtime_ns, s.st_size) for f in self.files() for s in [f.stat()])
        if stamps != self._seen:
            rows = read_results(self.files())
            self._keys = {key_of(row) for row in rows if "label" in row and "parameters" in row}
            self._seen = stamps
        return self._keys

    def append(self, row: Row) -> None:
        """Add a line, whole, whoever else is writing."""
        line = (json.dumps(row, default=plain) + "\n").encode()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with open_own(self.file) as stream:
            _locked(stream.fileno())
            tail = _unfinished(stream)
            if tail and not _is_json(tail):  # of a write that was cut off
                stream.truncate(stream.seek(0, os.SEEK_END) - len(tail))
            elif tail:
                line = b"\n" + line
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())

    @contextmanager
    def claim(self, key: str) -> Iterator[bool]:
        """Whether the run is ours alone and not done; it stays ours until the block ends."""
        path = self.claims / hashlib.sha256(key.encode()).hexdigest()[:24]
        file = _open(path)
        mine = _try_lock(file.fileno()) and _is_at(file.fileno(), path)
        try:
            yield mine and key not in self.done()
        finally:
            with contextlib.suppress(OSError):
                if mine:
                    path.unlink()  # still locked: who opened it meanwhile sees that it is gone
            file.close()
            with contextlib.suppress(OSError):  # others have claims in it
                self.claims.rmdir()

    def tidy(self) -> None:
        """Take away what processes that were killed have left behind."""
        for path in self.claims.glob("*") if self.claims.exists() else ():
            with open_regular(path) as file, contextlib.suppress(OSError):
                if _try_lock(file.fileno()):
                    path.unlink()
        with contextlib.suppress(OSError):
            self.claims.rmdir()


def _open(path: Path) -> IO[bytes]:
    while True:
        # Another may take the empty folder away: before the file is made in it, or while mkdir,
        # which has found it there, looks whether it is one.
        with contextlib.suppress(FileNotFoundError, FileExistsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            return open_regular(path)


def _unfinished(stream: Any) -> bytes:
    """What stands behind the last line end."""
    size, tail = stream.seek(0, os.SEEK_END), b""
    while size and b"\n" not in tail:
        step = min(size, 1 << 16)
        size -= step
        stream.seek(size)
        tail = stream.read(step) + tail
    return bytes(tail.rpartition(b"\n")[2])


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _is_at(number: int, path: Path) -> bool:
    """Whether the open file is the one that the path leads to."""
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except FileNotFoundError:
        return False


def _locked(number: int) -> None:
    """Lock an open file until it is closed; a file system without locks has to do without."""
    with contextlib.suppress(OSError):
        lock_descriptor(number)


def _try_lock(number: int) -> bool:
    try:
        return lock_descriptor(number, blocking=False)
    except OSError as error:
        log.info("no locks here, so a run may be done twice: %s", error)
    return True
