"""Places on the map of all rows of a large input, found while the rows are labelled.

The map of the sample is made first. Each row that is labelled is placed beside the most similar
text of the sample, and its place is written to a file. In the end the map shows 200,000 of the
rows, and the density of all.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from coterie._files import open_own, save_arrays
from coterie._trust import read_arrays
from coterie._types import Floats, Ints
from coterie.report.folder import write_map
from coterie.report.layout import Placer, density, sample_rows
from coterie.run_files import SHARDS, own_columns, read_map, shards_of, table_of, table_parts

PLACER, PLACES, PLACES_OF_SHARDS = "placer.safetensors", "places.bin", "places"
NOWHERE = 0xFFFF  # both coordinates of a row without a text


class RowPlaces:
    """Writes the place of each row; a context, and what a labeller shows its vectors to.

    Parameters
    ----------
    placer : Placer
    path : Path
        Where to write.
    own : str, optional
        The file has this in its name until it is whole; default: it grows under its own name.
    """

    def __init__(self, placer: Placer, path: Path, own: str = "") -> None:
        self.placer, self.path = placer, path
        self.grows = path.with_name(f".{path.name}.{own}") if own else path

    def __enter__(self) -> RowPlaces:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = open_own(self.grows)
        self.file.truncate()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.file.close()
        if self.grows != self.path:
            if kind is None:
                self.grows.replace(self.path)
            else:
                self.grows.unlink()

    def add(self, texts: Sequence[str], labels: Ints, vectors: Floats) -> None:
        """Place the next rows; those without a cluster are nowhere."""
        out = np.full((len(texts), 2), NOWHERE, dtype="<u2")
        placed = np.flatnonzero(labels >= 0)
        if len(placed):
            keys = np.array([crc32(texts[i].encode("utf-8", "replace")) for i in placed.tolist()])
            out[placed] = self.placer(vectors[placed], keys)
        self.file.write(out.tobytes())
        self.file.flush()


def read_placer(work: Path) -> Placer:
    """What places the rows of a run, from its folder."""
    return Placer.from_arrays(read_arrays(work / PLACER))


def save_placer(work: Path, vectors: Floats, made: dict[str, Any], seed: int) -> None:
    """Keep what places further rows; a map of discs has no room for them."""
    if made["layout"] == "neighbors":
        places = np.stack([made["x"], made["y"]], axis=1)
        save_arrays(work / PLACER, Placer(vectors, places, seed).arrays())


def write_places(work: Path, seed: int) -> None:
    """Write the map of all rows, and delete what it was made from."""
    if (work / PLACER).exists():
        made = read_map(work)
        assert made is not None  # written with the sample
        found = [work / PLACES, *(place_of(work, path) for path in shards_of(work))]
        parts = [np.fromfile(path, dtype="<u2") for path in found if path.exists()]
        places = np.concatenate(parts).reshape(-1, 2)
        labels = _labels(table_of(work))
        labels[(places == NOWHERE).all(axis=1)] = -1
        rows = sample_rows(labels, seed)
        shown = places[rows].astype(np.int64)
        made |= {"rows": rows.tolist(), "x": shown[:, 0].tolist(), "y": shown[:, 1].tolist()}
        if len(rows) < made["total"]:
            made["density"] = density(places[labels >= 0]).tolist()
        write_map(work, made)
        (work / PLACER).unlink()  # first: without it, the map is written
    (work / PLACES).unlink(missing_ok=True)
    shutil.rmtree(work / PLACES_OF_SHARDS, ignore_errors=True)


def place_of(work: Path, shard: Path) -> Path:
    """Where the places of the rows of a labelled shard go."""
    inside = shard.relative_to(work / SHARDS).as_posix()
    return work / PLACES_OF_SHARDS / f"{inside}.bin"


def _labels(path: Path) -> Ints:
    """The cluster of each row; of an outlier the nearest."""
    out = []
    for part in table_parts(path):
        own = own_columns(part.schema.names)
        labels = part[own["cluster"]].fill_null(-1).to_numpy(zero_copy_only=False)
        if "nearest_cluster" in own:
            near = part[own["nearest_cluster"]].fill_null(-1).to_numpy(zero_copy_only=False)
            labels = np.where(labels < 0, near, labels)
        out.append(labels)
    return np.concatenate(out).astype(np.int64)
