"""``coterie augment`` as users meet it."""

import csv
import io
import json
from pathlib import Path

import pytest

import coterie
from commands import rows as read_rows
from commands import run, write_csv


@pytest.fixture
def tickets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [("1", "Where is my parcel?", "a"), ("2", "", "b"), ("3", "I want my money back", "c")]
    return write_csv(tmp_path / "tickets.csv", ("id", "message", "text2"), *rows)


def test_a_file_gets_augmentations_that_cluster_can_read(tickets: Path) -> None:
    done = run("augment", "tickets.csv", "--kind", "charswap", "--seed", "4")
    rows = read_rows(Path("tickets.views.csv"))
    texts = ["Where is my parcel?", "", "I want my money back"]
    assert [row["text"] for row in rows] == texts
    for view in (1, 2):
        wanted = coterie.augment(texts, "charswap", seed=4, view=view)
        assert [row[f"text{view}"] for row in rows] == wanted
    # Other columns come along, also one that has the name of an augmentation.
    assert [row["coterie_text2"] for row in rows] == ["a", "b", "c"]
    assert "3 rows written to tickets.views.csv; unchanged: text1 0.0%, text2 0.0%" in done.stderr
    options = ["-k", "2", "-t", "message", "--method", "sccl", "--encoder", "tfidf"]
    views = ["--set", "steps=1", "--set", "views=tickets.views.csv"]
    run("cluster", "tickets.csv", *options, *views)


def test_standard_input_to_standard_output(tickets: Path) -> None:
    done = run("augment", "-", "--kind", "deletion", "-n", "1", "--quiet", "--format", "csv",
               stdin=tickets.read_text())  # fmt: skip
    assert done.stderr == ""
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0] == ["text", "text1", "id", "text2"] and len(rows) == 4


def test_facts_as_json(tickets: Path) -> None:
    done = run("augment", "tickets.csv", "--kind", "charswap@0.5", "--out", "w.jsonl", "--json")
    facts = json.loads(done.stdout)
    assert facts["unchanged"] == {"text1": 0.0, "text2": 0.0} and facts["settings"]["rate"] == 0.5
    assert len(Path("w.jsonl").read_text().splitlines()) == 3
