"""New rows in a finished run: old rows stay, new themes become new clusters."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import commands
import coterie
from commands import rows
from commands import run as call
from coterie.arrays.assign import LinearAssigner
from coterie.arrays.novelty import place_new
from coterie.arrays.ridge import RidgeClassifier
from coterie.errors import UsageError
from coterie.runs import open_run
from coterie.runs.added import fit_classifier, held_out, learn_new
from coterie.runs.editing import edit, undo
from coterie.runs.update import update
from said import raises, says
from trees import members, whole
from whole_runs import read_whole

THEMES = {
    "fruit": "apple pear plum peach cherry grape lemon melon fig mango berry kiwi",
    "cars": "engine wheel brake clutch gear tyre bumper mirror seat horn fuel oil",
    "music": "guitar piano drum violin flute chord song tune band choir concert note",
    "weather": "rain snow wind storm cloud sun fog hail frost thunder breeze heat",
    "boats": "sail mast anchor deck harbour rudder keel rope oar cabin tide captain",
    "games": "chess dice card board pawn king puzzle player score token bishop rook",
}
OLD = ["fruit", "cars", "music", "weather"]


def sentences(theme: str, n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    words = THEMES[theme].split()
    return [" ".join(rng.choice(words, 5, replace=False)) for _ in range(n)]


def mixed(n: int, seed: int) -> list[str]:
    """Texts of many themes, so that the vocabulary knows the words of later ones."""
    rng = np.random.default_rng(seed)
    words = " ".join(THEMES.values()).split()
    return [" ".join(rng.choice(words, 6, replace=False)) for _ in range(n)]


def write(path: Path, texts: list[str], first: int = 0) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["ticket", "text", "day"])
        for i, text in enumerate(texts, first):
            writer.writerow([f"T-{i}", text, f"2026-0{1 + i % 3}-1{i % 9}"])
    return path


def content(run: Path) -> dict[str, bytes]:
    """Every file of a run, to the byte."""
    return commands.content(run)


def names(run: Path) -> dict[int, str]:
    return {c.id: c.name for c in open_run(run).clusters}


def old_texts() -> list[str]:
    texts = [text for i, theme in enumerate(OLD) for text in sentences(theme, 40, i)]
    return [*texts, *mixed(40, 9)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("update")
    file = write(folder / "old.csv", old_texts())
    coterie.cluster(file, 4, "kmeans", encoder="tfidf", folder=folder / "run", id_column="ticket")
    return folder / "run"


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return open_run(made).save(tmp_path / "run")


@pytest.fixture
def boats(tmp_path: Path) -> Path:
    """Thirty texts of a theme that the run does not know."""
    return write(tmp_path / "boats.csv", sentences("boats", 30, 50), 1000)


@pytest.fixture
def same(tmp_path: Path) -> Path:
    """Ten texts of each theme that the run knows."""
    texts = [text for i, theme in enumerate(OLD) for text in sentences(theme, 10, 70 + i)]
    return write(tmp_path / "same.csv", texts, 5000)


def test_old_rows_stay_and_a_new_theme_is_a_new_cluster(run: Path, boats: Path) -> None:
    table, called = (run / "assignments.csv").read_bytes(), names(run)
    done = update(run, boats)
    after = (run / "assignments.csv").read_bytes()
    assert after.startswith(table)
    assert (done.rows, done.written, done.number) == (30, True, 1)
    (new,) = done.new
    together = [r for r in rows(run)[-30:] if r["cluster"] == str(new.id)]
    assert len(together) >= 25
    assert new.id == 7  # 4 to 6 are unions of the tree
    assert {i: n for i, n in names(run).items() if i in called} == called
    assert [r["ticket"] for r in rows(run)[-30:]] == [f"T-{i}" for i in range(1000, 1030)]
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    assert manifest["data"]["rows"] == len(old_texts()) + 30
    assert manifest["updates"][0]["new"] == [new.id]
    read_whole(run)


def test_texts_of_old_themes_join_old_clusters(run: Path, same: Path) -> None:
    before = {row["text"]: row["cluster"] for row in rows(run)}
    assert update(run, same).new == ()
    homes = [{before[t] for t in sentences(theme, 40, i)} for i, theme in enumerate(OLD)]
    found = [r["cluster"] for r in rows(run)[-40:]]
    right = [found[i] in homes[i // 10] for i in range(40)]
    assert sum(right) >= 36


def test_the_model_assigns_every_row_as_the_table_does(run: Path, boats: Path) -> None:
    update(run, boats)
    opened = open_run(run)
    table = opened.table
    again = opened.predict(table["text"].to_pylist(), text_column=None)
    assert again["cluster"].to_pylist() == table["cluster"].to_pylist()
    assert again["name"].to_pylist() == table["name"].to_pylist()


def test_edits_stay(run: Path, boats: Path) -> None:
    done = edit(run, [{"merge": [0, 1], "name": "Joined"}, {"split": {"cluster": 2, "into": 2}}])
    edit(run, [{"rename": {3: "Third"}}, {"move": {"rows": [{"row": 1}], "to": 7}}])
    before, called = (run / "assignments.csv").read_bytes(), names(run)
    assert 1 not in called and len(called) == len(done.clusters)
    found = update(run, boats)
    assert (run / "assignments.csv").read_bytes().startswith(before)
    assert all(names(run)[i] == called[i] for i in called)
    assert [c.id for c in found.new] == [9]  # 7 and 8 are parts of the split, 1 is retired
    moved = rows(run)[0]["text"]
    assert open_run(run).predict([moved])["cluster"].to_pylist() == [7]
    edit(run, [{"rename": {9: "Boats"}}])  # and edits go on after it
    assert names(run)[9] == "Boats"


def test_updates_in_a_row_and_their_undo(run: Path, boats: Path, tmp_path: Path) -> None:
    start = content(run)
    update(run, boats)
    one, lines = content(run), (run / "assignments.csv").read_bytes()
    games = write(tmp_path / "games.csv", sentences("games", 20, 60), 2000)
    second = update(run, games)
    assert second.number == 2
    assert (run / "assignments.csv").read_bytes().startswith(lines)
    assert [c.id for c in second.new] == [9]
    more = write(tmp_path / "more.csv", sentences("boats", 10, 80), 3000)
    third = update(run, more)
    assert third.new == ()
    assert sum(r["cluster"] == "7" for r in rows(run)[-10:]) >= 8  # the boats of the first update
    undo(run)
    undo(run)
    assert content(run) == one
    assert open_run(run).undo() == 1
    assert content(run) == start


def test_rows_that_were_added_are_not_added_again(run: Path, tmp_path: Path) -> None:
    texts = sentences("fruit", 8, 90)
    assert open_run(run).update(texts).rows == 8
    before = content(run)
    done = open_run(run).update(texts)
    assert (done.number, done.rows, done.written) == (0, 0, False)
    assert content(run) == before


def test_texts_that_come_again_in_other_rows_are_added(run: Path, tmp_path: Path) -> None:
    for first in (700, 800):  # the same text under another id
        assert update(run, write(tmp_path / "one.csv", ["apple pear plum"], first)).rows == 1
    assert [row["ticket"] for row in rows(run)[-2:]] == ["T-700", "T-800"]


def test_the_rows_that_a_run_was_made_of_are_not_added(tmp_path: Path) -> None:
    file = write(tmp_path / "old.csv", [*old_texts(), "", "apple\npear"])
    run = coterie.cluster(file, 4, "kmeans", encoder="tfidf", text_column="text")
    assert not run.update(file).written


def test_a_list_of_files_is_read(run: Path, tmp_path: Path) -> None:
    files = [write(tmp_path / f"{i}.csv", sentences("fruit", 5, 90 + i), 900 + i) for i in (0, 9)]
    assert open_run(run).predict(files)["ticket"].to_pylist()[-1] == "T-913"
    assert open_run(run).update(files).rows == 10


def test_notes_count_the_rows_of_the_file(run: Path, tmp_path: Path) -> None:
    part = write(tmp_path / "part.csv", ["apple", "pear", "plum", "", "fig"], 700)
    done = update(run, part)
    assert says("; ".join(done.notes), "(4): no text")
    assert says(done.sentences()[0], "5 rows added, none of them in a new cluster")


def test_whole_numbers_that_pandas_made_floats_are_the_same_ids(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": range(200), "text": old_texts()})
    made = coterie.cluster(frame, 4, "kmeans", encoder="tfidf", id_column="n")
    new = pandas.DataFrame({"n": [7, 300, None], "text": sentences("fruit", 3, 90)})
    with raises(Exception, "which the run has"):
        made.update(new)
    assert made.update(new[1:]).rows == 2
    assert made.table["n"].tolist()[-2] == 300


def test_ids_that_the_run_has(run: Path, tmp_path: Path) -> None:
    before = content(run)
    part = write(tmp_path / "part.csv", sentences("fruit", 8, 91), len(old_texts()) - 3)
    with raises(Exception, "which the run has", "1", "3"):
        update(run, part)
    assert content(run) == before


def test_new_rows_with_one_id(run: Path, tmp_path: Path) -> None:
    before = content(run)
    part = tmp_path / "part.csv"
    part.write_text("ticket,text\nN,ripe plum\nM,old gear\nN,ripe pear\n,fig\n,kiwi\n", "utf-8")
    result = call("update", run, part, code=3)
    assert says(result.output, "in all); give each", "1", "3", "'N'", "1 such id")
    rows = [{"ticket": "N", "text": "ripe plum"}, {"ticket": "N", "text": "ripe pear"}]
    with raises(Exception, "in all); give each", "1", "2"):
        open_run(run).update(rows)
    with raises(UsageError, "should be one of"):
        open_run(run).update(rows, id_column="other")
    assert content(run) == before
    call("update", run, part, "--id-column", "none")
    assert open_run(run).state.column("ticket")[-5:] == [""] * 5


def test_bad_input_is_refused_and_nothing_written(run: Path, tmp_path: Path) -> None:
    before = content(run)
    other = tmp_path / "other.csv"
    other.write_text("name,remark\na,red apple\nb,old car\n", "utf-8")
    result = call("update", run, other, code=2)
    assert says(result.output, "which holds the")
    call("update", run, other, "--text-column", "nothing", code=3)
    empty = tmp_path / "empty.csv"
    empty.write_text("", "utf-8")
    call("update", run, empty, code=3)
    for header in ("ticket,text", "text", "ticket,text,day"):
        empty.write_text(f"{header}\n", "utf-8")
        result = call("update", run, empty, code=3)
        assert says(result.output, "is empty; give a")
    only = tmp_path / "only.csv"
    only.write_text("ticket,text\nT-x,\nT-y,...\n", "utf-8")
    call("update", run, only, code=3)
    call("update", run, tmp_path / "none.csv", code=2)
    call("update", tmp_path, other, code=3)
    assert content(run) == before


def test_a_dry_run_writes_nothing(run: Path, boats: Path) -> None:
    before = content(run)
    result = call("update", run, boats, "--dry-run", "--json")
    said = json.loads(result.stdout)
    assert (said["rows"], said["written"], len(said["new"])) == (30, False, 1)
    assert content(run) == before


def test_other_columns(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "columns.csv"
    file.write_text('text,extra\n"pear, plum",1\n"snow wind storm",2\n', "utf-8")
    done = update(run, file)
    assert len(done.notes) >= 2
    last = rows(run)[-2:]
    assert [r["text"] for r in last] == ["pear, plum", "snow wind storm"]
    assert [r["ticket"] for r in last] == ["", ""]
    assert "extra" not in last[0]


def test_levels_outliers_and_exports_grow_with_the_run(tmp_path: Path, boats: Path) -> None:
    file = write(tmp_path / "old.csv", old_texts())
    run = tmp_path / "run"
    more = {"levels": (2, 6), "max_outliers": "10%", "write": ["jsonl"]}
    coterie.cluster(file, "auto", "kmeans", encoder="tfidf", folder=run, **more)
    table = (run / "assignments.csv").read_bytes()
    above = [[(c.id, c.name) for c in level] for level in open_run(run).levels]
    done = update(run, boats)
    assert (run / "assignments.csv").read_bytes().startswith(table)
    opened = open_run(run)
    for level, before in zip(opened.levels, above, strict=True):
        assert {*before} <= {(c.id, c.name) for c in level}
    assert len((run / "assignments.jsonl").read_text("utf-8").splitlines()) == len(rows(run))
    for new in done.new:
        inside = [r for r in rows(run) if r["cluster"] == str(new.id)]
        assert len({r["level_1_name"] for r in inside}) == 1
    assert opened.manifest["outliers"]["marked"] == sum(r["outlier"] == "yes" for r in rows(run))
    read_whole(run)


def test_a_new_cluster_of_a_run_with_outliers_has_rows(tmp_path: Path) -> None:
    run = tmp_path / "run"
    file = write(tmp_path / "old.csv", old_texts())
    coterie.cluster(file, 4, "kmeans", encoder="tfidf", folder=run, max_outliers="30%")
    new = [*sentences("boats", 8, 50), *sentences("games", 8, 51)]
    done = update(run, write(tmp_path / "new.csv", new, 1000))
    assert len(done.new) == 2
    for cluster in done.new:  # also the one whose rows are all further away than the limit
        assert any(row["cluster"] == str(cluster.id) for row in rows(run))
    edit(run, [{"rename": {done.new[0].id: "Sailing"}}])  # it can be changed again


def test_drift_and_the_exit_code_of_its_own(run: Path, boats: Path, same: Path) -> None:
    before = content(run)
    call("update", run, boats, "--dry-run", "--fail-above", "10%", code=4)
    call("update", run, same, "--dry-run", "--fail-above", "10%")
    call("update", run, same, "--fail-above", "much", code=2)
    assert content(run) == before
    result = call("update", run, boats, "--fail-above", "10%", "--json", code=4)
    said = json.loads(result.stdout)
    assert said["drift"]["alarm"] and said["drift"]["fit_nowhere"] >= 25
    assert said["written"]
    page = (run / "changes.html").read_text("utf-8")
    assert said["new"][0]["name"] in page
    assert "<script" not in page
    assert "<small>new</small>" in (run / "report.html").read_text("utf-8")
    read_whole(run)


def test_predict_tells_drift(run: Path, boats: Path, same: Path, tmp_path: Path) -> None:
    before = content(run)
    out = tmp_path / "out.csv"
    result = call("predict", run, boats, "--out", out, "--fail-above", "10%", code=4)
    assert "New: " in result.output
    assert len(out.read_text("utf-8").splitlines()) == 31
    result = call("predict", run, same, "--out", tmp_path / "same-out.csv", "--drift")
    assert "0 of 40 texts (0.0%) fit nowhere." in result.output
    call("predict", run / "model", same, "--drift", code=3)
    assert content(run) == before


@pytest.mark.parametrize(
    "given",
    [
        {"labels": ["Orchard", *[None] * 39, "Garage", *[None] * 159]},
        {"themes": [{"name": "Orchard", "keywords": THEMES["fruit"].split()}, "engine"]},
    ],
    ids=lambda given: next(iter(given)),
)
def test_a_guided_run_grows(given: dict, tmp_path: Path) -> None:
    """Given classes keep their numbers and names."""
    run = tmp_path / "run"
    coterie.cluster(old_texts(), 4, "kmeans", encoder="tfidf", folder=run, **given)
    before, called = open_run(run).labels, names(run)
    fruit = sentences("fruit", 10, 71)
    done = update(run, [*fruit, *sentences("boats", 30, 50)])
    assert done.rows == 40 and len(done.new) == 1
    opened = open_run(run)
    assert (opened.labels[: len(before)] == before).all()
    assert {i: n for i, n in names(run).items() if i in called} == called
    home = np.bincount(before[:40]).argmax()
    assert (opened.labels[200:210] == home).sum() >= 8
    assert opened.predict(fruit)["cluster"].to_pylist() == opened.labels[200:210].tolist()
    if "labels" in given:
        assert (names(run)[before[0]], names(run)[before[40]]) == ("Orchard", "Garage")


def test_the_classifier_is_not_asked_where_clusters_are_small() -> None:
    """It would put most texts into the largest cluster."""
    rng = np.random.default_rng(0)
    themes = np.repeat(np.arange(8), [20, 1, 1, 1, 1, 1, 1, 1])
    old = np.eye(30)[themes] + 0.2 * rng.normal(size=(len(themes), 30))
    new = np.eye(30)[np.arange(8)] + 0.2 * rng.normal(size=(8, 30))
    old, new = old.astype(np.float32), new.astype(np.float32)
    small = learn_new(old, themes, new, list(range(8)), 8)
    assert small.bound
    assert small.placed.labels.tolist() == place_new(old, themes, new, 8).labels.tolist()
    large = learn_new(np.repeat(old, 20, axis=0), np.repeat(themes, 20), new, list(range(8)), 8)
    assert not large.bound


def overlapping(seed: int, counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of themes that overlap, and their themes."""
    rng = np.random.default_rng(seed)
    themes = np.repeat(np.arange(len(counts)), counts)
    vectors = np.eye(30)[themes] + 0.3 * rng.normal(size=(len(themes), 30))
    return vectors.astype(np.float32), themes


