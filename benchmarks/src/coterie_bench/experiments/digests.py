"""Digests of the labels of every method, to see that a change of the code moves none.

    coterie-bench digests > before.txt      # before the change
    coterie-bench digests --against before.txt

Every method clusters the bundled messages; those that take seconds also cluster the first 200 texts
of two benchmarks, where their files are at hand (``COTERIE_DATA``). The seed is fixed, training is
short. The last lines are whole runs: labels, names and probabilities as the table has them. Digests
are of one machine and one set of package versions; never compare those of two machines.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np

import coterie
from coterie.models.registry import METHODS

SHORT = {
    "ae_steps": 20, "adapt_epochs": 1, "contrast_epochs": 1, "epochs": 1, "harden_epochs": 1,
    "label_epochs": 1, "n_init": 2, "rounds": 1, "steps": 2, "word_vectors": "ppmi",
}  # fmt: skip
SETS = {"searchsnippets": 8, "tweet": 40}
TRAINS = ("aecl", "sccl", "cluster-bert", "deccrl", "rstc", "vascl", "tsdae")


def digest(*values: object) -> str:
    """Sixteen hexadecimal digits of arrays and texts."""
    parts = [
        np.ascontiguousarray(v).tobytes() if isinstance(v, np.ndarray) else str(v).encode()
        for v in values
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def corpora() -> Iterator[tuple[str, list[str], int]]:
    """Name, texts and number of clusters of each set."""
    yield "sample", [text for text in coterie.sample().texts if text][:200], 17
    folder = Path(os.environ.get("COTERIE_DATA", "."))
    for name, k in SETS.items():
        path = next(iter(folder.rglob(f"{name}.csv")), None)
        if path is None:
            print(f"# {name}: no file; set COTERIE_DATA", file=sys.stderr)
            continue
        with path.open(encoding="utf-8", newline="") as file:
            yield name, [row["text"] for row in csv.DictReader(file)][:200], k


def method_lines(only: str | None, encoder: str | None) -> Iterator[str]:
    """A line for each method and set."""
    for name, texts, k in corpora():
        for method, recipe in METHODS.items():
            if only not in (None, method) or (name != "sample" and method in TRAINS):
                continue
            known = {field.name for field in fields(recipe.cls)}
            short = {key: value for key, value in SHORT.items() if key in known}
            if encoder and "encoder" not in recipe.parameters:
                short["encoder"] = encoder
            try:
                model = coterie.make_method(method, k, random_state=0, device="cpu", **short).fit(
                    texts
                )
            except ImportError as error:
                yield f"{name} {method} - {error}"
                continue
            proba = np.round(model.predict_proba(texts), 4)
            yield f"{name} {method} {digest(model.labels_.astype('<i8'))} {digest(proba.argmax(1))}"


def run_lines(encoder: str | None) -> Iterator[str]:
    """A line for whole runs of the bundled messages."""
    for label, options in {"given": {"n_clusters": 17}, "found": {}}.items():
        run = coterie.cluster("sample", encoder=encoder, device="cpu", **options)
        names = "\n".join(cluster.name for cluster in run.clusters)
        yield f"run {label} {digest(np.asarray(run.labels, dtype='<i8'))} {digest(names)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="earlier output to compare with"
    )
    parser.add_argument("--method", help="one method only")
    parser.add_argument(
        "--encoder", help="a copy of the default encoder, where it is not installed"
    )
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    before = set(options.against.read_text().splitlines()) if options.against else None
    moved = 0
    methods = method_lines(options.method, options.encoder)
    for lines in (methods, () if options.method else run_lines(options.encoder)):
        for line in lines:
            other = before is not None and line not in before
            moved += other
            print(f"{line}  MOVED" if other else line, flush=True)
    if before is not None:
        print(f"# {moved} moved", file=sys.stderr)
    return int(moved > 0)
