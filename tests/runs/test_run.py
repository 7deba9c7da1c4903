"""The product as a Python object: what ``coterie.cluster`` gives, keeps and gives back."""

import json
from datetime import date, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import commands
import coterie
from coterie.errors import CoterieError, DataError, UsageError
from coterie.texts.words import cutting
from said import raises

FRUIT = ["red apple", "green apple", "ripe apple", "sweet apple", "sour apple", "apple pie"]
CARS = ["fast car", "slow car", "old car", "new car", "car wash", "blue car"]
TEXTS = [*FRUIT, *CARS]
KMEANS = {"method": "kmeans", "encoder": "tfidf"}
SAME = ["assignments.csv", "clusters.json", "map.json"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> coterie.Run:
    return coterie.cluster(TEXTS, 2, folder=tmp_path_factory.mktemp("runs") / "run", **KMEANS)


def test_a_run_has_table_clusters_model_and_manifest(run: coterie.Run) -> None:
    assert run.table["text"].to_pylist() == TEXTS
    assert run.labels.tolist() == run.model.labels_.tolist()
    assert [c.size for c in run.clusters] == [6, 6] and run.levels == []
    assert run.manifest["method"] == "kmeans" and run.manifest["parameters"]["n_clusters"] == 2
    assert run.summary == run.manifest["summary"]
    assert repr(run) == "Run of 12 texts in 2 clusters"


def test_sentences_are_made_from_facts_and_never_read_back(run: coterie.Run, tmp_path) -> None:
    run = coterie.open_run(coterie.open_run(run.folder).save(tmp_path / "run"))
    manifest = json.loads((run.folder / "manifest.json").read_text("utf-8"))
    manifest["summary"] = ["1 of 1 texts are in 1 cluster.", "Nobody said this."]
    (run.folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    run.edit([{"rename": {0: "First"}}])
    sizes, themes, *_, sure, edited = coterie.open_run(run.folder).summary
    assert "“First” (50%)" in themes
    assert "12 of 12 texts are in 2 clusters" in sizes and "1 edit" in edited
    mean = sum(run.table["confidence"].to_pylist()) / 12
    assert f"{mean:.2f}" in sure
    assert "Nobody said this" not in (run.folder / "report.html").read_text("utf-8")


def test_a_run_without_a_segmenter_tells_once_how_to_get_better_names(monkeypatch) -> None:
    monkeypatch.setattr(cutting, "segmenter", lambda language: None)
    texts = ["返金してください", "返金はまだですか", "画面が割れた", "画面が暗い"]
    told = [said for said in coterie.cluster(texts, 2, **KMEANS).summary if "segment" in said]
    assert len(told) == 1 and "Japanese" in told[0] and "coterie[segment]" in told[0]


def test_new_texts_get_cluster_and_name(run: coterie.Run) -> None:
    found = run.predict(["an apple", "", "the car"])
    assert found["text"].to_pylist() == ["an apple", "", "the car"]
    assert found["cluster"].to_pylist() == [run.labels[0], -1, run.labels[-1]]
    names = {c.id: c.name for c in run.clusters}
    assert found["name"].to_pylist() == [names[run.labels[0]], "(no text)", names[run.labels[-1]]]


def test_a_table_keeps_its_columns() -> None:
    table = pd.DataFrame({"nr": range(12), "body": TEXTS})
    run = coterie.cluster(table, 2, text_column="body", id_column="nr", **KMEANS)
    assert list(run.table)[:3] == ["nr", "body", "cluster"]
    assert run.manifest["data"]["id_column"] == "nr"
    with raises(DataError, "there is no column", "'number'"):
        coterie.cluster(table, 2, text_column="body", id_column="number", **KMEANS)


GIVEN = {
    "whole": pa.array([*range(11), None], pa.int32()),
    "price": pa.array([i / 7 for i in range(11)] + [None]),
    "open": pa.array([True, False, None] * 4),
    "day": pa.array([date(2024, 1, 1 + i) for i in range(12)]),
    "when": pa.array([datetime(2024, 1, 1, i, 30) for i in range(12)], pa.timestamp("ns")),
    "where": pa.array(
        [datetime(2024, 1, 1, i) for i in range(12)], pa.timestamp("us", "Asia/Tokyo")
    ),
    "code": pa.array([f"00{i}" for i in range(12)]),
    "text": pa.array(TEXTS),
}


@pytest.mark.parametrize("sample", [0, 4], ids=["whole", "sampled"])
def test_columns_keep_their_types(tmp_path: Path, sample: int) -> None:
    given = pa.table(GIVEN)
    pyarrow.parquet.write_table(given, tmp_path / "a.parquet")
    options = {"text_column": "text", "fit_sample": sample, **KMEANS}
    made = coterie.cluster(given, 2, folder=tmp_path / "run", **options)
    read = coterie.cluster(tmp_path / "a.parquet", 2, **options)
    assert made.manifest.get("fit_sample", 0) == sample
    for run in (made, coterie.open_run(tmp_path / "run"), read):
        assert run.table.select(list(GIVEN)).equals(given)
        assert run.table["outlier"].to_pylist() == [False] * 12
    made.edit([{"rename": {0: "First"}}])
    assert made.table.select(list(GIVEN)).equals(given)
    assert made.predict(given).select(list(GIVEN)).equals(given)


def test_categories_of_a_frame_stay_categories() -> None:
    given = pd.DataFrame({"text": TEXTS, "kind": pd.Categorical(["b", "a"] * 6)})
    given["year"] = pd.Categorical([2025, 2026] * 6)
    table = coterie.cluster(given, 2, **KMEANS).table
    assert [str(table[name].dtype) for name in ("kind", "year")] == ["category"] * 2
    assert table["kind"].tolist() == ["b", "a"] * 6 and table["year"].tolist() == [2025, 2026] * 6


def test_an_update_keeps_the_types_that_still_fit(tmp_path: Path) -> None:
    given = pa.table({"nr": range(12), "size": range(12), "text": TEXTS})
    run = coterie.cluster(given, 2, text_column="text", folder=tmp_path / "run", **KMEANS)
    run.update(pa.table({"nr": [12], "size": ["large"], "text": ["an apple"]}))
    assert run.table["nr"].to_pylist() == list(range(13))
    assert run.table["size"].to_pylist() == [*map(str, range(12)), "large"]


def test_a_table_becomes_a_frame_in_which_whole_numbers_stay_whole() -> None:
    run = coterie.cluster(pa.table({"nr": range(13), "text": [*TEXTS, ""]}), 2, **KMEANS)
    frame = run.to_pandas()
    assert [*frame] == run.table.column_names and frame["text"].tolist() == [*TEXTS, ""]
    assert frame["runner_up"].tolist() == [*run.table["runner_up"].to_pylist()[:-1], pd.NA]
    assert [str(frame[name].dtype) for name in ("nr", "cluster", "outlier", "runner_up")] == [
        "int64", "int64", "bool", "Int64",
    ]  # fmt: skip
    given = coterie.cluster(frame[["text"]], 2, **KMEANS)
    assert given.to_pandas() is given.table


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(12), pd.Index(list("abcdefghijkl")), pd.Index(range(5, 17), name="name"),
        pd.MultiIndex.from_product([["x", "y"], range(6)], names=["side", None]),
    ],
    ids=["range", "letters", "named", "two levels"],
)  # fmt: skip
def test_a_frame_comes_back_with_its_index(index: pd.Index) -> None:
    frame = pa.table(GIVEN).drop_columns(["whole", "open"]).to_pandas().set_axis(index)
    run = coterie.cluster(frame, 2, text_column="text", **KMEANS)
    for found in (run.table, run.predict(frame, text_column="text")):
        assert found["outlier"].dtype == bool
        pd.testing.assert_frame_equal(found[list(frame)], frame)
    series = run.predict(frame["text"].rename_axis(index=["name"] * index.nlevels))
    assert series.index.equals(index) and set(series["name"]) <= {c.name for c in run.clusters}
    assert series["text"].tolist() == TEXTS
    assert isinstance(run.predict(pa.table(GIVEN), text_column="text"), pa.Table)


