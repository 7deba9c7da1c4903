"""Broad themes above the clusters, where their number is found, from the command line."""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import openpyxl
import pytest

import coterie
from commands import rows, run, write_csv
from coterie.metrics import nmi
from said import raises

BROAD = {
    "money": ["invoice", "refund", "payment", "voucher"],
    "post": ["parcel", "courier", "depot", "label"],
    "login": ["password", "account", "code", "browser"],
    "garden": ["mower", "hedge", "seeds", "shed"],
}
ABOUT = ["broken", "late", "missing", "wrong"]
OPTIONS = ["-m", "kmeans", "--encoder", "tfidf-svd", "-q"]


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
    path = tmp_path_factory.mktemp("themes") / "in.csv"
    return write_csv(path, ("text", "theme"), *texts, ("", ""))


@pytest.fixture(scope="module")
def done(file: Path) -> Path:
    """A finished run that found the number of clusters."""
    out = file.parent / "run"
    result = run("cluster", file, *OPTIONS, "--text-column", "text", "--write", "xlsx,parquet",
                 "--out", out)  # fmt: skip
    (out / "said.txt").write_text(result.output)
    return out


def test_the_table_has_themes_that_hold_whole_clusters(done: Path) -> None:
    table = rows(done / "assignments.csv")
    assert len({row["cluster"] for row in table}) > 11
    # The input has a column of that name, too: it stays as it was.
    assert {row["theme"] for row in table} == {*BROAD, ""}
    above = {row["cluster"]: (row["coterie_theme"], row["theme_name"]) for row in table}
    for row in table:
        assert above[row["cluster"]] == (row["coterie_theme"], row["theme_name"])
    assert 3 <= len(set(above.values()) - {above["-1"]}) <= 12
    assert above["-1"] == ("-1", "(no text)")
    assert not any(name.startswith("level_") for name in table[0])
    placed = [row for row in table if row["cluster"] != "-1"]
    assert nmi([r["theme"] for r in placed], [r["coterie_theme"] for r in placed]) > 0.9


def test_the_other_files_agree_with_the_table(done: Path) -> None:
    table = [row for row in rows(done / "assignments.csv") if row["cluster"] != "-1"]
    saved = json.loads((done / "levels.json").read_text())
    (level,) = saved["levels"]
    assert saved["themes"] is True
    sizes = Counter(row["theme_name"] for row in table)
    assert {c["name"]: c["size"] for c in level["clusters"]} == sizes
    names = {c["id"]: c["name"] for c in level["clusters"]}
    clusters = json.loads((done / "clusters.json").read_text())["clusters"]
    for cluster in clusters:
        row = next(row for row in table if row["cluster"] == str(cluster["id"]))
        assert cluster["parent_name"] == names[cluster["parent"]] == row["theme_name"]
    book = openpyxl.load_workbook(done / "clusters.xlsx")
    header, *body = book["clusters"].values
    assert header[-1] == "theme"
    assert {row[0]: row[-1] for row in body} == {c["id"]: c["parent_name"] for c in clusters}
    sheet = openpyxl.load_workbook(done / "assignments.xlsx").active
    header, *body = sheet.values
    assert {type(row[header.index("coterie_theme")]) for row in body} == {int}


def test_predict_gives_the_theme(done: Path, file: Path) -> None:
    out = done.parent / "new.csv"
    run("predict", done, file, "--text-column", "text", "--out", out)
    before, after = rows(done / "assignments.csv"), rows(out)
    for name in ("cluster", "coterie_theme", "theme_name"):
        assert [row[name] for row in after] == [row[name] for row in before]


def test_a_number_that_is_given_makes_no_themes(file: Path) -> None:
    out = file.parent / "given"
    result = run("cluster", file, *OPTIONS, "--text-column", "text", "-k", "16", "--out", out)
    assert not (out / "levels.json").exists() and "broad theme" not in result.output
    assert [name for name in rows(out)[0] if "theme" in name] == ["theme"]  # of the input
    assert len(json.loads((out / "clusters.json").read_text())["clusters"]) == 16
    assert "broad themes." not in (out / "report.html").read_text("utf-8")


