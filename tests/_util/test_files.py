"""Writing: whole or not at all."""

import errno
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from coterie._util.files import atomic_path, save_arrays
from coterie._util.folders import held, mend_folder, one_state, refuse_held, replace_folder
from coterie.errors import DataError, UsageError
from said import raises


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(OSError, match="disk full"), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise OSError("disk full")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def state(value: str) -> Callable[[Path], None]:
    """What fills a folder with files that all hold one value."""

    def fill(fresh: Path) -> None:
        for name in ("manifest.json", "a", "b"):
            (fresh / name).write_text(value)

    return fill


def litter(folder: Path, *kinds: str) -> None:
    """What a killed writer leaves beside a folder."""
    for kind in kinds:
        place = folder.with_name(f".{folder.name}.coterie-{kind}")
        place.mkdir()
        (place / "a").write_text(kind)


@pytest.mark.parametrize("there", ["nothing", "an empty folder"])
def test_a_kill_between_two_renames_is_mended(tmp_path: Path, there: str) -> None:
    folder = tmp_path / "run"
    litter(folder, "new", "old")
    if there == "an empty folder":  # made by a person who missed it
        folder.mkdir()
    mend_folder(folder)
    assert (folder / "a").read_text() == "new"  # whole before the renames
    replace_folder(folder, state("next"))
    assert (folder / "a").read_text() == "next"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_reader_who_may_not_write_waits_for_the_writer(tmp_path, monkeypatch, number) -> None:
    folder, rename = tmp_path / "run", Path.rename
    litter(folder, "new", "old")

    def refused(self: Path, target: Path) -> None:
        raise OSError(number, "not here")

    monkeypatch.setattr(Path, "rename", refused)
    writer = threading.Timer(0.01, rename, (tmp_path / ".run.coterie-new", folder))
    writer.start()
    assert one_state([folder], lambda: (folder / "a").read_text()) == "new"
    writer.join()


def test_a_second_rename_that_fails_costs_no_state(tmp_path: Path, monkeypatch) -> None:
    folder, rename = tmp_path / "run", Path.rename
    replace_folder(folder, state("old"))

    def refused(self: Path, target: Path) -> Path:
        if target == folder:
            raise PermissionError(errno.EACCES, "not any more")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)
    for value in ("new", "newer"):
        with pytest.raises(PermissionError):
            replace_folder(folder, state(value))
    monkeypatch.undo()
    mend_folder(folder)
    assert (folder / "a").read_text() == "new"


def test_ctrl_c_between_two_renames_leaves_the_new_folder(tmp_path: Path, monkeypatch) -> None:
    folder, rename = tmp_path / "run", Path.rename
    replace_folder(folder, state("old"))

    def interrupted(self: Path, target: Path) -> Path:
        done = rename(self, target)
        if self == folder:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_folder(folder, state("new"))
    assert (folder / "a").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_half_a_new_folder_never_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for before in (False, True):
        if before:
            replace_folder(folder, state("old"))
        litter(folder, "new")
        mend_folder(folder)
        assert folder.exists() == before
        with held(folder):
            replace_folder(folder, state("next"))
        assert (folder / "a").read_text() == "next"
        assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_files_in_the_place_of_a_lost_folder_cost_no_state(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    litter(folder, "new", "old")
    folder.mkdir()
    (folder / "mine").write_text("mine")
    for work in (mend_folder, lambda folder: replace_folder(folder, state("next"))):
        with pytest.raises(OSError, match="not empty"):
            work(folder)
    assert len([p for p in tmp_path.rglob("*") if p.is_file()]) == 3


def test_a_folder_that_cannot_be_replaced_is_refused_before_the_work(tmp_path: Path, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir()
    worked = []
    monkeypatch.setattr(Path, "is_mount", lambda path: path == folder)
    with raises(UsageError, "cannot be replaced", "it is a mount point"):
        replace_folder(folder, worked.append)
    assert worked == [] and [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_folder_is_read_in_one_state(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    replace_folder(folder, state("0"))
    tries = []

    def read() -> tuple[str, str]:
        first = (folder / "a").read_text()
        if len(tries) < 3:
            tries.append(first)
            replace_folder(
                folder, state(str(len(tries)))
            )  # somebody changes the folder between two files
            if len(tries) == 3:
                raise DataError("what was read does not fit together")
        return first, (folder / "b").read_text()

    assert one_state([folder], read) == ("3", "3")
    assert tries == ["0", "1", "2"]

    def wrong() -> None:
        raise DataError("really damaged")

    with pytest.raises(DataError, match="really damaged"):
        one_state([folder], wrong)


def test_saved_arrays_may_be_read_by_whom_the_user_lets(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    save_arrays(tmp_path / "a.safetensors", {"a": np.ones(2)})
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with held(folder):
        with (
            raises(
                UsageError,
                "another process is working on",
                "wait until it is done, or choose another folder",
            ),
            held(folder),
        ):
            pass
        with raises(UsageError, "wait until it is done, or choose another folder"):
            refuse_held(folder)
    refuse_held(folder)
    with pytest.raises(FileNotFoundError), held(folder):
        raise FileNotFoundError  # what goes wrong inside comes out
    assert not folder.exists()  # made by the lock
    folder.mkdir()
    with held(folder):
        assert list(folder.iterdir()) == []
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
