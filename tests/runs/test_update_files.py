"""New Parquet files in a run whose table is a folder of such files, by samples and file by file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import coterie
from commands import content
from commands import run as call
from coterie.editing import undo
from coterie.errors import DataError, UsageError
from coterie.runs import open_run, sample
from coterie.runs.update import update
from said import raises, says

THEMES = {
    "fruit": "apple pear plum peach cherry grape lemon melon fig mango berry kiwi",
    "cars": "engine wheel brake clutch gear tyre bumper mirror seat horn fuel oil",
    "music": "guitar piano drum violin flute chord song tune band choir concert note",
    "boats": "sail mast anchor deck harbour rudder keel rope oar cabin tide captain",
}
BOATS = THEMES["boats"].split()
NAMES = ["a.parquet", "b.parquet", "z.parquet"]
WAYS = {
    "kmeans": {"method": "kmeans", "n_clusters": 3, "levels": (2,), "max_outliers": "3%"},
    "auto": {"method": "auto"},
}


def table(themes: list[str], n: int, first: int) -> pa.Table:
    """Different texts of some themes, and some of many so that their words are known."""
    rng, words = np.random.default_rng(first), [THEMES[theme].split() for theme in themes]
    texts = [" ".join(rng.choice(words[i % len(words)], 5, replace=False)) for i in range(n)]
    every = " ".join(THEMES.values()).split()
    texts += [" ".join(rng.choice(every, 6, replace=False)) for _ in range(n // 8)]
    ids = range(first, first + len(texts))
    return pa.table({
        "ticket": pa.array(ids, pa.int64()),
        "text": [None if i == 5 else text for i, text in enumerate(texts)],
        "team": [f"t{i % 3}" for i in ids],
        "day": [f"2026-0{1 + i % 3}-1{i % 9}" for i in ids],
    })  # fmt: skip


def cut(rows: pa.Table, folder: Path) -> None:
    """A table in several files, one of them empty."""
    folder.mkdir()
    parts = (rows.slice(0, 0), rows.slice(0, 50), rows.slice(50))
    for name, part in zip(NAMES, parts, strict=True):
        pyarrow.parquet.write_table(part, folder / name)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Old and new rows, each as one file and as several."""
    folder = tmp_path_factory.mktemp("files")
    old, new = table(["fruit", "cars", "music"], 240, 0), table(["boats", "cars"], 80, 1000)
    for name, rows in {"old": old, "new": new}.items():
        pyarrow.parquet.write_table(rows, folder / f"{name}.parquet")
        cut(rows, folder / name)
    return folder


def fit(data: Path, to: Path, way: str, size: int = 150) -> Path:
    given = {"encoder": "tfidf", "fit_sample": size, "id_column": "ticket", "text_column": "text"}
    coterie.cluster(data, **WAYS[way], **given, folder=to)
    return to


@pytest.fixture(scope="module")
def made(place: Path) -> Path:
    return fit(place / "old", place / "run", "kmeans", 60)


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return open_run(made).save(tmp_path / "run")


def by_ticket(run: Path) -> list[dict]:
    return sorted(open_run(run).cells.to_pylist(), key=lambda row: int(row["ticket"]))


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
def test_samples_of_all_texts_give_what_all_rows_give(
    place: Path, tmp_path: Path, way: str
) -> None:
    files = fit(place / "old", tmp_path / "files", way)
    whole = fit(place / "old.parquet", tmp_path / "whole", way)
    before = content(files / "assignments")
    found, same = update(files, place / "new"), update(whole, place / "new.parquet")
    assert found.new and found.to_dict() == same.to_dict() | {"run": str(files)}
    assert by_ticket(files) == by_ticket(whole)
    one, other = open_run(files), open_run(whole)
    assert [c.to_dict() for c in one.clusters] == [c.to_dict() for c in other.clusters]
    for key in ("figures", "summary", "outliers", "editing", "levels"):
        assert one.manifest.get(key) == other.manifest.get(key), key
    after = content(files / "assignments")
    assert {name: after.pop(name) for name in before} == before  # to the byte
    assert sorted(after) == [f"update-0001/{name}" for name in NAMES[1:]]
    saved = json.loads((files / "map.json").read_text("utf-8"))
    texts = {row["text"] for row in by_ticket(files)}
    assert {one.column("text")[row] for row in saved["rows"]} == texts - {""}
    undo(files)
    assert content(files / "assignments") == before


def test_only_samples_are_held_and_all_rows_are_labelled(
    run: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the new texts join the clusters that were found in a part of them."""
    monkeypatch.setattr(sample, "SAMPLE", 60)
    monkeypatch.setattr(sample, "PER_CLUSTER", 1)
    before = {row["ticket"]: row for row in by_ticket(run)}
    done = update(run, place / "new")
    (new,) = done.new
    assert any("60 of the 89 different new texts" in note for note in done.notes)
    rows = by_ticket(run)
    assert len(rows) == 360 and open_run(run).manifest["data"]["rows"] == 360
    assert {row["ticket"]: row for row in rows if row["ticket"] in before} == before
    boats = [r for r in rows if r["ticket"] >= "1000" and {*r["text"].split()} <= {*BOATS}]
    inside = [row for row in boats if row["cluster"] == new.id]
    assert len(boats) > 30 and len(inside) >= 0.9 * len(boats)
    assert new.size == sum(row["cluster"] == new.id for row in rows)  # of all rows
    assert open_run(run).manifest["figures"]["added"][str(new.id)] == new.size


def test_a_folder_that_grew_adds_what_is_new_in_it(run: Path, place: Path, tmp_path: Path) -> None:
    both = tmp_path / "both"
    both.mkdir()
    for name in ("old", "new"):
        for file in (place / name).rglob("*.parquet"):
            (both / f"{name}-{file.name}").write_bytes(file.read_bytes())
    state = content(run)
    tried = call("update", run, both, "--dry-run")
    assert "2 of 4 files" in tried.output and content(run) == state
    done = update(run, both)
    assert (done.number, done.rows) == (1, 90)
    assert update(run, both).number == 0
    undo(run)
    assert {n: d for n, d in content(run).items() if n != "edits.jsonl"} == state


def test_what_cannot_be_added_by_files_is_said(run: Path, place: Path, tmp_path: Path) -> None:
    state = content(run)
    other = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(pa.table({"text": ["a b"], "day": ["2026-01-01"]}), other)
    with raises(DataError, str(other), "ticket, text, team, day", "the same table"):
        update(run, other)
    empty = tmp_path / "empty.parquet"
    pyarrow.parquet.write_table(table(["cars"], 8, 0).slice(0, 0), empty)
    assert update(run, empty).number == 0
    for given in ({"id_column": "none"}, {"data": ["a text"]}):
        with raises(UsageError, "engine='ray'", "folder"):
            update(run, given.pop("data", place / "new"), engine="ray", **given)
    said = call("update", run, place / "new", "--engine", "moon", code=2).output
    assert says(said, "engine", "moon")
    half = tmp_path / "half"
    half.mkdir()
    (half / "a.parquet").write_bytes((place / "new" / "z.parquet").read_bytes()[:-9])
    with raises(DataError, "a.parquet", "1 of 1 files"):
        update(run, half)
    assert content(run) == state
