"""``coterie predict`` over many Parquet files, in one process: parts, counts, stop and continue."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import run
from coterie import TwoStep
from coterie.base.outliers import Assessed
from coterie.corpus.write import RESULT_TYPES
from coterie.errors import DataError
from coterie.runs.label import Labeller, Repeats, model_digest
from coterie.runs.shards import (
    Job,
    Shard,
    ShardWorker,
    find_shards,
    is_sharded,
    look_at,
)
from said import raises, says

WORDS = ["apple plum", "pear fig", "car bus", "truck van"]
TEXTS = [f"{words} number {i}" for i in range(60) for words in WORDS]


def write(path: Path, texts: list[str | None], first: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = pa.array(range(first, first + len(texts)), pa.int64())
    pyarrow.parquet.write_table(pa.table({"id": ids, "text": pa.array(texts, pa.string())}), path)


def read(path: Path) -> list[dict[str, object]]:
    return pyarrow.parquet.ParquetFile(path).read().to_pylist()


def below(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    TwoStep(4, encoder="tfidf", random_state=0).fit(TEXTS).save(path)
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Four parts, one without rows, one without texts, and files that are none."""
    folder = tmp_path / "parts"
    write(folder / "year=2024" / "a.parquet", TEXTS[:100])
    write(folder / "year=2024" / "b.parquet", [], 100)
    write(folder / "year=2025" / "a.parquet", [None, "", "?"], 100)
    write(folder / "year=2025" / "b.parquet", [*TEXTS[100:], None], 103)
    write(folder / "_temporary" / "c.parquet", TEXTS)
    write(folder / ".hidden.parquet", TEXTS)
    (folder / "_SUCCESS").touch()
    return folder


def job_of(model: Path, **more: object) -> Job:
    return Job(model, model_digest(model), "text", **more)


