"""``coterie-bench inspect`` as users meet it."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coterie import load
from coterie.cli import app as coterie_app
from coterie_bench.analysis import pair_similarity
from coterie_bench.cli import app
from said import says


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def write(path: Path, header: list[str], rows: list[list]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, topics) -> Path:
    folder = tmp_path_factory.mktemp("inspect")
    rows = [list(pair) for pair in zip(*topics, strict=True)]
    file = write(folder / "texts.csv", ["text", "topic"], rows)
    settings = ["--set", "record_stages=true", "--set", "batch_size=30", "--set", "lr=1e-3"]
    result = CliRunner().invoke(coterie_app, [
        "cluster", file, "-k", "3", "--method", "cluster-bert", "--encoder", "tfidf", "-q",
        *settings, "--out", str(folder / "run"),
    ])  # fmt: skip
    assert result.exit_code == 0, result.output
    return folder


def test_pairs(done: Path, tmp_path: Path) -> None:
    pairs = [["apple pear", "pear plum"], ["apple pear", "car"]]
    file = write(tmp_path / "pairs.csv", ["text1", "text2"], pairs)
    shown = run("inspect", "pairs", str(done / "run"), file)
    assert shown.exit_code == 0 and "before" in shown.output and "pear plum" in shown.output
    printed = run("inspect", "pairs", str(done / "run" / "model"), file, "--json")
    rows = json.loads(printed.output)
    expected = pair_similarity(load(done / "run" / "model"), [tuple(p) for p in pairs])
    assert [row["before"] for row in rows] == pytest.approx(expected["before"].tolist())
    assert [row["after"] for row in rows] == pytest.approx(expected["after"].tolist())


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_retrieval(done: Path, tmp_path: Path, kind: str) -> None:
    rows = [["apple pear", "pear plum", 1], ["apple pear", "car", 0], ["bus", "song", 0],
            ["bus", "bus driver", 1], ["bus", "tune", 0]]  # fmt: skip
    header = ["query", "candidate", "relevant"]
    if kind == "csv":
        file = write(tmp_path / "q.csv", header, rows)
    else:
        lines = [json.dumps(dict(zip(header, row, strict=True))) for row in rows]
        (tmp_path / "q.jsonl").write_text("\n".join(lines))
        file = str(tmp_path / "q.jsonl")
    printed = run("inspect", "retrieval", str(done / "run"), file, "--json")
    found = json.loads(printed.output)
    # A word in common beats none.
    assert found["before"] == {"map": 1.0, "mrr": 1.0}
    assert found["queries"] == {"used": 2, "all": 2}
    assert "MAP" in run("inspect", "retrieval", str(done / "run"), file).output


def test_stages(done: Path) -> None:
    shown = run("inspect", "stages", str(done / "run"))
    assert shown.exit_code == 0
    for word in ("start", "adapt", "cluster-2", "harden", "silhouette", "dunn"):
        assert word in shown.output
    file = str(done / "texts.csv")
    printed = run("inspect", "stages", str(done / "run"), file, "-l", "topic", "--json")
    assert all(row["acc"] > 0.9 for row in json.loads(printed.output))
    assert run("inspect", "stages", str(done / "run"), file).exit_code == 3


def test_mistakes_are_named(done: Path, tmp_path: Path) -> None:
    model = str(done / "run")
    file = write(tmp_path / "p.csv", ["text1", "other"], [["a", "b"]])
    result = run("inspect", "pairs", model, file)
    assert result.exit_code == 3 and says(result.output, "there is no column", "'text2'")
    file = write(tmp_path / "q.csv", ["query", "candidate", "relevant"], [["a", "b", "maybe"]])
    result = run("inspect", "retrieval", model, file)
    assert result.exit_code == 3 and "row 1" in result.output
    result = run("inspect", "stages", str(tmp_path))
    assert result.exit_code == 3 and says(result.output, "holds no model (neither")
    result = run("inspect", "stages", str(tmp_path / "absent"))
    assert result.exit_code == 3 and says(result.output, "name that of a run")


def test_help_has_examples() -> None:
    assert run("inspect", "--help").exit_code == 0
    for verb in ("pairs", "retrieval", "stages"):
        assert f"coterie-bench inspect {verb}" in run("inspect", verb, "--help").output
