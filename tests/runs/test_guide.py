"""Themes and labels of a run: read, used, shown, and refused where they are wrong."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import commands
from coterie import cluster, cut, open_run
from coterie.errors import DataError, UsageError
from coterie.runs.guide import read_themes
from said import raises
from trees import THINGS, nested_texts, whole

FRUIT = ["red apple", "green apple", "ripe apple pie", "sour apple", "apple tart"]
CARS = ["fast car", "slow car", "old car", "new car wheels", "car wash"]
SKY = ["blue sky", "clear sky", "dark sky", "sky above", "sky at night"]
TEXTS = [*FRUIT, *CARS, *SKY]
SOME = ["fruit", *[None] * 4, "cars", *[None] * 9]
WITH = {"method": "kmeans", "encoder": "tfidf"}


def sizes(run) -> dict[str, int]:
    return {c.name: c.size for c in run.clusters}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["id", "text", "topic"])
        for number, (text, label) in enumerate(zip(TEXTS, SOME, strict=True)):
            out.writerow([f"r{number}", text, label or ""])
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_classes_keep_their_names_and_others_are_found() -> None:
    run = cluster(TEXTS, 3, labels=SOME, **WITH)
    assert [c.name for c in run.clusters[:2]] == ["cars", "fruit"]
    assert sizes(run)["fruit"] == 5 and sizes(run)["cars"] == 5
    assert run.manifest["guidance"]["given"] == ["cars", "fruit"]
    assert run.manifest["guidance"]["found"] == 1
    assert any("2 classes were given by 2 labelled rows" in line for line in run.summary)
    assert run.predict(["green car"])["name"].to_pylist() == ["cars"]


def test_the_summary_agrees_with_the_number_of_given_classes() -> None:
    """More classes than would be suggested; and no other levels than the run has."""
    places = "north south east west hill lake town farm road wood beach isle".split()
    texts = [f"{text} {place}" for place in places for text in TEXTS]
    plain = cluster(texts, encoder="tfidf", seed=0)
    suggested = plain.manifest["number_of_clusters"]["n_clusters"]
    labels = [f"class {i}" for i in range(suggested + 5)]
    labels += [None] * (len(texts) - len(labels))
    run = cluster(texts, labels=labels, encoder="tfidf", seed=0)
    assert len(run.clusters) > suggested
    [said] = [sentence for sentence in run.summary if "plausible" in sentence]
    assert f"There are {len(run.clusters)} clusters" in said and f"{suggested} were sugg" in said
    assert "were given" in said and not any("fine" in sentence for sentence in run.summary)
    [said] = [sentence for sentence in plain.summary if "plausible" in sentence]
    assert said.startswith(f"About {suggested} clusters")


def test_only_clusters_with_texts_are_counted_as_found_beside() -> None:
    run = cluster(TEXTS, 4, labels=["all"] * len(TEXTS), **WITH)
    assert sizes(run) == {"all": len(TEXTS)}
    assert not any("beside" in line for line in run.summary)


def test_only_known_makes_no_other_cluster(tmp_path: Path) -> None:
    run = cluster(TEXTS, labels=SOME, only_known=True, folder=tmp_path / "run", **WITH)
    assert sizes(run).keys() == {"cars", "fruit"}
    assert open_run(tmp_path / "run").model.classes_ == ("cars", "fruit")


def test_a_theme_gets_its_texts_and_another_is_empty() -> None:
    themes = [{"name": "Orchard", "keywords": ["apple", "pie"]}, "volcano"]
    run = cluster(TEXTS, 3, themes=themes, **WITH)
    assert run.clusters[0].name == "Orchard" and run.labels[:5].tolist() == [0] * 5
    assert (
        run.manifest["guidance"] | {"given": ["Orchard"], "empty": ["volcano"], "found": 2}
        == (run.manifest["guidance"])
    )
    assert any("no text fits: volcano" in line for line in run.summary)
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "volcano" in page and len(re.findall("<small>given", page)) == 2  # table and cluster


def test_the_command_reads_all_of_it(table: Path, tmp_path: Path) -> None:
    themes = written(tmp_path / "themes.yaml", "- name: fruit\n  keywords: [apple]\n- volcano\n")
    out = tmp_path / "out"
    arguments = f"cluster {table} -k 3 -m kmeans --encoder tfidf --text-column text -o {out} -q"
    arguments += f" --id-column id --labels topic --themes {themes}"
    commands.run(*arguments.split())
    run = open_run(out)
    assert run.manifest["guidance"]["empty"] == ["volcano"]
    assert {"fruit", "cars"} < set(sizes(run))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "there are no themes"),
        ("- description: no name\n", "characters that can be seen"),
        ("- name: a\n  keywords: {b: c}\n", "should be a text"),
        ("- !!python/object/apply:os.system [ls]\n", "characters that can be seen"),
        ("- a: [\n", "this is not YAML"),
    ],
)
def test_bad_files_are_rejected_and_nothing_is_written(
    text: str, part: str, table: Path, tmp_path: Path
) -> None:
    given = {"themes": written(tmp_path / "given.yaml", text), "folder": tmp_path / "out"}
    with raises(DataError, part):
        cluster(table, 3, id_column="id", text_column="text", **given, **WITH)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "kind", "key"),
    [
        ({"labels": "colour"}, DataError, "there is no column"),
        ({"labels": "text"}, UsageError, "this is the column"),
        ({"labels": [None] * 15}, DataError, "no row has a label"),
        ({"labels": "topic", "n_clusters": 1}, UsageError, "known classes, but"),
        ({"labels": "topic", "method": "ward"}, UsageError, "cannot use it; take"),
        ({"only_known": True}, UsageError, "needs"),
        ({"only_known": True, "n_clusters": 3}, UsageError, "the known classes"),
        ({"themes": "no.yaml"}, UsageError, "there is no file"),
        ({"themes": {"a": 1}}, UsageError, "should be"),
        ({"themes": ["volcano"], "only_known": True}, UsageError, "allows no other cluster"),
        ({"labels": "topic", "fit_sample": 9}, UsageError, "texts is fitted"),
    ],
)
def test_impossible_options_write_nothing(options, kind, key, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with raises(kind, key):
        cluster(table, text_column="text", folder=out, **(WITH | options))
    assert not out.exists()


def test_whole_numbers_stay_whole_in_a_table_with_gaps() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": TEXTS, "code": [3, *[None] * 4, 12, *[None] * 9]})
    run = cluster(frame, 3, text_column="text", labels="code", **WITH)
    assert run.manifest["guidance"]["given"] == ["12", "3"]


def test_themes_of_a_file_in_json_and_yaml(tmp_path: Path) -> None:
    asked = {"Refunds": ("Refunds", "Refunds: money back", "refund, money", "Where is my money?")}
    yaml = "- name: Refunds\n  description: money back\n  keywords: [refund, money]\n"
    yaml += "  examples: Where is my money?\n"
    assert read_themes(written(tmp_path / "a.yaml", yaml)) == asked
    assert read_themes(written(tmp_path / "b.json", '["Refunds"]')) == {"Refunds": ("Refunds",)}


@pytest.mark.parametrize(
    "given",
    [
        {"labels": [name for name in THINGS for _ in range(32)]},
        {"themes": [{"name": "Post office", "keywords": THINGS["post"]}, "hedge"]},
    ],
    ids=lambda given: next(iter(given)),
)
def test_classes_are_the_finest_clusters_of_a_merge_tree(given, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    cluster(nested_texts(), encoder="tfidf-svd", folder=folder, **given)
    before = whole(folder)
    names = before.facts["guidance"]["given"]
    assert [before.names[i] for i in range(len(names))] == names
    assert {*range(len(names))} <= {*before.names} == {*before.tree.leaves}
    cut(folder, 2)
    assert not {*names} - {*whole(folder).all_names.values()}
    cut(folder, "medium")
    assert whole(folder).names == before.names
