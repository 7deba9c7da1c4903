"""Levels, outliers and files for others, from the command line."""

import csv
import json
from pathlib import Path

import openpyxl
import pyarrow.parquet as pq
import pytest

import coterie
from commands import rows, run, write_csv
from coterie.errors import DataError, UsageError
from said import raises, says

ODD = ["zebra quartz volcano", "=1+1 nebula", "-2 saffron"]


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory, topics) -> Path:
    """Ninety texts of three topics, three odd ones, one twice, one empty."""
    texts = [*topics[0], *ODD, topics[0][0], ""]
    rows = [(f"{i:03}", text, "mine") for i, text in enumerate(texts)]
    path = tmp_path_factory.mktemp("tickets") / "tickets.csv"
    return write_csv(path, ("id", "text", "level_1"), *rows)


@pytest.fixture(scope="module")
def done(tickets: Path) -> Path:
    """A finished run with everything."""
    out = tickets.parent / "run"
    result = run("cluster", tickets, "-m", "kmeans", "--encoder", "tfidf", "--out", out,
                 "--levels", "2,3,6", "--max-outliers", "4%", "--set", "write=xlsx,parquet",
                 "--id-column", "id")  # fmt: skip
    (out / "said.txt").write_text(result.output)
    return out


def test_the_finest_level_is_the_clustering_and_levels_are_nested(done: Path) -> None:
    table = rows(done / "assignments.csv")
    assert len(json.loads((done / "clusters.json").read_text())["clusters"]) == 6
    parent: dict[tuple[str, str], str] = {}
    for row in table:
        assert row["level_1"] == "mine"  # the user's own column
        for fine, coarse in (("cluster", "level_2"), ("level_2", "coterie_level_1")):
            assert parent.setdefault((fine, row[fine]), row[coarse]) == row[coarse]
            assert (row[fine] == "-1") == (row[coarse] == "-1")
    for column, count in (("coterie_level_1", 2), ("level_2", 3), ("cluster", 6)):
        assert len({row[column] for row in table} - {"-1"}) == count
        name = "name" if column == "cluster" else f"{column}_name".replace("coterie_", "")
        assert len({row[name] for row in table}) >= count


def test_levels_have_names_and_sizes_of_the_table(done: Path) -> None:
    table = rows(done / "assignments.csv")
    levels = coterie.Run(done).levels
    assert [len(level) for level in levels] == [2, 3]
    for level, column in zip(levels, ("coterie_level_1", "level_2"), strict=True):
        for cluster in level:
            inside = [row for row in table if row[column] == str(cluster.id)]
            assert len(inside) == cluster.size > 0
            name = f"{column.removeprefix('coterie_')}_name"
            assert {row[name] for row in inside} == {cluster.name}
    parents = {
        c["id"]: c["parent"] for c in json.loads((done / "clusters.json").read_text())["clusters"]
    }
    for row in table:
        if row["cluster"] != "-1":
            assert str(parents[int(row["cluster"])]) == row["level_2"]


def test_at_most_the_share_is_marked_and_those_with_the_highest_scores(done: Path) -> None:
    table = [row for row in rows(done / "assignments.csv") if row["text"]]
    marked = [row for row in table if row["outlier"] == "yes"]
    assert 1 <= len(marked) <= 0.04 * len(table)
    least = min(float(row["outlier_score"]) for row in marked)
    for row in table:
        assert (row["outlier"] == "yes") == (row["cluster"] == "-1")
        assert (row["name"] == "(none of these)") == (row["cluster"] == "-1")
        assert row["outlier"] == "yes" or float(row["outlier_score"]) <= least
        assert int(row["nearest_cluster"]) >= 0
        assert row["outlier"] == "yes" or row["nearest_cluster"] == row["cluster"]
    manifest = json.loads((done / "manifest.json").read_text())
    assert manifest["outliers"]["marked"] == len(marked)
    assert manifest["handover"]["levels"] == [2, 3, 6]
    assert says(
        (done / "said.txt").read_text(),
        "%) fit no cluster; the column nearest_cluster",
        format(len(marked), ","),
    )
    sizes = {
        c["id"]: c["size"] for c in json.loads((done / "clusters.json").read_text())["clusters"]
    }
    for cluster, size in sizes.items():
        assert sum(row["cluster"] == str(cluster) for row in table) == size > 0


