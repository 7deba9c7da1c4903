"""A change of a run is whole or not there, and can be taken back."""

import os
from pathlib import Path

import pytest

from coterie import edit, export_run
from coterie.errors import DataError
from coterie.runs.editing import undo
from coterie.runs.store import read, save
from said import raises

from .conftest import content

MERGE, RENAME = [{"merge": [0, 1]}], [{"rename": {2: "Two"}}]


@pytest.mark.parametrize("links", [True, False])
def test_changes_and_back(run: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def no_links(*_: object) -> None:
        raise OSError("this file system has no hard links")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    (run / "notes.txt").write_text("mine")
    before = content(run)
    edit(run, MERGE)
    kept = run / "earlier" / "0001"
    assert {**content(kept), "notes.txt": b"mine"} == before
    assert (kept / "model/config.json").read_bytes() != (run / "model/config.json").read_bytes()
    shares = (kept / "model/encoder/encoder.json").samefile(run / "model/encoder/encoder.json")
    assert shares == links  # what stays the same lies on the disk once
    edit(run, RENAME)
    (run / "notes.txt").write_text("still mine")
    assert undo(run) == 2 and undo(run) == 1
    assert content(run) == before | {"notes.txt": b"still mine"}
    with raises(DataError, "has no edits to undo"):
        undo(run)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_change_that_fails_leaves_the_folder_as_it_was(run: Path, error) -> None:
    before, value = content(run), read(run)

    def fail(fresh: Path) -> None:
        (fresh / "report.html").unlink()
        raise error("in the middle")

    with pytest.raises(error):
        save(value, value, done=["nothing"], beside=fail)
    assert content(run) == before
    assert [p.name for p in run.parent.iterdir()] == [run.name]


def test_a_link_to_the_folder_stays_a_link(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run)
    edit(tmp_path / "link", RENAME)
    assert (tmp_path / "link").is_symlink() and "Two" in read(run).names.values()


def test_a_change_of_another_state_than_was_read_is_refused(run: Path) -> None:
    value = read(run)
    edit(run, RENAME)
    with raises(DataError, "was changed by another command in the meantime"):
        save(value, value, done=["too late"])
    assert "Two" in read(run).names.values()


def test_an_undo_writes_anew_what_was_exported_since(run: Path) -> None:
    edit(run, RENAME)
    export_run(run, "jsonl")
    assert "Two" in (run / "assignments.jsonl").read_text()
    assert undo(run) == 1
    assert "Two" not in (run / "assignments.jsonl").read_text()


def test_a_link_in_the_place_of_a_file_of_the_run_is_refused(run: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    (run / "report.html").rename(away)
    (run / "report.html").symlink_to(away)
    said = away.read_bytes()
    with raises(DataError, "is a link. Runs with"):
        edit(run, RENAME)
    assert (run / "report.html").is_symlink() and away.read_bytes() == said
