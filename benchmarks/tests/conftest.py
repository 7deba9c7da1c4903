"""A small labelled file as a data set, a suite on it that takes a second, and the scripts."""

import csv
import importlib
from collections.abc import Callable
from types import ModuleType

import pytest

from coterie_bench.suites import DataFile, Entry, Suite


@pytest.fixture
def load() -> Callable[[str], ModuleType]:
    """Import an experiment by its name."""
    return lambda name: importlib.import_module(f"coterie_bench.experiments.{name}")


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
