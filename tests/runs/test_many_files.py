"""``coterie cluster`` on a large folder of Parquet files: a file in, a file out, all rows counted.

Here in one process; ``test_ray.py`` has the same on a cluster.
"""

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from upath import UPath

import coterie
from commands import content, run
from coterie.corpus import TextStream, survey
from coterie.corpus.survey import StreamSampler
from coterie.corpus.write import TableWriter
from coterie.errors import DataError, UsageError
from coterie.run_files import table_of
from coterie.runs import Run, shards
from coterie.runs.engine import Done, Engine, RayWorker
from said import raises, says

OPTIONS = ["-k", 4, "--encoder", "tfidf-svd", "--method", "kmeans", "--set", "fit_sample=150", "-q"]
FRUIT = ["apple plum", "pear fig", "car bus", "truck van"]
SAME = ("clusters.json", "map.json", "levels.json", "model/model.safetensors")


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


def test_the_sample_is_that_of_one_file_in_any_order(folder: Path) -> None:
    whole = survey(TextStream(folder / "whole.parquet"), 150, 3)
    looked = shards.shards_from([str(path) for path in (folder / "parts").iterdir()])
    assert [shard.first for shard in looked] == [0, 350, 350, 640]
    for order in (looked, looked[::-1]):
        merged = StreamSampler(150, 3)
        for shard in (one for one in order if one.rows):
            sampler = StreamSampler(150, 3)
            for chunk in shards.read_shard(shard, "text", None):
                sampler.add(
                    coterie.corpus.Chunk(
                        shard.first + chunk.first, chunk.table, chunk.texts, chunk.values
                    )
                )
            sampler.finish()
            merged.merge(sampler)
        found = merged.done()
        assert found.texts == whole.texts and found.notes == whole.notes
        assert found.counts.tolist() == whole.counts.tolist()
        assert found.first.tolist() == whole.first.tolist()
        assert (found.rows, found.filled, found.distinct) == (900, 891, whole.distinct)


def test_clusters_and_labels_are_those_of_one_file(done: Path) -> None:
    single = done.parent / "single"
    for name in SAME:
        assert (done / name).read_bytes() == (single / name).read_bytes(), name
    assert sorted(p.name for p in (done / "assignments").iterdir()) == [
        "a.parquet", "b.parquet", "c.parquet", "d.parquet",
    ]  # fmt: skip
    mine, theirs = Run(done), Run(single)
    assert mine.cells.equals(theirs.cells)  # all rows in their order, with the columns of both
    assert mine.labels.tolist() == theirs.labels.tolist()
    for key in ("summary", "figures", "outliers", "fit_sample"):
        assert mine.manifest[key] == theirs.manifest[key]
    told = [one.manifest["data"] | {"sha256": ""} for one in (mine, theirs)]
    assert told[0] == told[1]
    first = pyarrow.parquet.read_table(done / "assignments" / "a.parquet")
    assert first.schema.field("id").type == pa.int32() and first["id"].to_pylist()[-1] == 349
    lines = (done / "assignments.jsonl").read_text("utf-8")
    assert lines == (single / "assignments.jsonl").read_text("utf-8")


