"""Tables of any size, in one file or in many, labelled here or by Ray Data: the same rows."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import coterie
from commands import run
from coterie.errors import CoterieError, UsageError
from coterie.runs import Run
from coterie.runs.large import Engine, label_by_ray, predict_file
from said import raises, says

OPTIONS = ["-k", 4, "--encoder", "tfidf-svd", "--method", "kmeans", "--set", "fit_sample=150", "-q"]
SAME = ("assignments.csv", "clusters.json", "map.json", "model/model.safetensors")


def read(path: Path):
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same 900 rows in one file and in four, of which one is empty."""
    draw, path = random.Random(0), tmp_path_factory.mktemp("many")
    themes = ["apple plum pear fig ripe sweet", "car bus truck van fast loud",
              "song drum violin choir tune band", "bank loan card rent cash bill"]  # fmt: skip
    texts = [" ".join(draw.sample(draw.choice(themes).split(), 4)) for _ in range(900)]
    table = pa.table({
        "id": pa.array(range(900), pa.int32()),
        "text": [None if i % 100 == 7 else text for i, text in enumerate(texts)],
        "theme": [f"t{i % 3}" for i in range(900)],
        # Only the last file shows that the month comes first.
        "sent": [f"{i % 6 + 1}/{i % 12 + 1 + 12 * (i > 700)}/2026" for i in range(900)],
    })  # fmt: skip
    (path / "parts").mkdir()
    cuts = {"a": (0, 350), "b": (350, 350), "c": (350, 640), "d": (640, 900)}
    for name, (first, last) in cuts.items():
        pyarrow.parquet.write_table(
            table.slice(first, last - first), path / "parts" / f"{name}.parquet"
        )
    pyarrow.parquet.write_table(table, path / "whole.parquet")
    return path


@pytest.fixture(scope="module")
def done(folder: Path) -> Path:
    asked = ["--levels", "2,4", "--max-outliers", "3%", "--set", "write=jsonl"]
    run("cluster", folder / "parts", *OPTIONS, *asked, "--out", folder / "run")
    run("cluster", folder / "whole.parquet", *OPTIONS, *asked, "--out", folder / "single")
    return folder / "run"


def test_many_files_are_clustered_as_one(done: Path) -> None:
    single = done.parent / "single"
    for name in (*SAME, "assignments.jsonl"):
        assert (done / name).read_bytes() == (single / name).read_bytes(), name
    mine, theirs = Run(done), Run(single)
    assert mine.table["id"].to_pylist() == list(range(900))
    assert mine.table.schema.field("id").type == pa.int32()
    for key in ("summary", "figures", "outliers", "fit_sample"):
        assert mine.manifest[key] == theirs.manifest[key]


def test_many_files_are_labelled_as_one(done: Path, folder: Path, tmp_path: Path) -> None:
    for name, given in {"one": "whole.parquet", "folder": "parts", "pattern": "parts/*"}.items():
        run("predict", done, folder / given, "--out", tmp_path / f"{name}.parquet")
    one, *others = (pyarrow.parquet.read_table(path) for path in sorted(tmp_path.iterdir()))
    assert all(other.equals(one) for other in others)
    assert one["cluster"].to_pylist() == Run(done).table["cluster"].to_pylist()


def test_an_address_that_cannot_be_read_is_said(folder: Path, tmp_path: Path) -> None:
    said = run("cluster", "memory://bucket/nothing", "--out", tmp_path / "o", code=2).output
    assert says(said, "no file", "memory://bucket/nothing")
    said = run("cluster", "nosuch://bucket/parts", "--out", tmp_path / "o", code=2).output
    assert says(said, "nosuch://bucket/parts", "cannot be reached")
    said = run("cluster", "memory://bucket/parts", code=2).output
    assert says(said, "--out", "address")


def test_a_column_that_some_files_lack_is_said(folder: Path, tmp_path: Path) -> None:
    for path in (folder / "parts").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    other = pyarrow.parquet.read_table(folder / "parts" / "c.parquet").drop_columns(["text"])
    pyarrow.parquet.write_table(other, tmp_path / "c.parquet")
    said = run("cluster", tmp_path, *OPTIONS, "--out", tmp_path / "o", code=3).output
    assert says(said, "c.parquet has the columns", "give files of one table")
    asked = [*OPTIONS, "-t", "body", "--out", tmp_path / "o"]
    said = run("cluster", folder / "parts", *asked, code=3).output
    assert says(said, "no column 'body'")


def test_what_cannot_be_distributed_is_refused(done: Path, folder: Path, tmp_path: Path) -> None:
    for data in (["a text", "another"], done / "assignments.csv"):
        with raises(UsageError, "engine='ray'", "Parquet"):
            coterie.cluster(data, 2, engine="ray", folder=tmp_path / "o")
    with raises(UsageError, "workers", "engine"):
        coterie.cluster(folder / "parts", 2, workers=2, folder=tmp_path / "o")
    with raises(UsageError, "engine", "spark"):
        Engine("spark")
    asked = ["--engine", "ray", "--drift", "--out", tmp_path / "p.csv"]
    run("predict", done, folder / "parts", *asked, code=2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    """Two machines as Ray sees them, with two CPUs each; their processes are real."""
    ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    made.add_node(num_cpus=2)
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def test_a_cluster_gives_what_one_machine_gives(
    cluster: object, done: Path, folder: Path, tmp_path: Path
) -> None:
    asked = ["--levels", "2,4", "--max-outliers", "3%", "--engine", "ray", "--workers", 2]
    run("cluster", folder / "parts", *OPTIONS, *asked, "--out", tmp_path / "run")
    for name in SAME:
        assert (tmp_path / "run" / name).read_bytes() == (done / name).read_bytes(), name
    for engine in ("local", "ray"):
        out = tmp_path / f"{engine}.parquet"
        found = predict_file(done, folder / "parts", out, engine=engine)
        assert (found.rows, found.placed) == (900, 891)
    here, there = (pyarrow.parquet.read_table(tmp_path / f"{e}.parquet") for e in ("local", "ray"))
    assert there.equals(here)


def test_a_worker_that_cannot_work_is_said(cluster: object, folder: Path, tmp_path: Path) -> None:
    with raises(CoterieError, "`engine` ray", "same paths"):
        [*label_by_ray([str(folder / "whole.parquet")], None, tmp_path / "nothing", "text")]