def test_the_command_and_the_function_write_the_same_files(run: coterie.Run, tmp_path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    commands.run("cluster", file, "-k", 2, "-m", "kmeans", "--encoder", "tfidf", "-q")
    for name in SAME:
        own = (run.folder / name).read_bytes()
        assert (tmp_path / "texts.clusters" / name).read_bytes() == own, name


def test_a_text_is_no_file_and_no_texts_are_no_file_without_rows(run: coterie.Run) -> None:
    with raises(UsageError, "to predict a single", "'a text of mine'"):
        run.predict("a text of mine")
    with raises(UsageError, "there is no file"):
        run.predict("absent.csv")
    with raises(DataError, "there are no texts"):
        coterie.cluster([], 2, **KMEANS)


def test_without_a_folder_the_run_is_temporary_until_saved(tmp_path: Path) -> None:
    run = coterie.cluster(TEXTS, 2, **KMEANS)
    first = run.folder
    assert (first / "report.html").exists()
    run.save(tmp_path / "kept")
    assert not first.exists() and run.folder == tmp_path / "kept"
    assert coterie.open_run(tmp_path / "kept").clusters == run.clusters
    with raises(UsageError, "holds a run"):
        coterie.cluster(TEXTS, 3, **KMEANS).save(tmp_path / "kept")
    coterie.cluster(TEXTS, 3, **KMEANS).save(tmp_path / "kept", overwrite=True)
    assert len(coterie.open_run(tmp_path / "kept").clusters) == 3


def test_a_temporary_run_is_deleted_with_the_object_and_in_silence() -> None:
    import gc
    import warnings

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        run = coterie.cluster(TEXTS, 2, **KMEANS)
        folder = run.folder
        assert folder.exists()
        del run
        gc.collect()
    assert not folder.exists() and not folder.parent.exists()
    assert not [w for w in said if "Implicitly cleaning up" in str(w.message)]


def test_levels_outliers_page_export_and_comparison(tmp_path: Path) -> None:
    run = coterie.cluster(TEXTS, levels=[2, 4], max_outliers="10%", **KMEANS)
    assert [len(level) for level in run.levels] == [2] and len(run.clusters) == 4
    assert "nearest_cluster" in run.table.column_names
    page = run.report(tmp_path / "page.html", texts=False)
    assert page.exists() and "sour apple" not in page.read_text(encoding="utf-8")
    assert run.report() == run.folder / "report.html"
    done = run.export("parquet", out=tmp_path)
    assert [file.name for file in done.files] == ["assignments.parquet"]
    assert run.compare(run).moved == 0


@pytest.mark.parametrize(
    ("options", "key", "values"),
    [
        ({"n_clusters": 0}, "should be greater than", {"name": "n_clusters", "minimum": 1}),
        ({"n_clusters": 40}, "that is more than", {"n_clusters": 40, "distinct": 12}),
        ({"method": "kmean"}, "should be one of", {"hint": " Did you mean 'kmeans'?"}),
        ({"levels": [5, 3]}, "the numbers do", {"levels": "5,3"}),
        ({"write": ["docx"]}, "should be 'csv'", {"name": "write"}),
        ({"max_outliers": "many"}, "should be a share", {}),
        ({"fit_sample": -1}, "should be greater", {"name": "fit_sample", "given": "-1"}),
        ({"levels": 5}, "should be a list", {"name": "levels"}),
        ({"effort": "besst"}, "should be", {"hint": "Did you mean 'best'?"}),
        ({"effort": "best"}, "does not take it", {"method": "kmeans"}),
    ],
)
def test_impossible_options_are_named_as_python_has_them(
    options: dict, key: str, values: dict
) -> None:
    with raises(CoterieError, key, map(str, values.values())) as caught:
        coterie.cluster(TEXTS, **{"n_clusters": 2, **KMEANS, **options})
    assert "--" not in str(caught.value)


def test_a_notebook_shows_clusters_and_map_with_everything_escaped() -> None:
    run = coterie.cluster([f"<b>{text}</b>" for text in TEXTS], 2, **KMEANS)
    run.edit([{"rename": {0: "<script>alert(1)</script>"}}])
    shown = run._repr_html_()
    assert shown.count("<circle") == 12 and "<table>" in shown and "href" not in shown
    assert "What are these texts about?" in shown and "&lt;b&gt;" in shown  # an example
    assert "<script>" not in shown and "&lt;script&gt;" in shown