def test_every_row_is_labelled_once_and_as_by_a_single_file(
    model: Path, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "labelled"
    result = run("predict", model, corpus, "--out", out, "--outlier-limit", 0.4)
    assert says(result.output, "shards written to", "244", "4")
    names = [f"year={year}/{letter}.parquet" for year in (2024, 2025) for letter in "ab"]
    assert below(out) == {*names, "manifest.json"}
    found = [row for name in names for row in read(out / name)]
    assert [row["id"] for row in found] == list(range(244))
    schemas = [pyarrow.parquet.read_schema(out / name) for name in names]
    assert all(schema.equals(schemas[0]) for schema in schemas)  # also without rows or texts
    assert schemas[0].field("cluster").type == RESULT_TYPES["cluster"]

    whole = tmp_path / "whole.parquet"
    write(whole, [row["text"] for row in found])
    single = tmp_path / "single.parquet"
    result = run("predict", model, whole, "--out", single, "--outlier-limit", 0.4)
    assert read(single) == found
    placed = sum(row["outlier_score"] is not None for row in found)
    outliers = sum(row["outlier"] == "yes" for row in found)
    assert outliers and says(
        result.output, "%) are outliers", format(outliers, ","), format(placed, ",")
    )

    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["status"] == "done"
    wanted = {"parts": 4, "rows": 244, "placed": placed, "outliers": outliers}
    assert manifest["counts"] == wanted
    assert [part["rows"] for part in manifest["parts"]] == [100, 0, 3, 141]


@pytest.mark.parametrize("most", [1 << 20, 0])
def test_a_text_of_a_file_is_read_by_the_model_once(model: Path, most: int) -> None:
    labeller, read = Labeller.read(model), []

    def assess(texts: list[str]) -> Assessed:
        read.append(texts)
        return labeller.assess(texts)

    seen = Repeats(assess, most)
    parts = [["", ""], [TEXTS[0], "", TEXTS[1]], [TEXTS[1], TEXTS[2], TEXTS[1], ""], [TEXTS[0]]]
    for part in parts:
        found, wanted = seen(part), labeller.assess(part)
        assert (found.finest is None) == (wanted.finest is None)
        for name in ("probabilities", "scores", "vectors", "bound"):
            value = getattr(wanted, name)
            np.testing.assert_allclose(getattr(found, name), value, 1e-6, err_msg=name)
    once = [["", ""], ["", *TEXTS[:2]], [TEXTS[2]]]
    forgotten = [["", ""], ["", *TEXTS[:2]], ["", TEXTS[1], TEXTS[2]], ["", TEXTS[0]]]
    assert read == (once if most else forgotten)


def test_a_stopped_run_goes_on_with_the_missing_parts(
    model: Path, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "labelled"
    run("predict", model, corpus, "--out", out)
    wanted = {name: read(out / name) for name in below(out) if name.endswith("parquet")}
    gone = out / "year=2025" / "b.parquet"
    gone.unlink()
    litter = gone.with_name(".b.parquet.12-0123abcd.tmp")
    litter.write_bytes(b"PAR1 half a file")
    kept = {name: (out / name).stat().st_mtime_ns for name in wanted if (out / name).exists()}

    refused = run("predict", model, corpus, "--out", out, code=2)
    assert says(refused.output, "to label those that")

    result = run("predict", model, corpus, "--out", out, "--resume")
    assert says(result.output, "shards are labelled", "3", "4")
    assert {name: read(out / name) for name in wanted} == wanted
    assert {name: (out / name).stat().st_mtime_ns for name in kept} == kept
    assert not litter.exists()
    assert json.loads((out / "manifest.json").read_text())["counts"]["rows"] == 244


def test_ctrl_c_keeps_whole_parts(
    model: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "labelled"
    label = ShardWorker.__call__

    def stopped(self: ShardWorker, part: Shard) -> dict:
        facts = label(self, part)
        if part.name == "year=2025/a.parquet":  # whole, but nobody hears of it any more
            raise KeyboardInterrupt
        return facts

    monkeypatch.setattr(ShardWorker, "__call__", stopped)
    result = run("predict", model, corpus, "--out", out, code=130)
    assert says(result.output, "--resume continues with", "3", "4")
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["status"] == "interrupted" and manifest["counts"]["rows"] == 103
    assert len(list(out.rglob("*.parquet"))) == 3


@pytest.mark.parametrize("change", ["texts", "model", "limit", "foreign", "rows", "stranger"])
def test_what_was_made_otherwise_is_not_continued(
    model: Path, corpus: Path, tmp_path: Path, change: str
) -> None:
    out, more = tmp_path / "labelled", []
    run("predict", model, corpus, "--out", out)
    part = out / "year=2024" / "a.parquet"
    if change == "texts":
        write(corpus / "year=2024" / "a.parquet", TEXTS[1:101])
    elif change == "model":
        model = tmp_path / "other"
        TwoStep(3, encoder="tfidf", random_state=0).fit(TEXTS).save(model)
    elif change == "limit":
        more = ["--outlier-limit", 0.5]
    elif change == "foreign":
        table = pyarrow.parquet.ParquetFile(part).read()
        pyarrow.parquet.write_table(table.replace_schema_metadata(None), part)
    elif change == "rows":  # they went, the stamp stayed
        pyarrow.parquet.write_table(pyarrow.parquet.ParquetFile(part).read().slice(1), part)
    else:
        write(out / "year=2023.parquet", TEXTS[:5])
    before = part.read_bytes()
    result = run("predict", model, corpus, "--out", out, "--resume", *more, code=3)
    assert "--resume: " in result.output, result.output
    assert part.read_bytes() == before


def test_one_broken_part_does_not_stop_the_others(
    model: Path, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "labelled"
    other = pa.table({"id": [1], "body": ["ripe apple"]})
    pyarrow.parquet.write_table(other, corpus / "year=2024" / "b.parquet")
    (corpus / "half.parquet").write_bytes((corpus / "year=2024" / "a.parquet").read_bytes()[:900])
    result = run("predict", model, corpus, "--out", out, code=3)
    assert says(result.output, "files could not", "2", "5")
    assert "year=2024/b.parquet" in result.output and "--resume" in result.output
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["status"] == "failed" and manifest["counts"]["parts"] == 3
    assert "text" in manifest["failed"]["year=2024/b.parquet"]
    assert "half.parquet" in manifest["failed"]
    write(corpus / "half.parquet", TEXTS[:5])
    write(corpus / "year=2024" / "b.parquet", TEXTS[:7])
    run("predict", model, corpus, "--out", out, "--resume")
    assert len(read(out / "year=2024" / "b.parquet")) == 7


def test_a_part_that_changed_meanwhile_is_refused(model: Path, tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.parquet", TEXTS)
    (part,) = map(look_at, find_shards(str(tmp_path / "in"), tmp_path / "out"))
    write(tmp_path / "in" / "a.parquet", TEXTS[::-1])
    with raises(DataError, "is not the file it"):
        ShardWorker(job_of(model))(part)
    assert not (tmp_path / "out").exists()


def test_a_worker_with_another_model_refuses(model: Path) -> None:
    with raises(DataError, "all machines must"):
        ShardWorker(replace(job_of(model), model="other"))
    with raises(DataError, "all machines must"):
        ShardWorker(Job(model / "nowhere", "x", "text"))


def test_the_digest_is_of_what_names_and_labels_come_from(tmp_path: Path) -> None:
    run_folder = tmp_path / "run"
    (run_folder / "model").mkdir(parents=True)
    (run_folder / "model" / "config.json").write_text("{}")
    (run_folder / "report.html").write_text("page")
    plain = model_digest(run_folder)
    (run_folder / "report.html").write_text("another page")
    assert model_digest(run_folder) == plain
    seen = {plain}
    for name in ("clusters.json", "levels.json", "model/config.json"):
        (run_folder / name).write_text('{"name": 1}')
        seen.add(model_digest(run_folder))
    assert len(seen) == 4


def test_folders_patterns_and_files(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def names(said: object) -> list[str]:
        return [part.name for part in find_shards(str(said), out)]

    assert names(corpus) == [f"year={y}/{n}.parquet" for y in (2024, 2025) for n in "ab"]
    assert names(corpus / "year=*" / "a.parquet") == ["year=2024/a.parquet", "year=2025/a.parquet"]
    assert names(corpus / "**" / "b.parquet") == ["year=2024/b.parquet", "year=2025/b.parquet"]
    assert names(corpus / "year=2024" / "a.parquet") == ["a.parquet"]
    (corpus / "year=2024" / "a.parquet").rename(corpus / "part-0")
    assert names(corpus / "part-*") == ["part-0.parquet"]
    assert is_sharded(str(corpus)) and is_sharded("x/*.parquet") and not is_sharded("x.parquet")
    literal = tmp_path / "a[1].csv"
    literal.touch()
    assert not is_sharded(str(literal))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["CORPUS"], "a folder as --out"),
        (["-", "--engine", "ray", "-o", "OUT"], "a folder as --out"),
        (["CORPUS", "-o", "OUT", "--format", "csv"], "--format csv"),
        (["CORPUS", "-o", "OUT", "--workers", "2"], "--workers needs --engine ray"),
        (["CORPUS", "-o", "OUT", "--engine", "rya"], "--engine should be one of local, ray"),
        (["CORPUS", "-o", "CORPUS/out"], "is inside"),
        (["CORPUS", "-o", "FILE"], "is a file"),
        (["CORPUS/*.csv", "-o", "OUT"], "there is no Parquet file"),
        (["CORPUS", "-o", "MODEL/out"], "inside the model"),
    ],
)
def test_what_cannot_work_is_said(
    model: Path, corpus: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    places = {"CORPUS": corpus, "OUT": tmp_path / "out", "MODEL": model, "FILE": tmp_path / "file"}
    (tmp_path / "file").touch()
    for name, path in places.items():
        arguments = [argument.replace(name, str(path)) for argument in arguments]
    result = run("predict", model, *arguments, code=2)
    assert said in result.output, result.output
    assert not (tmp_path / "out").exists()
