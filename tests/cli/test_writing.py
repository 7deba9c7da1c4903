"""Nothing of the user's is lost: inputs, own files, earlier runs."""

import json
import os
import shutil
from pathlib import Path

import pytest

import commands
from commands import content, write_csv
from coterie.encoders import cache as _cache
from coterie.runs import store
from said import says


def run(*arguments: object, code: int = 0) -> str:
    return commands.run(*arguments, code=code).output


KMEANS = ("-m", "kmeans", "--encoder", "tfidf", "-q")


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory, topics) -> Path:
    rows = [(i, text, f"{text} again") for i, text in enumerate(topics[0])]
    path = tmp_path_factory.mktemp("tickets") / "tickets.csv"
    return write_csv(path, ("id", "text", "other"), *rows)


@pytest.fixture(scope="module")
def made(tickets: Path) -> Path:
    out = tickets.with_name("made")
    run("cluster", tickets, "-k", 3, *KMEANS, "--out", out)
    return out


@pytest.fixture
def finished(made: Path, tmp_path: Path) -> Path:
    """A finished run of its own."""
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture
def mine(tickets: Path, tmp_path: Path) -> Path:
    """A copy of the input, which must survive."""
    return Path(shutil.copy(tickets, tmp_path / "mine.csv"))


# Outputs that are inputs, temporary names, or somebody else's ---------------------------------


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to", None])
def test_an_input_is_never_the_output(made: Path, mine: Path, link: str | None) -> None:
    before, out = mine.read_bytes(), mine.with_name("out.csv")
    if link is not None:
        getattr(out, link)(mine)
    else:
        (mine.parent / "sub").mkdir()
        out = mine.parent / "sub" / ".." / "mine.csv"
    assert "is the input, and would" in run(
        "predict", made, mine, "--out", out, "--overwrite", code=2
    )
    assert mine.read_bytes() == before


@pytest.mark.parametrize("verb", ["predict", "compare", "report", "mask", "export"])
def test_a_file_is_replaced_only_when_asked(
    verb: str, made: Path, mine: Path, tmp_path: Path
) -> None:
    out = tmp_path / {"compare": "a.html", "report": "a.html"}.get(verb, "assignments.jsonl")
    rest = {"predict": [made, mine], "compare": [made, made], "mask": [mine]}.get(verb, [made])
    to = ["--out", out] if verb != "export" else ["--out", tmp_path, "--to", "jsonl"]
    out.write_text("years of work")
    assert says(run(verb, *rest, *to, code=2), "already exists", "`overwrite`")
    assert out.read_text() == "years of work"
    run(verb, *rest, *to, "--overwrite")
    assert out.read_text() != "years of work"


@pytest.mark.parametrize("name", ["assignments.csv", "model/x.csv"])
def test_a_file_of_a_run_is_no_output(finished: Path, mine: Path, name: str) -> None:
    before = content(finished)
    said = run("predict", finished, mine, "--out", finished / name, "--overwrite", code=2)
    assert says(said, "is a file of the")
    assert content(finished) == before


def test_the_input_of_a_run_is_never_a_file_that_it_replaces(finished: Path) -> None:
    before = content(finished)
    table = finished / "assignments.csv"
    said = run("cluster", table, "-k", 2, *KMEANS, "--out", finished, "--overwrite", code=2)
    assert says(said, "is the input, and a")
    assert content(finished) == before


def test_exports_never_go_into_another_run(finished: Path, made: Path) -> None:
    before = content(finished)
    said = run("export", made, "--to", "jsonl", "--out", finished, code=2)
    assert says(said, "holds another run")
    assert content(finished) == before


def test_what_a_killed_command_left_of_an_output_goes(
    made: Path, mine: Path, tmp_path: Path
) -> None:
    left = tmp_path / f".w.csv.{os.getpid()}-0123abcd.tmp"  # of an earlier process of this number
    left.write_text("half")
    other = tmp_path / ".w.csv.1-0123abcd.tmp"  # of a process that runs
    other.write_text("half")
    run("predict", made, mine, "--out", tmp_path / "w.csv")
    assert not left.exists() and other.exists()


# Runs that replace others -----------------------------------------------------------------------


