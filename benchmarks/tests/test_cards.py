"""Cards: complete, consistent, and true to the files where these are."""

from pathlib import Path

import pytest

from coterie.errors import DataError
from coterie.texts import read_corpus
from coterie_bench.data import load_data
from coterie_bench.datasets import (
    CARDS,
    find_pairs,
    load_dataset,
)
from coterie_bench.datasets.files import convert


@pytest.mark.parametrize("name", CARDS)
def test_files_are_as_the_card_says(name: str, benchmarks: Path) -> None:
    dataset = load_dataset(name, benchmarks)
    assert len(dataset.texts) == dataset.card.rows
    assert len(set(dataset.labels)) == dataset.card.classes
    assert (dataset.coarse is not None) == (dataset.card.group == "levels")
    if dataset.coarse is not None:  # each class lies in one coarse class
        pairs = set(zip(dataset.labels, dataset.coarse, strict=True))
        assert len(set(dataset.coarse)) < len(pairs) == dataset.card.classes
        assert load_data(name, benchmarks).coarse == dataset.coarse


def test_pairs_are_found_and_fit_their_texts(benchmarks: Path) -> None:
    path = find_pairs("tweet", "contextual10", benchmarks)
    pairs = read_corpus(path, text_column="text")
    assert pairs.table.column_names == ["text", "text1", "text2", "label"]
    assert pairs.table.column("text").to_pylist() == load_dataset("tweet", benchmarks).texts


def test_label_title_text_by_hand() -> None:
    source = b'"3","A title ","And ""text"""\r\n"1"," B","c"\r\n'
    expected = 'text,label\r\n"A title And ""text""",3\r\nB c,1\r\n'
    assert convert("label-title-text", [source]).decode() == expected


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tweet.csv").write_text("text,label\nhello,1\n")
    with pytest.raises(DataError, match="sha256 differs"):
        load_dataset("tweet", tmp_path)