def test_the_classifier_decides_about_new_clusters_too() -> None:
    old, labels = overlapping(0, [300, 300])
    new, themes = overlapping(1, [150, 150, 150])
    assert place_new(old, labels, new, 2).new == [2]
    found = learn_new(old, labels, new, [0, 1], 2)
    assert found.placed.new == [2] and not found.bound
    answers = np.array(found.ids)[found.classifier.logits(new).argmax(axis=1)]
    assert found.placed.labels.tolist() == answers.tolist()
    assert (found.placed.labels == themes).mean() > 0.9


def test_a_small_cluster_is_not_lost_beside_large_ones() -> None:
    """Without weights the classifier puts most texts of the small one into the others."""
    x, codes = overlapping(0, [600, 600, 30])
    x[1200:] += 0.9 * np.eye(30, dtype=np.float32)[0]  # between the first theme and its own
    found = fit_classifier(x, codes, 3, 1200)
    plain = LinearAssigner(*RidgeClassifier(x).fit(codes, 3))
    fresh, _ = overlapping(2, [0, 0, 50])
    fresh += 0.9 * np.eye(30, dtype=np.float32)[0]
    kept, lost = ((c.logits(fresh).argmax(axis=1) == 2).mean() for c in (found, plain))
    assert kept > lost + 0.2