def test_a_row_without_text_is_no_outlier(done: Path) -> None:
    empty = rows(done / "assignments.csv")[-1]
    assert empty["cluster"] == "-1" and empty["name"] == "(no text)" and empty["outlier"] == "no"
    assert empty["outlier_score"] == "" and empty["nearest_cluster"] == ""
    assert empty["level_2_name"] == "(no text)"


def test_prediction_gives_levels_and_outliers_again(done: Path, tickets: Path, tmp_path) -> None:
    result = run("predict", done, tickets, "--out", tmp_path / "again.csv")
    assert rows(tmp_path / "again.csv") == rows(done / "assignments.csv")
    count = json.loads((done / "manifest.json").read_text())["outliers"]["marked"]
    assert says(
        result.stderr, "%) are outliers", format(count, ","), "94", format(100 * count / 94, ".1f")
    )


def test_new_texts_can_be_none_of_these(done: Path) -> None:
    result = run(
        "predict", str(done), "-", stdin="xylophone umbrella\n" + "ripe apple juice pear\n"
    )
    odd, usual = csv.DictReader(result.stdout.splitlines())
    assert odd["cluster"] == "-1" and odd["outlier"] == "yes" and odd["level_1"] == "-1"
    assert usual["cluster"] != "-1" and usual["level_1_name"] and usual["outlier"] == "no"
    assert says(result.stderr, "%) are outliers", "1", "2", "50.0")
    strict = run("predict", done, "-", "--outlier-limit", "0", stdin="ripe apple\n")
    assert "1 of 1 texts" in strict.stderr
    run("predict", done, "-", "--outlier-limit", "7", stdin="a\n", code=2)


