"""A fuzzer guided by coverage, on the readers of tables and on the loader of models.

    python tests/torture/fuzz.py readers --seconds 300
    python tests/torture/fuzz.py model --seconds 300

Needs ``pip install atheris``. What it is given is mutated so that new lines of coterie are reached;
anything but a result or an error of coterie's own stops it and is written to ``crash-...``. Inputs
that once broke something lie in ``seeds/`` and are tried first; so does the regular suite.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from coterie.errors import CoterieError

SEEDS = Path(__file__).with_name("seeds")
SUFFIXES = ("csv", "tsv", "jsonl", "txt", "parquet", "json")
MODEL_FILES = ("config.json", "model.safetensors", "encoder/encoder.json",
               "encoder/encoder.safetensors", "outliers.safetensors")  # fmt: skip


def make_reader(place: Path) -> Callable[[bytes], None]:
    """Reads a table; the first byte says which kind it calls itself."""
    from coterie import read_corpus

    def read(data: bytes) -> None:
        file = place / f"a.{SUFFIXES[data[0] % len(SUFFIXES)] if data else 'txt'}"
        file.write_bytes(data[1:])
        try:
            corpus = read_corpus(file)
        except CoterieError:
            return
        assert len(corpus.texts) == corpus.table.num_rows

    return read


def make_loader(place: Path) -> Callable[[bytes], None]:
    """Loads a model; the first byte says which of its files the rest takes the place of."""
    import coterie

    golden = Path(__file__).parents[1] / "base" / "golden" / "format-1-edited" / "model"
    folder = Path(shutil.copytree(golden, place / "model"))
    kept = {name: (folder / name).read_bytes() for name in MODEL_FILES}

    def load(data: bytes) -> None:
        name = MODEL_FILES[data[0] % len(MODEL_FILES)] if data else MODEL_FILES[0]
        (folder / name).write_bytes(data[1:])
        try:
            coterie.load(folder)
        except CoterieError:
            pass
        finally:
            (folder / name).write_bytes(kept[name])

    return load


TARGETS = {"readers": make_reader, "model": make_loader}


def first_inputs(target: str, folder: Path) -> None:
    """Files to begin with: those kept in ``seeds``, and good ones."""
    for file in (SEEDS / target).glob("*"):
        shutil.copy(file, folder)
    if target == "model":
        golden = Path(__file__).parents[1] / "base" / "golden" / "format-1-edited" / "model"
        for i, name in enumerate(MODEL_FILES):
            (folder / f"good{i}").write_bytes(bytes([i]) + (golden / name).read_bytes())


def main() -> None:
    """Fuzz one target for some seconds."""
    import atheris

    parser = argparse.ArgumentParser()
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    told = parser.parse_args()
    os.environ["COTERIE_CACHE"] = "off"
    with atheris.instrument_imports(include=["coterie"]):
        import coterie.base.storage
        import coterie.corpus
        import coterie.encoders.load  # noqa: F401
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "inputs").mkdir()
        first_inputs(told.target, Path(place) / "inputs")
        target = TARGETS[told.target](Path(place))
        limits = [f"-max_total_time={told.seconds}", "-rss_limit_mb=4096", "-timeout=10"]
        atheris.Setup([sys.argv[0], *limits, "-max_len=4096", f"{place}/inputs"], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
