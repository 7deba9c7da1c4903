"""A small labelled file as a data set, a suite on it that takes a second, and the scripts."""

import csv
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from coterie.bench import Entry, Suite
from coterie.bench.entries import DataFile

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Import a script of benchmarks/ by its name."""
    monkeypatch.syspath_prepend(str(SCRIPTS))  # they share lines.py and others

    def found(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"script_{name}", SCRIPTS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, f"script_{name}", module)
        spec.loader.exec_module(module)
        return module

    return found


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory, topics) -> DataFile:
    """90 texts of three topics as a file."""
    file = tmp_path_factory.mktemp("labelled") / "topics.csv"
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([("text", "topic"), *zip(*topics, strict=True)])
    return DataFile("topics", file, "topic", "text")


@pytest.fixture(scope="session")
def small(labelled: DataFile) -> Suite:
    """TF-IDF and k-means, and two steps of SCCL on it."""
    entries = (
        Entry("TF-IDF", "tfidf-kmeans"),
        Entry("SCCL", "sccl", {"encoder": "tfidf", "steps": 2, "batch_size": 30}),
    )
    return Suite("small", "", entries, ("topics",), 2, files=(labelled,))
