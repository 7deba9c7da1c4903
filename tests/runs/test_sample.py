"""A corpus that is fitted by a sample: all rows labelled, all counted."""

import csv
import json
import random
from collections import Counter
from pathlib import Path

import pyarrow.parquet
import pytest

import coterie
from commands import rows, run
from coterie import load
from coterie.runs.sample import LARGE, sample_size
from coterie.texts import read_corpus, survey
from coterie.texts.read import TextStream
from said import says

OPTIONS = ["-k", "4", "--encoder", "tfidf-svd", "--method", "kmeans", "--set", "fit_sample=150"]


def read(path: Path):
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,600 rows of four themes, with repeats, rows without a text, a date and a category."""
    draw = random.Random(0)
    themes = {
        "fruit": "apple plum pear fig ripe sweet juice".split(),
        "road": "car bus truck van fast loud fuel".split(),
        "music": "song drum violin choir tune band chord".split(),
        "money": "bank loan card rent cash bill fee".split(),
    }
    path = tmp_path_factory.mktemp("large") / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["id", "text", "theme", "sent"])
        for i in range(2600):
            theme = draw.choice(list(themes))
            text = " ".join(draw.sample(themes[theme], 4)) if i % 100 else ""
            # Only the last third shows that the month comes first.
            day = f"{draw.randint(1, 6)}/{draw.randint(1, 12) + 12 * (i > 1800)}/2026"
            writer.writerow([i, text, theme, day])
    return path


@pytest.fixture(scope="module")
def done(file: Path) -> Path:
    out = file.parent / "run"
    extras = ["--levels", "2,4", "--max-outliers", "3%", "--set", "write=parquet,jsonl"]
    result = run("cluster", str(file), *OPTIONS, *extras, "--out", str(out))
    (file.parent / "said.txt").write_text(result.output)
    return out


def test_all_rows_are_there_in_their_order(done: Path, file: Path) -> None:
    before, after = rows(file), rows(done / "assignments.csv")
    names = ["id", "text", "theme", "sent"]
    assert [{k: row[k] for k in names} for row in after] == before
    assert all((row["cluster"] == "-1") >= (row["text"] == "") for row in after)


def test_labels_are_those_of_the_saved_model(done: Path, file: Path) -> None:
    model = load(done / "model")
    texts = read_corpus(file).texts
    found = [int(row["cluster"]) for row in rows(done / "assignments.csv")]
    assert found == model.predict(texts, outliers=True).tolist()


def test_the_model_saw_the_sample_alone(done: Path, file: Path) -> None:
    manifest = read(done / "manifest.json")
    assert manifest["fit_sample"] == 150 and "fitted" not in manifest
    assert manifest["data"]["rows"] == 2600 and manifest["data"]["texts"] == 2574
    assert manifest["data"]["sha256"] == read_corpus(file).sha256
    drawn = set(survey(TextStream(file), 150, 0).texts)
    examples = {
        text for cluster in read(done / "clusters.json")["clusters"] for text in cluster["examples"]
    }
    assert examples and examples <= drawn
    points = read(done / "map.json")
    texts = read_corpus(file).texts
    assert {texts[row] for row in points["rows"]} == drawn and points["total"] == 2574


def test_counts_are_those_of_all_rows(done: Path, file: Path) -> None:
    table = rows(done / "assignments.csv")
    placed = [row for row in table if row["cluster"] != "-1"]
    for cluster in read(done / "clusters.json")["clusters"]:
        own = [row for row in placed if row["cluster"] == str(cluster["id"])]
        assert cluster["size"] == len(own)
        assert cluster["share"] == pytest.approx(len(own) / len(placed), abs=1e-4)
        assert dict(cluster["by"]["theme"]) == Counter(row["theme"] for row in own)
        months = Counter(f"2026-{int(row['sent'].split('/')[0]):02}" for row in own)
        weeks = dict(cluster["over_time"])
        assert sum(weeks.values()) == len(own)  # every date was read, month first
        if all(name[4] == "-" and "W" not in name for name in weeks):
            assert {name: n for name, n in weeks.items() if n} == months
    for cluster in coterie.Run(done).levels[0]:
        assert cluster.size == sum(row["level_1"] == str(cluster.id) for row in placed)


def test_other_tables_hold_the_same(done: Path) -> None:
    table = rows(done / "assignments.csv")
    parquet = pyarrow.parquet.read_table(done / "assignments.parquet")
    assert parquet.column_names == list(table[0])
    assert parquet["cluster"].to_pylist() == [int(row["cluster"]) for row in table]
    assert parquet["level_1"].to_pylist() == [int(row["level_1"]) for row in table]
    scores = [float(row["outlier_score"]) if row["outlier_score"] else None for row in table]
    assert parquet["outlier_score"].to_pylist() == scores
    lines = (done / "assignments.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["margin"] for line in lines] == parquet["margin"].to_pylist()


@pytest.mark.parametrize(
    ("more", "key"),
    [
        (["--keep", "RUN"], "texts is fitted"),
        (["--set", "write=xlsx"], "texts is fitted"),
        (["--method", "sccl", "--set", "views=a.csv"], "texts is fitted"),
    ],
)
def test_what_needs_all_texts_is_refused(
    done: Path, file: Path, tmp_path: Path, more: list[str], key: str
) -> None:
    filled = [done if part == "RUN" else part for part in more]
    result = run("cluster", file, *OPTIONS, *filled, "--out", tmp_path / "o", code=2)
    assert says(result.output, key)


def test_standard_input_is_sampled_as_a_file_is(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    asked = ["--set", "format=csv", "--text-column", "text", "--out", str(out), "-q"]
    run("cluster", "-", *OPTIONS, *asked, stdin=file.read_text())
    assert read(out / "manifest.json")["data"]["sha256"] == read_corpus(file).sha256
    assert len(rows(out / "assignments.csv")) == 2600


@pytest.mark.parametrize("sample", [["--set", "fit_sample=0"], ["--set", "fit_sample=2600"], []])
def test_small_files_are_fitted_whole(file: Path, tmp_path: Path, sample: list[str]) -> None:
    out = tmp_path / "o"
    result = run("cluster", str(file), *OPTIONS[:-2], *sample, "--out", str(out))
    assert "fit_sample" not in read(out / "manifest.json")
    assert "about" not in result.output.split("clusters; the")[0].split("took")[0]


def test_lines_inside_texts_do_not_make_a_file_large(tmp_path: Path) -> None:
    texts = [f'"ripe apple {i}\nand\nmore\nlines"' for i in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["text", *texts]))
    options = ["-k", 2, "--encoder", "tfidf", "-q", "-m", "kmeans", "--set", "fit_sample=40"]
    run("cluster", tmp_path / "a.csv", *options, "--out", tmp_path / "o")
    assert "fit_sample" not in read(tmp_path / "o" / "manifest.json")


def test_the_sample_grows_with_the_clusters() -> None:
    assert sample_size(None, 600) == (30_000, LARGE)
    assert sample_size(None, 1_000_000) == (100_000, LARGE)
    assert sample_size(0, 8)[1] is None