def test_an_overwrite_that_fails_or_is_stopped_leaves_the_run_as_it_was(
    finished: Path, tickets: Path, tmp_path: Path, monkeypatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = content(finished)
    command = ["cluster", tickets, *KMEANS, "--out", finished, "--overwrite"]
    run(*command, "-k", 5000, code=3)
    assert content(finished) == before
    monkeypatch.setattr(store, "write_rows", stop)
    assert "--resume" not in run(*command, "-k", 2, code=130)  # there is nothing to go on from
    assert content(finished) == before and not list(tmp_path.glob(".*"))
    monkeypatch.undo()
    run(*command, "-k", 2)
    assert len(json.loads((finished / "clusters.json").read_text())["clusters"]) == 2
    assert "`overwrite`" in run(*command[:-1], "-k", 2, code=2)


def test_a_folder_with_other_files_is_never_replaced(finished: Path, tickets: Path) -> None:
    (finished / "slides").mkdir()
    (finished / "slides" / "report.html").write_text("my own")
    before = content(finished)
    said = run("cluster", tickets, "-k", 2, *KMEANS, "--out", finished, "--overwrite", code=2)
    assert "slides/report.html" in said
    run("edit", finished, "merge", 0, 1)  # a change takes it along
    assert content(finished).items() >= {("slides/report.html", before["slides/report.html"])}


def test_a_stopped_training_is_continued_or_begun_again(
    finished: Path, tickets: Path, monkeypatch
) -> None:
    from coterie.methods.train import Checkpoint

    save = Checkpoint.save

    def stop(self: Checkpoint, *state: object) -> None:
        save(self, *state)
        raise KeyboardInterrupt

    before = content(finished)
    command = ["cluster", tickets, "-k", 3, "-m", "sccl", "--encoder", "tfidf", "--out", finished]
    for setting in ("steps=6", "batch_size=8", "checkpoint_every=0"):
        command += ["--set", setting]
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", stop)
        assert "--resume" in run(*command, "--overwrite", code=130)
    assert content(finished).items() >= before.items()  # the old run is in use
    assert "stopped" in run(*command, code=2)
    changed = [*command, "--set", "lr=0.01"]
    assert "another run" in run(*changed, "--resume", code=3)
    run(*command, "--resume")
    assert json.loads((finished / "manifest.json").read_text())["method"] == "sccl"
    assert (finished / "history.jsonl").exists() and not (finished / "training").exists()


def test_a_manifest_of_another_program_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"name": "my web page"}))
    before = content(tmp_path)
    for more in ([], ["--overwrite"], ["--resume"]):
        said = run("cluster", "nowhere.csv", "-k", 3, *KMEANS, "--out", tmp_path, *more, code=2)
        assert "manifest.json" in said  # before the file is even read
    assert content(tmp_path) == before


def test_a_failed_first_run_leaves_nothing(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    for left in (None, []):  # an empty folder of the user stays
        run("cluster", tickets, "-k", 99999, *KMEANS, "--out", out, code=3)
        assert (list(out.iterdir()) if out.exists() else None) == left
        out.mkdir(exist_ok=True)


def test_exports_and_pages_in_the_folder_follow_an_edit_and_its_undo(
    finished: Path, tmp_path: Path
) -> None:
    run("edit", finished, "rename: {2: Vorher}")
    run("export", finished, "--to", "jsonl,csv")
    run("report", finished, "--no-texts")
    names = ["assignments.csv", "assignments.jsonl", "assignments-spreadsheet.csv", "report.html",
             "report-no-texts.html"]  # fmt: skip
    run("edit", finished, "rename: {2: Nachher}")
    for name in names:
        said = (finished / name).read_text("utf-8")
        assert "Nachher" in said and "Vorher" not in said, name
    run("edit", finished, "--undo")
    run("edit", finished, "--undo")
    for name in names:  # also those that were not there before the first edit
        said = (finished / name).read_text("utf-8")
        assert "Nachher" not in said and "Vorher" not in said, name


# A file that grows while it is read ---------------------------------------------------------------


@pytest.mark.parametrize("change", ["grown", "cut"])
def test_a_file_that_changes_between_two_looks(
    tickets: Path, tmp_path: Path, monkeypatch, change: str
) -> None:
    from coterie.models.fitting import Fitting

    source, out = Path(shutil.copy(tickets, tmp_path / "log.csv")), tmp_path / "run"
    fit = Fitting.run

    def meanwhile(self):
        lines = source.read_text().splitlines(keepends=True)
        lines = [*lines, "90,one more apple,x\n"] if change == "grown" else lines[:50]
        source.write_text("".join(lines))
        return fit(self)

    monkeypatch.setattr(Fitting, "run", meanwhile)
    command = ["cluster", source, "-k", 3, *KMEANS, "--set", "fit_sample=40", "--out", out]
    assert "was changed while it was read" in run(*command, code=3)


# The cache ----------------------------------------------------------------------------------------


def test_the_cache_deletes_its_own_files_alone(tmp_path: Path, monkeypatch) -> None:
    import numpy as np

    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "proj"))
    folder = _cache.place()
    assert folder is not None
    theirs = [
        "mine.safetensors",
        "exp/model.safetensors",
        "exp/.half.tmp",
        f"{'a' * 32}/w.safetensors",
    ]
    for name in theirs:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(bytes(100))
    (folder / "empty").mkdir()
    before = content(tmp_path)
    entries = [bytes([i] * 16) for i in range(70)], np.ones((70, 4), dtype=np.float32)
    cache = _cache.Cache("b" * 64)
    with monkeypatch.context() as patch:
        patch.setenv("COTERIE_CACHE_LIMIT", "0")
        cache.write(*entries)
        assert content(tmp_path) == before
    assert (folder / "empty").is_dir()
