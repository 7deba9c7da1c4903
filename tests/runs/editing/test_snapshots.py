"""A change of a folder is whole or not there, and can be taken back."""

import os
from pathlib import Path

import pytest

from commands import content
from coterie._util.files import write_json, write_text
from coterie._util.trust import read_json
from coterie.errors import DataError
from coterie.runs.run_files import seal, swap_run
from coterie.runs.run_history import LOG, change_run, last_change, undo_run
from said import raises


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    (run / "model").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "model/c.txt"):
        write_text(run / name, name)
    seal(run, {})
    return run


def alter(fresh: Path) -> None:
    write_text(fresh / "a.txt", "changed")
    (fresh / "b.txt").unlink()
    write_text(fresh / "new" / "d.txt", "added")


@pytest.mark.parametrize("links", [True, False])
def test_changes_and_back(folder: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _no_links)
    before = content(folder)
    change_run(folder, alter)
    assert (folder / "a.txt").read_text() == "changed" and not (folder / "b.txt").exists()
    assert last_change(folder) == 1
    change_run(folder, lambda fresh: write_text(fresh / "model/c.txt", "twice"))
    kept = [n for n in content(folder) if n.startswith("earlier/0002/files")]
    assert kept == ["earlier/0002/files/model/c.txt"]  # nothing but what was replaced
    assert undo_run(folder) == 2
    assert undo_run(folder) == 1
    (folder / LOG).unlink()
    assert content(folder) == before
    assert not (folder / "earlier").exists()
    with raises(DataError, "has no edits to undo"):
        undo_run(folder)


def _no_links(*_: object) -> None:
    raise OSError("this file system has no hard links")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_change_that_fails_leaves_the_folder_as_it_was(folder: Path, error) -> None:
    before = content(folder)

    def fail(fresh: Path) -> None:
        alter(fresh)
        raise error("in the middle")

    with pytest.raises(error):
        change_run(folder, fail)
    assert content(folder) == before
    assert [p.name for p in folder.parent.iterdir()] == ["run"]


def test_a_link_to_the_folder_stays_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    change_run(tmp_path / "link", alter)
    assert (tmp_path / "link").is_symlink() and (folder / "a.txt").read_text() == "changed"


def test_an_undo_never_takes_back_what_another_command_did(folder: Path) -> None:
    file = folder / "manifest.json"
    write_json(file, {"say": 1})
    change_run(folder, lambda fresh: write_json(fresh / "manifest.json", {"say": 2}))
    write_json(file, {"say": 3})  # somebody else
    with raises(DataError, "was changed by another command after"):
        undo_run(folder)
    assert read_json(file) == {"say": 3}


def test_an_export_after_an_edit_does_not_stop_its_undo(folder: Path) -> None:
    write_json(folder / "manifest.json", {"say": 1})
    change_run(folder, lambda fresh: write_json(fresh / "manifest.json", {"say": 2}))
    swap_run(
        folder, lambda fresh: write_text(fresh / "assignments.jsonl", "made by coterie export")
    )
    assert "assignments.jsonl" in read_json(folder / "manifest.json")["files"]
    assert undo_run(folder) == 1
    assert read_json(folder / "manifest.json")["say"] == 1


def test_a_link_in_the_place_of_a_file_of_the_run_is_refused(folder: Path, tmp_path: Path) -> None:
    away = (folder / "model").rename(tmp_path / "away")
    (folder / "model").symlink_to(away)
    with raises(DataError, "is a link. Runs with"):
        change_run(folder, alter)
    assert (folder / "model").is_symlink() and (away / "c.txt").read_text() == "model/c.txt"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["away", "run"]
