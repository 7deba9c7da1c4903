"""Comparisons of finished runs: by rows, by models; the command."""

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from commands import run as call
from coterie import compare, load
from coterie.errors import DataError
from coterie.runs.comparison import read_run_side
from said import raises, says

WORDS = {
    "fruit": "apple pear plum cherry grape melon orchard juice ripe sweet".split(),
    "traffic": "car truck engine road wheel brake driver bus motor fuel".split(),
    "music": "song guitar drum chorus singer violin concert melody band tune".split(),
}


def write(path: Path, seed: int, n: int = 60, first: int = 0) -> Path:
    """Short texts of three topics, with numbers."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["ticket", "text"])
        for i in range(n):
            words = rng.choice(list(WORDS.values())[i % 3], 5, replace=False)
            writer.writerow([f"T-{first + i}", " ".join(map(str, words))])
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three runs on one file of texts, and one on another."""
    folder = tmp_path_factory.mktemp("runs")
    october = write(folder / "october.csv", 0)
    november = write(folder / "november.csv", 1, first=900)
    out = {}
    for name, file, k, seed in (("a", october, 3, 0), ("b", october, 3, 7), ("six", october, 6, 0),
                                ("next", november, 3, 0)):  # fmt: skip
        out[name] = folder / name
        call("cluster", file, "-k", k, "--method", "kmeans", "--encoder", "tfidf", "-q",
                      "--seed", seed, "--out", out[name])  # fmt: skip
    return out


def test_the_same_texts_are_followed_row_by_row(runs) -> None:
    found = compare(runs["a"], runs["b"])
    assert found.evidence == "texts" and found.seen == 60
    assert found.moved == 0 and found.nmi == pytest.approx(1)
    finer = compare(runs["a"], runs["six"])
    assert finer.count("split") >= 1 and len(finer.clusters_b) == 6


def test_ids_are_used_when_both_have_them(runs) -> None:
    found = compare(runs["a"], runs["next"], id_column="ticket", by="auto")
    assert found.evidence == "model"  # the numbers differ, so no row is in both
    assert compare(runs["a"], runs["b"], id_column="ticket").evidence == "ids"
    with raises(DataError, "has no column"):
        compare(runs["a"], runs["b"], id_column="number")


def test_predictions_are_counted_on_the_right_side(runs) -> None:
    found = compare(runs["six"], runs["next"])
    a, b = read_run_side(runs["six"]), read_run_side(runs["next"])
    counts: Counter[tuple[int, int]] = Counter()
    counts.update(zip(a.labels.tolist(), load(runs["next"] / "model").predict(a.texts).tolist(),
                      strict=True))  # fmt: skip
    counts.update(zip(load(runs["six"] / "model").predict(b.texts).tolist(), b.labels.tolist(),
                      strict=True))  # fmt: skip
    assert {(flow.a, flow.b): flow.count for flow in found.flows} == counts
    assert found.evidence == "model" and found.seen == 120
    assert (found.only_a, found.only_b) == (60, 60)


def test_the_command_prints_a_table_and_writes_a_page(runs, tmp_path) -> None:
    page = tmp_path / "changes.html"
    result = call("compare", runs["a"], runs["six"], "--out", page)
    for part in ("split into", "moved", "rows in both", "NMI", "same text in both", str(page)):
        assert part in result.output, part
    html = page.read_text("utf-8")
    assert "<script" not in html and "http:" not in html and "https" not in html
    assert "What moved" in html and read_run_side(runs["a"]).texts[0].split()[0] in html


def test_texts_can_be_left_out(runs, tmp_path) -> None:
    page = tmp_path / "changes.html"
    result = call("compare", runs["a"], runs["six"], "--no-texts", "--json", "--out", page)
    found = json.loads(result.stdout)
    assert found["evidence"] == "texts" and found["seen"] == 60
    assert sum(flow["count"] for flow in found["flows"]) == 60
    assert all(flow["examples"] == [] for flow in found["flows"])
    texts = read_run_side(runs["a"]).texts
    assert not any(text in page.read_text("utf-8") for text in texts)


def test_two_columns_of_one_table(tmp_path) -> None:
    table = tmp_path / "topics.csv"
    lines = ["ticket,text,old,new"] + [
        f"{i},text {i},{'ab'[i % 2]},{'xy'[i % 2]}" for i in range(9)
    ]
    table.write_text("\n".join(lines) + "\n")
    result = call("compare", table, table, "--a-column", "old", "--b-column", "new",
                  "--id-column", "ticket", "--json")  # fmt: skip
    found = json.loads(result.stdout)
    assert (found["evidence"], found["moved"]) == ("ids", 0)
    assert [c["name"] for c in found["clusters_a"]] == ["a", "b"]


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["nowhere.csv", "nowhere.csv"], 2, "there is no file"),
        (["a", "a", "--out", "page.pdf"], 2, "ends in .html"),
        (["a", "a", "--by", "magic"], 2, "`by`"),
        (["empty", "a"], 3, "holds no run: there"),
    ],
)
def test_errors_have_codes_and_remedies(runs, tmp_path, arguments, code, message) -> None:
    places = {"a": runs["a"], "empty": tmp_path}
    named = [places.get(argument, argument) for argument in arguments]
    assert says(call("compare", *named, code=code).output, message)