def test_without_the_option_no_text_is_marked(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    run("cluster", tickets, "-k", "3", "-m", "kmeans", "--encoder", "tfidf", "-q",
               "--out", str(out))  # fmt: skip
    table = rows(out / "assignments.csv")
    assert {row["outlier"] for row in table} == {"no"} and "nearest_cluster" not in table[0]
    assert all(row["cluster"] != "-1" and 0 <= float(row["outlier_score"]) <= 1
               for row in table[:-1])  # fmt: skip
    assert table[0]["outlier_score"] == table[-2]["outlier_score"]  # the same text
    assert run("predict", out, "-", stdin="xylophone\n").stderr.strip() == ""


def page_of(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_the_page_has_the_tree_and_the_outliers_and_is_made_anew(done: Path) -> None:
    before = page_of(done)
    assert 'id="cut"' in before and 'data-cut="2"' in before
    assert 'id="outliers">Outliers<' in before and "(none of these)" in before
    (done / "report.html").unlink()
    run("report", done)
    assert page_of(done) == before
    run("report", done, "--no-texts")
    bare = (done / "report-no-texts.html").read_text(encoding="utf-8")
    marked = [row["text"] for row in rows(done / "assignments.csv") if row["outlier"] == "yes"]
    assert all(text in before and text not in bare for text in marked)


def test_workbooks_and_parquet_hold_the_table(done: Path) -> None:
    table = rows(done / "assignments.csv")
    parquet = pq.read_table(done / "assignments.parquet")
    assert parquet.column_names == list(table[0])
    assert parquet.column("cluster").to_pylist() == [int(row["cluster"]) for row in table]
    page = openpyxl.load_workbook(done / "assignments.xlsx")["texts"]
    assert [cell.value for cell in page[1]] == list(table[0])
    assert [page.cell(i, 2).value or "" for i in range(2, 97)] == [row["text"] for row in table]
    assert page.cell(93, 2).value == "=1+1 nebula" and page.cell(93, 2).data_type != "f"
    assert page.cell(2, 1).value == "000"
    book = openpyxl.load_workbook(done / "clusters.xlsx")
    assert book.sheetnames == ["clusters", "words", "examples", "levels"]
    clusters = json.loads((done / "clusters.json").read_text())["clusters"]
    found = list(book["clusters"].iter_rows(min_row=2, values_only=True))
    assert [row[:3] for row in found] == [(c["id"], c["name"], c["size"]) for c in clusters]
    names = {row["cluster"]: (row["level_1_name"], row["level_2_name"]) for row in table}
    assert all(row[-2:] == names[str(row[0])] for row in found)
    assert book["levels"].max_row == 1 + 2 + 3 + 6


def test_export_of_a_finished_run(done: Path, tmp_path: Path) -> None:
    result = run("export", done, "--to", "xlsx,parquet,csv,jsonl", "--out", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "assignments-spreadsheet.csv", "assignments.jsonl", "assignments.parquet",
        "assignments.xlsx", "clusters.xlsx",
    ]  # fmt: skip
    assert result.output.splitlines()[0] == str(tmp_path / "assignments.xlsx")
    table, guarded = rows(done / "assignments.csv"), rows(tmp_path / "assignments-spreadsheet.csv")
    assert [r["text"] for r in guarded[90:93]] == [ODD[0], f"'{ODD[1]}", f"'{ODD[2]}"]
    assert [r["cluster"] for r in guarded] == [r["cluster"] for r in table]
    assert (tmp_path / "assignments-spreadsheet.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert table[91]["text"] == ODD[1]  # assignments.csv itself is as it came
    parquet = pq.read_table(tmp_path / "assignments.parquet")
    assert parquet.column("confidence").to_pylist() == [float(r["confidence"]) for r in table]
    assert parquet.column("id").to_pylist()[7] == "007"
    assert parquet.column("nearest_cluster").to_pylist()[-1] is None


def test_export_without_texts_holds_none(done: Path, tmp_path: Path) -> None:
    with raises(UsageError, "to: name at least"):
        coterie.export_run(done, [], out=tmp_path)
    exported = coterie.export_run(done, ["xlsx", "csv"], texts=False, out=tmp_path)
    assert [path.name for path in exported.files] == [
        "assignments-no-texts.xlsx", "clusters-no-texts.xlsx", "assignments-no-texts.csv",
    ]  # fmt: skip
    texts = {row["text"] for row in rows(done / "assignments.csv")} - {""}
    for file in exported.files[:2]:
        book = openpyxl.load_workbook(file)
        cells = {cell for page in book for row in page.iter_rows(values_only=True) for cell in row}
        assert not texts & cells and "mine" not in cells
        assert "examples" not in book.sheetnames
    bare = rows(exported.files[2])
    assert list(bare[0])[:3] == ["row", "id", "cluster"] and bare[5]["row"] == "6"
    assert "text" not in bare[0] and "level_1" not in bare[0] and "coterie_level_1" in bare[0]


def test_export_refuses_what_is_no_finished_run(tmp_path: Path, done: Path) -> None:
    with raises(DataError, "holds no run: there"):
        coterie.export_run(tmp_path)
    with raises(UsageError, "should be one of", "to"):
        coterie.export_run(done, "xls")
    run("export", done, "--to", "docx", code=2)


def test_clusters_may_be_finer_than_the_levels(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    command = ["cluster", str(tickets), "-m", "kmeans", "--encoder", "tfidf", "-q", "-k", "6",
               "--levels", "2", "--out", str(out)]  # fmt: skip
    run(*command)
    assert "coterie_level_1" in rows(out / "assignments.csv")[0]
    assert coterie.Run(out).tree.levels == {"level_1": 2, "level_2": 6}
