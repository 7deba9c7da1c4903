"""A small labelled file as a data set, and a suite on it that takes a second."""

import csv
from pathlib import Path

import pytest

from coterie.bench import Entry, Suite
from coterie.bench.entries import DataFile


@pytest.fixture
def labelled(tmp_path: Path, topics) -> DataFile:
    """90 texts of three topics as a file."""
    file = tmp_path / "topics.csv"
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([("text", "topic"), *zip(*topics, strict=True)])
    return DataFile("topics", file, "topic", "text")


@pytest.fixture
def small(labelled: DataFile) -> Suite:
    """TF-IDF and k-means, and two steps of SCCL on it."""
    entries = (
        Entry("TF-IDF", "tfidf-kmeans"),
        Entry("SCCL", "sccl", {"encoder": "tfidf", "steps": 2, "batch_size": 30}),
    )
    return Suite("small", "", entries, ("topics",), 2, files=(labelled,))
