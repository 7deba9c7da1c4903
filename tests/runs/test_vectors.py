"""Vectors of the user's own: from a column, a file or an array, aligned with the rows."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import commands
import coterie
from coterie.errors import DataError, UsageError
from coterie.texts.vectors import VectorRows
from said import raises, says

# Rows without a text, and texts that come again; the words say nothing about the clusters.
TEXTS = [f"text number {'abcdefghijkl'[i % 12]} {i // 12}" for i in range(36)] + ["", None, "..."]
TEXTS += [TEXTS[3], TEXTS[1]]
SIDE = np.random.default_rng(1).permutation(np.arange(36) % 3)
SIDE = np.concatenate([SIDE, [0, 1, 2], SIDE[[3, 1]]])
CENTERS = 4 * np.eye(3, 6)


def matrix() -> np.ndarray:
    made = CENTERS[SIDE] + np.random.default_rng(0).normal(size=(len(TEXTS), 6)) / 5
    made[39:] = made[[3, 1]]
    made[36] = np.nan  # without a text: not looked at
    return made.astype(np.float32)


VECTORS = matrix()


def lists() -> list[Any]:
    return [None if np.isnan(row).any() else row.tolist() for row in VECTORS]


def table() -> pa.Table:
    return pa.table({"text": TEXTS, "n": list(range(len(TEXTS))), "e": lists()})


def as_column(folder: Path) -> tuple[Any, Any]:
    return table(), "e"


def as_parquet(folder: Path) -> tuple[Any, Any]:
    pyarrow.parquet.write_table(table(), folder / "in.parquet")
    return folder / "in.parquet", "e"


def as_csv(folder: Path) -> tuple[Any, Any]:
    cells = [None if row is None else json.dumps(row) for row in lists()]
    pyarrow.csv.write_csv(table().set_column(2, "e", [cells]), folder / "in.csv")
    return folder / "in.csv", "e"


def as_jsonl(folder: Path) -> tuple[Any, Any]:
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, table().to_pylist())))
    return folder / "in.jsonl", "e"


def as_numpy(folder: Path) -> tuple[Any, Any]:
    np.save(folder / "e.npy", VECTORS.astype(np.float64))
    return table().drop_columns(["e"]), folder / "e.npy"


def as_other_parquet(folder: Path) -> tuple[Any, Any]:
    filled = [row or [0.0] * 6 for row in lists()]
    made = pa.table(
        {"key": list("x" * len(TEXTS)), "e": pa.array(filled, pa.list_(pa.float32(), 6))}
    )
    pyarrow.parquet.write_table(made, folder / "e.parquet")
    return TEXTS, str(folder / "e.parquet")


def as_array(folder: Path) -> tuple[Any, Any]:
    return TEXTS, VECTORS


WAYS = [as_column, as_parquet, as_csv, as_jsonl, as_numpy, as_other_parquet, as_array]


@pytest.mark.parametrize(
    ("method", "way"), [*(("kmeans", way) for way in WAYS), ("auto", as_csv), ("auto", as_array)]
)
def test_clusters_are_those_of_the_vectors(method: str, way: Any, tmp_path: Path) -> None:
    data, vectors = way(tmp_path)
    run = coterie.cluster(data, 3, method=method, vectors=vectors)
    filled = np.array([bool(text) and text != "..." for text in TEXTS])
    assert (run.labels[~filled] == -1).all()
    pairs = set(zip(run.labels[filled].tolist(), SIDE[filled].tolist(), strict=True))
    assert len(pairs) == 3  # one cluster for each center: nothing has moved by a row
    assert "e" not in run.table.column_names and run.table.num_rows == len(TEXTS)


def test_predict_needs_vectors_too(tmp_path: Path) -> None:
    run = coterie.cluster(TEXTS, 3, method="kmeans", vectors=VECTORS, folder=tmp_path / "run")
    for same in (run, coterie.open_run(tmp_path / "run")):
        known = same.predict(TEXTS)  # texts of the run have theirs
        np.testing.assert_array_equal(known["cluster"].to_numpy(), run.labels)
        with raises(UsageError, "texts have no vector", "1", "2"):
            same.predict(["something new", TEXTS[0]])
        found = same.predict(["something new", ""], vectors=CENTERS[[SIDE[0], 0]])
        assert found["cluster"].to_pylist() == [run.labels[0], -1]
    with raises(DataError, "make them with", "5", "6"):
        run.predict(["another new one"], vectors=np.ones((1, 5)))
    with raises(DataError, "give one vector", "2", "1"):
        run.predict(["another new one"], vectors=np.ones((2, 6)))


def test_the_command_with_a_file_and_a_column(tmp_path: Path) -> None:
    file, column = as_parquet(tmp_path)
    out = tmp_path / "run"
    command = ["cluster", file, "-k", 3, "-m", "kmeans", "--vectors", column, "--out", out]
    commands.run(*command)
    new = pa.table({"text": ["new a", "new b"], "x": [1, 2]})
    pyarrow.parquet.write_table(new, tmp_path / "n.parquet")
    np.save(tmp_path / "new.npy", CENTERS[[SIDE[0], SIDE[1]]])
    predict = ["predict", out, tmp_path / "n.parquet", "--out", tmp_path / "p.csv"]
    refused = commands.run(*predict, code=2)
    assert says(refused.output, "texts have no vector", "2", "2")
    assert not (tmp_path / "p.csv").exists()
    commands.run(*predict, "--vectors", tmp_path / "new.npy")
    found, _ = coterie.texts.read_table(tmp_path / "p.csv")
    labels = coterie.open_run(out).labels
    assert [int(c) for c in found["cluster"].to_pylist()] == [labels[0], labels[1]]


def test_verbs_on_a_run_of_vectors(tmp_path: Path) -> None:
    run = coterie.cluster(TEXTS, 3, method="kmeans", vectors=VECTORS, folder=tmp_path / "run")
    with raises(UsageError, "stands for vectors"):
        run.stability()
    with raises(UsageError, "texts have no vector", "1", "1"):
        run.update(["something new"])
    run.edit([{"merge": [0, 1]}])
    assert len(run.clusters) == 2


def test_a_text_with_two_vectors_is_said() -> None:
    texts = ["a b", "c d", "a b", "e f"]
    run = coterie.cluster(texts, 2, method="kmeans", vectors=np.eye(4))
    assert run.labels[0] == run.labels[2]
    assert any("another vector" in note for note in run.manifest["data"]["notes"])


def bad(change: Any) -> np.ndarray:
    made = VECTORS.copy()
    change(made)
    return made


def put(row: int, value: float) -> Any:
    def change(made: np.ndarray) -> None:
        made[row, 2] = value

    return change


@pytest.mark.parametrize(
    ("vectors", "key", "values"),
    [
        (bad(put(5, np.nan)), "finite numbers; correct", {"row": 6, "width": 6}),
        (bad(put(40, np.inf)), "finite numbers; correct", {"row": 41}),
        (VECTORS[:-1], "give one vector", {"vectors": 40, "rows": 41}),
        (VECTORS[:, 0], "should be numbers of", {}),
        ([[1.0, 2.0], [3.0]], "should be numbers of", {}),
        (np.array([["a"] * 6] * 41), "should be numbers of", {}),
    ],
)
def test_vectors_that_cannot_be_are_refused(
    vectors: Any, key: str, values: dict, tmp_path: Path
) -> None:
    with raises(DataError, key, map(str, values.values())):
        coterie.cluster(TEXTS, 3, method="kmeans", vectors=vectors, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_files_that_hold_no_vectors_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01")
    for name in ("objects.npy", "cut.npy"):
        with raises(DataError, "should be numbers of shape"):
            VectorRows(tmp_path / name)
    with raises(UsageError, "there is no file"):
        VectorRows("absent.npy")
    pyarrow.parquet.write_table(pa.table({"a": [[1.0]], "b": [[2.0]]}), tmp_path / "two.parquet")
    with raises(UsageError, "should have one column", "a, b"):
        VectorRows(tmp_path / "two.parquet")
    with raises(DataError, "give one vector", "2", "3"):
        VectorRows(np.ones((2, 4))).take(pa.table({"text": ["a", "b"]}), 1, ["a", "b"])
    made = pa.table({"text": ["a b", "c d"], "e": [[1.0, 2.0], [3.0]]})
    with raises(DataError, "finite numbers; correct", "2", "2"):
        coterie.cluster(made, 2, vectors="e")
    with raises(DataError, "there is no column", "'f'"):
        coterie.cluster(made, 2, vectors="f")


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"encoder": "tfidf"}, "vectors of your"),
        ({"themes": ["cars"]}, "cannot be compared"),
        ({"fit_sample": 10}, "texts is fitted"),
    ],
)
def test_options_that_do_not_go_with_vectors(options: dict, key: str) -> None:
    with raises(UsageError, key):
        coterie.cluster(TEXTS, 3, vectors=VECTORS, **options)


def test_a_run_with_an_encoder_takes_no_vectors() -> None:
    run = coterie.cluster(["red apple", "green apple", "old car"], 2, "kmeans", encoder="tfidf")
    with raises(UsageError, "the model has an"):
        run.predict(["a car"], vectors=np.ones((1, 2)))
