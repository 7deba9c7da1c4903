"""Odd tables through whole commands: what goes in comes out, and no command ends in a traceback."""

import json
import os
import threading
from pathlib import Path

import pytest

from commands import rows as assignments
from commands import run
from coterie.cli.options import beside
from coterie.texts import read_table
from said import says

PIPES = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
WORDS = "red blue car road tea cup rain song drum pear apple milk".split()
TEXTS = [" ".join(WORDS[(i * step) % 12] for step in (1, 3, 5, 7)) for i in range(36)]
KMEANS = ["--method", "kmeans", "--encoder", "tfidf", "-k", "3", "-q"]


def lines(path: Path, records: list[dict]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    file = lines(folder / "in.jsonl", [{"text": text} for text in TEXTS])
    run("cluster", file, *KMEANS, "--out", folder / "run")
    return folder / "run"


@pytest.mark.parametrize("sample", [[], ["--set", "fit_sample=30"]])
def test_infinity_in_a_column_of_numbers(tmp_path: Path, sample: list[str]) -> None:
    values = [float("inf"), 1.5, float("-inf"), float("nan")]
    records = [{"text": text, "v": values[i % 4]} for i, text in enumerate(TEXTS)]
    file = lines(tmp_path / "in.jsonl", records)
    run("cluster", file, *KMEANS, *sample, "--out", tmp_path / "run")
    assert [row["v"] for row in assignments(tmp_path / "run")[:4]] == ["inf", "1.5", "-inf", ""]


@PIPES
@pytest.mark.parametrize("verb", ["predict", "cluster"])
def test_a_pipe_of_the_shell_is_read_once(model: Path, tmp_path: Path, verb: str) -> None:
    read, write = os.pipe()

    def say() -> None:
        with os.fdopen(write, "wb") as file:
            file.write("".join(f"{TEXTS[i % 36]} number{i}\n" for i in range(3000)).encode())

    speaker = threading.Thread(target=say)
    speaker.start()
    out, pipe = tmp_path / "out.csv", f"/dev/fd/{read}"
    if verb == "predict":
        done = run("predict", model, pipe, "--format", "txt", "--out", out)
    else:
        done = run("cluster", pipe, "--set", "format=txt", *KMEANS, "--out", tmp_path / "run")
        out = tmp_path / "run" / "assignments.csv"
    speaker.join()
    os.close(read)
    assert done.exit_code == 0, done.output
    table, _ = read_table(out)
    assert table.num_rows == 3000
    assert table.column("text")[0].as_py() == f"{TEXTS[0]} number0"


def test_a_csv_without_a_header(model: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "in.csv", tmp_path / "out.csv"
    file.write_text("".join(f"{i},{text}\n" for i, text in enumerate(TEXTS)))
    done = run("cluster", file, *KMEANS[:-1], "--out", tmp_path / "run")
    assert "add --header (coterie cluster: --set header=true)" in " ".join(done.output.split())
    assert [row["column_2"] for row in assignments(tmp_path / "run")] == TEXTS
    for options, rows in [([], 36), (["--no-header"], 36), (["--header"], 35)]:
        done = run("predict", model, file, *options, "--out", out, "--overwrite")
        assert ("add --header" in " ".join(done.output.split())) == (not options)
        assert read_table(out)[0].num_rows == rows


@PIPES
def test_a_pipe_needs_a_place_for_the_result(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = run("cluster", tmp_path / "pipe", code=2)
    assert says(done.output, "--out is needed when")


def test_several_files_and_a_pattern_are_one_table(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "parts").mkdir()
    for i in range(3):
        records = [{"text": text} for text in TEXTS[12 * i : 12 * (i + 1)]]
        lines(tmp_path / "parts" / f"{2 - i}.jsonl", records)
    files = [tmp_path / "parts" / f"{2 - i}.jsonl" for i in range(3)]
    refused = run("cluster", *files, *KMEANS, code=2)
    assert says(refused.output, "several files: say")
    run("cluster", *files, *KMEANS, "--out", tmp_path / "run")
    assert [row["text"] for row in assignments(tmp_path / "run")] == TEXTS  # in the order given
    run("cluster", tmp_path / "parts" / "*.jsonl", *KMEANS)
    by_name = [*TEXTS[24:], *TEXTS[12:24], *TEXTS[:12]]
    assert [row["text"] for row in assignments(tmp_path / "parts.clusters")] == by_name
    monkeypatch.chdir(tmp_path / "parts")
    assert beside("*.jsonl", ".clusters") == Path("parts.clusters")  # in the folder, not above it
    assert beside("../parts/*.jsonl", ".clusters") == Path("../parts.clusters")


@pytest.mark.parametrize("verb", ["predict", "update", "mask"])
def test_lines_that_are_left_out_are_told(model: Path, tmp_path: Path, verb: str) -> None:
    fine = "".join(f"{text}\n" for text in TEXTS)
    file, out = tmp_path / "new.csv", tmp_path / "out.csv"
    file.write_text(f'text\n{fine}"say "no"\n', encoding="utf-8")
    command = [verb, file] if verb == "mask" else [verb, model, file]
    done = run(*command, *(["--dry-run"] if verb == "update" else ["--out", out]))
    assert says(done.output, "1 line (38): a broken quote"), done.output