def test_texts_of_a_loose_cluster_go_elsewhere_when_they_are_held_out() -> None:
    rng = np.random.default_rng(0)
    theme = rng.permutation(np.repeat(np.arange(19), 20))
    x = (np.eye(300)[theme] + 0.1 * rng.normal(size=(380, 300))).astype(np.float32)
    labels = np.where(rng.random(380) < 0.1, 30, theme)  # 30 is no theme, and its texts are any
    assert (held_out(x, labels) == theme).all()
    by_heart = fit_classifier(x, np.minimum(labels, 19), 20, 380).logits(x).argmax(axis=1)
    assert (by_heart == 19).mean() > 0.02
    assert held_out(x[:3], labels[:3]).tolist() == labels[:3].tolist()


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that found its number of clusters, and so has a merge tree."""
    file = write(tmp_path_factory.mktemp("grown") / "old.csv", old_texts())
    options = {"encoder": "tfidf", "max_outliers": 4, "id_column": "ticket"}
    return coterie.cluster(file, folder=file.parent / "run", **options).folder


@pytest.mark.full
@pytest.mark.parametrize("level", ["broad", "medium", "fine"])
def test_new_clusters_are_in_the_merge_tree(
    level: str, grown: Path, tmp_path: Path, boats: Path, same: Path
) -> None:
    run = open_run(grown).save(tmp_path / "run")
    coterie.cut(run, level)
    there = coterie.Run(run).labels[0]
    to = next(c.id for c in coterie.Run(run).clusters if c.id != there)
    edit(run, [{"move": {"rows": [{"row": 1}], "to": to}}])
    table, before = (run / "assignments.csv").read_bytes(), whole(run)
    done = update(run, boats)
    assert (run / "assignments.csv").read_bytes().startswith(table)
    after, new = whole(run), {c.id for c in done.new}
    assert new == {*after.names} - {*before.names} and min(new) > before.tree.highest
    assert before.all_names.items() <= after.all_names.items()
    assert np.isin(after.nearest[-30:], [*new]).sum() >= 25
    update(run, same)
    for other in ("fine", "broad", "medium", level):
        coterie.cut(run, other)
        now = whole(run)
        assert new <= {*now.names} or before.tree.number(other) < before.tree.at
        for i in before.tree.shown(other):  # the old texts are where they were
            assert members(before, i) <= members(now, i)
    edit(run, [{"split": min(new)}])
    whole(run)
    for _ in range(7):
        undo(run)
    assert (run / "assignments.csv").read_bytes() == table
