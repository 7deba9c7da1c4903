"""A small labelled data set, a suite on it that takes a second, and the experiments."""

import csv
import importlib
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from coterie._util.files import sha256_file
from coterie_bench.data import Data, load_data
from coterie_bench.datasets import CARDS, Card
from coterie_bench.suites import Entry, Suite


@pytest.fixture
def load() -> Callable[[str], ModuleType]:
    """Import an experiment by its name."""
    return lambda name: importlib.import_module(f"coterie_bench.experiments.{name}")


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory, topics) -> Iterator[Data]:
    """90 texts of three topics, known as the data set "topics"."""
    file = tmp_path_factory.mktemp("labelled") / "topics.csv"
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([("text", "label"), *zip(*topics, strict=True)])
    more = ("", (), "prepared", 90, 3, sha256_file(file), "", "", "", "test")
    CARDS["topics"] = Card("topics", "", str(file), *more)
    yield load_data("topics", None)
    del CARDS["topics"]


@pytest.fixture(scope="session")
def small(labelled: Data) -> Suite:
    """TF-IDF and k-means, and two steps of SCCL on it."""
    entries = (
        Entry("TF-IDF", "tfidf-kmeans"),
        Entry("SCCL", "sccl", {"encoder": "tfidf", "steps": 2, "batch_size": 30}),
    )
    return Suite("small", "", entries, ("topics",), 2)
