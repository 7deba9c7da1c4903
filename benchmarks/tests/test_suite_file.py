"""Suites of the user's own: what a file may say, and what is said when it cannot be."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coterie.errors import UsageError
from coterie_bench.cli import app
from coterie_bench.datasets import CARDS
from coterie_bench.ledger import read_results
from coterie_bench.suites import SUITES, check_entries, read_suite

GOOD = """
name = "mine"
about = "two ways on my tickets"
datasets = ["topics", "sample"]
seeds = 2

[[data]]
name = "topics"
file = "topics.csv"
text_column = "text"
labels_column = "topic"

[[entries]]
label = "counted words"
method = "tfidf-kmeans"
datasets = ["topics"]

[[entries]]
label = "SCCL, short"
method = "sccl"
preset = "official-code"
views = ["contextual10"]
own_views = "eda"
datasets = ["topics"]
[entries.parameters]
steps = 2
encoder = "tfidf"
[entries.by_dataset.topics]
alpha = 10.0
batch_size = 30
"""


@pytest.fixture
def folder(labelled) -> Path:
    return labelled.file.parent


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_file_says_all_that_a_suite_can(folder: Path) -> None:
    suite = read_suite(write(folder, GOOD))
    assert (suite.name, suite.seeds, suite.datasets) == ("mine", 2, ("topics", "sample"))
    words, sccl = suite.entries
    assert words.datasets == ("topics",) and sccl.views == ("contextual10",)
    assert (sccl.preset, sccl.own_views) == ("official-code", "eda")
    assert sccl.by_dataset == {"topics": {"alpha": 10.0, "batch_size": 30}}
    assert suite.files[0].file == folder / "topics.csv"


def test_entries_of_another_suite_and_sweeps(folder: Path) -> None:
    text = """datasets = ["dev"]
entries = [{ use = "dev", only = ["auto"], label = "theirs" },
           { sweep = "temperature", values = [1, 2], method = "sccl", label = "t{:g}" }]"""
    suite = read_suite(write(folder, text))
    assert [e.label for e in suite.entries] == ["theirs", "t1", "t2"]
    assert suite.entries[2].parameters == {"temperature": 2} and len(suite.datasets) == 13


@pytest.mark.parametrize("name", SUITES)
def test_our_suites_can_run(name: str) -> None:
    check_entries(replace(SUITES[name], datasets=(*CARDS, "sample", "bbc-sentences")), name)


def test_the_command_runs_it(folder: Path) -> None:
    path, out = write(folder, GOOD), folder / "out"
    asked = [str(path), "--out", str(out), "--seeds", "1", "--device", "cpu"]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    rows = read_results([out / "mine.jsonl"])
    assert [row["label"] for row in rows] == ["counted words", "SCCL, short"]
    assert [row["views_source"] for row in rows] == [None, "own"]
    assert rows[1]["parameters"]["alpha"] == 10.0 and rows[1]["parameters"]["views"] == "eda"
    assert rows[0]["scores"]["acc"] > 0.9
    again = CliRunner().invoke(app, [*asked, "--show", "--markdown"])
    assert "counted words" in again.output and len(read_results([out / "mine.jsonl"])) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds = 2", "seeds = 0", "at least 1"),
        ("seeds = 2", "sedes = 2", "should be one of"),
        (
            "seeds = 2",
            'seeds = "two"',
            "seeds should be a whole number",
        ),
        ('"sccl"', '"scll"', "should be one of"),
        ("steps = 2", "stesp = 2", "should be one of"),
        ("steps = 2", "steps = -2", "steps"),
        ("steps = 2", "device = 2", "'device'"),
        ('"official-code"', '"oficial"', "should be one of"),
        ('["contextual10"]', '["contextual15"]', "should be one of"),
        ('own_views = "eda"', 'own_views = "edda"', "own_views should be"),
        ('"tfidf-kmeans"', '"tfidf-kmeans"\nown_views = "eda"', "takes no views"),
        ('"sample"]', '"smple"]', "should be one of"),
        ('"sample"]', '"topics"]', "'topics' occurs twice"),
        (
            "by_dataset.topics",
            "by_dataset.tweet",
            "topics, sample",
        ),
        (
            'label = "counted words"',
            'label = "SCCL, short"',
            "'SCCL, short' occurs twice",
        ),
        ('"topics.csv"', '"nothing.csv"', "no file"),
        ('labels_column = "topic"', "", "labels_column is missing"),
        ('name = "topics"', 'name = "tweet"', "'tweet' is the name"),
        ("[[data]]", "[[data]", "cannot be read"),
    ],
)
def test_what_cannot_be_is_said_with_its_place(folder: Path, old, new, message) -> None:
    assert old in GOOD
    with pytest.raises(UsageError, match=message):
        read_suite(write(folder, GOOD.replace(old, new)))


def test_a_file_without_entries_or_sets_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="entries is missing"):
        read_suite(write(folder, 'datasets = ["sample"]'))
    with pytest.raises(UsageError, match="datasets is missing"):
        read_suite(write(folder, '[[entries]]\nmethod = "kmeans"'))
    with pytest.raises(UsageError, match="no suite file"):
        read_suite(folder / "other.toml")


def test_labels_have_to_be_there(folder: Path) -> None:
    from coterie_bench.data import load_data

    suite = read_suite(write(folder, GOOD.replace('"topic"', '"theme"')))
    with pytest.raises(Exception, match="theme"):
        load_data("topics", None, suite.files)