def test_edits_keep_the_themes_up_to_date(done: Path, tmp_path: Path) -> None:
    run_ = shutil.copytree(done, tmp_path / "run")
    before = json.loads((run_ / "levels.json").read_text())["levels"][0]
    largest = max(before["clusters"], key=lambda c: c["size"])["id"]
    one, other = [int(c) for c, t in before["of_cluster"].items() if t == largest][:2]
    coterie.edit(run_, [{"rename": {one: "Renamed"}}])
    same = json.loads((run_ / "levels.json").read_text())["levels"][0]
    assert same["of_cluster"] == before["of_cluster"]
    coterie.edit(run_, [{"merge": [one, other]}])
    table = rows(run_ / "assignments.csv")
    after = json.loads((run_ / "levels.json").read_text())["levels"][0]
    assert len(after["of_cluster"]) == len(before["of_cluster"]) - 1
    names = {c["id"]: c["name"] for c in after["clusters"]}
    for row in table:
        if row["cluster"] != "-1":
            place = after["of_cluster"][row["cluster"]]
            assert (row["coterie_theme"], row["theme_name"]) == (str(place), names[place])
    assert [name for name in table[0] if "theme" in name] == [
        "theme", "coterie_theme", "theme_name"
    ]  # fmt: skip
    summary = json.loads((run_ / "manifest.json").read_text())["summary"]
    k, n = len(after["of_cluster"]), len(after["clusters"])
    assert f"The {k} clusters form {n} broad themes (column theme_name)." in summary


def test_edits_that_leave_too_few_clusters_take_the_themes_away(done: Path, tmp_path: Path) -> None:
    run_ = shutil.copytree(done, tmp_path / "run")
    ids = [c["id"] for c in json.loads((run_ / "clusters.json").read_text())["clusters"]]
    coterie.edit(run_, [{"merge": ids[1:]}])
    assert [name for name in rows(run_ / "assignments.csv")[0] if "theme" in name] == ["theme"]
    assert json.loads((run_ / "levels.json").read_text())["levels"] == []
    assert "broad themes" not in (run_ / "report.html").read_text("utf-8")
    new, given = tmp_path / "new.csv", done.parent / "in.csv"
    run("predict", run_, given, "--text-column", "text", "--out", new)
    assert "theme_name" not in rows(new)[0]


def test_a_fitted_model_has_themes(texts, tmp_path: Path) -> None:
    given = [text for text, _ in texts]
    model = coterie.TwoStep(16, encoder="tfidf-svd", random_state=0).fit(given)
    found = coterie.broad_themes(model, given)
    (themes,), (above,) = found.levels, found.above
    assert 3 <= len(themes) <= 12 and set(above) == set(range(16))
    assert sum(theme.size for theme in themes) == len(given)
    assert len({theme.name for theme in themes}) == len(themes)
    columns = found.columns(model.labels_, [""] * len(given))
    assert list(columns) == ["theme", "theme_name"]
    assert columns["theme"] == [above[int(label)] for label in model.labels_]
    assert len(coterie.broad_themes(model, given, n_themes=5).levels[0]) == 5
    page = model.report(tmp_path / "page.html", given, levels="themes").read_text("utf-8")
    assert f"16 clusters in {len(themes)} broad themes." in page
    assert '"first":"broad theme"' in page and '"name":"broad theme"' in page
    with raises(coterie.errors.UsageError, "should be an integer of", "n_themes"):
        coterie.broad_themes(model, given, n_themes=0)
    with raises(coterie.errors.UsageError, "clusters to group", "16"):
        coterie.broad_themes(model, given, n_themes=16)
    with raises(coterie.errors.UsageError, "levels` should be", "'broad'"):
        model.report(tmp_path / "page.html", given, levels="broad")
    small = coterie.TwoStep(4, encoder="tfidf-svd", random_state=0).fit(given)
    assert coterie.broad_themes(small, given).levels == []


def test_themes_of_a_run_on_a_sample_count_all_rows(file: Path) -> None:
    out = file.parent / "sampled"
    options = ["--text-column", "text", "--fit-sample", "250", "--write", "parquet"]
    result = run("cluster", file, *OPTIONS, *options, "--out", out)
    assert json.loads((out / "manifest.json").read_text())["fit_sample"] == 250
    table = rows(out / "assignments.csv")
    (level,) = json.loads((out / "levels.json").read_text())["levels"]
    sizes = Counter(int(row["coterie_theme"]) for row in table if row["cluster"] != "-1")
    assert {c["id"]: c["size"] for c in level["clusters"]} == sizes
    assert "broad themes (column theme_name)" in result.output
    import pyarrow.parquet as pq

    parquet = pq.read_table(out / "assignments.parquet")
    assert parquet["coterie_theme"].to_pylist() == [int(row["coterie_theme"]) for row in table]
