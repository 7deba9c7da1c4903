"""Levels of a run that found its number of clusters, from the command line; broad themes."""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import pytest

import coterie
from commands import rows, run, write_csv
from coterie.arrays.metrics import nmi
from trees import whole

BROAD = {
    "money": ["invoice", "refund", "payment", "voucher"],
    "post": ["parcel", "courier", "depot", "label"],
    "login": ["password", "account", "code", "browser"],
    "garden": ["mower", "hedge", "seeds", "shed"],
}
ABOUT = ["broken", "late", "missing", "wrong"]
OPTIONS = ["--encoder", "tfidf-svd", "-q"]


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    """320 texts: four broad themes of four clusters each."""
    rng = np.random.default_rng(0)
    out = []
    for broad, things in BROAD.items():
        for thing in things:
            for i in range(20):
                extra = rng.choice([f"{thing}{n}" for n in range(5)], 2, replace=False)
                about = rng.choice([f"{broad}{n}" for n in range(3)], 2, replace=False)
                words = [thing, thing, *extra, *about, broad, ABOUT[i % 4]]
                out.append((" ".join(words), broad))
    return out


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, texts) -> Path:
    path = tmp_path_factory.mktemp("levels") / "in.csv"
    return write_csv(path, ("text", "broad"), *texts, ("", ""))


@pytest.fixture(scope="module")
def done(file: Path) -> Path:
    """A finished run that found the number of clusters."""
    out = file.parent / "run"
    more = ["--text-column", "text", "--set", "write=xlsx,parquet"]
    run("cluster", file, *OPTIONS, *more, "--out", out)
    return out


def clusters_of(folder: Path) -> list[dict]:
    return list(json.loads((folder / "clusters.json").read_text())["clusters"])


def test_the_table_has_levels_that_hold_whole_clusters(done: Path) -> None:
    table = rows(done / "assignments.csv")
    assert len({row["cluster"] for row in table}) > 11
    # The input has a column of that name, too: it stays as it was.
    assert {row["broad"] for row in table} == {*BROAD, ""}
    above = {row["cluster"]: (row["coterie_broad"], row["broad_name"]) for row in table}
    within = {row["fine"]: row["cluster"] for row in table}
    for row in table:
        assert above[row["cluster"]] == (row["coterie_broad"], row["broad_name"])
        assert within[row["fine"]] == row["cluster"]
    assert above["-1"] == ("-1", "(no text)")
    assert len(within) > len(above) > len(set(above.values()))
    placed = [row for row in table if row["cluster"] != "-1"]
    assert nmi([r["broad"] for r in placed], [r["coterie_broad"] for r in placed]) > 0.9


def test_no_cluster_has_one_or_two_texts(done: Path) -> None:
    found = whole(done)
    assert min(node.size for node in found.nodes.values()) == 3
    # Those that had are part of another, also for the model.
    assert len(found.model.assigner_.place) > found.tree.finest


def test_the_other_files_agree_with_the_table(done: Path) -> None:
    table, made = rows(done / "assignments.csv"), coterie.Run(done)
    tree, nodes = made.tree, made.nodes
    columns = {"broad": "coterie_broad", "medium": "cluster", "fine": "fine"}
    found = Counter()
    for level, column in columns.items():
        sizes = Counter(int(row[column]) for row in table if row["cluster"] != "-1")
        assert {i: nodes[i].size for i in tree.shown(level)} == sizes
        found += Counter((level, i, nodes[i].name, n) for i, n in sizes.items())
    for cluster in clusters_of(done):
        row = next(row for row in table if row["cluster"] == str(cluster["id"]))
        assert (str(cluster["parent"]), cluster["parent_name"]) == (
            row["coterie_broad"], row["broad_name"]
        )  # fmt: skip
    book = openpyxl.load_workbook(done / "clusters.xlsx")
    header, *body = book["clusters"].values
    assert header[-1] == "broad"
    assert {row[0]: row[-1] for row in body} == {
        c["id"]: c["parent_name"] for c in clusters_of(done)
    }
    header, *body = book["levels"].values
    assert header == ("level", "cluster", "name", "texts", "share", "in")
    assert Counter(row[:4] for row in body) == Counter([*found])
    cut = {"medium": tree.cut("broad"), "fine": tree.cut("medium")}
    for level, number, *_, parent in body:
        leaf = tree.below(number)[0]
        assert parent == (cut[level][leaf] if level in cut else None)
    header, *body = openpyxl.load_workbook(done / "assignments.xlsx").active.values
    assert {type(row[header.index("coterie_broad")]) for row in body} == {int}


