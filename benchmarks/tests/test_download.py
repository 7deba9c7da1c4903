"""Downloading: fetched, converted, checked against the card."""

import csv
from pathlib import Path

import pytest

from coterie.errors import DataError, MissingError
from coterie_bench.datasets import CARDS, get_dataset


def test_download_convert_check(tmp_path: Path, benchmarks: Path) -> None:
    path = next(p for p in (benchmarks / "tweet.csv", benchmarks / "data/tweet.csv") if p.exists())
    with path.open(encoding="utf-8", newline="") as file:
        source = "".join(f"{r['label']}\t{r['text']}\n" for r in csv.DictReader(file))
    (tmp_path / "tweet.txt").write_bytes(source.encode())
    urls = [(tmp_path / "tweet.txt").as_uri()]
    made = get_dataset("tweet", tmp_path / "data", urls=urls)
    assert made == tmp_path / "data" / CARDS["tweet"].file
    assert [p.name for p in made.parent.iterdir()] == ["tweet.csv"]  # no litter
    (tmp_path / "tweet.txt").unlink()
    get_dataset("tweet", tmp_path / "data", urls=urls)  # what is there is not fetched again


def test_other_data_than_known_is_refused_and_not_kept(tmp_path: Path) -> None:
    (tmp_path / "tweet.txt").write_text("1\tsomething else\n")
    with pytest.raises(DataError, match="nothing was kept"):
        get_dataset("tweet", tmp_path / "data", urls=[(tmp_path / "tweet.txt").as_uri()])
    assert not (tmp_path / "data").exists()
    with pytest.raises(MissingError, match="could not be fetched"):
        get_dataset("tweet", tmp_path / "data", urls=[(tmp_path / "gone").as_uri()])