def test_an_edit_writes_one_table_and_undo_brings_the_files_back(
    done: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "run"
    Run(done).save(copy)
    before = content(copy / "assignments")
    run("edit", copy, "merge", 0, 1)
    assert table_of(copy).name == "assignments.csv" and not (copy / "assignments").exists()
    assert Run(copy).labels.tolist() == [0 if i == 1 else i for i in Run(done).labels.tolist()]
    run("edit", copy, "--undo")
    assert content(copy / "assignments") == before and not (copy / "assignments.csv").exists()


@pytest.mark.parametrize("pass_", ["first", "second"])
def test_files_that_fail_are_named_and_the_rest_is_done(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pass_: str
) -> None:
    for path in (folder / "parts").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    if pass_ == "first":
        data = (tmp_path / "a.parquet").read_bytes()
        for name in ("cut", "odd"):
            (tmp_path / f"{name}.parquet").write_bytes(data[:500])
        said = run("cluster", tmp_path, *OPTIONS, "--out", tmp_path / "o", code=3).output
        assert says(said, "2 of 6 files could not be read", "cut.parquet", "odd.parquet")
        assert not (tmp_path / "o").exists()
        return
    write = TableWriter.write

    def full(self: TableWriter, *part: object) -> None:
        if self.path.name == "c.parquet":
            raise OSError(28, "No space left on device")
        write(self, *part)

    with monkeypatch.context() as broken:
        broken.setattr(TableWriter, "write", full)
        said = run("cluster", tmp_path, *OPTIONS, "--out", tmp_path / "o", code=3).output
    assert says(said, "1 of 4 files could not be labelled", "c.parquet", "No space")
    assert not (tmp_path / "o").exists()


def test_files_at_an_address_give_the_same_tables(folder: Path, tmp_path: Path) -> None:
    away = UPath("memory://bucket/parts")
    away.mkdir(parents=True, exist_ok=True)
    for path in (folder / "parts").glob("*.parquet"):
        (away / path.name).write_bytes(path.read_bytes())
    tables = []
    for parts in (away, folder / "parts"):
        out = tmp_path / str(len(tables))
        run("cluster", f"{parts}/[ac].parquet", *OPTIONS, "--out", out)
        run("predict", out, f"{parts}/*.parquet", "--out", out / "new")
        run("cluster", parts, *OPTIONS, "--out", out / "all")
        folders = [out / "assignments", out / "new", out / "all" / "assignments"]
        tables.append([content(folder) for folder in folders])
        assert tables[-1][1].pop("manifest.json")
        assert [len(found) for found in tables[-1]] == [2, 4, 4]
    assert tables[0] == tables[1]


def test_vectors_are_kept_as_a_column_if_asked(done: Path, folder: Path, tmp_path: Path) -> None:
    run("predict", done, folder / "parts", "--out", tmp_path / "o", "--keep-vectors")
    model = coterie.load(done / "model")
    for path in (folder / "parts").iterdir():
        rows = pyarrow.parquet.read_table(path)
        found = pyarrow.parquet.read_table(tmp_path / "o" / path.name)
        assert found.num_rows == rows.num_rows and "cluster" in found.column_names
        texts, kept = rows["text"].to_pylist(), found["vector"].to_pylist()
        assert [v is None for v in kept] == [t is None for t in texts]
        there = [i for i, t in enumerate(texts) if t is not None]
        if there:
            expected = model.transform([texts[i] for i in there])
            np.testing.assert_allclose([kept[i] for i in there], expected, atol=1e-6)
    said = run(
        "predict", done, folder / "parts", "--out", tmp_path / "o", "--resume", code=3
    ).output
    assert says(said, "resume", "other settings")
    said = run("predict", done, tmp_path / "o", "--out", tmp_path / "p", "--keep-vectors", code=3)
    assert says(said.output, "'vector' already")
    run("predict", done, folder / "whole.parquet", "--out", tmp_path / "one", "--keep-vectors")
    assert "vector" in pyarrow.parquet.read_schema(tmp_path / "one" / "whole.parquet").names
    asked = ["--out", tmp_path / "p", "--vectors", "vector"]
    assert says(run("predict", done, tmp_path / "o", *asked, code=2).output, "--vectors", "one")


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


def test_what_cannot_be_distributed_is_refused(folder: Path, tmp_path: Path) -> None:
    with raises(UsageError, "engine='ray'", "folder"):
        coterie.cluster(["a text", "another"], 2, engine="ray")
    with raises(UsageError, "engine='ray'", "folder"):
        coterie.cluster(folder / "whole.parquet", 2, engine="ray", folder=tmp_path / "o")
    with raises(UsageError, "workers", "engine"):
        coterie.cluster(folder / "parts", 2, workers=2, folder=tmp_path / "o")
    with raises(UsageError, "engine", "spark"):
        Engine("spark")


def test_a_worker_that_cannot_work_says_why() -> None:
    def broken() -> None:
        raise DataError("there is no model.")

    def tell(make: object, version: str = coterie.__version__) -> tuple[int, Done]:
        told = RayWorker(make, ["a", "b"], version)({"item": 1})
        return told["number"], told["done"]

    number, done = tell(lambda: str, "0.0.1")
    assert number < 0 and says(done.error, "0.0.1", coterie.__version__, "same version")
    number, done = tell(broken)
    assert number < 0 and "no model" in done.error
    assert tell(lambda: str.upper) == (1, Done("b", "B"))
    number, done = tell(lambda: int)
    assert (number, done.found) == (1, None) and says(done.error, "ValueError", "'b'")