def test_predict_gives_the_levels(done: Path, file: Path) -> None:
    out = done.parent / "new.csv"
    run("predict", done, file, "--text-column", "text", "--out", out)
    before = rows(done / "assignments.csv")
    for name in ("cluster", "coterie_broad", "broad_name", "fine", "fine_name"):
        assert [row[name] for row in rows(out)] == [row[name] for row in before]
    run(
        "predict",
        done,
        file,
        "--text-column",
        "text",
        "--level",
        "fine",
        "--out",
        out,
        "--overwrite",
    )
    assert [row["cluster"] for row in rows(out)] == [row["fine"] for row in before]
    assert [row["medium"] for row in rows(out)] == [row["cluster"] for row in before]


def test_a_number_that_is_given_is_the_finest_cut(file: Path) -> None:
    out = file.parent / "given"
    run("cluster", file, *OPTIONS, "--text-column", "text", "-k", "16", "--out", out)
    assert len(clusters_of(out)) == 16
    assert coterie.Run(out).tree.levels == {"broad": 5, "medium": 16}
    before = rows(out / "assignments.csv")
    assert {"coterie_broad", "broad_name"} <= {*before[0]} and "fine" not in before[0]
    run("cut", out, "broad")
    assert [row["cluster"] for row in rows(out / "assignments.csv")] == [
        row["coterie_broad"] for row in before
    ]
    whole(out)
    run("cut", out, "17", code=2)
    run("edit", out, "--undo")
    assert rows(out / "assignments.csv") == before


def test_levels_that_are_asked_for_are_cuts_of_the_tree(file: Path) -> None:
    out = file.parent / "asked"
    run("cluster", file, *OPTIONS, "--text-column", "text", "--levels", "3,8,16", "--out", out)
    assert coterie.Run(out).tree.levels == {"level_1": 3, "level_2": 8, "level_3": 16}
    assert len(clusters_of(out)) == 16
    assert len({row["level_1"] for row in rows(out / "assignments.csv")} - {"-1"}) == 3
    run("cut", out, "level_2")
    assert len(clusters_of(out)) == 8 and "level_3" in rows(out / "assignments.csv")[0]
    whole(out)


def test_edits_that_leave_too_few_clusters_take_a_level_away(done: Path, tmp_path: Path) -> None:
    run_ = shutil.copytree(done, tmp_path / "run")
    coterie.edit(run_, [{"merge": [c["id"] for c in clusters_of(run_)][1:]}])
    header = {*rows(run_ / "assignments.csv")[0]}
    assert not {"coterie_broad", "broad_name", "medium"} & header and "fine" in header
    new, given = tmp_path / "new.csv", done.parent / "in.csv"
    run("predict", run_, given, "--text-column", "text", "--out", new)
    assert {*rows(new)[0]} == header


def test_levels_of_a_run_on_a_sample_count_all_rows(file: Path) -> None:
    out = file.parent / "sampled"
    options = ["--text-column", "text", "--set", "fit_sample=250", "--set", "write=parquet"]
    run("cluster", file, *OPTIONS, *options, "--out", out)
    assert json.loads((out / "manifest.json").read_text())["fit_sample"] == 250
    table, made = rows(out / "assignments.csv"), coterie.Run(out)
    tree, nodes = made.tree, made.nodes
    for column, level in (("coterie_broad", "broad"), ("cluster", "medium"), ("fine", "fine")):
        sizes = Counter(int(row[column]) for row in table if row["cluster"] != "-1")
        assert {i: nodes[i].size for i in tree.shown(level)} == sizes
    parquet = pq.read_table(out / "assignments.parquet")
    assert parquet["coterie_broad"].to_pylist() == [int(row["coterie_broad"]) for row in table]
    coterie.cut(out, "broad")
    whole(out)
